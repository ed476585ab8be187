//! Settings that are files of sysfs and procfs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use steer_topology::CpuSet;

use crate::setting::{Value, What};

/// How a file writes its value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Mask,
    Number,
}

/// The file of a setting of `interface`; `None` if it is no file.
pub(crate) fn path(root: &Path, interface: &str, what: What) -> Option<PathBuf> {
    let class = root.join("sys/class/net").join(interface);
    Some(match what {
        What::Xps(queue) => class.join(format!("queues/tx-{queue}/xps_cpus")),
        What::Rps(queue) => class.join(format!("queues/rx-{queue}/rps_cpus")),
        What::RpsFlows(queue) => class.join(format!("queues/rx-{queue}/rps_flow_cnt")),
        What::DeviceDefer => class.join("napi_defer_hard_irqs"),
        What::DeviceFlush => class.join("gro_flush_timeout"),
        What::SockFlows => root.join("proc/sys/net/core/rps_sock_flow_entries"),
        _ => return None,
    })
}

fn form(what: What) -> Form {
    match what {
        What::Xps(_) | What::Rps(_) => Form::Mask,
        _ => Form::Number,
    }
}

/// The value of a file; `None` if it is not there or has none. Whether a single transmit queue has
/// XPS is said so too: reading gives ENOENT.
pub(crate) fn read(path: &Path, what: What) -> io::Result<Option<Value>> {
    let Some(text) = text(path)? else { return Ok(None) };
    Ok(Some(match form(what) {
        Form::Mask => Value::Cpus(CpuSet::from_mask(&text).map_err(io::Error::other)?),
        Form::Number => Value::Number(text.parse().map_err(io::Error::other)?),
    }))
}

/// The text of a file without its line end; `None` if it is not there, or not for this device.
pub(crate) fn text(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR | libc::ENODEV | libc::EOPNOTSUPP) => Ok(None),
            _ => Err(error),
        },
    }
}

/// A value as it is written to a file.
pub(crate) fn written(value: &Value) -> String {
    match value {
        Value::Cpus(cpus) => cpus.to_mask(),
        other => other.to_string(),
    }
}

/// Checks that a file could be written, without writing.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    fs::OpenOptions::new().write(true).open(path).map(drop)
}

/// The CPUs an interrupt may go to.
pub(crate) fn affinity_path(root: &Path, irq: u32) -> PathBuf {
    root.join(format!("proc/irq/{irq}/smp_affinity_list"))
}
