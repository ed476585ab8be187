//! What was found, as a table: a line per group, per limit and per mix.

use super::Outcome;
use super::verdict::{Broken, Judged};
use steer_ground::style::{Style, UNKNOWN};
use steer_ground::word::Word;

/// The whole table. `name` is the scheduler that was compared with the kernel's own.
pub(crate) fn table(outcomes: &[Outcome], name: &str) -> String {
    let style = Style::Terminal;
    let mut table = style.table();
    table.set_header(["mix", "default", name, "ratio", "pause ms", "allowed", "verdict"]);
    let mut failed = String::new();
    for outcome in outcomes {
        match outcome {
            Outcome::Judged(judged) => rows(judged).into_iter().for_each(|row| {
                table.add_row(row);
            }),
            Outcome::Failed { mix, error } => {
                table.add_row([mix, "", "", "", "", "", "BROKEN"]);
                failed += &style.item(&format!("{mix}: {error}"));
            }
        }
    }
    let table = style.lines(table, 1);
    let about = style.paragraph(&format!(
        "For groups: their share of the CPU time that all groups had, and the longest time that one \
         of their threads waited under {name}. A ratio is to the kernel's own scheduler, or to the \
         share by weight where that scheduler's varies. For cgroups with a limit, and for all groups \
         together: the CPUs in use."
    ));
    format!("{about}{table}{failed}")
}

/// The rows of a mix: its name and whether it is kept, then a row per figure with what is broken.
fn rows(judged: &Judged) -> Vec<[String; 7]> {
    let row = |of: &str, [default, wanted, found]: [f64; 3], pauses: [String; 2], broken: &[_]| {
        let ratio = if wanted > 0.0 { format!("{:.2}", found / wanted) } else { UNKNOWN.into() };
        let [pause, allowed] = pauses;
        let broken: Vec<_> = broken.iter().map(|broken: &Broken| broken.word()).collect();
        let [default, found] = [default, found].map(|figure| format!("{figure:.4}"));
        [format!("  {of}"), default, found, ratio, pause, allowed, broken.join(", ")]
    };
    let none = || [String::new(), String::new()];
    let mut head = <[String; 7]>::default();
    head[0].clone_from(&judged.mix);
    head[6] = if judged.kept() { "kept" } else { "BROKEN" }.to_owned();
    let shares = judged.shares.iter().map(|share| {
        let pauses = [share.pause_ms, share.allowed_pause_ms].map(|pause| format!("{pause:.0}"));
        row(&share.group, [share.default, share.wanted, share.found], pauses, &share.broken)
    });
    let limits = judged.limits.iter().map(|limit| {
        let of = format!("{}, limit {:.2} CPUs", limit.cgroup, limit.quota + limit.burst);
        row(&of, [limit.default, limit.default, limit.found], none(), &limit.broken)
    });
    let total = &judged.total;
    let total =
        row("all, CPUs", [total.default, total.default, total.found], none(), &total.broken);
    [head].into_iter().chain(shares).chain(limits).chain([total]).collect()
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
