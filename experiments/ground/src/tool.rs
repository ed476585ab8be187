//! Runs other programs: as a step that must succeed, or as a child that cannot outlive this
//! process.

use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context, Error, Result, bail};
use rustix::process::Signal;
use rustix::thread::LinkNameSpaceType;

/// Runs a step to its end and returns its standard output as text.
///
/// # Errors
/// As [`bytes`], and when the output is not UTF-8.
pub fn output(command: &mut Command, step: &str) -> Result<String> {
    String::from_utf8(bytes(command, step)?)
        .with_context(|| format!("{step} printed text that is not UTF-8"))
}

/// Runs a step to its end and returns its standard output.
///
/// # Errors
/// When the program is not installed, or does not exit with 0. The error quotes the end of its
/// standard error.
pub fn bytes(command: &mut Command, step: &str) -> Result<Vec<u8>> {
    let Output { status, stdout, stderr } = die_with_us(command)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .and_then(|child| child.wait_with_output())
        .map_err(|error| not_started(command, error))?;
    if !status.success() {
        let said = String::from_utf8_lossy(&stderr);
        let last: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = last[last.len().saturating_sub(3)..].join(" | ");
        bail!("{step} failed ({status}): {last}");
    }
    Ok(stdout)
}

/// A child process. It is killed when dropped.
#[derive(Debug)]
pub struct Running(Child);

impl Running {
    /// Starts a child. Its standard output and standard error are pipes that the caller can read.
    ///
    /// # Errors
    /// When the program is not installed.
    pub fn start(command: &mut Command) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().map(Self).map_err(|error| not_started(command, error))
    }
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only if the child has ended already, which is fine.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Path of a program that goes into the guest. If it is missing, the error says `how` to install
/// it.
///
/// # Errors
/// When the program is missing.
pub fn installed(program: &str, how: &str) -> Result<PathBuf> {
    let paths = ["/usr/bin", "/usr/sbin"].map(|folder| Path::new(folder).join(program));
    let found = paths.into_iter().find(|path| path.is_file());
    found.with_context(|| format!("{program} is not installed: {how}"))
}

/// Explains why a program did not start.
pub fn not_started(command: &Command, error: io::Error) -> Error {
    let program = command.get_program().to_string_lossy().into_owned();
    match error.kind() {
        io::ErrorKind::NotFound => {
            Error::msg(format!("{program} is not installed; install it (see README) and try again"))
        }
        _ => Error::new(error).context(format!("starting {program}")),
    }
}

/// Makes the kernel kill the child when the thread that spawned it dies, even by SIGKILL. Spawn
/// from the main thread: it lives as long as the process.
pub fn die_with_us(command: &mut Command) -> &mut Command {
    // SAFETY: the closure runs between fork and exec and makes one async-signal-safe system call.
    unsafe {
        command.pre_exec(|| {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            Ok(())
        })
    }
}

/// Runs the child in another network namespace. `net` must stay open until the child has started.
pub fn enter_net<'a>(command: &'a mut Command, net: BorrowedFd<'_>) -> &'a mut Command {
    let net = net.as_raw_fd();
    // SAFETY: one async-signal-safe system call, on a descriptor the caller keeps open.
    unsafe {
        command.pre_exec(move || {
            let net = BorrowedFd::borrow_raw(net);
            rustix::thread::move_into_link_name_space(net, Some(LinkNameSpaceType::Network))?;
            Ok(())
        })
    }
}

/// Lets the child inherit descriptors under their present numbers.
pub fn inherit(command: &mut Command, descriptors: &[OwnedFd]) {
    let numbers: Vec<i32> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    // SAFETY: one async-signal-safe system call per descriptor; the caller keeps them open.
    unsafe {
        command.pre_exec(move || {
            for &number in &numbers {
                let descriptor = BorrowedFd::borrow_raw(number);
                rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::empty())?;
            }
            Ok(())
        })
    };
}
