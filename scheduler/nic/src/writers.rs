//! Finds other programs that set what host steering sets. Two programs that set the same thing undo
//! each other's work, so each one found is named, with what to do.

use std::fs;
use std::path::Path;

use serde::Serialize;

/// A program or file that sets interrupts, channels or packet steering as well.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Writer {
    /// Its name.
    pub name: String,
    /// Where it was seen: a process, or a line of a file.
    pub seen: String,
    /// What it sets.
    pub sets: String,
    /// What to do about it.
    pub advice: String,
}

/// Process name (15 characters, as /proc/PID/comm cuts it), what it sets, what to do.
const PROCESSES: [(&str, &str, &str); 8] = [
    (
        "irqbalance",
        "IRQ affinity",
        "scx_steer nic asks it to leave the interrupts alone that it moves; an irqbalance without a \
         socket must be stopped (systemctl stop irqbalance)",
    ),
    (
        "tuned",
        "channels, coalescing, IRQ affinity, as its profile says (plugins net, irq, scheduler)",
        "disable these plugins in the profile, or stop it (tuned-adm off)",
    ),
    ("katalyst-agent", "IRQ affinity", "switch its irqtuner off"),
    (
        "google_guest_ag",
        "IRQ affinity and XPS, at boot and when interfaces change",
        "set set_multiqueue = false in /etc/default/instance_configs.cfg",
    ),
    ("waagent", "settings of network devices, at boot", "see /etc/waagent.conf"),
    (
        "crio",
        "IRQ affinity of CPUs that containers have to themselves (annotation irq-load-balancing)",
        "do not use the annotation on this host",
    ),
    (
        "nri-resource-po",
        "IRQ affinity, if its policy has interrupts follow the CPUs",
        "leave interrupts out of its policy",
    ),
    ("irqd", "IRQ affinity and RPS", "stop it"),
];

/// Text in an active line of a unit, udev rule or .link file, and what such a line sets.
const LINES: [(&str, &str); 14] = [
    ("perftune.py", "IRQ affinity, RPS, RFS and XPS"),
    ("set_irq_affinity", "IRQ affinity and XPS"),
    ("mlnx_affinity", "IRQ affinity"),
    ("mlnx_tune", "IRQ affinity and coalescing"),
    ("google_set_multiqueue", "IRQ affinity and XPS"),
    ("smp_affinity", "IRQ affinity"),
    ("rps_cpus", "RPS"),
    ("rps_flow_cnt", "RFS"),
    ("xps_cpus", "XPS"),
    ("ethtool -L", "channels"),
    ("ethtool -X", "the RSS table"),
    ("CombinedChannels=", "channels"),
    ("IRQAffinityPolicy=", "IRQ affinity"),
    ("ReceivePacketSteeringCPUMask=", "RPS"),
];

/// Folders with files that may have such lines, and the endings of those files.
const FOLDERS: [(&str, &str); 7] = [
    ("etc/systemd/system", "service"),
    ("usr/lib/systemd/system", "service"),
    ("etc/systemd/network", "link"),
    ("run/systemd/network", "link"),
    ("usr/lib/systemd/network", "link"),
    ("etc/udev/rules.d", "rules"),
    ("usr/lib/udev/rules.d", "rules"),
];

/// All that are found below `root`, by name.
pub fn writers(root: &Path) -> Vec<Writer> {
    let mut found: Vec<Writer> = processes(root).into_iter().chain(files(root)).collect();
    found.sort();
    found
}

fn processes(root: &Path) -> Vec<Writer> {
    let entries = fs::read_dir(root.join("proc")).into_iter().flatten().flatten();
    let named = entries.filter_map(|entry| {
        let process: u32 = entry.file_name().to_str()?.parse().ok()?;
        let name = fs::read_to_string(entry.path().join("comm")).ok()?;
        let (name, sets, advice) = PROCESSES.iter().find(|(known, ..)| *known == name.trim())?;
        Some(Writer {
            name: (*name).to_owned(),
            seen: format!("process {process}"),
            sets: (*sets).to_owned(),
            advice: (*advice).to_owned(),
        })
    });
    named.collect()
}

fn files(root: &Path) -> Vec<Writer> {
    let mut found = Vec::new();
    for (folder, ending) in FOLDERS {
        let entries = fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        for path in paths.filter(|path| path.extension() == Some(ending.as_ref())) {
            found.extend(line_of(&path));
        }
    }
    found
}

/// The first line of a file that sets something.
fn line_of(path: &Path) -> Option<Writer> {
    let text = fs::read_to_string(path).ok()?;
    let active = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#'));
    let setting = |line: &str| LINES.iter().find(|(pattern, _)| line.contains(pattern));
    let (number, sets) = active
        .filter(|(_, line)| {
            !line.starts_with("Description=") && !line.starts_with("Documentation=")
        })
        .find_map(|(number, line)| Some((number + 1, setting(line)?.1)))?;
    Some(Writer {
        name: path.file_name()?.to_str()?.to_owned(),
        seen: format!("{}:{number}", path.display()),
        sets: sets.to_owned(),
        advice: "take the line out, or leave this device to it (scx_steer nic keeps off it)".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_and_lines_of_files_are_named() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/812/comm", "irqbalance\n");
        write("proc/813/comm", "bash\n");
        write("proc/irq/comm", "irqbalance\n");
        write(
            "etc/systemd/system/scylla-tune.service",
            "[Unit]\nDescription=runs perftune.py\n[Service]\n#ExecStart=set_irq_affinity\n\
             ExecStart=/opt/perftune.py --nic eth0\n",
        );
        write("etc/systemd/network/10-eth.link", "[Link]\nCombinedChannels=8\n");
        write("etc/systemd/network/20-eth.link", "[Link]\n# CombinedChannels=8\nMTUBytes=9000\n");
        write("etc/udev/rules.d/60-net.rules.bak", "smp_affinity");
        let found = writers(root.path());
        let names: Vec<&str> = found.iter().map(|writer| writer.name.as_str()).collect();
        assert_eq!(names, ["10-eth.link", "irqbalance", "scylla-tune.service"]);
        assert_eq!(found[1].seen, "process 812");
        assert!(found[2].seen.ends_with("scylla-tune.service:5"), "{}", found[2].seen);
        assert_eq!(found[2].sets, "IRQ affinity, RPS, RFS and XPS");
    }

    #[test]
    fn a_host_without_any_is_quiet() {
        assert_eq!(writers(tempfile::tempdir().unwrap().path()), []);
    }

    #[test]
    fn names_are_as_the_kernel_cuts_them() {
        assert!(PROCESSES.iter().all(|(name, ..)| name.len() <= 15));
    }
}
