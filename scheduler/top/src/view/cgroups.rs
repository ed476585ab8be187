//! Cgroups: what they use, what they may use, and the policy they have.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::rows::{self, Item, known};
use crate::app::App;
use crate::sample::{CgroupUse, Sample};

const HEADER: [(&str, u16); 6] =
    [("CGROUP", 0), ("CPUs", 6), ("WEIGHT", 6), ("QUOTA", 6), ("THROTTLED", 9), ("POLICY", 0)];

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, sample: &Sample) {
    let items: Vec<Item> = sample.cgroups.iter().map(item).collect();
    rows::draw(frame, area, app, &HEADER, &items);
}

fn item(group: &CgroupUse) -> Item {
    let policy = if group.rules.is_empty() { "default".into() } else { group.rules.join("; ") };
    let quota = group.quota_cpus.map(|cpus| format!("{cpus:.2}"));
    let throttled = format!("{:.1} %", group.throttled * 100.0);
    Item {
        cells: vec![
            group.path.clone(),
            format!("{:.2}", group.cpus_used),
            known(group.weight),
            known(quota.clone()),
            throttled.clone(),
            policy.clone(),
        ],
        style: Style::new(),
        details: format!(
            "/{}\n{:.3} CPUs used, weight {}, quota {}, throttled {throttled}\npolicy: {policy}",
            group.path,
            group.cpus_used,
            known(group.weight),
            known(quota),
        ),
    }
}
