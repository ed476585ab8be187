//! The report as text: a summary line, then the findings of each area, then what was not checked.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use crate::report::{Finding, Report};
use crate::row::{Area, Severity};

/// Cases of one finding that are printed; the JSON has all.
const CASES: usize = 4;
/// Columns of prose.
const WIDTH: usize = 100;

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let loads = match self.findings.iter().any(|it| it.row.severity == Severity::Error) {
            true => "will not load",
            false if self.unchecked.iter().any(|it| of_load(it.id)) => "may load",
            false => "will load",
        };
        writeln!(f, "scx_steer {loads} on {}: {}", self.kernel(), self.summary())?;
        for area in Area::ALL {
            let mut findings = self.of_area(area).peekable();
            if findings.peek().is_some() {
                writeln!(f, "\n{area}")?;
            }
            findings.try_for_each(|finding| write(f, finding))?;
        }
        if !self.unchecked.is_empty() {
            writeln!(f, "\nNot checked")?;
        }
        // one reason often holds for several checks
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for it in &self.unchecked {
            reasons.entry(&it.why).or_default().push(it.id);
        }
        for (why, ids) in reasons {
            prose(f, &format!("{}: {why}", ids.join(", ")), "  ")?;
        }
        if !self.findings.is_empty() {
            writeln!(f, "\nscx_steer doctor --explain ID says more about a finding.")?;
        }
        Ok(())
    }
}

fn of_load(id: &str) -> bool {
    crate::table::row(id).is_some_and(|row| row.area == Area::Load)
}

fn write(f: &mut Formatter<'_>, finding: &Finding) -> fmt::Result {
    let row = finding.row;
    prose(f, &format!("{} {}: {}", row.severity, row.id, row.title), "  ")?;
    for case in finding.cases.iter().take(CASES) {
        let subject = if case.subject.is_empty() { "" } else { &format!("{}, ", case.subject) };
        let saw = case.evidence.iter().map(|it| format!("{}: {}", it.read, quoted(&it.value)));
        prose(f, &format!("{subject}{}", saw.collect::<Vec<_>>().join("; ")), "      ")?;
    }
    if let Some(more @ 1..) = finding.cases.len().checked_sub(CASES) {
        writeln!(f, "      ... and {more} more")?;
    }
    for (name, lines) in [("fix", finding.fix()), ("undo", finding.undo())] {
        for (number, line) in lines.iter().enumerate() {
            let name = if number == 0 { format!("{name}:") } else { String::new() };
            writeln!(f, "    {name:<6}{line}")?;
        }
    }
    Ok(())
}

/// An empty value would read as a missing word.
fn quoted(value: &str) -> &str {
    if value.is_empty() { "empty" } else { value }
}

/// Writes wrapped text; lines after the first are indented by four more columns.
fn prose(f: &mut Formatter<'_>, text: &str, indent: &str) -> fmt::Result {
    let more = format!("{indent}    ");
    let options = textwrap::Options::new(WIDTH)
        .initial_indent(indent)
        .subsequent_indent(&more)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false);
    textwrap::wrap(text, options).iter().try_for_each(|line| writeln!(f, "{line}"))
}
