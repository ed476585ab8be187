//! What a check answers: the cases it found, or why it could not look.

use std::io;

use serde::{Deserialize, Serialize};

/// The cases found, none if all is well; or why the check could not be made.
pub type Checked = Result<Vec<Case>, Unchecked>;

/// Why a check could not be made, with the next step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unchecked(pub String);

/// A file and the value read from it, or another fact with where it came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The file, or the command that shows the same.
    pub read: String,
    /// What it says.
    pub value: String,
}

/// One place where a finding applies: a NIC, a cgroup, or the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Case {
    /// What it is about, such as `eth0`; empty for the host.
    pub subject: String,
    /// What was read.
    pub evidence: Vec<Evidence>,
    /// Values of the placeholders of the fix and its undo.
    #[serde(skip)]
    pub values: Vec<(&'static str, String)>,
}

impl Unchecked {
    /// For a file that may not be read.
    pub(crate) fn read(path: &str, error: &io::Error) -> Unchecked {
        let next = match error.kind() {
            io::ErrorKind::PermissionDenied => "; run this as root (sudo)",
            _ => "",
        };
        Unchecked(format!("/{path} cannot be read ({}){next}", plain(error)))
    }
}

/// The error without its number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

impl Case {
    /// A case about `subject`, such as a NIC.
    pub(crate) fn of(subject: impl Into<String>) -> Case {
        Case { subject: subject.into(), evidence: Vec::new(), values: Vec::new() }
    }

    /// A case about the whole host.
    pub(crate) fn host() -> Case {
        Case::of("")
    }

    /// Adds what a file says. Paths below the root get their leading slash here.
    pub(crate) fn saw(mut self, path: impl AsRef<str>, value: impl ToString) -> Case {
        self.evidence.push(Evidence {
            read: format!("/{}", path.as_ref()),
            value: value.to_string().trim().to_owned(),
        });
        self
    }

    /// Adds what a command would show, for facts that are not files.
    pub(crate) fn asked(mut self, command: impl Into<String>, value: impl ToString) -> Case {
        self.evidence.push(Evidence { read: command.into(), value: value.to_string() });
        self
    }

    /// Sets a placeholder of the fix and its undo.
    pub(crate) fn with(mut self, name: &'static str, value: impl ToString) -> Case {
        self.values.push((name, value.to_string()));
        self
    }

    /// A template with this case's values in it.
    pub(crate) fn fill(&self, template: &str) -> String {
        let fill = |text: String, (name, value): &(&str, String)| {
            text.replace(&format!("{{{name}}}"), value)
        };
        self.values.iter().fold(template.to_owned(), fill)
    }
}

/// Joins the cases of several parts; the first part that could not be checked ends it.
pub(crate) fn each<T>(
    parts: impl IntoIterator<Item = T>,
    check: impl Fn(T) -> Result<Option<Case>, Unchecked>,
) -> Checked {
    parts.into_iter().filter_map(|part| check(part).transpose()).collect()
}
