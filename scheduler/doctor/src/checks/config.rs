//! How the running kernel was built: its configuration and its BTF.

use std::io::Read;

use flate2::read::GzDecoder;

use crate::case::{Case, Checked, Unchecked};
use crate::host::Host;
use crate::needs::{BTF, SCHED_EXT, boot_config, libbpf_finds_config};
use crate::row::{Area, Row, Severity};

/// From 7.1 on, kernels have kernel functions whose BTF older paholes write malformed.
const NEEDS_TAGS: (u32, u32) = (7, 1);
/// pahole 1.26, as the configuration writes it.
const PAHOLE: u32 = 126;

/// Options that scx_steer needs, and a file that is only there with the option: the sign where no
/// configuration can be read.
const NEEDED: [(&str, &str); 6] = [
    ("CONFIG_SCHED_CLASS_EXT", SCHED_EXT),
    ("CONFIG_BPF_SYSCALL", "proc/sys/kernel/unprivileged_bpf_disabled"),
    ("CONFIG_BPF_JIT", "proc/sys/net/core/bpf_jit_enable"),
    ("CONFIG_DEBUG_INFO_BTF", BTF),
    // the sign is of tracing events alone; BPF on them comes by default
    ("CONFIG_BPF_EVENTS", "sys/bus/event_source/devices/tracepoint"),
    ("CONFIG_CGROUPS", "proc/cgroups"),
];

pub(crate) const NO_BTF: Row = Row {
    id: "no-btf",
    area: Area::Load,
    severity: Severity::Error,
    title: "The kernel has no BTF.",
    looks: "Whether there is /sys/kernel/btf/vmlinux.",
    why: "BPF programs find the fields of kernel structures by BTF. Boot a kernel built with \
          CONFIG_DEBUG_INFO_BTF=y.",
    source: "Documentation/bpf/btf.rst",
    fix: "",
    undo: "",
    check: |host| {
        let found = !host.root.exists(BTF);
        Ok(found.then(|| Case::host().saw(BTF, "absent")).into_iter().collect())
    },
};

pub(crate) const OLD_PAHOLE: Row = Row {
    id: "btf-by-old-pahole",
    area: Area::Load,
    severity: Severity::Error,
    title: "The kernel's BTF was made by pahole before 1.26.",
    looks: "On 7.1 and later: CONFIG_PAHOLE_VERSION in the kernel's configuration; without one, the \
            tags in /sys/kernel/btf/vmlinux that newer paholes write.",
    why: "On such kernels no sched_ext scheduler loads: the BTF of kernel functions is malformed, and \
          the verifier refuses calls to them. Debian's 7.1.13 and 7.2.12 were built so; 7.2.13+deb14 \
          was not. Boot another build of the kernel.",
    source: "tried in the lab, with this and another sched_ext scheduler",
    fix: "",
    undo: "",
    check: old_pahole,
};

pub(crate) const NO_CONFIG: Row = Row {
    id: "no-kernel-config",
    area: Area::Load,
    severity: Severity::Error,
    title: "libbpf cannot find the kernel's configuration.",
    looks: "/proc/config.gz and /boot/config-RELEASE. libbpf looks nowhere else.",
    why: "BPF objects that ask for a kernel option do not load without (EINVAL). Put the \
          configuration of the running kernel to where libbpf looks.",
    source: "libbpf, bpf_object__read_kconfig_file",
    fix: "sudo cp {config} /{boot}",
    undo: "sudo rm /{boot}",
    check: |host| {
        let boot = boot_config(&host.root);
        let case = || {
            let others = places(&host.release().unwrap_or_default());
            let other = others.iter().skip(1).find(|path| host.root.exists(path));
            let config = other.map_or("CONFIG-OF-THIS-KERNEL".into(), |path| format!("/{path}"));
            Case::host()
                .saw("proc/config.gz", "absent")
                .saw(&boot, "absent")
                .with("config", config)
                .with("boot", &boot)
        };
        Ok((!libbpf_finds_config(&host.root)).then(case).into_iter().collect())
    },
};

