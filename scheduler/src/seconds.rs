//! A span of time on the command line.

use std::{str::FromStr, time::Duration};

/// A positive number of seconds, at most one day. Fractions are allowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seconds(Duration);

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_string())?;
        if !(0.01..=86_400.0).contains(&seconds) {
            return Err("allowed is 0.01 to 86400 seconds".into());
        }
        Ok(Self(Duration::from_secs_f64(seconds)))
    }
}

impl From<Seconds> for Duration {
    fn from(seconds: Seconds) -> Self {
        seconds.0
    }
}
