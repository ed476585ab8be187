//! What policy rules look at in a process: its cgroup and its name.

use std::{fs, io::ErrorKind, num::NonZeroU32};

use anyhow::{Context, Result, bail};

/// A process.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Process {
    /// Path of its cgroup, counted from the cgroup2 root; empty for the root.
    pub(super) cgroup: String,
    /// Name of its first thread, at most 15 bytes.
    pub(super) name: String,
}

impl Process {
    /// The process that the thread or process `pid` belongs to.
    pub(super) fn read(pid: NonZeroU32) -> Result<Self> {
        let read = |pid: &str, file: &str| {
            let path = format!("/proc/{pid}/{file}");
            fs::read(&path).map_err(|error| match error.kind() {
                ErrorKind::NotFound => anyhow::anyhow!("there is no process {pid}"),
                _ => anyhow::anyhow!("reading {path}: {error}"),
            })
        };
        let status = read(&pid.to_string(), "status")?;
        let status = String::from_utf8_lossy(&status);
        let process = status
            .lines()
            .find_map(|line| line.strip_prefix("Tgid:"))
            .context("/proc has no Tgid of the process")?
            .trim();
        let name = read(process, "comm")?;
        let cgroups = read(&pid.to_string(), "cgroup")?;
        Ok(Self {
            cgroup: cgroup(&String::from_utf8_lossy(&cgroups))?,
            name: String::from_utf8_lossy(&name).trim_end_matches('\n').to_string(),
        })
    }
}

/// The cgroup2 path in a /proc/PID/cgroup (cgroups(7)).
fn cgroup(text: &str) -> Result<String> {
    let Some(path) = text.lines().find_map(|line| line.strip_prefix("0::/")) else {
        bail!("the process is not in a cgroup of version 2: is cgroup2 mounted?");
    };
    if path.starts_with("..") {
        bail!("the process is in /{path}, outside the cgroups visible here (a cgroup namespace)");
    }
    Ok(path.strip_suffix(" (deleted)").unwrap_or(path).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_2_line_counts() {
        let hybrid = "12:cpu:/cpu-only\n1:name=systemd:/init.scope\n0::/system.slice/a.service\n";
        assert_eq!(cgroup(hybrid).unwrap(), "system.slice/a.service");
        assert_eq!(cgroup("0::/\n").unwrap(), "");
        assert_eq!(cgroup("0::/gone (deleted)\n").unwrap(), "gone");
        assert!(cgroup("1:name=systemd:/\n").is_err());
        assert!(cgroup("0::/../other\n").unwrap_err().to_string().contains("namespace"));
    }

    #[test]
    fn a_thread_has_the_name_of_its_process() {
        let own = Process::read(NonZeroU32::new(std::process::id()).unwrap()).unwrap();
        let thread = std::thread::Builder::new().name("other-name".into());
        let tid = || rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        let tid =
            thread.spawn(move || Process::read(NonZeroU32::new(tid()).unwrap()).unwrap()).unwrap();
        assert_eq!(tid.join().unwrap(), own);
    }
}
