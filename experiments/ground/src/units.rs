//! Sizes, rates and times as flags give them: `4KiB`, `40Mbit`, `2.5`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A number of bytes, at least 1: `4096`, `4KiB`, `1MB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(u64);

impl Size {
    /// The size in bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match parse_size::parse_size(text) {
            Ok(0) => Err("a size must be at least 1 byte".into()),
            Ok(bytes) => Ok(Self(bytes)),
            Err(error) => Err(format!("{error}; write a size like 4096, 4KiB or 1MB")),
        }
    }
}

/// A sending rate: `40Mbit`, `1.5Gbit`; `0` or `max` means as fast as the connection allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    bits_per_s: Option<u64>,
}

impl Rate {
    /// A rate in bits per second; 0 for unlimited.
    pub fn of(bits_per_s: u64) -> Self {
        Self { bits_per_s: (bits_per_s > 0).then_some(bits_per_s) }
    }

    /// Bits per second; `None` when the rate is unlimited.
    pub fn bits_per_s(self) -> Option<u64> {
        self.bits_per_s
    }

    /// How long `bytes` take at this rate; `None` when the rate is unlimited.
    pub fn time_for(self, bytes: u64) -> Option<Duration> {
        // Rates are at least 1 bit/s and sizes come from `Size`, so only absurd pairs overflow.
        // `try_from` turns these into the longest possible wait.
        let seconds = bytes as f64 * 8.0 / self.bits_per_s? as f64;
        Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const HELP: &str = "write a rate in bits per second like 40Mbit or 1.5Gbit, or max";
        if matches!(text, "0" | "max") {
            return Ok(Self::of(0));
        }
        // A bare number could mean bits or bytes, so a unit is required.
        let number = ["bit/s", "bit", "bps"]
            .iter()
            .find_map(|unit| text.strip_suffix(unit))
            .ok_or_else(|| format!("no unit; {HELP}"))?;
        match parse_size::parse_size(number) {
            Ok(bits) => Ok(Self::of(bits)),
            Err(error) => Err(format!("{error}; {HELP}")),
        }
    }
}

/// A span of time in seconds, 0 to one day; fractions allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seconds(Duration);

impl Seconds {
    const MAX: f64 = 86_400.0;

    /// Parses a span for flags that need one longer than 0.
    ///
    /// # Errors
    /// As for any span, and for 0.
    pub fn positive(text: &str) -> Result<Self, String> {
        let span: Self = text.parse()?;
        if span.0.is_zero() { Err("must be longer than 0".into()) } else { Ok(span) }
    }

    /// The span as the standard library's type.
    pub fn duration(self) -> Duration {
        self.0
    }
}

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<f64>() {
            Ok(seconds) if (0.0..=Self::MAX).contains(&seconds) => {
                Ok(Self(Duration::from_secs_f64(seconds)))
            }
            _ => Err(format!("write seconds between 0 and {}, like 8 or 2.5", Self::MAX)),
        }
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_binary_and_decimal_units() {
        assert_eq!("4096".parse::<Size>().unwrap().bytes(), 4096);
        assert_eq!("64KiB".parse::<Size>().unwrap().bytes(), 65_536);
        assert_eq!("1MB".parse::<Size>().unwrap().bytes(), 1_000_000);
        assert!("0".parse::<Size>().unwrap_err().contains("at least 1 byte"));
        assert!("4 parsecs".parse::<Size>().unwrap_err().contains("write a size like"));
    }

    #[test]
    fn rates_need_a_unit_and_know_no_limit() {
        let rate: Rate = "40Mbit".parse().unwrap();
        assert_eq!(rate.time_for(5_000_000), Some(Duration::from_secs(1)));
        assert_eq!("8kbit/s".parse::<Rate>().unwrap().time_for(1000), Some(Duration::from_secs(1)));
        assert_eq!("max".parse::<Rate>().unwrap().time_for(1), None);
        assert_eq!("0".parse::<Rate>().unwrap().time_for(1), None);
        assert_eq!("0Mbit".parse::<Rate>().unwrap().time_for(1), None);
        assert!("40M".parse::<Rate>().unwrap_err().contains("no unit"));
        assert!("fastbit".parse::<Rate>().unwrap_err().contains("write a rate"));
    }

    #[test]
    fn seconds_are_bounded() {
        assert_eq!("2.5".parse::<Seconds>().unwrap().duration(), Duration::from_millis(2500));
        for bad in ["-1", "inf", "NaN", "soon", "86401"] {
            assert!(bad.parse::<Seconds>().unwrap_err().contains("between 0 and 86400"), "{bad}");
        }
    }
}
