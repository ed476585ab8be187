//! Histograms of latencies, and their text form in reports.

use anyhow::{Context, Result};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

/// A quantile of latencies in nanoseconds, converted to microseconds. `None` if there are none.
pub(super) fn percentile(latencies: &Histogram<u64>, quantile: f64) -> Option<f64> {
    (!latencies.is_empty()).then(|| latencies.value_at_quantile(quantile) as f64 / 1000.0)
}

/// An empty histogram of nanoseconds: 1 ns to 100 s, three significant digits.
pub(super) fn new_histogram() -> Histogram<u64> {
    const HIGHEST: u64 = 100_000_000_000;
    // These bounds are valid for every histogram: creation fails on 0 or more than five digits.
    Histogram::new_with_bounds(1, HIGHEST, 3).expect("valid bounds")
}

/// Encodes a histogram as text, for a report.
pub(super) fn encode_histogram(histogram: &Histogram<u64>) -> Result<String> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .context("cannot encode the latency histogram")?;
    Ok(BASE64_STANDARD.encode(bytes))
}

/// Reads the histogram of an [`super::RpcReport`]; values are nanoseconds.
///
/// # Errors
/// When the text is not base64, or the bytes are not an HdrHistogram.
pub fn decode_histogram(text: &str) -> Result<Histogram<u64>> {
    let bytes = BASE64_STANDARD.decode(text).context("the latency histogram is not base64")?;
    Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(|error| anyhow::anyhow!("the latency histogram is damaged: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Decoding restores the measured histogram exactly.
        #[test]
        fn histograms_survive_the_json(
            values in prop::collection::vec(1u64..200_000_000_000, 0..200),
        ) {
            let mut histogram = new_histogram();
            for value in values {
                histogram.saturating_record(value);
            }
            let text = encode_histogram(&histogram).unwrap();
            prop_assert_eq!(decode_histogram(&text).unwrap(), histogram);
        }
    }

    #[test]
    fn damaged_histograms_say_so() {
        assert!(decode_histogram("*").unwrap_err().to_string().contains("base64"));
        assert!(decode_histogram("AAAA").unwrap_err().to_string().contains("damaged"));
    }
}
