//! The facts around the figures: warnings, machine, workload, and what the words mean.

use maud::{Markup, html};
use serde::Serialize;
use serde_json::Value;

use steer_result::AbResult;

/// The warnings of a result; nothing if there are none.
pub(super) fn warnings(warnings: &[String]) -> Markup {
    /// Up to this many warnings are shown without a click.
    const FEW: usize = 5;
    html! {
        @if !warnings.is_empty() {
            details.warnings open[warnings.len() <= FEW] {
                summary { "Warnings (" (warnings.len()) ")" }
                ul { @for warning in warnings { li { (warning) } } }
            }
        }
    }
}

/// The measured machine, the traffic, and the command that measured.
pub(super) fn environment(result: &AbResult) -> Markup {
    html! {
        div.columns {
            div { h3 { "Machine" } (list(&fields(&result.environment))) }
            div { h3 { "Workload" } (list(&fields(&result.workload))) }
        }
        h3 { "Command" }
        pre { (result.command.join(" ")) }
    }
}

/// The known fields of a record, by name.
pub(super) fn fields(record: &impl Serialize) -> Vec<(String, String)> {
    let fields = serde_json::to_value(record).unwrap_or_default();
    let fields = fields.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    fields.map(|(name, value)| (name.replace('_', " "), plain(value))).collect()
}

/// Fields by name.
pub(super) fn list(fields: &[(String, String)]) -> Markup {
    html! { dl { @for (name, value) in fields { dt { (name) } dd { (value) } } } }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join("; "),
        other => other.to_string(),
    }
}

/// What metrics, ratios and intervals mean.
pub(super) fn reading(result: &AbResult) -> Markup {
    html! {
        p {
            "The arms of a round ran one after the other in random order, with the same source "
            "ports. A ratio is the median of the rounds' own ratios of " (result.main_arm)
            " to another arm, so changes from round to round cancel. A difference is shown only if "
            "its 95 % interval excludes 1. From six rounds on, it is the interval of the "
            "signed-rank test; with fewer rounds it spans all rounds and Student's interval of "
            "their logarithms. Of 100 intervals between equal arms, at most about 5 exclude 1. So a "
            "page with many intervals has a few false ones."
        }
        dl {
            @for metric in result.metrics() { dt { (metric.name) } dd { (metric.about) } }
        }
    }
}
