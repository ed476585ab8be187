//! In which order settings go back: the number of channels first, as drivers set a queue's settings
//! anew with it, then everything in reverse. Rules, contexts and tables may name queues that go away:
//! they change before these go.

use std::cmp::Reverse;

use crate::setting::{Setting, Value, What};

/// Sorts ways back, each a setting with the value it has and the one it goes back to.
pub(crate) fn back<T>(
    ways: &mut [T],
    of: impl Fn(&T) -> (&Setting, Option<&Value>, Option<&Value>),
) {
    let shrinking: Vec<Setting> = ways
        .iter()
        .map(&of)
        .filter(|(_, from, to)| receive(*from) > receive(*to))
        .map(|(setting, ..)| setting.clone())
        .collect();
    let shrinks = |setting: &Setting| shrinking.iter().any(|it| it.device == setting.device);
    ways.sort_by_key(|way| {
        let (setting, ..) = of(way);
        let rank = match setting.what {
            What::RssTable | What::RssContext(_) | What::Rule(_) if shrinks(setting) => 0,
            What::Channels => 1,
            _ => 2,
        };
        (rank, Reverse(setting.what))
    });
}

/// Receive queues that a number of channels makes; 0 for other values.
pub(crate) fn receive(value: Option<&Value>) -> u32 {
    match value {
        Some(Value::Channels(channels)) => channels.receive(),
        _ => 0,
    }
}
