//! The verdict: every target against every world, before any figure.

use maud::{Markup, html};

use crate::result::AbResult;
use crate::result::targets::{self, Reading, Verdict};

/// One sentence on the targets, and the table behind it.
pub(super) fn verdict(result: &AbResult) -> Markup {
    let readings: Vec<(&String, Vec<Reading>)> = result
        .worlds
        .iter()
        .map(|(name, world)| (name, targets::read(&result.subject, world)))
        .collect();
    let count = |verdict| {
        let all = readings.iter().flat_map(|(_, readings)| readings);
        all.filter(|reading| reading.verdict == verdict).count()
    };
    let (reached, missed, open) =
        (count(Verdict::Reached), count(Verdict::Missed), count(Verdict::Open));
    let all = reached + missed + open;
    html! {
        p.lead {
            strong { (result.subject) " reaches " (reached) " of " (all) " targets" }
            "; " (missed) " missed, " (open) " open (the interval holds the bound)."
        }
        div.scroll {
            table.verdict {
                thead { tr {
                    th { "wanted of " (result.subject) }
                    @for (world, _) in &readings { th { (world) } }
                } }
                tbody {
                    @for wanted in wanted(&readings) {
                        tr {
                            th scope="row" { (wanted) }
                            @for (_, readings) in &readings {
                                (cell(readings.iter().find(|reading| reading.wanted == wanted)))
                            }
                        }
                    }
                }
            }
        }
    }
}

/// All targets any world can be held against, in their order.
fn wanted<'a>(readings: &'a [(&String, Vec<Reading>)]) -> Vec<&'a str> {
    let mut wanted: Vec<&str> = Vec::new();
    for reading in readings.iter().flat_map(|(_, readings)| readings) {
        if !wanted.contains(&reading.wanted.as_str()) {
            wanted.push(&reading.wanted);
        }
    }
    wanted
}

fn cell(reading: Option<&Reading>) -> Markup {
    let Some(reading) = reading else { return html! { td { span.note { "unknown" } } } };
    let verdict = reading.verdict.to_string();
    html! { td { span.badge.(verdict) { (verdict) } " " (reading.found) } }
}
