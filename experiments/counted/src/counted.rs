//! The counts of one deterministic run, and the differences between two runs.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

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

#[cfg(test)]
mod tests {
    use steer_lab::parts::{END, MARK};

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
