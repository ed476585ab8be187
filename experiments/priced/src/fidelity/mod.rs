//! `steer-bench priced fidelity`: what the papers measured on hardware, measured in the model, on the
//! paper's machine and on the others. Only what holds on all real machines may be claimed.

mod claims;
mod measure;
mod verdict;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Serialize;
use steer_ground::style::{Style, UNKNOWN};

use crate::bench::BenchOptions;
use crate::flows::{self, Case, Flows, Guest, Setup};
use crate::machine::Machine;
use claims::{CLAIMS, Claim, GUESTS};
use verdict::Verdict;

/// The host-network-stack paper's machine.
const PAPERS: &str = "xeon-gold-6128";
/// The paper's largest packet with all optimizations.
const MTU: u32 = 9000;
/// The machine on which nothing is remote: a control, of which no paper says anything.
const CONTROL: &str = "uniform";

/// What to run.
#[derive(Debug, Clone)]
pub struct FidelityOptions {
    /// Seeds, from 0: each moves the flows against the timer ticks.
    pub seeds: u32,
    /// Time of the guest before the measured one, in ms.
    pub warm_ms: u32,
    /// Measured time of the guest for each case, in ms.
    pub span_ms: u32,
    /// Folder for `fidelity.json`.
    pub out: PathBuf,
    /// Print Markdown.
    pub markdown: bool,
    /// How to run guests.
    pub bench: BenchOptions,
}

/// A claim, and what came out.
#[derive(Debug, Serialize)]
struct Judged {
    #[serde(flatten)]
    claim: Claim,
    /// For each machine, in the order of `machines`.
    found: Vec<Option<f64>>,
    verdict: Verdict,
}

/// All of it.
#[derive(Debug, Serialize)]
struct Report {
    machines: Vec<String>,
    mtu: u32,
    seeds: u32,
    span_ms: u32,
    claims: Vec<Judged>,
    flows: Vec<Flows>,
}

/// Measures all cases on all machines, and prints the claims beside what came out.
///
/// # Errors
/// When a machine cannot be read, a guest fails, or the report cannot be written.
pub fn run(options: &FidelityOptions) -> Result<()> {
    let machines = machines()?;
    // Before minutes of measuring: can the report be written?
    fs::create_dir_all(&options.out)
        .with_context(|| format!("making {}", options.out.display()))?;
    let variants: Vec<(Machine, Setup, &[Case])> = machines
        .iter()
        .flat_map(|machine| GUESTS.map(|it| (machine, it)))
        .filter_map(|(machine, (variant, cases))| {
            let (warm_ms, span_ms) = (options.warm_ms, options.span_ms);
            let setup = Setup { mtu: MTU, ring: variant.ring, warm_ms, span_ms };
            Some((variant.of(machine)?, setup, cases))
        })
        .collect();
    let guests: Vec<Guest<'_>> =
        variants.iter().map(|(machine, setup, cases)| (machine, *setup, *cases)).collect();
    let mut flows = flows::run(&guests, options.seeds, &options.bench)?;
    flows.sort_by(|a, b| (&a.machine, a.ring, a.seed).cmp(&(&b.machine, b.ring, b.seed)));
    let report = Report {
        machines: machines.iter().map(|machine| machine.id.clone()).collect(),
        mtu: MTU,
        seeds: options.seeds,
        span_ms: options.span_ms,
        claims: CLAIMS.iter().map(|claim| judge(*claim, &machines, &flows)).collect(),
        flows,
    };
    let path = options.out.join("fidelity.json");
    fs::write(&path, serde_json::to_string_pretty(&report)? + "\n")
        .with_context(|| format!("writing {}", path.display()))?;
    print!("{}", text(&report, if options.markdown { Style::Markdown } else { Style::Terminal }));
    Ok(())
}

/// The paper's machine, then the others, then the control.
fn machines() -> Result<Vec<Machine>> {
    let mut names = Machine::all()?;
    names.sort_by_key(|name| (name != PAPERS, name == CONTROL));
    names.iter().map(|name| Machine::find(name)).collect()
}

fn judge(claim: Claim, machines: &[Machine], flows: &[Flows]) -> Judged {
    let found: Vec<Option<f64>> =
        machines.iter().map(|machine| claim.measure.on(machine, flows)).collect();
    let real = machines.iter().zip(&found).filter(|(machine, _)| machine.id != CONTROL);
    let mut real = real.filter_map(|(_, found)| *found);
    // the paper's machine is the first, and has all there is
    let own = real.next().unwrap_or(f64::NAN);
    let verdict = claim.expect.judge(own, &real.collect::<Vec<_>>());
    Judged { claim, found, verdict }
}

fn text(report: &Report, style: Style) -> String {
    let mut table = style.table();
    table.set_header(["", "source", "paper", "model", "from", "to", "control", ""]);
    let figure = |it: Option<f64>| it.map_or(UNKNOWN.into(), |it| format!("{it:.2}"));
    for Judged { claim, found, verdict } in &report.claims {
        let of = |control: bool| {
            let found = report.machines.iter().zip(found);
            found.filter_map(move |(id, it)| it.filter(|_| (id == CONTROL) == control))
        };
        table.add_row([
            claim.what.to_owned(),
            claim.source.to_owned(),
            claim.expect.to_string(),
            figure(of(false).next()),
            figure(of(false).reduce(f64::min)),
            figure(of(false).reduce(f64::max)),
            figure(of(true).next()),
            verdict.to_string(),
        ]);
    }
    let heading = format!(
        "What papers measured, in the model: MTU {}, {} ms, medians of {} seeds",
        report.mtu, report.span_ms, report.seeds
    );
    style.heading(&heading) + &style.lines(table, 2)
}
