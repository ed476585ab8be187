//! The output of a guest that runs a script: named parts.

use std::collections::BTreeMap;

/// The script prints this before the name of each part.
pub const MARK: &str = "@@";
/// The script prints this at its end.
pub const END: &str = "@@end";

/// Splits the guest's output into parts, by name. `None` if the end is missing. Drops the output
/// before the first mark.
pub fn split(said: &str) -> Option<BTreeMap<String, String>> {
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

    #[test]
    fn splits_what_was_said_into_parts() {
        let said = "boot\r\n@@a\r\n1\r\n2\r\n@@net/dev\r\n3\r\n@@end\r\nbye\r\n";
        let expected = [("a", "1\n2\n"), ("net/dev", "3\n")];
        assert_eq!(split(said), Some(expected.map(|(a, b)| (a.to_owned(), b.to_owned())).into()));
        assert_eq!(split("@@a\n1\n"), None);
    }
}
