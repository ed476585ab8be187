//! Checks of scx_steer's life: it unloads and reloads, refuses a second instance, and outlives a CPU
//! or a NIC that disappears.

use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::bench::{Bench, RESTART, moved};
use super::status::status;
use steer_lab::net;
use steer_scenario::scheduler::{self, JOB};

/// An operator who sees warnings at each start does not see the one that counts.
pub(super) fn starts_without_warning(bench: &mut Bench) -> Result<()> {
    let said = bench.guest.link.so_far(JOB)?;
    let warnings: Vec<_> = said.stderr.lines().filter(|line| line.contains("[WARN]")).collect();
    ensure!(said.stderr.contains("[INFO]"), "its log is elsewhere: {}", said.last_words());
    ensure!(warnings.is_empty(), "{}", warnings.join(" | "));
    Ok(())
}

pub(super) fn second_instance(bench: &mut Bench) -> Result<()> {
    let second = bench.guest.link.run(&["scx_steer"], RESTART)?;
    ensure!(second.code.is_some_and(|code| code != 0), "it ended with code {:?}", second.code);
    ensure!(
        second.stderr.contains("another sched_ext scheduler is loaded"),
        "its message is unclear: {}",
        second.last_words()
    );
    bench.in_force()
}

/// Each timer that runs on an idle host costs power.
pub(super) fn idle_host(bench: &mut Bench) -> Result<()> {
    // Upkeep runs fifty times per second: CLAIM_REFRESH_NS, bpf/src/bpf/place/load.bpf.h.
    const MOST: f64 = 55.0;
    let [ran, at, _, ran_then, then, _] = bench.numbers(
        "look() { awk '/HRTIMER/ {for (i = 2; i <= NF; i++) n += $i; print n}' /proc/softirqs; \
         cat /proc/uptime; }; look; sleep 4; look",
    )?;
    let rate = (ran_then - ran) / (then - at);
    bench.figures = format!(": {rate:.0} times per second");
    ensure!(rate <= MOST, "timers ran {rate:.0} times per second");
    Ok(())
}

pub(super) fn traffic(bench: &mut Bench) -> Result<()> {
    let (report, _) = bench.start_traffic()?.finish(&bench.guest.net)?;
    moved(&report)?;
    bench.in_force()
}

/// Unloads it by each signal, and loads it again. A wake-up during unloading must leave nothing behind
/// for the next scheduler: the kernel would complain.
pub(super) fn reloads(bench: &mut Bench) -> Result<()> {
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let traffic = bench.start_traffic()?;
        bench.guest.link.run(&["sleep", "2"], RESTART)?;
        scheduler::unload(&mut bench.guest.link, signal)?;
        bench.load()?;
        let (report, _) =
            traffic.finish(&bench.guest.net).context("the traffic did not survive")?;
        moved(&report)?;
    }
    bench.in_force()
}

pub(super) fn hotplug(bench: &mut Bench) -> Result<()> {
    const SWITCH: &str = "/sys/devices/system/cpu/cpu1/online";
    const TIMES_ENABLED: &str = "/sys/kernel/sched_ext/enable_seq";
    let traffic = bench.start_traffic()?;
    for online in ["0", "1"] {
        let before = bench.guest.link.read(TIMES_ENABLED)?;
        bench.guest.link.write(SWITCH, online)?;
        let deadline = Instant::now() + RESTART;
        while bench.guest.link.read(TIMES_ENABLED)? == before {
            ensure!(Instant::now() < deadline, "no restart after cpu1/online became {online}");
            bench.guest.link.run(&["sleep", "0.2"], RESTART)?;
        }
        bench.in_force()?;
    }
    // It must not wait until the kernel reports that the CPU left: that may never happen.
    let status = status(bench)?;
    ensure!(status.left_early == 1, "it left too late: {status:?}");
    moved(&traffic.finish(&bench.guest.net).context("the traffic did not survive")?.0)
}

pub(super) fn nic_disappears(bench: &mut Bench) -> Result<()> {
    // The connection to the agent goes through this NIC too. So a script in the guest does
    // everything, while that connection sleeps.
    let nic = &bench.facts.nics[0].name;
    let script = format!(
        "sleep 1; echo 1 > /sys/class/net/{nic}/device/../remove; sleep 3; \
         echo 1 > /sys/bus/pci/rescan; until ip address add {}/{} dev {nic}; do sleep 0.2; done; \
         ip link set {nic} up",
        net::GUEST,
        net::PREFIX
    );
    let done = bench.guest.link.run(&["sh", "-c", &script], RESTART)?;
    ensure!(done.success(), "the NIC did not come back: {}", done.last_words());
    bench.in_force()?;
    let (report, _) = bench.start_traffic()?.finish(&bench.guest.net)?;
    moved(&report)
}
