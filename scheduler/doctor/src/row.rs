//! A row of the table: everything about a finding that does not depend on the host.

use std::fmt;

use serde::Serialize;

use crate::case::Checked;
use crate::host::Host;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The scheduler will not load, or not stay.
    Error,
    /// The host does less than it could, or does not do what its settings say.
    Warning,
    /// Worth knowing; changes no exit code.
    Note,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    /// Will it load?
    Load,
    /// The host, with or without scx_steer.
    Host,
    /// What would scx_steer change?
    Gain,
}

/// One kind of finding.
#[derive(Debug)]
pub struct Row {
    /// Its name, which never changes.
    pub id: &'static str,
    /// What it is about.
    pub area: Area,
    /// How bad it is.
    pub severity: Severity,
    /// The finding in one sentence.
    pub title: &'static str,
    /// What the check reads, and when it finds something.
    pub looks: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// Where that is known from.
    pub source: &'static str,
    /// Commands to paste, with placeholders in braces; empty if no command mends it.
    pub fix: &'static str,
    /// How to undo the fix.
    pub undo: &'static str,
    /// Looks for it.
    pub check: fn(&Host) -> Checked,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

impl Area {
    /// All, in the order of the report.
    pub const ALL: [Area; 3] = [Area::Load, Area::Host, Area::Gain];
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Area::Load => "Will it load",
            Area::Host => "The host",
            Area::Gain => "What it would bring",
        })
    }
}
