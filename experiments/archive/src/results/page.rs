//! The page: headlines, then a part for each group of questions, then the runs.

use anyhow::{Context, Result};
use steer_result::AbResult;

use super::basis::Basis;
use super::row::{self, Row};
use super::run::{Group, Question, Run};
use crate::command::{machine, words};

const INTRODUCTION: &str = "\
# Results

<!-- Made by `steer-bench results` from experiments/runs. Do not edit: a test compares the two. -->

Every figure here comes from an archived run. **Nothing was measured on a NUMA host or with a fast \
NIC.** All runs but one were made in the lab, an emulated guest (QEMU, TCG); the cost of the \
telemetry was also measured on a virtual machine. The emulator shows where threads run and which CPUs \
they share. It prices neither caches nor remote memory, so it cannot show what placement gains on a \
real host. Its latencies and throughputs are those of an emulator.

The part [In a model of a machine](#in-a-model-of-a-machine) is different. There the guest's clock is \
a model that prices caches, remote memory and DMA as published for one machine \
([the priced lab](../experiments/priced/README.md)). Its figures are that model's. Hardware has the \
last word.

How to read a table:

- Values are medians of the rounds. A ratio is that of two arms, with its 95 % interval.
- *better* and *worse* mean that the whole interval lies on one side of 1.
- *no difference shown* means that the 95 % interval includes 1. The arms may still differ.
- A *small run* has fewer than ten rounds, and is never a headline.
- *Counted* figures come from a clock that counts instructions. The same seed gives the same figure. \
The brackets hold the least and the greatest ratio of all seeds or rounds.
- The steering modes: in *auto*, packets follow the thread (as with aRFS); in *hash*, the flow's hash \
chooses the CPU (RSS); in *explicit*, a rule does (ntuple).
- *pinned* is the default scheduler with the server's threads pinned by hand.

[statistics.md](statistics.md) has the method.
";

/// The text above the headlines.
const RULE: &str = "\
A headline needs ten rounds or more, or counted figures. All other results are below.\n\n";

/// The whole page.
///
/// # Errors
/// A run does not have the figures that are asked for.
pub(super) fn page(runs: &[Run]) -> Result<String> {
    let mut answers = Vec::new();
    for run in runs {
        for question in &run.questions {
            let (rows, basis) =
                question.answer(&run.folder).with_context(|| format!("run {}", run.name))?;
            answers.push(Answer { run, question, rows, basis });
        }
    }
    let mut text = INTRODUCTION.to_owned() + "\n## Headlines\n\n" + &headlines(&answers);
    for (group, heading) in Group::ALL {
        let mut here = answers.iter().filter(|answer| answer.question.group == group).peekable();
        if here.peek().is_some() {
            text += &format!("\n## {heading}\n");
            here.for_each(|answer| text += &answer.text());
        }
    }
    text += "\n## The runs\n";
    for run in runs {
        text += &about(run)?;
    }
    Ok(text)
}

/// A question with its figures.
struct Answer<'a> {
    run: &'a Run,
    question: &'a Question,
    rows: Vec<Row>,
    basis: Basis,
}

impl Answer<'_> {
    fn text(&self) -> String {
        let rests = match self.basis {
            Basis::Rounds(1) => "1 round, small run".to_owned(),
            rounds @ Basis::Rounds(n) if rounds.carries_headline() => format!("{n} rounds"),
            Basis::Rounds(n) => format!("{n} rounds, small run"),
            Basis::Counted(1) => "counted, one seed".to_owned(),
            Basis::Counted(n) => format!("counted, {n} seeds or rounds"),
            Basis::Runs(n) => format!("{n} runs"),
            Basis::Other => "small run".to_owned(),
        };
        let Run { title, commit, .. } = self.run;
        let mut text = format!(
            "\n### {}\n\n[{title}]({}), commit {commit}, {}: {rests}.\n\n{}",
            self.question.asks,
            link(self.run),
            self.run.date(),
            row::table(&self.rows)
        );
        if let Some(note) = &self.question.note {
            text += &format!("\n{note}\n");
        }
        text
    }
}

/// The table of headlines.
fn headlines(answers: &[Answer]) -> String {
    let mut lines = String::new();
    for Answer { run, question, rows, .. } in answers.iter().filter(|a| a.question.headline) {
        for row in rows {
            for (pair, outcome) in &row.ratios {
                let (main, other) = pair.split_once(" / ").unwrap_or((pair, ""));
                let value = |arm: &str| {
                    let found = row.values.iter().find(|(name, _)| name == arm);
                    found.map_or(String::new(), |(_, value)| format!("{arm} {value}"))
                };
                let place = [&row.case, &row.steering].map(String::as_str);
                let place: Vec<&str> = place.into_iter().filter(|it| !it.is_empty()).collect();
                let figure = [&[row.figure.as_str()], &place[..]].concat().join(", ");
                lines += &row::line(&[
                    question.asks.clone(),
                    figure,
                    value(main),
                    value(other),
                    outcome.ratio.to_string(),
                    outcome.verdict.to_string(),
                    format!("[{}]({})", run.title, link(run)),
                ]);
            }
        }
    }
    if lines.is_empty() {
        return "None yet: no run has ten rounds.\n".to_owned();
    }
    let columns = ["question", "figure", "", "compared with", "ratio", "verdict", "run"];
    RULE.to_owned() + &row::line(&columns) + &row::line(&["---"; 7]) + &lines
}

fn link(run: &Run) -> String {
    format!("../experiments/runs/{}/", run.name)
}

/// A run: its commands, machine and day.
fn about(run: &Run) -> Result<String> {
    let mut files: Vec<&str> =
        run.questions.iter().flat_map(|it| &it.ab).map(|it| it.file.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    let read = |file: &&str| AbResult::read(&run.folder.join(file));
    let results: Vec<AbResult> = files.iter().map(read).collect::<Result<_>>()?;
    let typed = || results.iter().map(|result| words(&result.command)).collect();
    let commands: Vec<String> =
        if run.commands.is_empty() { typed() } else { run.commands.clone() };
    let told = || results.first().map(|result| machine(&result.environment));
    let machine = run.machine.clone().or_else(told);
    let machine = machine.with_context(|| format!("run {} names no machine", run.name))?;
    let mut text = format!(
        "\n### {}\n\n[{}]({}), {}, commit {}. {machine}.\n\n",
        run.name,
        run.title,
        link(run),
        run.date(),
        run.commit
    );
    commands.iter().for_each(|command| text += &format!("    {command}\n"));
    Ok(text)
}
