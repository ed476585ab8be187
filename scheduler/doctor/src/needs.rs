//! What a command needs from the host before anything is loaded. The checks under *Will it load* and
//! the commands that load programs read it here.

use std::path::Path;

use crate::case::Unchecked;
use crate::root::Root;

/// include/uapi/linux/capability.h
const CAPABILITIES: [(u32, &str); 2] = [(38, "CAP_PERFMON"), (39, "CAP_BPF")];

pub(crate) const BTF: &str = "sys/kernel/btf/vmlinux";
pub(crate) const SCHED_EXT: &str = "sys/kernel/sched_ext";
pub(crate) const REALTIME: &str = "sys/kernel/realtime";
pub(crate) const ISOLATED: &str = "sys/devices/system/cpu/isolated";

/// What the host below `root` lacks for tracing programs, each with the next step.
pub fn missing_for_tracing(root: &Path) -> Vec<String> {
    let root = Root::new(root);
    let mut missing = Vec::new();
    if let Some(lacking) = lacking_capabilities(&root, "CapEff").filter(|them| !them.is_empty()) {
        let lacking = lacking.join(", ");
        missing.push(format!("loading BPF programs needs {lacking}: run it as root (sudo)"));
    }
    if !root.exists(BTF) {
        missing.push(format!(
            "the kernel has no BTF (/{BTF}): boot one built with CONFIG_DEBUG_INFO_BTF=y"
        ));
    }
    if !libbpf_finds_config(&root) {
        missing.push(format!(
            "libbpf finds no kernel configuration, neither /proc/config.gz nor /{}: install the \
             kernel package's config file, or boot a kernel with CONFIG_IKCONFIG_PROC=y",
            boot_config(&root)
        ));
    }
    missing
}

/// What the host below `root` lacks for a sched_ext scheduler, each with the next step.
pub fn missing_for_sched_ext(root: &Path) -> Vec<String> {
    let mut missing = missing_for_tracing(root);
    let root = Root::new(root);
    if !root.exists(SCHED_EXT) {
        missing.push(format!(
            "kernel {} has no sched_ext (/{SCHED_EXT}): boot one built with \
             CONFIG_SCHED_CLASS_EXT=y, Linux 6.12 or later (`scx_steer observe` works without)",
            release(&root)
        ));
    } else if let Some((other, state)) = loaded(&root) {
        missing.push(format!(
            "another sched_ext scheduler is loaded: {other} (state {state}): stop it first"
        ));
    }
    if matches!(root.value(REALTIME), Ok(Some(1))) {
        missing.push(
            "the kernel is a real-time kernel, which refuses sched_ext: boot one without PREEMPT_RT"
                .into(),
        );
    }
    if let Ok(Some(cpus)) = isolated(&root) {
        missing.push(format!(
            "CPUs {cpus} were isolated at boot, so the kernel refuses sched_ext: boot without isolcpus="
        ));
    }
    missing
}

/// The CPUs that were isolated from the scheduler at boot, if there are any.
pub(crate) fn isolated(root: &Root) -> Result<Option<String>, Unchecked> {
    root.value(ISOLATED)
}

/// Name of the sched_ext scheduler in force on the host below `root`.
pub fn in_force(root: &Path) -> Option<String> {
    loaded(&Root::new(root)).map(|(name, _)| name)
}

/// Name and state of the sched_ext scheduler that is loaded.
pub(crate) fn loaded(root: &Root) -> Option<(String, String)> {
    let read = |file: &str| root.text(&format!("{SCHED_EXT}/{file}")).ok().flatten();
    let state = read("state").filter(|state| state != "disabled")?;
    Some((read("root/ops").unwrap_or_else(|| "unknown".into()), state))
}

/// The capabilities that one set of this process lacks; `None` if the set cannot be read.
pub(crate) fn lacking_capabilities(root: &Root, set: &str) -> Option<Vec<&'static str>> {
    let status = root.text("proc/self/status").ok()??;
    let of_set = |line: &str| Some(line.strip_prefix(set)?.strip_prefix(':')?.trim().to_owned());
    let held = u64::from_str_radix(&status.lines().find_map(of_set)?, 16).ok()?;
    let lacks = |(bit, _): &&(u32, &str)| held & (1 << bit) == 0;
    Some(CAPABILITIES.iter().filter(lacks).map(|(_, name)| *name).collect())
}

/// libbpf looks in these two places only.
pub(crate) fn libbpf_finds_config(root: &Root) -> bool {
    root.exists("proc/config.gz") || root.exists(&boot_config(root))
}

pub(crate) fn boot_config(root: &Root) -> String {
    format!("boot/config-{}", release(root))
}

pub(crate) fn release(root: &Root) -> String {
    root.text("proc/sys/kernel/osrelease").ok().flatten().unwrap_or_default()
}

/// Major and minor number of a kernel's release; `None` if it has none.
pub(crate) fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const ALL: &str = "CapEff:\t000001ffffffffff\n";

    /// A host with the given files, each with its content.
    fn host(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        dir
    }

    const GOOD: [(&str, &str); 5] = [
        ("proc/self/status", ALL),
        ("proc/sys/kernel/osrelease", "6.18.15\n"),
        ("sys/kernel/btf/vmlinux", ""),
        ("boot/config-6.18.15", ""),
        ("sys/kernel/sched_ext/state", "disabled\n"),
    ];

    #[test]
    fn a_complete_host_lacks_nothing() {
        assert_eq!(missing_for_sched_ext(host(&GOOD).path()), [""; 0]);
    }

    #[test]
    fn tracing_does_not_need_sched_ext() {
        let host = host(&GOOD[..4]);
        assert_eq!(missing_for_tracing(host.path()), [""; 0]);
        let missing = missing_for_sched_ext(host.path());
        assert!(missing[0].contains("CONFIG_SCHED_CLASS_EXT=y"), "{missing:?}");
    }

    #[test]
    fn missing_capabilities_are_named() {
        let mut files = GOOD;
        files[0].1 = "CapEff:\t0000000000001000\n";
        assert_eq!(
            missing_for_tracing(host(&files).path()),
            ["loading BPF programs needs CAP_PERFMON, CAP_BPF: run it as root (sudo)"]
        );
    }

    #[test]
    fn all_that_is_missing_is_listed() {
        let missing = missing_for_sched_ext(host(&[GOOD[0], GOOD[1]]).path());
        let [btf, config, sched_ext] = &missing[..] else { panic!("{missing:?}") };
        assert!(btf.starts_with("the kernel has no BTF"));
        assert!(config.contains("neither /proc/config.gz nor /boot/config-6.18.15"));
        assert!(sched_ext.contains("kernel 6.18.15 has no sched_ext"));
    }

    #[test]
    fn another_scheduler_is_named() {
        let mut files = GOOD.to_vec();
        files[4].1 = "enabled\n";
        files.push(("sys/kernel/sched_ext/root/ops", "scx_bpfland_1.1.4\n"));
        let missing = missing_for_sched_ext(host(&files).path());
        assert!(missing[0].contains("is loaded: scx_bpfland_1.1.4 (state enabled): stop it first"));
    }
}
