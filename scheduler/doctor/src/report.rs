//! Runs the checks and sorts what they find.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::case::{Case, Unchecked};
use crate::host::Host;
use crate::row::{Area, Row, Severity};
use crate::table::TABLE;

/// What the doctor says.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Version of the JSON form.
    version: u32,
    /// The kernel's release.
    kernel: Option<String>,
    /// How many of each.
    summary: Summary,
    /// What was found, most costly first.
    pub findings: Vec<Finding>,
    /// What could not be checked, and why.
    pub unchecked: Vec<NotChecked>,
}

/// How many findings there are of each severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Summary {
    checks: usize,
    errors: usize,
    warnings: usize,
    notes: usize,
    unchecked: usize,
}

/// A finding with its cases on this host.
#[derive(Debug)]
pub struct Finding {
    /// The row of the table.
    pub row: &'static Row,
    /// Where it applies; not empty.
    pub cases: Vec<Case>,
}

/// A check that could not be made.
#[derive(Debug, Serialize)]
pub struct NotChecked {
    /// Id of the row.
    pub id: &'static str,
    /// Why.
    pub why: String,
}

impl Report {
    /// Runs the checks of these areas.
    pub fn of(host: &Host, areas: &[Area]) -> Report {
        let (mut findings, mut unchecked) = (Vec::new(), Vec::new());
        let rows: Vec<&Row> =
            TABLE.iter().copied().filter(|row| areas.contains(&row.area)).collect();
        for &row in &rows {
            match (row.check)(host) {
                Ok(cases) if cases.is_empty() => {}
                Ok(cases) => findings.push(Finding { row, cases }),
                Err(Unchecked(why)) => unchecked.push(NotChecked { id: row.id, why }),
            }
        }
        // stable: within a severity, the order of the table, which is by cost
        findings.sort_by_key(|finding| finding.row.severity);
        let of = |severity| findings.iter().filter(|it| it.row.severity == severity).count();
        let summary = Summary {
            checks: rows.len(),
            errors: of(Severity::Error),
            warnings: of(Severity::Warning),
            notes: of(Severity::Note),
            unchecked: unchecked.len(),
        };
        let kernel = host.release().ok().filter(|release| !release.is_empty());
        Report { version: 1, kernel, summary, findings, unchecked }
    }

    /// 2 if there are errors, else 1 if there are warnings, else 3 if something could not be
    /// checked, else 0.
    pub fn exit_code(&self) -> u8 {
        match self.summary {
            Summary { errors: 1.., .. } => 2,
            Summary { warnings: 1.., .. } => 1,
            Summary { unchecked: 1.., .. } => 3,
            _ => 0,
        }
    }

    /// The finding with this id.
    pub fn finding(&self, id: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.row.id == id)
    }

    /// The findings of an area.
    pub(crate) fn of_area(&self, area: Area) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.row.area == area)
    }

    /// The kernel's release.
    pub(crate) fn kernel(&self) -> &str {
        self.kernel.as_deref().unwrap_or("an unknown kernel")
    }

    pub(crate) fn summary(&self) -> Summary {
        self.summary
    }
}

impl Finding {
    /// The commands of the fix for all cases, without repetition.
    pub fn fix(&self) -> Vec<String> {
        self.filled(self.row.fix)
    }

    /// The commands that undo the fix.
    pub fn undo(&self) -> Vec<String> {
        self.filled(self.row.undo)
    }

    fn filled(&self, template: &str) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for text in self.cases.iter().map(|case| case.fill(template)) {
            let new: Vec<&str> =
                text.lines().filter(|line| !lines.iter().any(|l| l == line)).collect();
            lines.extend(new.into_iter().map(str::to_owned));
        }
        lines
    }
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Form<'a> {
            id: &'a str,
            area: Area,
            severity: Severity,
            title: &'a str,
            why: &'a str,
            source: &'a str,
            cases: &'a [Case],
            fix: Vec<String>,
            undo: Vec<String>,
        }
        let Row { id, area, severity, title, why, source, .. } = *self.row;
        let (fix, undo) = (self.fix(), self.undo());
        Form { id, area, severity, title, why, source, cases: &self.cases, fix, undo }
            .serialize(serializer)
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let some = |count: usize, name: &str| match count {
            1 => format!("1 {name}"),
            _ => format!("{count} {name}s"),
        };
        let parts = [
            some(self.errors, "error"),
            some(self.warnings, "warning"),
            some(self.notes, "note"),
            format!("{} not checked", self.unchecked),
        ];
        write!(f, "{}; {}", parts.join(", "), some(self.checks, "check"))
    }
}
