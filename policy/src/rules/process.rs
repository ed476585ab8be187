//! Patterns of process names. A pattern is a name or the start of a name, because the kernel side
//! must match it in bounded time.

use std::fmt;

use super::refusal::{Refusal, quote};

/// The longest process name, in bytes: the kernel's TASK_COMM_LEN without its zero byte.
pub const MAX_NAME: usize = 15;

const ALLOWED: &str = "a process name of 1 to 15 bytes, or its start followed by *, as in \
                       \"nginx\" or \"kworker*\": the kernel can match only these in bounded \
                       time";

/// A pattern of process names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ProcessPattern {
    /// Names that start with this; 1 to [`MAX_NAME`] bytes.
    Prefix(String),
    /// Exactly this name; 1 to [`MAX_NAME`] bytes.
    Exact(String),
}

impl ProcessPattern {
    /// Reads `nginx` or `kworker*`.
    pub(crate) fn parse(text: &str) -> Result<Self, Refusal> {
        let refuse = |why: &str| Refusal::new(format!("\"{}\" {why}", quote(text)), ALLOWED);
        let (name, is_prefix) = match text.strip_suffix('*') {
            Some(start) => (start, true),
            None => (text, false),
        };
        if name.is_empty() {
            return Err(refuse(if is_prefix {
                "matches every process: leave `process` out"
            } else {
                "is empty"
            }));
        }
        if name.contains(['*', '?', '[', '{']) {
            return Err(refuse("has wildcards besides one * at the end"));
        }
        if name.contains('\0') {
            return Err(refuse("contains a zero byte"));
        }
        if name.len() > MAX_NAME {
            let cut = &name[..name.floor_char_boundary(MAX_NAME)];
            let meant = Some(format!("\"{cut}{}\"", if is_prefix { "*" } else { "" }));
            let why = format!("is {} bytes long, but the kernel keeps 15", name.len());
            return Err(refuse(&why).meant(meant));
        }
        Ok(match is_prefix {
            true => Self::Prefix(name.to_string()),
            false => Self::Exact(name.to_string()),
        })
    }

    /// Whether a process called `name` matches.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Prefix(start) => name.starts_with(start),
            Self::Exact(whole) => name == whole,
        }
    }

    /// Whether this pattern matches every name that `other` matches.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        match other {
            Self::Exact(name) => self.matches(name),
            Self::Prefix(start) => matches!(self, Self::Prefix(own) if start.starts_with(own)),
        }
    }

    /// How specific it is: a whole name is more specific than a start, a longer start more than a
    /// shorter one. Of two patterns that match the same name, the greater is tried first.
    pub(crate) fn specificity(&self) -> (bool, usize) {
        match self {
            Self::Prefix(start) => (false, start.len()),
            Self::Exact(name) => (true, name.len()),
        }
    }
}

impl fmt::Display for ProcessPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix(start) => write!(f, "{start}*"),
            Self::Exact(name) => f.write_str(name),
        }
    }
}
