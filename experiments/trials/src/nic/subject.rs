//! The program under test, and what keeps its journal: a small disk that can be full, and a boot
//! number that can change.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};
use rustix::process::{Pid, Signal, kill_process};
use steer_ground::tool::{self, Running};

/// The journal's disk: larger than any journal of these trials.
const DISK: &str = "size=512k";
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// How long a daemon may take to say what it is asked for.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often a command that may be killed is looked at.
const NAP: Duration = Duration::from_millis(1);

/// How a command ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// It is killed before this step of its writes and of its journal.
    Die(u32),
    /// The write of this step fails.
    Fail(u32),
    /// SIGTERM after so many milliseconds.
    Term(u64),
    /// SIGKILL after so many milliseconds.
    Kill(u64),
}

/// The program and its journal's disk.
#[derive(Debug)]
pub(crate) struct Subject {
    program: PathBuf,
    policy: Option<PathBuf>,
    /// The journal's folder: a file system of its own.
    disk: PathBuf,
    /// The file that takes the place of the kernel's boot number.
    boot_id: PathBuf,
}

impl Subject {
    /// Sets up the disk and the boot number below `folder`. The caller is alone in its mount
    /// namespace, or in a guest.
    pub(crate) fn new(program: &Path, folder: &Path) -> Result<Self> {
        let disk = folder.join("disk");
        fs::create_dir_all(&disk).with_context(|| format!("making {}", disk.display()))?;
        let options = std::ffi::CString::new(DISK).context("mount options")?;
        mount("none", &disk, "tmpfs", MountFlags::empty(), Some(options.as_c_str()))
            .context("mounting the journal's disk")?;
        let boot_id = folder.join("boot-id");
        fs::copy(BOOT_ID, &boot_id).context("copying the boot number")?;
        mount_bind(&boot_id, BOOT_ID).context("taking the place of the boot number")?;
        Ok(Self { program: program.to_owned(), policy: None, disk, boot_id })
    }

    /// With this policy file.
    pub(crate) fn with_policy(mut self, file: &Path) -> Self {
        self.policy = Some(file.to_owned());
        self
    }

    /// From now on it is another boot.
    pub(crate) fn reboot(&self, number: u64) -> Result<()> {
        fs::write(&self.boot_id, format!("{number:08x}-0000-4000-8000-000000000000\n"))
            .context("writing the boot number")
    }

    fn journal(&self) -> PathBuf {
        self.disk.join("journal")
    }

    /// The journal's bytes, if there is one.
    pub(crate) fn journal_bytes(&self) -> Option<Vec<u8>> {
        fs::read(self.journal()).ok()
    }

    /// Replaces the journal.
    pub(crate) fn write_journal(&self, bytes: &[u8]) -> Result<()> {
        fs::write(self.journal(), bytes).context("writing the journal")
    }

    /// Whether a change of channels was cut off, so that nobody can tell whose the values of the
    /// queues are.
    pub(crate) fn is_unsettled(&self) -> bool {
        let text = self.journal_bytes().and_then(|bytes| String::from_utf8(bytes).ok());
        let body = text.as_deref().and_then(|text| text.split_once('\n')).map(|(_, body)| body);
        let journal = body.and_then(|body| serde_json::from_str::<serde_json::Value>(body).ok());
        journal.is_some_and(|it| it["unsettled"].as_array().is_some_and(|it| !it.is_empty()))
    }

