//! The verdict, before any figure: every target in every steering mode.

use maud::{Markup, html};

use steer_result::AbResult;
use steer_result::targets::{self, Reading, TargetVerdict};

/// How many targets are reached, over all steering modes.
pub(super) struct Score {
    main_arm: String,
    reached: usize,
    missed: usize,
    open: usize,
}

impl Score {
    /// Counts them.
    pub(super) fn of(result: &AbResult) -> Self {
        let modes = result.modes.values();
        let readings = || modes.clone().flat_map(|mode| targets::read(&result.main_arm, mode));
        let count = |verdict| readings().filter(|reading| reading.verdict == verdict).count();
        Self {
            main_arm: result.main_arm.clone(),
            reached: count(TargetVerdict::Reached),
            missed: count(TargetVerdict::Missed),
            open: count(TargetVerdict::Open),
        }
    }

    /// The main clause.
    pub(super) fn reached(&self) -> String {
        let all = self.reached + self.missed + self.open;
        format!("{} reaches {} of {all} targets", self.main_arm, self.reached)
    }

    /// The rest of the sentence.
    pub(super) fn rest(&self) -> String {
        format!("{} missed, {} open (the interval includes the bound).", self.missed, self.open)
    }
}

/// One sentence on the targets, and the table behind it.
pub(super) fn targets(result: &AbResult) -> Markup {
    let readings: Vec<(&String, Vec<Reading>)> = result
        .modes
        .iter()
        .map(|(name, mode)| (name, targets::read(&result.main_arm, mode)))
        .collect();
    let score = Score::of(result);
    html! {
        p.lead { strong { (score.reached()) } "; " (score.rest()) }
        div.scroll {
            table.targets {
                thead { tr {
                    th { "wanted of " (result.main_arm) }
                    @for (mode, _) in &readings { th { (mode) } }
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

/// All targets that apply to any steering mode, in their order.
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
