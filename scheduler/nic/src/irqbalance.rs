//! irqbalance's socket, over which it is told to leave interrupts alone (irqbalance.c,
//! `sock_handle`). One message and one answer per connection; the sender shows that it is root.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, IoSlice, Read};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, UCred, sendmsg};

/// Its process's name.
pub(crate) const NAME: &str = "irqbalance";
/// Where it puts its sockets.
const FOLDER: &str = "/run/irqbalance";
/// It answers between two rounds of its own, which take milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// The interrupts that irqbalance leaves alone on request; `None` if none runs that can be asked.
pub(crate) fn list() -> io::Result<Option<BTreeSet<u32>>> {
    list_in(Path::new(FOLDER))
}

/// Whether irqbalance leaves `irq` alone on request; `None` if none runs that can be asked.
pub(crate) fn banned(irq: u32) -> io::Result<Option<bool>> {
    Ok(list()?.map(|irqs| irqs.contains(&irq)))
}

/// Asks irqbalance to leave `irq` alone, or not any longer. Its list is written as a whole, so it
/// is read first: what others asked for stays.
pub(crate) fn ban(irq: u32, on: bool) -> io::Result<()> {
    change(Path::new(FOLDER), irq, on)
}

fn change(folder: &Path, irq: u32, on: bool) -> io::Result<()> {
    let gone = || io::Error::new(io::ErrorKind::NotFound, "irqbalance has ended");
    let mut irqs = list_in(folder)?.ok_or_else(gone)?;
    if on {
        irqs.insert(irq)
    } else {
        irqs.remove(&irq)
    };
    let numbers: Vec<String> = irqs.iter().map(u32::to_string).collect();
    let list = if irqs.is_empty() { "NONE".to_owned() } else { numbers.join(" ") };
    ask(folder, &format!("settings ban irqs {list}"))?.map(drop).ok_or_else(gone)
}

fn list_in(folder: &Path) -> io::Result<Option<BTreeSet<u32>>> {
    Ok(ask(folder, "setup")?.map(|answer| irqs(&answer)))
}

/// Reads "SLEEP 10 IRQ 24 LOAD 0 DIFF 0 CLASS 5 BANNED 00000000".
fn irqs(answer: &str) -> BTreeSet<u32> {
    let words: Vec<&str> = answer.split_whitespace().collect();
    let numbers = words.windows(2).filter(|pair| pair[0] == "IRQ");
    numbers.filter_map(|pair| pair[1].parse().ok()).collect()
}

/// Sends one message and reads the answer; `None` if nothing listens.
fn ask(folder: &Path, message: &str) -> io::Result<Option<String>> {
    let Some(mut socket) = sockets(folder).into_iter().find_map(|it| UnixStream::connect(it).ok())
    else {
        return Ok(None);
    };
    socket.set_read_timeout(Some(PATIENCE))?;
    let credentials = UCred {
        pid: rustix::process::getpid(),
        uid: rustix::process::geteuid(),
        gid: rustix::process::getegid(),
    };
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmCredentials(credentials));
    sendmsg(&socket, &[IoSlice::new(message.as_bytes())], &mut control, SendFlags::NOSIGNAL)?;
    let mut answer = String::new();
    match socket.read_to_string(&mut answer) {
        // it closes without reading on after a command, which may come as a reset
        Err(error) if error.kind() != io::ErrorKind::ConnectionReset => Err(error),
        _ => Ok(Some(answer)),
    }
}

/// `irqbalancePID.sock`; one whose owner died may lie there still.
fn sockets(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.extension() == Some("sock".as_ref()))
        .collect()
}

#[cfg(test)]
mod tests;
