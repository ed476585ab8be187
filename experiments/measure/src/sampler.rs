//! Samples kernel stacks on every CPU: by cycles if the CPU counts them, otherwise by a clock.

use std::io;

use anyhow::{Context, Result};
use perf_event::events::{Hardware, Software};
use perf_event::{Builder, SampleFlag};

use super::record::Record;
use super::rights;

/// Samples per second and CPU. This resolves 1 % within seconds, and does not run in step with
/// timers, which have round rates.
pub(crate) const HZ: u64 = 997;

/// Bytes of each CPU's ring buffer. A stack takes about 250 bytes, so the buffer holds two seconds.
/// It is the largest that unprivileged users may have (kernel.perf_event_mlock_kb).
const RING_BYTES: usize = 512 << 10;

/// What triggers a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// A number of cycles. On most CPUs, disabled interrupts do not delay the sample.
    Cycles,
    /// A timer interrupt.
    Clock,
}

impl Trigger {
    /// The event's name, as perf(1) calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::Clock => "cpu-clock",
        }
    }

    /// Tries on one CPU which trigger this machine has.
    fn find(cpu: usize) -> Self {
        match self::builder(Self::Cycles, cpu).build() {
            Ok(_) => Self::Cycles,
            // If the kernel refuses, opening the clock fails again, and reports it.
            Err(_) => Self::Clock,
        }
    }
}

/// Samplers on some CPUs.
pub(crate) struct Samplers {
    trigger: Trigger,
    samplers: Vec<perf_event::Sampler>,
}

impl Samplers {
    /// Opens one sampler per CPU, without starting it.
    ///
    /// # Errors
    /// When the user has no right to sample the whole machine.
    pub(crate) fn open(cpus: &[usize]) -> Result<Self> {
        let trigger = cpus.first().map_or(Trigger::Clock, |cpu| Trigger::find(*cpu));
        let open = |cpu: &usize| {
            builder(trigger, *cpu)
                .build()
                .and_then(|counter| counter.sampled(RING_BYTES))
                .map_err(|error| refused(error, *cpu))
        };
        Ok(Self { trigger, samplers: cpus.iter().map(open).collect::<Result<_>>()? })
    }

    /// The trigger of these samplers.
    pub(crate) fn trigger(&self) -> Trigger {
        self.trigger
    }

    /// Starts sampling.
    ///
    /// # Errors
    /// When a CPU went offline.
    pub(crate) fn start(&mut self) -> Result<()> {
        for sampler in &mut self.samplers {
            sampler.as_counter_mut().enable().context("cannot start sampling")?;
        }
        Ok(())
    }

    /// Stops sampling.
    ///
    /// # Errors
    /// When a CPU went offline.
    pub(crate) fn stop(&mut self) -> Result<()> {
        for sampler in &mut self.samplers {
            sampler.as_counter_mut().disable().context("cannot stop sampling")?;
        }
        Ok(())
    }

    /// Passes all present records to `take`.
    ///
    /// # Errors
    /// When a record is damaged.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(Record)) -> Result<()> {
        for sampler in &mut self.samplers {
            while let Some(record) = sampler.next_record() {
                let body = record.to_contiguous();
                take(
                    Record::parse(record.ty(), record.misc(), &body)
                        .context("the kernel's ring buffer holds a damaged record")?,
                );
            }
        }
        Ok(())
    }
}

fn builder(trigger: Trigger, cpu: usize) -> Builder<'static> {
    let mut builder = match trigger {
        Trigger::Cycles => Builder::new(Hardware::CPU_CYCLES),
        Trigger::Clock => Builder::new(Software::CPU_CLOCK),
    };
    // Sample the idle thread too: softirqs that wake a CPU run in it.
    builder
        .any_pid()
        .one_cpu(cpu)
        .exclude_kernel(false)
        .exclude_callchain_user(true)
        .sample_frequency(HZ)
        .sample(SampleFlag::PERIOD)
        .sample(SampleFlag::CALLCHAIN);
    builder
}

fn refused(error: io::Error, cpu: usize) -> anyhow::Error {
    rights::refusal(&error).unwrap_or_else(|| {
        anyhow::Error::new(error).context(format!("cannot sample the stacks of CPU {cpu}"))
    })
}
