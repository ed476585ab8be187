//! The checks of a machine: what each microbenchmark should measure, from the machine's file.

use anyhow::{Context, Result};
use serde::Serialize;

use super::measured::Measured;
use super::{CORES, sizes};
use crate::machine::Machine;

/// First CPU of the other node.
const FAR: usize = CORES;
/// Most that a measured price may be off, as a share.
const PRICE: f64 = 0.10;
/// The same of a stream: how the loop's own work and the misses overlap is an estimate.
const STREAM: f64 = 0.15;
/// The machine in which nothing is remote.
const CONTROL: &str = "uniform";

/// One check.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Check {
    pub(super) what: String,
    pub(super) unit: &'static str,
    pub(super) measured: f64,
    pub(super) least: f64,
    pub(super) most: f64,
}

impl Check {
    pub(super) fn passed(&self) -> bool {
        (self.least..=self.most).contains(&self.measured)
    }
}

/// A machine and what was measured on it.
struct Subject<'a> {
    machine: &'a Machine,
    lines: &'a [Measured],
    checks: Vec<Check>,
}

/// All checks of a machine.
///
/// # Errors
/// When the guest did not report a measurement.
pub(super) fn all(machine: &Machine, lines: &[Measured]) -> Result<Vec<Check>> {
    let mut subject = Subject { machine, lines, checks: Vec::new() };
    subject.time()?;
    subject.latency()?;
    subject.streams()?;
    subject.pairs()?;
    if machine.id == CONTROL {
        subject.control()?;
    }
    Ok(subject.checks)
}

