//! Says why a value in a policy file is refused, and what may have been meant.

use std::fmt;

/// How similar a suggestion must be to the given text, from 0 to 1 (Jaro-Winkler).
const ALIKE: f64 = 0.8;
/// The longest quote from a file in a message, in characters.
const QUOTE: usize = 40;

/// Why a value is refused. Printed as `given; allowed: …; did you mean …?`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    /// What was given, and why it is refused.
    pub(crate) given: String,
    /// What is allowed.
    pub(crate) allowed: String,
    /// What may have been meant.
    pub(crate) meant: Option<String>,
}

impl Refusal {
    /// A refusal without a suggestion.
    pub(crate) fn new(given: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self { given: given.into(), allowed: allowed.into(), meant: None }
    }

    /// This refusal with a suggestion.
    pub(crate) fn meant(mut self, meant: Option<String>) -> Self {
        self.meant = meant;
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; allowed: {}", self.given, self.allowed)?;
        match &self.meant {
            Some(meant) => write!(f, "; did you mean {meant}?"),
            None => Ok(()),
        }
    }
}

/// The entry of `known` that is most similar to `given`, if one is similar enough.
pub(crate) fn similar<'a>(
    given: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // The comparison takes quadratic time, and no key is that long.
    if given.chars().count() > QUOTE {
        return None;
    }
    let given = given.to_lowercase().replace('_', "-");
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&given, name), name))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, name)| name)
}

/// A quote from a file: one line, of bounded length.
pub(crate) fn quote(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let short: String = line.chars().take(QUOTE).collect();
    if short.len() < text.len() { short + "…" } else { short }
}
