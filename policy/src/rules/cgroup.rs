//! Patterns of cgroup paths, and the order in which one is more specific than another.

use std::{cmp::Reverse, fmt};

use globset::{Glob, GlobBuilder};

use super::refusal::{Refusal, quote};

/// The most components of a pattern.
pub const MAX_DEPTH: usize = 32;
/// The longest name of a cgroup, in bytes: NAME_MAX.
const MAX_NAME: usize = 255;

const ALLOWED: &str = "a path from the cgroup2 root whose names may contain *, ?, [ab] and {a,b}, and \
                       ** by itself for any depth, as in \"system.slice/nginx.service\"";

/// A pattern of cgroup paths: names between slashes, from the root of the cgroup2 mount. The
/// pattern of the root has no names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CgroupPattern(Vec<Component>);

/// One name of a [`CgroupPattern`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Component {
    /// Exactly this name.
    Literal(String),
    /// Names that match this glob.
    Glob(Glob),
    /// Any number of names, including none; at the end of a pattern, at least one.
    AnyDepth,
}

/// How specific a pattern is; greater is more specific. Compared field by field, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Specificity {
    /// Names without wildcards.
    literals: usize,
    /// Smallest depth of a cgroup that matches.
    depth: usize,
    /// Names without wildcards before the first name with one.
    prefix: usize,
    any_depths: Reverse<usize>,
    /// Bytes other than wildcards, in the names that have wildcards.
    literal_bytes: usize,
}

impl CgroupPattern {
    /// Reads `system.slice/*.service`; `/` is the root.
    pub(crate) fn parse(text: &str) -> Result<Self, Refusal> {
        if let Some(rest) = text.strip_prefix("/sys/fs/cgroup/") {
            let rest = rest.strip_prefix("unified/").unwrap_or(rest);
            let given = format!("\"{}\" names the mount point", quote(text));
            return Err(Refusal::new(given, ALLOWED).meant(Some(format!("\"{rest}\""))));
        }
        if text.is_empty() {
            let refusal = Refusal::new("the pattern is empty", ALLOWED);
            return Err(refusal.meant(Some("\"/\" (the root, which covers everything)".into())));
        }
        let path = text.strip_prefix('/').unwrap_or(text);
        let path = path.strip_suffix('/').unwrap_or(path);
        if path.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let depth = path.split('/').count();
        if depth > MAX_DEPTH {
            let given = format!("\"{}\" is {depth} names deep", quote(text));
            return Err(Refusal::new(given, format!("at most {MAX_DEPTH}")));
        }
        let components: Vec<_> = path
            .split('/')
            .map(Component::parse)
            .collect::<Result<_, _>>()
            .map_err(|why| Refusal::new(format!("\"{}\": {why}", quote(text)), ALLOWED))?;
        if components
            .windows(2)
            .any(|two| matches!(two, [Component::AnyDepth, Component::AnyDepth]))
        {
            let given = format!("\"{}\" has ** twice in a row; one is enough", quote(text));
            return Err(Refusal::new(given, ALLOWED));
        }
        Ok(Self(components))
    }

    /// Its names.
    pub(crate) fn components(&self) -> &[Component] {
        &self.0
    }

    /// How specific it is.
    pub(crate) fn specificity(&self) -> Specificity {
        let literal = |c: &&Component| matches!(c, Component::Literal(_));
        let any_depths = self.0.iter().filter(|c| **c == Component::AnyDepth).count();
        let trailing = usize::from(self.0.last() == Some(&Component::AnyDepth));
        Specificity {
            literals: self.0.iter().filter(literal).count(),
            depth: self.0.len() - any_depths + trailing,
            prefix: self.0.iter().take_while(literal).count(),
            any_depths: Reverse(any_depths),
            literal_bytes: self.0.iter().map(Component::literal_bytes).sum(),
        }
    }

    /// The path of a cgroup that matches, if one is easy to construct: the pattern itself, with `x`
    /// for wildcards.
    pub(crate) fn sample(&self) -> Option<String> {
        let names: Option<Vec<String>> = self.0.iter().map(Component::sample).collect();
        Some(names?.join("/"))
    }
}

impl Component {
    fn parse(name: &str) -> Result<Self, String> {
        let bad = match name {
            "" => Some("a name between slashes is empty".to_string()),
            "." | ".." => Some(format!("a cgroup cannot be called {name}")),
            _ if name.len() > MAX_NAME => {
                Some(format!("a name is {} bytes long, the kernel allows {MAX_NAME}", name.len()))
            }
            _ if name.contains(char::is_control) => {
                Some("a name contains a control character".into())
            }
            _ if name != "**" && name.contains("**") => {
                Some(format!("** must stand alone between slashes, not as in {}", quote(name)))
            }
            _ => None,
        };
        if let Some(bad) = bad {
            return Err(bad);
        }
        if name == "**" {
            return Ok(Self::AnyDepth);
        }
        if !name.contains(['*', '?', '[', ']', '{', '}']) {
            return Ok(Self::Literal(name.to_string()));
        }
        // Names made by systemd contain backslashes, as in `dev\x2dsda`. Take them literally.
        GlobBuilder::new(name)
            .literal_separator(true)
            .backslash_escape(false)
            .build()
            .map(Self::Glob)
            .map_err(|error| format!("{} is not a valid pattern: {}", quote(name), error.kind()))
    }

    fn literal_bytes(&self) -> usize {
        match self {
            Component::Glob(glob) => {
                glob.glob().bytes().filter(|byte| !b"*?[]{}".contains(byte)).count()
            }
            _ => 0,
        }
    }

    fn sample(&self) -> Option<String> {
        let name = match self {
            Component::Literal(name) => return Some(name.clone()),
            Component::AnyDepth => return Some("x".into()),
            Component::Glob(glob) => glob.glob().replace(['*', '?'], "x"),
        };
        (!name.contains(['[', ']', '{', '}'])).then_some(name)
    }
}

impl fmt::Display for CgroupPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("/");
        }
        for (index, component) in self.0.iter().enumerate() {
            let slash = if index == 0 { "" } else { "/" };
            let name = match component {
                Component::Literal(name) => name,
                Component::Glob(glob) => glob.glob(),
                Component::AnyDepth => "**",
            };
            write!(f, "{slash}{name}")?;
        }
        Ok(())
    }
}
