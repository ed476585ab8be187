//! One measurement: opens all instruments, then runs them over the same time.

use std::fs::File;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit, setrlimit};

use super::breakdown::Tally;
use super::counters::{Counters, Unavailable};
use super::kallsyms::Symbols;
use super::network::Counts;
use super::options::CpuOptions;
use super::report::{CountersReport, CpuReport, Usage};
use super::sampler::{Samplers, Trigger};
use super::stack::Classifier;
use super::symbol_map::SymbolMap;
use super::usage::Ticks;
use super::{cgroup, events, warnings};
use steer_ground::cpus::CpuList;
use steer_ground::stop::Stop;

/// Printed once all instruments are open. Programs that start traffic wait for it.
const READY: &str = "ready";

/// How often the ring buffers are emptied. They have room for several times this long.
const DRAIN_EVERY: Duration = Duration::from_millis(250);

/// Measures for the time asked for, or until SIGINT or SIGTERM.
///
/// # Errors
/// When a CPU or the cgroup does not exist, this user may not measure, or a signal arrives before
/// anything was measured.
pub(crate) fn measure(options: &CpuOptions) -> Result<CpuReport> {
    let start = Instant::now() + options.lead.duration();
    let list = chosen(options.cpus.as_ref(), &Ticks::read()?)?;
    let cpus: Vec<_> = list.iter().collect();
    let cgroup = options.cgroup.as_deref().map(cgroup::open).transpose().context("--cgroup")?;
    let mut instruments = Instruments::open(&cpus, cgroup.as_ref())?;
    let stop = Stop::on_signal()?;
    eprintln!("{READY}");
    let lead = start.saturating_duration_since(Instant::now());
    if !lead.is_zero() && pause(&stop, lead)? {
        bail!("stopped within --lead, before anything was measured");
    }

    let (before, counted) = (Ticks::read()?, Counts::read()?);
    let began = Instant::now();
    instruments.start()?;
    while let Some(left) = options.duration.duration().checked_sub(began.elapsed())
        && !pause(&stop, left.min(DRAIN_EVERY))?
    {
        instruments.drain()?;
    }
    instruments.stop()?;
    let duration_s = began.elapsed().as_secs_f64();
    let after = Ticks::read()?;
    let network = Counts::read()?.since(&counted, duration_s);
    instruments.drain()?;

    let by_cpu = cpus.iter().map(|&cpu| {
        let time = after.since(&before, cpu, procfs::ticks_per_second());
        Ok((cpu, time.with_context(|| format!("CPU {cpu} went offline during the measurement"))?))
    });
    let usage = Usage::new(by_cpu.collect::<Result<_>>()?, duration_s);
    let unaccounted = warnings::unaccounted(&usage, duration_s);
    let mut report = instruments.report(usage, duration_s, &list)?;
    report.network = Some(network);
    report.warnings.extend(unaccounted);
    if !options.lead.duration().is_zero() {
        report.warnings.extend(warnings::late(began.saturating_duration_since(start)));
    }
    pause(&stop, options.tail.duration())?;
    Ok(report)
}

/// The CPUs to measure.
fn chosen(wanted: Option<&CpuList>, ticks: &Ticks) -> Result<CpuList> {
    let online = CpuList::of(ticks.cpus()).context("/proc/stat names no CPU")?;
    let Some(wanted) = wanted else { return Ok(online) };
    if let Some(missing) = CpuList::of(wanted.iter().filter(|cpu| !online.contains(*cpu))) {
        bail!("--cpus: CPU {missing} is not online here; online CPUs: {online}");
    }
    Ok(wanted.clone())
}

/// Sleeps. True when the process was asked to stop meanwhile.
fn pause(stop: &Stop, time: Duration) -> Result<bool> {
    let timeout = Timespec::try_from(time).context("the time is too long")?;
    match poll(&mut [PollFd::new(stop, PollFlags::IN)], Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error).context("cannot wait"),
    }
}

/// All instruments except /proc/stat.
struct Instruments {
    machine: Counters,
    cgroup: Option<Counters>,
    unavailable: Unavailable,
    samplers: Samplers,
    classifier: Classifier,
    tally: Tally,
}

impl Instruments {
    fn open(cpus: &[usize], cgroup: Option<&File>) -> Result<Self> {
        raise_file_limit();
        let mut unavailable = Unavailable::new();
        let machine = Counters::open(events::MACHINE, cpus, None, &mut unavailable)?;
        let cgroup = cgroup
            .map(|folder| Counters::open(events::CGROUP, cpus, Some(folder), &mut unavailable))
            .transpose()?;
        let samplers = Samplers::open(cpus)?;
        let by_clock = samplers.trigger() == Trigger::Clock;
        let classifier = Classifier::new(Symbols::read()?, SymbolMap::built_in()?, by_clock);
        let tally = Tally::default();
        Ok(Self { machine, cgroup, unavailable, samplers, classifier, tally })
    }

    fn start(&mut self) -> Result<()> {
        self.machine.start()?;
        self.cgroup.as_mut().map(Counters::start).transpose()?;
        self.samplers.start()
    }

    fn stop(&mut self) -> Result<()> {
        self.samplers.stop()?;
        self.cgroup.as_mut().map(Counters::stop).transpose()?;
        self.machine.stop()
    }

    fn drain(&mut self) -> Result<()> {
        self.samplers.drain(|record| self.tally.add(record, &mut self.classifier))
    }

    fn report(&mut self, usage: Usage, duration_s: f64, cpus: &CpuList) -> Result<CpuReport> {
        let breakdown = self.tally.breakdown(self.samplers.trigger(), &self.classifier);
        let warnings = warnings::warnings(breakdown.as_ref(), &usage, self.tally.was_throttled());
        Ok(CpuReport {
            version: CpuReport::VERSION,
            duration_s,
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            cpus: cpus.to_string(),
            usage,
            counters: CountersReport {
                machine: self.machine.read()?,
                cgroup: self.cgroup.as_mut().map(Counters::read).transpose()?,
                unavailable: self.unavailable.clone(),
            },
            breakdown,
            network: None,
            warnings,
        })
    }
}

/// Raises the limit of open files. Counters need up to 18 files per CPU, and the usual limit is too
/// low for 64 CPUs.
fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // A failure is not fatal: if the limit is too low, opening the counters fails with a message.
    let _ = setrlimit(Resource::Nofile, limit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_those_online_or_those_named() {
        let ticks = Ticks::parse("cpu0 1 1 1 1 1 1 1 1\ncpu2 1 1 1 1 1 1 1 1\n").unwrap();
        assert_eq!(chosen(None, &ticks).unwrap().to_string(), "0,2");
        let one: CpuList = "2".parse().unwrap();
        assert_eq!(chosen(Some(&one), &ticks).unwrap(), one);
        let error = chosen(Some(&"0-3".parse().unwrap()), &ticks).unwrap_err().to_string();
        assert_eq!(error, "--cpus: CPU 1,3 is not online here; online CPUs: 0,2");
    }
}
