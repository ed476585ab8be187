//! Checks what a command needs from the host before anything is loaded. Reports every missing
//! thing at once, each with the next step.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};

/// What a command needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Need {
    /// To load tracing programs.
    Tracing,
    /// To load a sched_ext scheduler.
    SchedExt,
}

/// Checks this host.
///
/// # Errors
/// One message that lists everything that is missing.
pub(crate) fn check(need: Need) -> Result<()> {
    Host { root: PathBuf::from("/") }.check(need)
}

/// Name of the sched_ext scheduler in force on this host.
pub(crate) fn in_force() -> Option<String> {
    Host { root: PathBuf::from("/") }.in_force().map(|(name, _)| name)
}

/// include/uapi/linux/capability.h
const CAPABILITIES: [(u32, &str); 2] = [(38, "CAP_PERFMON"), (39, "CAP_BPF")];

struct Host {
    root: PathBuf,
}

impl Host {
    fn check(&self, need: Need) -> Result<()> {
        let mut missing = Vec::new();
        missing.extend(self.capabilities());
        missing.extend(self.btf());
        missing.extend(self.kernel_config());
        if need == Need::SchedExt {
            missing.extend(self.sched_ext());
        }
        match &missing[..] {
            [] => Ok(()),
            [one] => bail!("{one}"),
            many => {
                let mut text = format!("this host lacks {} things:", many.len());
                for item in many {
                    write!(text, "\n  - {item}")?;
                }
                bail!(text)
            }
        }
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.root.join(path).exists()
    }

    fn release(&self) -> String {
        self.read("proc/sys/kernel/osrelease").unwrap_or_default().trim().to_string()
    }

    fn capabilities(&self) -> Option<String> {
        let status = self.read("proc/self/status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
        let effective = u64::from_str_radix(line.trim(), 16).ok()?;
        let lacking: Vec<_> = CAPABILITIES
            .iter()
            .filter(|(bit, _)| effective & (1 << bit) == 0)
            .map(|(_, name)| *name)
            .collect();
        (!lacking.is_empty()).then(|| {
            format!("loading BPF programs needs {}: run it as root (sudo)", lacking.join(", "))
        })
    }

    fn btf(&self) -> Option<String> {
        (!self.exists("sys/kernel/btf/vmlinux")).then(|| {
            "the kernel has no BTF (/sys/kernel/btf/vmlinux): boot one built with \
             CONFIG_DEBUG_INFO_BTF=y"
                .into()
        })
    }

    fn kernel_config(&self) -> Option<String> {
        let boot = format!("boot/config-{}", self.release());
        (!self.exists("proc/config.gz") && !self.exists(&boot)).then(|| {
            format!(
                "libbpf finds no kernel configuration, neither /proc/config.gz nor /{boot}: \
                 install the kernel package's config file, or boot a kernel with \
                 CONFIG_IKCONFIG_PROC=y"
            )
        })
    }

    /// Name and state of the sched_ext scheduler that is loaded.
    fn in_force(&self) -> Option<(String, String)> {
        let read = |file| self.read(file).map(|text| text.trim().to_owned());
        let state = read("sys/kernel/sched_ext/state").filter(|state| state != "disabled")?;
        Some((read("sys/kernel/sched_ext/root/ops").unwrap_or_else(|| "unknown".into()), state))
    }

    fn sched_ext(&self) -> Option<String> {
        if !self.exists("sys/kernel/sched_ext") {
            return Some(format!(
                "kernel {} has no sched_ext (/sys/kernel/sched_ext): boot one built with \
                 CONFIG_SCHED_CLASS_EXT=y, Linux 6.16 or later (`scx_steer observe` works without)",
                self.release()
            ));
        }
        let (other, state) = self.in_force()?;
        Some(format!(
            "another sched_ext scheduler is loaded: {other} (state {state}): stop it first"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = "CapEff:\t000001ffffffffff\n";

    /// A host with the given files, each with its content.
    fn host(files: &[(&str, &str)]) -> (tempfile::TempDir, Host) {
        let dir = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let root = dir.path().to_path_buf();
        (dir, Host { root })
    }

    const GOOD: [(&str, &str); 5] = [
        ("proc/self/status", ALL),
        ("proc/sys/kernel/osrelease", "6.18.15\n"),
        ("sys/kernel/btf/vmlinux", ""),
        ("boot/config-6.18.15", ""),
        ("sys/kernel/sched_ext/state", "disabled\n"),
    ];

    fn error(files: &[(&str, &str)], need: Need) -> String {
        host(files).1.check(need).unwrap_err().to_string()
    }

    #[test]
    fn a_complete_host_passes() {
        assert!(host(&GOOD).1.check(Need::SchedExt).is_ok());
    }

    #[test]
    fn tracing_does_not_need_sched_ext() {
        assert!(host(&GOOD[..4]).1.check(Need::Tracing).is_ok());
        assert!(error(&GOOD[..4], Need::SchedExt).contains("CONFIG_SCHED_CLASS_EXT=y"));
    }

    #[test]
    fn missing_capabilities_are_named() {
        let mut files = GOOD;
        files[0].1 = "CapEff:\t0000000000001000\n";
        let error = error(&files, Need::Tracing);
        assert_eq!(error, "loading BPF programs needs CAP_PERFMON, CAP_BPF: run it as root (sudo)");
    }

    #[test]
    fn all_that_is_missing_is_listed() {
        let error = error(&[GOOD[0], GOOD[1]], Need::SchedExt);
        assert!(error.starts_with("this host lacks 3 things:\n  - the kernel has no BTF"));
        assert!(error.contains("neither /proc/config.gz nor /boot/config-6.18.15"));
        assert!(error.contains("kernel 6.18.15 has no sched_ext"));
    }

    #[test]
    fn another_scheduler_is_named() {
        let mut files = GOOD.to_vec();
        files[4].1 = "enabled\n";
        files.push(("sys/kernel/sched_ext/root/ops", "scx_bpfland_1.1.4\n"));
        let error = error(&files, Need::SchedExt);
        assert!(error.contains("is loaded: scx_bpfland_1.1.4 (state enabled): stop it first"));
    }
}
