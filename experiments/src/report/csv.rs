//! Every sample as CSV (RFC 4180) in long form: a row per world, arm, metric and round, so that any
//! tool can plot it.

use std::borrow::Cow;

use crate::result::AbResult;

/// The rows, under their header.
pub(super) fn csv(result: &AbResult) -> String {
    let mut text = String::from("world,arm,metric,round,value\n");
    for sample in &result.raw {
        for metric in result.metrics() {
            let value = metric.value(sample).map(|value| value.to_string()).unwrap_or_default();
            let (world, arm) = (field(&sample.world), field(&sample.arm));
            text += &format!("{world},{arm},{},{},{value}\n", metric.name, sample.round);
        }
    }
    text
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