impl Subject<'_> {
    /// Within a share of what is wanted.
    fn near(
        &mut self,
        what: impl Into<String>,
        unit: &'static str,
        measured: f64,
        (wanted, off): (f64, f64),
    ) {
        self.between(what, unit, measured, wanted * (1.0 - off), wanted * (1.0 + off));
    }

    fn between(
        &mut self,
        what: impl Into<String>,
        unit: &'static str,
        measured: f64,
        least: f64,
        most: f64,
    ) {
        self.checks.push(Check { what: what.into(), unit, measured, least, most });
    }

    /// The first measurement that `of` knows.
    fn find(&self, what: &str, of: impl Fn(&Measured) -> Option<f64>) -> Result<f64> {
        let found = self.lines.iter().find_map(of);
        found.with_context(|| format!("the guest did not report: {what}"))
    }

    fn chase(&self, from: usize, to: usize, size: usize) -> Result<f64> {
        self.find("chase", |line| match *line {
            Measured::Chase { cpu, node, kib, ns } => {
                (cpu == from && node == to && kib == size).then_some(ns)
            }
            _ => None,
        })
    }

    fn stream(&self, to: usize, by: usize) -> Result<f64> {
        self.find("stream", |line| match *line {
            Measured::Stream { threads, node, gbs } => (node == to && threads == by).then_some(gbs),
            _ => None,
        })
    }

    fn bounce(&self, to: usize) -> Result<f64> {
        self.find("bounce", |line| match *line {
            Measured::Bounce { cpus: [0, cpu], ns } => (cpu == to).then_some(ns),
            _ => None,
        })
    }

    /// Time itself: CPUs do not slow each other, and sleeps are as long as they should be.
    fn time(&mut self) -> Result<()> {
        let alone = self.find("spin", |line| match line {
            Measured::Spin { ns } => ns.first().copied(),
            _ => None,
        })?;
        for line in self.lines {
            match line {
                Measured::Spin { ns } => {
                    let slowest = ns.iter().copied().fold(0.0, f64::max);
                    let what = format!("spin, the slowest of {} CPUs", ns.len());
                    self.near(what, "ns", slowest, (alone, 0.005));
                }
                // The kernel's timer slack is 50 us; the rest is leaving the idle state.
                Measured::Sleep { us, mean_us } => {
                    self.between(format!("sleep of {us} us"), "us", *mean_us, us + 50.0, us + 56.0);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Latency against the working set. The model's L1 is free, so what a chase in it takes are the
    /// loop's instructions.
    fn latency(&mut self) -> Result<()> {
        let [l1, l2, l3, beyond] = sizes(self.machine);
        let chases = [
            ("l2", 0, 0, l2),
            ("l3", 0, 0, l3),
            ("dram", 0, 0, beyond),
            ("dram_remote", 0, 1, beyond),
            ("dram_remote", FAR, 0, beyond),
            ("dram", FAR, 1, beyond),
        ];
        let loop_ns = self.chase(0, 0, l1)?;
        for (level, cpu, node, kib) in chases {
            let measured = self.chase(cpu, node, kib)? - loop_ns;
            let wanted = self.machine.value(&format!("latency.{level}"));
            let what = format!("load from {level}: CPU {cpu}, node {node}, {kib} KiB");
            self.near(what, "ns", measured, (wanted, PRICE));
        }
        let shared = self.find("shared", |line| match *line {
            Measured::Shared { peer, ns } => (peer == FAR).then_some(ns),
            _ => None,
        })?;
        let what = "load from l3 of what a core of the other node has, too";
        let wanted = self.machine.value("latency.l3");
        self.near(what, "ns", shared - loop_ns, (wanted, PRICE));
        Ok(())
    }

    /// Bandwidth: of one CPU as its misses overlap, and of all as the link allows.
    fn streams(&mut self) -> Result<()> {
        let [l1, ..] = sizes(self.machine);
        let loop_ns = self.chase(0, 0, l1)?;
        let overlap = self.machine.value("core.stream_lines");
        for (level, node) in [("dram", 0), ("dram_remote", 1)] {
            let line_ns = self.machine.value(&format!("latency.{level}")) / overlap + loop_ns / 4.0;
            let what = format!("stream from {level}, one CPU");
            self.near(what, "GB/s", self.stream(node, 1)?, (64.0 / line_ns, STREAM));
        }
        let link = self.machine.value("memory.link_gbs");
        let wanted = link.min(CORES as f64 * self.stream(1, 1)?);
        let what = format!("stream from dram_remote, {CORES} CPUs");
        self.near(what, "GB/s", self.stream(1, CORES)?, (wanted, PRICE));
        Ok(())
    }

    /// Lines and threads that two CPUs share.
    fn pairs(&mut self) -> Result<()> {
        let mut bounces = vec![("near", "latency.core", 1), ("far", "latency.core_remote", FAR)];
        if self.machine.count("cache.l3_cores") < CORES {
            bounces.push(("to another L3", "latency.core_other", CORES - 1));
        }
        for (what, key, cpu) in bounces {
            let wanted = 2.0 * self.machine.value(key);
            let what = format!("line bounce {what}, a round");
            self.near(what, "ns", self.bounce(cpu)?, (wanted, PRICE));
        }
        for (cpu, least, most) in [(0, 2.0, 6.0), (1, 4.0, 25.0), (FAR, 4.0, 25.0)] {
            let ns = self.find("pipe", |line| match *line {
                Measured::Pipe { cpus: [0, to], ns } => (to == cpu).then_some(ns),
                _ => None,
            })?;
            let what = format!("pipe from CPU 0 to {cpu}, a round");
            self.between(what, "us", ns / 1000.0, least, most);
        }
        let syscall = self.find("syscall", |line| match line {
            Measured::Syscall { ns } => Some(*ns),
            _ => None,
        })?;
        self.between("system call", "ns", syscall, 40.0, 250.0);
        Ok(())
    }

    /// On the control, the other node is as the own one.
    fn control(&mut self) -> Result<()> {
        let [.., beyond] = sizes(self.machine);
        let (near, far) = (self.chase(0, 0, beyond)?, self.chase(0, 1, beyond)?);
        self.near("control: load from the other node", "ns", far, (near, 0.01));
        let (near, far) = (self.stream(0, 1)?, self.stream(1, 1)?);
        self.near("control: stream from the other node", "GB/s", far, (near, 0.01));
        let write = |to: usize| {
            self.find("write", |line| match *line {
                Measured::Write { node, gbs } => (node == to).then_some(gbs),
                _ => None,
            })
        };
        let (near, far) = (write(0)?, write(1)?);
        self.near("control: stores to the other node", "GB/s", far, (near, 0.01));
        let gather = |to: usize| {
            self.find("gather", |line| match *line {
                Measured::Gather { node, ns } => (node == to).then_some(ns),
                _ => None,
            })
        };
        let (near, far) = (gather(0)?, gather(1)?);
        self.near("control: independent loads from the other node", "ns", far, (near, 0.01));
        let (near, far) = (self.bounce(1)?, self.bounce(FAR)?);
        self.near("control: line bounce to the other node", "ns", far, (near, 0.02));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_level_that_is_off_fails_and_a_missing_measurement_is_an_error() {
        let text = include_str!("../../machines/uniform.toml");
        let machine = Machine::parse(text, Path::new("uniform.toml")).unwrap();
        let lines: Vec<Measured> = include_str!("../../tests/calibrate-uniform.jsonl")
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let failed = |lines: &[Measured]| -> Vec<String> {
            let checks = all(&machine, lines).unwrap();
            checks.into_iter().filter(|check| !check.passed()).map(|check| check.what).collect()
        };
        assert_eq!(failed(&lines), [""; 0]);
        let mut slower = lines.clone();
        for line in &mut slower {
            if let Measured::Chase { cpu: 0, node: 1, ns, .. } = line {
                *ns *= 1.2;
            }
        }
        assert_eq!(
            failed(&slower),
            [
                "load from dram_remote: CPU 0, node 1, 59136 KiB",
                "control: load from the other node"
            ]
        );
        let error = all(&machine, &lines[..5]).unwrap_err();
        assert!(error.to_string().starts_with("the guest did not report"), "{error}");
    }
}
