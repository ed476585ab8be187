//! Warnings of older results. They were texts, without a kind.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use steer_ground::warning::{Kind, Warning};

/// A warning in a file.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Written {
    /// With its kind.
    Value(Warning),
    /// Only a text, in older results.
    Text(String),
}

/// Reads warnings of either form.
pub(crate) fn warnings<'de, D: Deserializer<'de>>(reader: D) -> Result<Vec<Warning>, D::Error> {
    let value = |written| match written {
        Written::Value(warning) => warning,
        Written::Text(text) => Warning::new(Kind::Other, text),
    };
    Ok(Vec::deserialize(reader)?.into_iter().map(value).collect())
}

/// What older warnings of the same kind have in common: their text without digits. Empty for
/// warnings with a kind.
pub(crate) fn words(warning: &Warning) -> String {
    match warning.kind {
        Kind::Other => warning.text.chars().filter(|letter| !letter.is_ascii_digit()).collect(),
        _ => String::new(),
    }
}
