//! A value together with the text it was parsed from.

use std::str::FromStr;

/// A value and the text it was parsed from. Results record the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spelled<T> {
    /// The parsed value.
    pub value: T,
    /// The text as the user wrote it.
    pub text: String,
}

impl<T: FromStr> FromStr for Spelled<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, T::Err> {
        Ok(Self { value: text.parse()?, text: text.to_owned() })
    }
}
