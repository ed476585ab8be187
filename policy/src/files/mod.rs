//! Policy files on disk: lists them, checks that they can be trusted, reads them. The only module
//! of this crate that touches the file system.

mod open;

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use crate::problem::{Location, Problem, Severity};

/// The default folder of policy files.
pub const DEFAULT_DIR: &str = "/etc/scx_steer/policy.d";
/// Maximum size of a policy file, in bytes.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

/// What to do with files that users other than root and the caller can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Refuse them: they are about to be put in force.
    Required,
    /// Read them with a warning: they are drafts, or a checkout that will be copied.
    Advised,
}

/// The text of a policy file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file's name in messages.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// The policy files of a set, in order, and the problems found while loading them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// The files that could be read.
    pub sources: Vec<Source>,
    pub(crate) problems: Vec<Problem>,
}

impl Files {
    /// Files that are already in memory.
    pub fn from_sources(sources: Vec<Source>) -> Self {
        Self { sources, problems: Vec::new() }
    }

    /// Loads [`DEFAULT_DIR`]. A missing folder means no rules.
    pub fn load_default() -> Self {
        let mut files = Self::default();
        let dir = Path::new(DEFAULT_DIR);
        if !matches!(fs::symlink_metadata(dir), Err(error) if error.kind() == ErrorKind::NotFound) {
            files.add(dir, Trust::Required);
        }
        files
    }

    /// Loads `path`: a file, or the `*.toml` files of a folder, ordered by name. Skips names that
    /// start with a dot, because editors use them for unsaved work.
    ///
    /// [`PolicySet::read`](crate::PolicySet::read) reports files that cannot be read or trusted,
    /// together with all other problems.
    pub fn add(&mut self, path: &Path, trust: Trust) {
        if let Err(problem) = self.add_path(path, trust) {
            self.problems.push(problem);
        }
    }

    fn add_path(&mut self, path: &Path, trust: Trust) -> Result<(), Problem> {
        let root = fs::canonicalize(path).map_err(|error| cannot(path, &error))?;
        if !root.is_dir() {
            self.add_file(path, &root, trust);
            return Ok(());
        }
        let metadata = fs::metadata(&root).map_err(|error| cannot(path, &error))?;
        self.distrust(path, &metadata, trust);
        for file in listing(&root).map_err(|error| cannot(path, &error))? {
            let named = path.join(&file);
            match fs::canonicalize(root.join(&file)) {
                Ok(target) if target.starts_with(&root) => self.add_file(&named, &target, trust),
                Ok(target) => self.problems.push(problem(
                    &named,
                    format!(
                        "a symbolic link that leaves the folder, to {}; allowed: links to files \
                         in the folder",
                        target.display()
                    ),
                )),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    // It may be gone since it was listed.
                    if fs::symlink_metadata(root.join(&file)).is_ok() {
                        self.problems.push(problem(
                            &named,
                            "a broken symbolic link; allowed: links to files in the folder",
                        ));
                    }
                }
                Err(error) => self.problems.push(cannot(&named, &error)),
            }
        }
        Ok(())
    }

    /// Adds the file `target` under the name `named`. Its path contains no link.
    fn add_file(&mut self, named: &Path, target: &Path, trust: Trust) {
        match open::read(target) {
            Ok((metadata, text)) => {
                self.distrust(named, &metadata, trust);
                self.sources.push(Source { name: named.display().to_string(), text });
            }
            Err(why) => self.problems.push(problem(named, why)),
        }
    }

    fn distrust(&mut self, path: &Path, metadata: &fs::Metadata, trust: Trust) {
        let severity = match trust {
            Trust::Required => Severity::Error,
            Trust::Advised => Severity::Warning,
        };
        let reasons = open::distrust(metadata).into_iter();
        self.problems.extend(reasons.map(|why| Problem { severity, ..problem(path, why) }));
    }
}

/// The names of the policy files in `dir`, ordered.
fn listing(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        let name = PathBuf::from(entry?.file_name());
        let hidden = name.as_os_str().as_encoded_bytes().starts_with(b".");
        if !hidden && name.extension().is_some_and(|extension| extension == "toml") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn problem(path: &Path, message: impl Into<String>) -> Problem {
    Problem {
        at: Location { file: path.display().to_string(), position: None },
        severity: Severity::Error,
        field: None,
        message: message.into(),
    }
}

fn cannot(path: &Path, error: &std::io::Error) -> Problem {
    problem(path, format!("cannot be read: {error}"))
}