    /// Fills the disk while `work` runs.
    pub(crate) fn while_full<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let filler = self.disk.join("filler");
        let mut file = File::create(&filler).context("making the filler")?;
        while file.write_all(&[0; 4096]).is_ok() {}
        drop(file);
        let result = work();
        fs::remove_file(&filler).context("removing the filler")?;
        result
    }

    /// Runs `scx_steer nic` with these words, cut off as told.
    pub(crate) fn run(&self, words: &[&str], cut: Option<Cut>) -> Result<Output> {
        let mut command = self.command(words);
        match cut {
            Some(Cut::Die(step)) => drop(command.env("SCX_STEER_NIC_DIE_AT", step.to_string())),
            Some(Cut::Fail(step)) => drop(command.env("SCX_STEER_NIC_FAIL_AT", step.to_string())),
            _ => {}
        }
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.with_context(|| format!("starting {}", self.program.display()))?;
        if let Some(Cut::Term(after) | Cut::Kill(after)) = cut {
            for _ in 0..after {
                if child.try_wait()?.is_some() {
                    break;
                }
                thread::sleep(NAP);
            }
            let signal =
                if matches!(cut, Some(Cut::Term(_))) { Signal::TERM } else { Signal::KILL };
            // it may have ended
            let _ = kill_process(Pid::from_child(&child), signal);
        }
        child.wait_with_output().context("waiting for scx_steer nic")
    }

    /// Starts a daemon with this host file.
    pub(crate) fn daemon(&self, host_file: &str) -> Result<Daemon> {
        let file = self.disk.with_file_name("host.toml");
        fs::write(&file, host_file).context("writing the host file")?;
        let path = file.display().to_string();
        let mut process = Running::start(&mut self.command(&["daemon", "--host", &path]))?;
        let log = BufReader::new(process.stderr.take().context("its log is not a pipe")?);
        let (lines, log_lines) = mpsc::channel();
        thread::spawn(move || log.lines().map_while(Result::ok).try_for_each(|it| lines.send(it)));
        Ok(Daemon { process, log: log_lines })
    }

    /// The NAPI settings of a device's queues. Only the program under test can read these here.
    pub(crate) fn napi(&self, interface: &str) -> Result<String> {
        let mut command = Command::new(&self.program);
        command.args(["nic", "status", interface, "--json"]);
        let report = tool::output(&mut command, "scx_steer nic status")?;
        let report: serde_json::Value = serde_json::from_str(&report)?;
        let queues = report["nics"][0]["rx"].as_array().cloned().unwrap_or_default();
        let settings = ["defer_hard_irqs", "gro_flush_timeout", "irq_suspend_timeout"];
        let of = |queue: &serde_json::Value| settings.map(|name| queue["napi"][name].to_string());
        Ok(queues.iter().map(|queue| of(queue).join(" ")).collect::<Vec<_>>().join(", "))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("nic").args(words).arg("--journal").arg(&self.disk).stdin(Stdio::null());
        if let (Some(file), Some(&("apply" | "daemon"))) = (&self.policy, words.first()) {
            command.arg("--policy").arg(file);
        }
        command
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        // In a guest, the next trials find the kernel's own number again.
        let _ = unmount(BOOT_ID, UnmountFlags::DETACH);
        let _ = unmount(&self.disk, UnmountFlags::DETACH);
    }
}

/// A daemon that runs.
pub(crate) struct Daemon {
    process: Running,
    log: Receiver<String>,
}

impl Daemon {
    /// Waits until a line of its log has one of these texts; gives the line.
    pub(crate) fn says(&mut self, texts: &[&str]) -> Result<String> {
        let deadline = Instant::now() + PATIENCE;
        let mut said = String::new();
        loop {
            match self.log.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) if texts.iter().any(|text| line.contains(text)) => return Ok(line),
                Ok(line) => said = format!("{said}{line}\n"),
                Err(RecvTimeoutError::Disconnected) => bail!("the daemon ended by itself: {said}"),
                Err(RecvTimeoutError::Timeout) => {
                    bail!("the daemon does not say {texts:?}: {said}");
                }
            }
        }
    }

    /// What it has logged since.
    pub(crate) fn said(&self) -> String {
        self.log.try_iter().collect::<Vec<_>>().join("; ")
    }

    /// Stops it while `work` runs, as if all of that took no time.
    pub(crate) fn while_stopped<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let send = |signal| kill_process(Pid::from_child(&self.process), signal);
        send(Signal::STOP).context("stopping the daemon")?;
        let result = work();
        send(Signal::CONT).context("letting the daemon go on")?;
        result
    }

    /// Ends it.
    pub(crate) fn end(mut self, kill: bool) -> Result<()> {
        let signal = if kill { Signal::KILL } else { Signal::TERM };
        kill_process(Pid::from_child(&self.process), signal).context("ending the daemon")?;
        self.process.wait().context("waiting for the daemon").map(drop)
    }
}
