//! The result as Markdown: the words of the page around the tables of `steer-bench table`.

use super::targets::Score;
use super::{facts, headline};
use steer_ground::style::Style;
use steer_result::{AbResult, table};

/// The whole report.
pub(super) fn markdown(result: &AbResult) -> String {
    let score = Score::of(result);
    let mut text = format!("# {}\n\n{}\n\n", headline::title(result), headline::subtitle(result));
    text += &format!("**{}**; {}\n\n", score.reached(), score.rest());
    text += &table(result, Style::Markdown);
    let records = [
        ("Machine", facts::fields(&result.environment)),
        ("Workload", facts::fields(&result.workload)),
    ];
    for (name, fields) in records {
        text += &format!("\n### {name}\n\n");
        fields.into_iter().for_each(|(field, value)| text += &format!("- {field}: {value}\n"));
    }
    text + &format!("\n### Command\n\n    {}\n", result.command.join(" "))
}
