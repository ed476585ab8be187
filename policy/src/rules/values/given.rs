//! A value as written in a file, and how each kind of value is read.

use std::{fmt, str::FromStr};

use strum::VariantNames;
use toml::de::DeValue;

use crate::rules::refusal::{Refusal, quote, similar};

/// A value as written in a file.
pub(crate) struct Given<'a> {
    /// The value.
    pub(crate) value: &'a DeValue<'a>,
    /// Its text in the file.
    pub(crate) text: &'a str,
}

/// A value that a rule can set.
pub(crate) trait Value: Sized + fmt::Display {
    /// Reads it.
    fn read(given: &Given<'_>) -> Result<Self, Refusal>;
}

impl Given<'_> {
    /// The text of a string.
    pub(crate) fn string(&self, allowed: &str) -> Result<&str, Refusal> {
        self.value.as_str().ok_or_else(|| {
            let meant = match self.value {
                DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) => {
                    Some(format!("\"{}\"", quote(self.text)))
                }
                _ => None,
            };
            Refusal::new(format!("{} is not a string", quote(self.text)), allowed).meant(meant)
        })
    }

    /// One of the names of `T`.
    pub(crate) fn choice<T: FromStr + VariantNames>(&self) -> Result<T, Refusal> {
        let allowed = quoted(T::VARIANTS);
        let text = self.value.as_str().ok_or_else(|| {
            Refusal::new(format!("{} is not a string", quote(self.text)), &allowed)
        })?;
        text.parse().map_err(|_| unknown(text, T::VARIANTS, allowed))
    }

    /// An amount with a unit.
    pub(super) fn amount<T>(
        &self,
        parse: impl FnOnce(&str) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        match self.value {
            DeValue::String(text) => parse(text),
            // `parse` has the messages for a number without unit, and for anything else.
            DeValue::Integer(_) => parse(self.text),
            _ => parse("").map_err(|refusal| Refusal {
                given: format!("{} is not a string", quote(self.text)),
                ..refusal
            }),
        }
    }
}

/// `names` in quotes, as a list for messages.
pub(super) fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// Why `text` is refused: it is not one of `known`.
pub(super) fn unknown(text: &str, known: &[&str], allowed: String) -> Refusal {
    let meant = similar(text, known.iter().copied()).map(|name| format!("\"{name}\""));
    Refusal::new(format!("\"{}\" is unknown", quote(text)), allowed).meant(meant)
}

impl Value for bool {
    fn read(given: &Given<'_>) -> Result<Self, Refusal> {
        given.value.as_bool().ok_or_else(|| {
            let meant = match given.value.as_str().map(str::to_lowercase).as_deref() {
                Some("true" | "yes" | "on") => Some("true".to_string()),
                Some("false" | "no" | "off") => Some("false".to_string()),
                _ => None,
            };
            let why = format!("{} is neither true nor false", quote(given.text));
            Refusal::new(why, "true, false").meant(meant)
        })
    }
}
