//! The counts of one deterministic run, and the differences between two runs.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// The guest's script prints these before each part, and at the end.
const MARK: &str = "@@";
const END: &str = "@@end";

/// The counts of one run. They are equal for runs with the same seed, kernel, programs and QEMU.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Counted {
    /// Version of this format.
    pub(super) version: u32,
    /// What ran.
    pub(super) workload: &'static str,
    pub(super) seed: u32,
    pub(super) scheduler: String,
    pub(super) kernel: String,
    pub(super) qemu: String,
    /// Hex SHA-256 of the guest's root file system, which contains scripts and programs.
    pub(super) programs: String,
    /// Reports of the workload's programs, by name.
    pub(super) reports: BTreeMap<&'static str, Value>,
    /// Files of /proc at the end, by name.
    pub(super) counters: BTreeMap<String, String>,
}

impl Counted {
    /// The differences between two runs: whole reports, and the first differing line of each
    /// counter file.
    pub(super) fn differences(&self, other: &Self) -> Vec<String> {
        let reports = self.reports.iter().filter_map(|(name, one)| {
            let two = other.reports.get(name).unwrap_or(&Value::Null);
            (one != two).then(|| format!("{name}: {one} became {two}"))
        });
        let counters = self.counters.iter().filter_map(|(name, one)| {
            let two = other.counters.get(name).map_or("", String::as_str);
            let (one, two) = first_difference(one, two)?;
            Some(format!("{name}: {one} became {two}"))
        });
        reports.chain(counters).collect()
    }
}

/// The first line in which two texts differ. A missing line counts as empty.
fn first_difference<'a>(one: &'a str, two: &'a str) -> Option<(&'a str, &'a str)> {
    let (mut one, mut two) = (one.lines(), two.lines());
    loop {
        match (one.next(), two.next()) {
            (None, None) => return None,
            (one, two) if one == two => {}
            (one, two) => return Some((one.unwrap_or_default(), two.unwrap_or_default())),
        }
    }
}

/// Splits the guest's output into parts, by name. `None` if the end is missing. Drops the output
/// before the first mark.
pub(super) fn parts(said: &str) -> Option<BTreeMap<String, String>> {
    let mut parts: BTreeMap<String, String> = BTreeMap::new();
    let mut current = None;
    for line in said.lines().map(str::trim_end) {
        match (line.strip_prefix(MARK), &current) {
            (Some(_), _) if line == END => return Some(parts),
            (Some(name), _) => current = Some(name.to_owned()),
            (None, Some(name)) => parts.entry(name.clone()).or_default().extend([line, "\n"]),
            (None, None) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(counters: &[(&str, &str)]) -> Counted {
        let own = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        Counted {
            version: 1,
            workload: "traffic",
            seed: 1,
            scheduler: String::new(),
            kernel: String::new(),
            qemu: String::new(),
            programs: String::new(),
            reports: BTreeMap::new(),
            counters: counters.iter().map(own).collect(),
        }
    }

    #[test]
    fn splits_what_was_said_into_parts() {
        let said = "boot\r\n@@a\r\n1\r\n2\r\n@@net/dev\r\n3\r\n@@end\r\nbye\r\n";
        let expected = [("a", "1\n2\n"), ("net/dev", "3\n")];
        assert_eq!(parts(said), Some(expected.map(|(a, b)| (a.to_owned(), b.to_owned())).into()));
        assert_eq!(parts("@@a\n1\n"), None);
    }

    #[test]
    fn the_script_marks_its_parts_as_they_are_looked_for() {
        let script = include_str!("../det.sh");
        assert!(script.ends_with(&format!("echo \"{END}\"\n")), "the end");
        for part in ["observe", "client", "$counters", "failed"] {
            assert!(script.contains(&format!("echo \"{MARK}{part}\"\n")), "{part}");
        }
    }

    #[test]
    fn shows_the_first_line_that_differs() {
        let one = counted(&[("stat", "cpu 1\nctxt 5\n")]);
        assert!(one.differences(&one).is_empty());
        let two = counted(&[("stat", "cpu 1\nctxt 6\n")]);
        assert_eq!(one.differences(&two), ["stat: ctxt 5 became ctxt 6"]);
        let longer = counted(&[("stat", "cpu 1\nctxt 5\nbtime 7\n")]);
        assert_eq!(one.differences(&longer), ["stat:  became btime 7"]);
    }

    #[test]
    fn shows_reports_that_differ() {
        let mut one = counted(&[]);
        let mut two = counted(&[]);
        one.reports.insert("observe", 1.into());
        two.reports.insert("observe", 2.into());
        assert_eq!(one.differences(&two), ["observe: 1 became 2"]);
    }
}
