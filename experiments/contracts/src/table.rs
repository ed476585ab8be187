//! What was found, as a table: a line per group, per limit and per mix.

use super::Outcome;
use super::verdict::{Broken, Judged};
use steer_ground::style::Style;
use steer_ground::word::Word;

/// The whole table. `name` is the scheduler that was compared with the kernel's own.
pub(crate) fn table(outcomes: &[Outcome], name: &str) -> String {
    let style = Style::Terminal;
    let mut table = style.table();
    table.set_header(["mix", "", "default", name, "ratio", "pause ms", "allowed", "verdict"]);
    let mut failed = String::new();
    for outcome in outcomes {
        match outcome {
            Outcome::Judged(judged) => rows(judged).into_iter().for_each(|row| {
                table.add_row(row);
            }),
            Outcome::Failed { mix, error } => {
                table.add_row([mix, "", "", "", "", "", "", "BROKEN: see below"]);
                failed += &style.item(&format!("{mix}: {error}"));
            }
        }
    }
    let table = style.lines(table, 2);
    let about = style.paragraph(&format!(
        "For groups: their share of the CPU time that all groups had, and the longest time that one \
         of their threads waited under {name}. For cgroups with a limit, and for all groups \
         together: the CPUs in use."
    ));
    format!("{about}{table}{failed}")
}

/// The rows of a mix. Its name stands in the first.
fn rows(judged: &Judged) -> Vec<[String; 8]> {
    let row = |of: &str, default: f64, found: f64, pauses: [String; 2], broken: &[Broken]| {
        let [pause, allowed] = pauses;
        [
            String::new(),
            of.to_owned(),
            format!("{default:.4}"),
            format!("{found:.4}"),
            format!("{:.2}", found / default),
            pause,
            allowed,
            verdict(broken),
        ]
    };
    let mut rows = Vec::new();
    for share in &judged.shares {
        let pauses = [share.pause_ms, share.allowed_pause_ms].map(|pause| format!("{pause:.0}"));
        rows.push(row(&share.group, share.default, share.found, pauses, &share.broken));
    }
    let none = || [String::new(), String::new()];
    for limit in &judged.limits {
        let of = format!("{}, limit {:.2}", limit.cgroup, limit.quota + limit.burst);
        rows.push(row(&of, limit.default, limit.found, none(), &limit.broken));
    }
    let total = &judged.total;
    rows.push(row("all", total.default, total.found, none(), &total.broken));
    rows[0][0].clone_from(&judged.mix);
    rows
}

fn verdict(broken: &[Broken]) -> String {
    if broken.is_empty() {
        return "ok".to_owned();
    }
    let words: Vec<_> = broken.iter().map(|broken| broken.word()).collect();
    format!("BROKEN: {}", words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix::Mix;
    use crate::verdict::{Sample, judge};

    #[test]
    fn the_table_reads_well() {
        let text = "[[mix]]\nname = 'weights and a limit'\npause-ms = 300\n\
                    cgroups = ['a weight=100', 'b weight=300 max=50% burst-ms=30']\n\
                    groups = ['light cgroup=a cpus=0', 'heavy cgroup=b cpus=0']";
        let mix = Mix::read(text).unwrap().pop().unwrap();
        let sample = |cpus: [f64; 2], pauses_ms: [f64; 2]| {
            [Sample { cpus: cpus.to_vec(), pauses_ms: pauses_ms.to_vec() }]
        };
        let default = sample([0.45, 0.5], [11.0, 400.0]);
        let kept = judge(&mix, &default, &sample([0.46, 0.5], [25.0, 500.0]));
        let broken = judge(&mix, &default, &sample([0.5, 0.6], [301.0, 99.0]));
        let error = "scx_steer was ejected: runnable task stall".to_owned();
        let failed = Outcome::Failed { mix: "a FIFO hog".to_owned(), error };
        let outcomes = [Outcome::Judged(kept), Outcome::Judged(broken), failed];
        insta::assert_snapshot!(table(&outcomes, "scx_steer"));
    }
}
