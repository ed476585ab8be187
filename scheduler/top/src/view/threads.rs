//! Threads that move data, and why they are where they are.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::rows::{self, Item, known};
use crate::app::App;
use crate::sample::{Sample, ThreadUse};

const HEADER: [(&str, u16); 9] = [
    ("TID", 7),
    ("NAME", 15),
    ("CLASS", 5),
    ("SINCE", 6),
    ("HOME", 4),
    ("CPU", 3),
    ("BURST", 7),
    ("WHY", 0),
    ("RULE", 0),
];

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, sample: &Sample) {
    let shown = sample.threads.iter().filter(|thread| app.shows(sample, thread.cpu));
    let items: Vec<Item> = shown.map(|thread| item(app, thread)).collect();
    rows::draw(frame, area, app, &HEADER, &items);
}

fn item(app: &App, thread: &ThreadUse) -> Item {
    let kib = |bytes: &u64| format!("{}K", bytes.div_ceil(1024));
    Item {
        cells: vec![
            thread.tid.to_string(),
            thread.name.clone(),
            thread.class.clone(),
            format!("{} s", thread.since_s),
            known(thread.home_cpu),
            known(thread.cpu),
            known(thread.last_bursts.first().map(kib)),
            thread.why.clone(),
            thread.rules.join("; "),
        ],
        style: app.theme.class(&thread.class),
        details: details(thread),
    }
}

fn details(thread: &ThreadUse) -> String {
    let bursts: Vec<String> = thread.last_bursts.iter().map(u64::to_string).collect();
    let rules = if thread.rules.is_empty() { "none" } else { &thread.rules.join("\n  ") };
    format!(
        "thread {} {} of /{}\nclass {} for {} s; cost of long flows {} µs, of short ones {} µs\n\
         home CPU {}, on CPU {}: {}\nlast bursts, bytes: {}\nrules: {rules}",
        thread.tid,
        thread.name,
        thread.cgroup,
        thread.class,
        thread.since_s,
        thread.long_cost_ns / 1000,
        thread.short_cost_ns / 1000,
        known(thread.home_cpu),
        known(thread.cpu),
        thread.why,
        bursts.join(" "),
    )
}
