//! How CPUs sleep, and how fast they run.

use std::collections::BTreeMap;

use crate::case::{Case, Checked};
use crate::host::Host;
use crate::row::{Area, Row, Severity};

const CPUS: &str = "sys/devices/system/cpu";

pub(crate) const SLEEP: Row = Row {
    id: "deep-sleep-states",
    area: Area::Host,
    severity: Severity::Warning,
    title: "CPUs use sleep states that take longer to leave than a wake-up may take.",
    looks: "latency and disable of each state in /sys/devices/system/cpu/cpuN/cpuidle. The bound is \
            50 µs; `--wake-up-us` sets another.",
    why: "A request that meets a sleeping CPU waits for it to wake, and so does each interrupt. The \
          RHEL 7.2 article's measurements were made without C-states. Shallow states cost power.",
    source: "RHEL 7.2 article, Performance Data Ahead; Documentation/admin-guide/pm/cpuidle.rst",
    fix: "echo 1 | sudo tee /sys/devices/system/cpu/cpu*/cpuidle/state{state}/disable",
    undo: "echo 0 | sudo tee /sys/devices/system/cpu/cpu*/cpuidle/state{state}/disable",
    check: |host| {
        let mut deep: BTreeMap<u32, (String, String, u64, usize)> = BTreeMap::new();
        for cpu in host.root.numbered(CPUS, "cpu")? {
            let states = format!("{CPUS}/cpu{cpu}/cpuidle");
            for state in host.root.numbered(&states, "state")? {
                let file = |name: &str| format!("{states}/state{state}/{name}");
                let latency: u64 = host.root.value(&file("latency"))?.unwrap_or(0);
                let off = host.root.value(&file("disable"))?.unwrap_or(0_u64) != 0;
                if off || latency <= host.wanted.wake_up_us {
                    continue;
                }
                let name = host.root.text(&file("name"))?.unwrap_or_default();
                deep.entry(state).or_insert((file("latency"), name, latency, 0)).3 += 1;
            }
        }
        let case = |(state, (file, name, latency, cpus)): (u32, (String, String, u64, usize))| {
            let value = format!("{latency} µs, on {cpus} CPUs");
            Case::of(name).saw(file, value).with("state", state)
        };
        Ok(deep.into_iter().map(case).collect())
    },
};

pub(crate) const GOVERNOR: Row = Row {
    id: "cpu-frequency-saves-power",
    area: Area::Host,
    severity: Severity::Warning,
    title: "CPUs are set to save power before they run fast.",
    looks: "scaling_governor of each CPU: `powersave` and `conservative`. Under intel_pstate and \
            amd-pstate-epp, where `powersave` is the usual one, energy_performance_preference: `power` \
            and `balance_power`.",
    why: "CPUs that rest between packets never reach the frequency they could: each packet then costs \
          more time.",
    source: "Documentation/admin-guide/pm/cpufreq.rst, intel_pstate.rst, amd-pstate.rst",
    fix: "echo {better} | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/{file}",
    undo: "echo {now} | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/{file}",
    check: governor,
};

fn governor(host: &Host) -> Checked {
    // by setting and value: the first file that has it, and how many CPUs do
    let mut slow: BTreeMap<(&str, String), (String, usize)> = BTreeMap::new();
    for cpu in host.root.numbered(CPUS, "cpu")? {
        let path = |name: &str| format!("{CPUS}/cpu{cpu}/cpufreq/{name}");
        let hint = "energy_performance_preference";
        // drivers that take a hint set the frequency themselves
        let (file, saving) = match host.root.text(&path(hint))? {
            Some(_) => (hint, ["power", "balance_power"]),
            None => ("scaling_governor", ["powersave", "conservative"]),
        };
        let Some(value) = host.root.text(&path(file))? else { continue };
        if saving.contains(&value.as_str()) {
            slow.entry((file, value)).or_insert((path(file), 0)).1 += 1;
        }
    }
    let case = |((file, now), (path, cpus)): ((&str, String), (String, usize))| {
        Case::host()
            .saw(path, format!("{now}, on {cpus} CPUs"))
            .with("file", file)
            .with("now", now)
            .with("better", "performance")
    };
    Ok(slow.into_iter().map(case).collect())
}
