//! Problems in policy files: the place, the key, what was given and what is allowed.

use std::fmt;

use serde::Serialize;

/// Line and column in a file. Both start at 1. Columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// A place in a policy file, or the file as a whole.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Location {
    /// The file, as the user named it.
    pub file: String,
    /// The place in it; `None` for the whole file.
    #[serde(flatten)]
    pub position: Option<Position>,
}

/// How severe a [`Problem`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The set is refused.
    Error,
    /// The set is accepted, but something in it does not do what it seems to do.
    Warning,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// Its place.
    #[serde(flatten)]
    pub at: Location,
    /// How severe it is.
    pub severity: Severity,
    /// The key it concerns, if it concerns one.
    pub field: Option<String>,
    /// What was given, what is allowed, and what may have been meant.
    pub message: String,
}

/// All problems of a set of policy files: at least one error, and the warnings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// `Err` if one of `problems` is an error, otherwise `Ok` with the warnings.
    pub(crate) fn judge(problems: Vec<Problem>) -> Result<Vec<Problem>, Problems> {
        let refused = problems.iter().any(|problem| problem.severity == Severity::Error);
        let sorted = Problems::from(problems);
        if refused { Err(sorted) } else { Ok(sorted.0) }
    }

    /// The problems, by file and place.
    pub fn as_slice(&self) -> &[Problem] {
        &self.0
    }
}

/// Sorts the problems by place. At least one must be an error.
impl From<Vec<Problem>> for Problems {
    fn from(mut problems: Vec<Problem>) -> Self {
        problems.sort();
        problems.dedup();
        Self(problems)
    }
}

impl std::error::Error for Problems {}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let newline = if index == 0 { "" } else { "\n" };
            write!(f, "{newline}{problem}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.at)?;
        if self.severity == Severity::Warning {
            f.write_str("warning: ")?;
        }
        if let Some(field) = &self.field {
            write!(f, "{field}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some(Position { line, column }) => write!(f, "{}:{line}:{column}", self.file),
            None => f.write_str(&self.file),
        }
    }
}
