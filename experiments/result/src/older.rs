//! Fills fields that older results had only as text: in a warning, or in the command line.

use super::spec::Options;
use super::types::{AbResult, Unfinished};

/// The result with these fields filled in.
pub(crate) fn completed(mut result: AbResult) -> AbResult {
    let texts = &mut result.warnings;
    let at = texts.iter().position(|warning| unfinished(&warning.text).is_some());
    if let Some(at) = at {
        result.unfinished = unfinished(&texts.remove(at).text);
    }
    if result.options.is_empty() {
        result.options = options(&result.command);
    }
    result
}

/// Reads the warning that samples are missing, `unfinished: holds 2 of 4 samples`. If an error ended
/// the run, `; it ended with: ERROR` follows.
fn unfinished(text: &str) -> Option<Unfinished> {
    let (_, rest) = text.strip_prefix("unfinished: holds ")?.split_once(" of ")?;
    let (planned, rest) = rest.split_once(" samples")?;
    let error = rest.strip_prefix("; it ended with: ").map(str::to_owned);
    Some(Unfinished { planned: planned.parse().ok()?, error })
}

/// The options of a command line: `--name=value`, `--name value`, or `--name` for a switch.
fn options(command: &[String]) -> Options {
    let mut words = command.iter().peekable();
    let mut given = Vec::new();
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix("--") else { continue };
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, words.next_if(|next| !next.starts_with("--")).cloned()),
        };
        given.push((name.to_owned(), Vec::from_iter(value)));
    }
    Options::recorded(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_from_a_command() {
        let command = "steer-bench ab --worlds hash --no-hogs --out x --out=y --rpc-size=1KiB";
        let command: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let expected = ["--no-hogs", "--rpc-size=1KiB", "--steering=hash"];
        assert_eq!(options(&command).arguments(), expected);
    }

    #[test]
    fn an_unfinished_result_said_so_in_a_warning() {
        let told =
            |error: Option<&str>| Some(Unfinished { planned: 4, error: error.map(str::to_owned) });
        assert_eq!(unfinished("unfinished: holds 2 of 4 samples"), told(None));
        let ended = "unfinished: holds 2 of 4 samples; it ended with: 1 of 2 samples; it failed";
        assert_eq!(unfinished(ended), told(Some("1 of 2 samples; it failed")));
        assert_eq!(unfinished("auto: 2 complete rounds say little"), None);
    }
}
