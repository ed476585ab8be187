//! What may be claimed, in words: the metrics whose interval excludes 1, by world and other arm.

use maud::{Markup, html};

use crate::result::metrics::{Claim, METRICS};
use crate::result::{AbResult, World};

/// A row per world and other arm; nothing when there is nothing to compare.
pub(super) fn claims(result: &AbResult) -> Markup {
    let pairs = |world: &World| world.pairs().into_iter().cloned().collect::<Vec<_>>();
    let rows: Vec<(&String, &World, String)> = result
        .worlds
        .iter()
        .flat_map(|(name, world)| pairs(world).into_iter().map(move |pair| (name, world, pair)))
        .collect();
    html! {
        @if !rows.is_empty() {
            h3 { "What else may be claimed" }
            p.note { "Metrics whose 95 % interval excludes 1; nothing is claimed of the others." }
            div.scroll { table.claims {
                thead { tr {
                    th { "steering" } th { "against" } th { "better" } th { "worse" }
                } }
                tbody {
                    @for (name, world, pair) in &rows {
                        @let other = pair.split_once('/').map_or(pair.as_str(), |(_, other)| other);
                        @let equal = result.equal.as_ref() == Some(pair);
                        tr {
                            th scope="row" { (name) }
                            td { (other) @if equal { " itself (chance alone)" } }
                            @for claim in [Claim::Better, Claim::Worse] {
                                td.(claim) { (metrics(world, pair, claim)) }
                            }
                        }
                    }
                }
            } }
        }
    }
}

/// The names of the metrics of which a pair claims this.
fn metrics(world: &World, pair: &str, wanted: Claim) -> Markup {
    let claimed = METRICS.iter().filter(|metric| {
        let ratio = world.ratio(metric.name, pair);
        ratio.and_then(|ratio| metric.claim(ratio)) == Some(wanted)
    });
    let names: Vec<&str> = claimed.map(|metric| metric.name).collect();
    html! { @if names.is_empty() { span.note { "–" } } @else { (names.join(", ")) } }
}
