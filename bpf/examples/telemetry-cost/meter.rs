//! Time in the telemetry's programs, as the kernel counts it, less what it counts for a program that
//! does nothing.

use std::{
    io,
    os::fd::{FromRawFd, OwnedFd},
};

use anyhow::Result;
use libbpf_rs::{libbpf_sys, query::ProgInfoIter};
use steer_bpf::{Nothing, Telemetry};

/// Counts from each start to the next stop, if it counts at all.
#[derive(Default)]
pub(crate) struct Meter {
    /// The kernel counts until this is dropped.
    counting: Option<(OwnedFd, Nothing)>,
    telemetry: Time,
    nothing: Time,
}

/// Of programs: how long they ran, and how often.
#[derive(Default)]
struct Time {
    ns: i128,
    runs: i128,
}

impl Meter {
    /// One that counts.
    pub(crate) fn counting(telemetry: &Telemetry<'_>) -> Result<Self> {
        let nothing = telemetry.add_nothing()?;
        // SAFETY: no memory is touched; the descriptor is ours.
        let counting = unsafe {
            let fd = libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME);
            if fd < 0 {
                return Err(io::Error::last_os_error().into());
            }
            OwnedFd::from_raw_fd(fd)
        };
        Ok(Self { counting: Some((counting, nothing)), ..Self::default() })
    }

    pub(crate) fn start(&mut self) {
        self.add(-1);
    }

    pub(crate) fn stop(&mut self) {
        self.add(1);
    }

    fn add(&mut self, sign: i128) {
        if self.counting.is_none() {
            return;
        }
        for program in ProgInfoIter::default() {
            let time = match program.name.to_str() {
                Some("telemetry_send" | "telemetry_receive") => &mut self.telemetry,
                Some("nothing") => &mut self.nothing,
                _ => continue,
            };
            time.ns += sign * i128::from(program.run_time_ns);
            time.runs += sign * i128::from(program.run_cnt);
        }
    }

    /// Nanoseconds per send or receive.
    pub(crate) fn ns_per_event(&self) -> f64 {
        self.telemetry.per_run() - self.nothing.per_run()
    }
}

impl Time {
    fn per_run(&self) -> f64 {
        self.ns as f64 / self.runs as f64
    }
}
