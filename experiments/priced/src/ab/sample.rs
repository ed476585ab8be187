//! From what a guest said to a sample of the result. How long the CPUs were busy is the model's
//! account; what they did meanwhile is divided as the guest's kernel accounts for it, by ticks.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use steer_ground::cpus::joined;
use steer_ground::warning::{Kind, Place, Warning};
use steer_ground::word::Word;
use steer_measure::{Count, CpuTime, Ticks, Usage};
use steer_result::{Counter, CpuRecord, ObserverReport, Sample};
use steer_scenario::workload::LongTool;
use steer_traffic::client::{ClientReport, LongReport};
use steer_traffic::hog;

use super::options::AbOptions;
use super::task::Which;
use crate::guest::Said;
use crate::marks::{Cpu, MEASURED, Mark};

/// Ticks of /proc/stat per second, on every architecture that Linux runs on.
const TICKS_PER_S: u64 = 100;

/// The sample, and warnings about it.
///
/// # Errors
/// When a part is missing or cannot be read, or the guest's kernel complains.
pub(super) fn read(
    which: &Which<'_>,
    options: &AbOptions,
    said: &Said,
) -> Result<(Sample, Vec<Warning>)> {
    said.check_kernel()?;
    let world = which.world.word();
    let place = Place::sample(world, &which.arm.name, which.seed);
    let warnings = ["server", "hogs"].into_iter().flat_map(|program| {
        let lines = said.lines(&format!("{program}.err"));
        lines.map(move |line| Warning::new(Kind::ProgramMessage, format!("the {program}: {line}")))
    });
    let warnings = warnings.map(|it| it.at(&place)).collect();
    let cpu = cpu_record(0..options.shape.cpus(), said)?;
    // There is no such part without hogs.
    let spins = said.part("hogs").ok().map(|text| {
        hog::spins(text).with_context(|| format!("the hogs printed no count: {}", text.trim()))
    });
    let spins = spins.transpose()?;
    let observe = json(said, "observe")?;
    let sample = Sample {
        mode: world.to_owned(),
        arm: which.arm.name.clone(),
        round: which.seed,
        order: which.order,
        source_port: which.source_port(),
        client: client(options, said, &observe)?,
        observe,
        hog_rate: spins.map(|spins| spins / cpu.duration_s),
        cpu: Some(cpu),
    };
    Ok((sample, warnings))
}

fn json<T: DeserializeOwned>(said: &Said, part: &str) -> Result<T> {
    serde_json::from_str(said.part(part)?.trim())
        .with_context(|| format!("reading the {part} part"))
}

/// The client's report. iperf3 has no window of its own: of its flows, the observer counted what
/// arrived.
fn client(options: &AbOptions, said: &Said, observe: &ObserverReport) -> Result<ClientReport> {
    let number = |fields: &Map<String, Value>, name: &str| {
        let number = fields.get(name).and_then(Value::as_f64);
        number.with_context(|| format!("the observer counted no {name}"))
    };
    let seconds = number(&observe.other, "duration_s")?;
    let mut report = match said.part("client") {
        Ok(_) => json(said, "client")?,
        Err(_) => ClientReport::of_others(Duration::from_secs_f64(seconds)),
    };
    if options.workload.long_tool == LongTool::Iperf3 && options.workload.long_flows > 0 {
        let bytes = number(&observe.long.other, "bytes_received")?;
        report.long = Some(LongReport {
            flows: options.workload.long_flows.into(),
            bytes: bytes as u64,
            bytes_per_s: bytes / seconds,
            per_flow_bytes: Vec::new(),
            fairness: None,
            zerocopy: None,
            source: Some("the observer".to_owned()),
        });
    }
    Ok(report)
}

/// What the measured CPUs did between the marks.
fn cpu_record(cpus: Range<usize>, said: &Said) -> Result<CpuRecord> {
    let steps: Vec<&Mark> = said.marks.iter().filter(|mark| mark.mark == MEASURED).collect();
    ensure!(!steps.is_empty(), "the guest set no mark");
    let duration_s = steps.iter().map(|mark| mark.seconds()).sum();
    let stat = |part| Ticks::parse(said.part(part)?).context("reading the guest's /proc/stat");
    let (before, after) = (stat("stat-before")?, stat("stat-after")?);
    let time = |cpu: usize| {
        let busy_s = steps.iter().map(|mark| mark.cpus[cpu].busy_s()).sum();
        let accounted = after.since(&before, cpu, TICKS_PER_S);
        let accounted = accounted.with_context(|| format!("/proc/stat has no CPU {cpu}"))?;
        Ok((cpu, scaled(accounted, busy_s, duration_s)))
    };
    let by_cpu = cpus.clone().map(time).collect::<Result<BTreeMap<_, _>>>()?;
    let of_steps: Vec<&Cpu> = steps.iter().flat_map(|mark| &mark.cpus[cpus.clone()]).collect();
    Ok(CpuRecord {
        duration_s,
        cpus: joined(&cpus.collect::<Vec<_>>()),
        usage: Usage::new(by_cpu, duration_s),
        counters: counters(&of_steps),
        breakdown: None,
        network: None,
        warnings: Vec::new(),
    })
}

/// The kernel's account, with the model's busy time.
fn scaled(accounted: CpuTime, busy_s: f64, duration_s: f64) -> CpuTime {
    let CpuTime { user_s, system_s, softirq_s, irq_s, .. } = accounted;
    let sum = user_s + system_s + softirq_s + irq_s;
    let idle = CpuTime { idle_s: (duration_s - busy_s).max(0.0), ..CpuTime::default() };
    if sum == 0.0 {
        // No tick met work: what little there was is not known in kind.
        return CpuTime { system_s: busy_s, ..idle };
    }
    let share = busy_s / sum;
    CpuTime {
        user_s: share * user_s,
        system_s: share * system_s,
        softirq_s: share * softirq_s,
        irq_s: share * irq_s,
        ..idle
    }
}

/// What the model counted on these CPUs: instructions, stalls, and lines by where they came from.
fn counters(cpus: &[&Cpu]) -> IndexMap<String, Counter> {
    let mut counts: IndexMap<String, u64> = IndexMap::new();
    let mut add = |name: String, value: u64| *counts.entry(name).or_default() += value;
    for cpu in cpus {
        add("instructions".to_owned(), cpu.instructions);
        add("stalled_ns".to_owned(), cpu.stall_ps / 1000);
        for (from, lines) in &cpu.from {
            add(format!("lines_from_{from}"), lines.count.values().sum());
            add(format!("stalled_ns_{from}"), lines.ps / 1000);
        }
    }
    let counter = |(name, value)| {
        let count = Count { value: Some(value), running_share: Some(1.0) };
        (name, Counter { count, unavailable: None })
    };
    counts.into_iter().map(counter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_is_the_models_and_its_kinds_are_the_kernels() {
        // Powers of two, so that all sums are exact.
        let (user_s, softirq_s) = (0.25, 0.75);
        let time = scaled(CpuTime { user_s, softirq_s, ..CpuTime::default() }, 0.5, 2.0);
        assert_eq!((time.user_s, time.softirq_s, time.idle_s), (0.125, 0.375, 1.5));
        let unmet = scaled(CpuTime::default(), 0.5, 2.0);
        assert_eq!((unmet.system_s, unmet.idle_s), (0.5, 1.5));
    }
}
