//! Every sample as CSV (RFC 4180) in long form: a row per steering mode (the column `world`), arm,
//! metric and round, so that any tool can plot it.

use std::borrow::Cow;

use steer_result::metrics::Metric;
use steer_result::{AbResult, Sample};

/// The rows, under their header.
pub(super) fn csv(result: &AbResult) -> String {
    let rows: String = rows(result).map(|row| row + "\n").collect();
    format!("{COLUMNS}\n{rows}")
}

/// The rows of several results. The first column has the name of the result.
pub(super) fn by_point<'a>(points: impl Iterator<Item = (&'a str, &'a AbResult)>) -> String {
    let rows = points.flat_map(|(point, result)| {
        rows(result).map(move |row| format!("{},{row}\n", field(point)))
    });
    format!("point,{COLUMNS}\n{}", rows.collect::<String>())
}

const COLUMNS: &str = "world,arm,metric,round,value";

fn rows(result: &AbResult) -> impl Iterator<Item = String> + '_ {
    let row = |sample: &Sample, metric: &Metric| {
        let value = metric.value(sample).map(|value| value.to_string()).unwrap_or_default();
        let (mode, arm) = (field(&sample.mode), field(&sample.arm));
        format!("{mode},{arm},{},{},{value}", metric.name, sample.round)
    };
    result
        .raw
        .iter()
        .flat_map(move |sample| result.metrics().map(move |metric| row(sample, metric)))
}

/// A name as one field, whatever it holds.
fn field(name: &str) -> Cow<'_, str> {
    if name.contains(['"', ',', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", name.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_one_field() {
        assert_eq!(field("scx_steer"), "scx_steer");
        assert_eq!(field("a,b"), "\"a,b\"");
        assert_eq!(field("say \"hi\"\n"), "\"say \"\"hi\"\"\n\"");
    }
}