pub(crate) const OPTION_OFF: Row = Row {
    id: "kernel-option-off",
    area: Area::Load,
    severity: Severity::Error,
    title: "The kernel was built without an option that scx_steer needs.",
    looks: "CONFIG_SCHED_CLASS_EXT, CONFIG_BPF_SYSCALL, CONFIG_BPF_JIT, CONFIG_DEBUG_INFO_BTF, \
            CONFIG_BPF_EVENTS and CONFIG_CGROUPS: in the kernel's configuration, or, where none can \
            be read, by a file that exists only with the option.",
    why: "The scheduler or its telemetry does not load. Boot a kernel with the option.",
    source: "kernel/Kconfig.preempt, SCHED_CLASS_EXT; kernel/trace/Kconfig, BPF_EVENTS",
    fix: "",
    undo: "",
    check: |host| {
        let config = Config::of(host)?;
        let off = |(option, sign): &(&str, &str)| match &config {
            Some(config) if config.value(option).is_none() => {
                Some(Case::of(*option).saw(&config.path, format!("{option} is not set")))
            }
            None if !host.root.exists(sign) => Some(Case::of(*option).saw(sign, "absent")),
            _ => None,
        };
        Ok(NEEDED.iter().filter_map(off).collect())
    },
};

fn old_pahole(host: &Host) -> Checked {
    if host.kernel()? < NEEDS_TAGS || !host.root.exists(BTF) {
        return Ok(Vec::new());
    }
    if let Some(config) = Config::of(host)? {
        let version = config.value("CONFIG_PAHOLE_VERSION").and_then(|text| text.parse().ok());
        let old = version.filter(|version: &u32| *version < PAHOLE);
        let case =
            |version| Case::host().saw(&config.path, format!("CONFIG_PAHOLE_VERSION={version}"));
        return Ok(old.map(case).into_iter().collect());
    }
    let unread = || Unchecked(format!("neither the kernel's configuration nor /{BTF} can be read"));
    let btf = host.root.peek(BTF)?.filter(|btf| !btf.is_empty()).ok_or_else(unread)?;
    let tagged = btf.windows(TAG.len()).any(|window| window == TAG);
    let case = || Case::host().saw(BTF, "has no bpf_kfunc tags");
    Ok((!tagged).then(case).into_iter().collect())
}

/// The name of the tag among the strings of BTF, between the ends of two strings.
const TAG: &[u8] = b"\0bpf_kfunc\0";

/// The running kernel's configuration.
pub(crate) struct Config {
    /// The file it is from.
    pub(crate) path: String,
    text: String,
}

/// Where distributions put it. libbpf only looks in the first, and in /proc/config.gz.
fn places(release: &str) -> [String; 3] {
    ["boot/config-RELEASE", "lib/modules/RELEASE/config", "usr/lib/modules/RELEASE/config"]
        .map(|path| path.replace("RELEASE", release))
}

impl Config {
    /// Reads it; `None` if it is nowhere.
    pub(crate) fn of(host: &Host) -> Result<Option<Config>, Unchecked> {
        const IN_PROC: &str = "proc/config.gz";
        if let Some(packed) = host.root.bytes(IN_PROC)? {
            let mut text = String::new();
            let strange = |error| Unchecked(format!("/{IN_PROC} is no gzip file: {error}"));
            GzDecoder::new(&packed[..]).read_to_string(&mut text).map_err(strange)?;
            return Ok(Some(Config { path: IN_PROC.into(), text }));
        }
        for path in places(&host.release()?) {
            if let Some(text) = host.root.text(&path)?.filter(|text| !text.is_empty()) {
                return Ok(Some(Config { path, text }));
            }
        }
        Ok(None)
    }

    /// The value of an option; `None` if it is off.
    pub(crate) fn value(&self, option: &str) -> Option<&str> {
        let of = |line: &str| line.strip_prefix(option)?.strip_prefix('=').map(str::len);
        let line = self.text.lines().find(|line| of(line).is_some())?;
        line.split_once('=').map(|(_, value)| value)
    }
}
