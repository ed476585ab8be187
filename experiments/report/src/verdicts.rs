//! Verdicts in words: the metrics whose interval excludes 1, by steering mode and other arm.

use maud::{Markup, html};

use steer_result::metrics::{METRICS, Verdict};
use steer_result::{AbResult, Mode};

/// A row per steering mode and other arm; nothing if there is nothing to compare.
pub(super) fn verdicts(result: &AbResult) -> Markup {
    let pairs = |mode: &Mode| mode.pairs().into_iter().cloned().collect::<Vec<_>>();
    let rows: Vec<(&String, &Mode, String)> = result
        .modes
        .iter()
        .flat_map(|(name, mode)| pairs(mode).into_iter().map(move |pair| (name, mode, pair)))
        .collect();
    html! {
        @if !rows.is_empty() {
            h3 { "Verdicts on all metrics" }
            p.note { "Metrics whose 95 % interval excludes 1. The others show no difference." }
            div.scroll { table.verdicts {
                thead { tr {
                    th { "steering" } th { "against" } th { "better" } th { "worse" }
                } }
                tbody {
                    @for (name, mode, pair) in &rows {
                        @let other = pair.split_once('/').map_or(pair.as_str(), |(_, other)| other);
                        @let equal = result.equal.as_ref() == Some(pair);
                        tr {
                            th scope="row" { (name) }
                            td { (other) @if equal { " itself (chance alone)" } }
                            @for verdict in [Verdict::Better, Verdict::Worse] {
                                td.(verdict) { (metrics(mode, pair, verdict)) }
                            }
                        }
                    }
                }
            } }
        }
    }
}

/// The names of the metrics on which a pair has this verdict.
fn metrics(mode: &Mode, pair: &str, wanted: Verdict) -> Markup {
    let judged = METRICS.iter().filter(|metric| {
        let ratio = mode.ratio(metric.name, pair);
        ratio.and_then(|ratio| metric.verdict(ratio)) == Some(wanted)
    });
    let names: Vec<&str> = judged.map(|metric| metric.name).collect();
    html! { @if names.is_empty() { span.note { "–" } } @else { (names.join(", ")) } }
}
