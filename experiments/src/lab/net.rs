//! The lab's network: a nameless network namespace with one multi-queue tap, the guest's cable.
//! Both live only as long as descriptors of this process and of QEMU refer to them: whatever way
//! the processes end, the kernel takes everything down, and nothing is left to clean.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use super::tool;

/// The host's end of the cable.
pub(crate) const HOST: Ipv4Addr = Ipv4Addr::new(10, 42, 0, 1);
/// The guest's end.
pub(crate) const GUEST: Ipv4Addr = Ipv4Addr::new(10, 42, 0, 2);
/// Length of the network prefix of both.
pub(crate) const PREFIX: u8 = 30;
const TAP: &str = "tap0";

/// The namespace and the tap in it.
#[derive(Debug)]
pub(crate) struct Net {
    namespace: OwnedFd,
    queues: Vec<OwnedFd>,
}

impl Net {
    /// Makes the namespace and a tap with `queues` queues, up and with the host's address.
    ///
    /// # Errors
    /// Without root or `/dev/net/tun`; says which.
    pub(crate) fn create(queues: usize) -> Result<Self> {
        ensure!(
            rustix::process::geteuid().is_root(),
            "the lab makes a network namespace and a tap device: run it as root"
        );
        let (namespace, queues) = elsewhere(move || {
            // SAFETY: only this short-lived thread's network namespace changes; no memory or
            // descriptor is unshared.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.context("making a namespace")?;
            let namespace = File::open("/proc/thread-self/ns/net").context("opening it")?;
            let queues = (0..queues).map(|_| tap::open_queue(TAP)).collect::<Result<Vec<_>>>()?;
            Ok((OwnedFd::from(namespace), queues))
        })
        .context("setting up the lab's network")?;
        let net = Self { namespace, queues };
        net.ip(&["address", "add", &format!("{HOST}/{PREFIX}"), "dev", TAP])?;
        net.ip(&["link", "set", TAP, "up"])?;
        Ok(net)
    }

    /// One descriptor per queue, for QEMU to inherit.
    pub(crate) fn queues(&self) -> &[OwnedFd] {
        &self.queues
    }

    /// A command that will run inside the namespace and not outlive this process.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        tool::die_with_us(tool::enter_net(&mut command, self.namespace.as_fd()));
        command
    }

    /// Connects to a port of the guest.
    pub(crate) fn connect(&self, port: u16, timeout: Duration) -> Result<TcpStream> {
        let namespace = self.namespace.try_clone()?;
        elsewhere(move || {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
            let address = SocketAddr::from((GUEST, port));
            TcpStream::connect_timeout(&address, timeout)
                .with_context(|| format!("connecting to {address}"))
        })
    }

    /// Hands the choice of queue to an eBPF program, or back to the tap's own logic.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub(crate) fn steer(&self, program: Option<BorrowedFd<'_>>) -> Result<()> {
        let queue = self.queues.first().context("the tap has no queue")?;
        let program = program.map_or(-1, |program| program.as_raw_fd());
        tap::set_steering(queue.as_fd(), program)
    }

    fn ip(&self, arguments: &[&str]) -> Result<()> {
        tool::output(self.command("ip").args(arguments), "ip").map(drop)
    }
}

/// Runs `work` on a thread of its own, so that changing namespace there leaves ours alone.
fn elsewhere<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match thread::Builder::new().name("netns".to_owned()).spawn(work)?.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// The two `ioctl`s of `/dev/net/tun` that the lab needs.
mod tap {
    use std::fs::OpenOptions;
    use std::io;
    use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
    use std::os::unix::fs::OpenOptionsExt;

    use anyhow::{Context, Result};

    /// Opens one more queue of the tap `name`, which comes into being with the first.
    pub(super) fn open_queue(name: &str) -> Result<OwnedFd> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/net/tun")
            .context("opening /dev/net/tun (kernel option CONFIG_TUN)")?;
        // SAFETY: all-zero bytes are a valid ifreq.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from.cast_signed();
        }
        let flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR | libc::IFF_MULTI_QUEUE;
        request.ifr_ifru.ifru_flags = flags as libc::c_short;
        // SAFETY: TUNSETIFF reads and writes one ifreq, which lives across the call.
        let status = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
        if status < 0 {
            return Err(io::Error::last_os_error()).context("adding a tap queue (TUNSETIFF)");
        }
        Ok(file.into())
    }

    /// Attaches the steering program with this descriptor; −1 detaches.
    pub(super) fn set_steering(queue: BorrowedFd<'_>, program: i32) -> Result<()> {
        // SAFETY: TUNSETSTEERINGEBPF reads one int, which lives across the call.
        let status =
            unsafe { libc::ioctl(queue.as_raw_fd(), libc::TUNSETSTEERINGEBPF, &raw const program) };
        if status < 0 {
            return Err(io::Error::last_os_error())
                .context("steering the tap's queues (TUNSETSTEERINGEBPF, Linux ≥ 4.16)");
        }
        Ok(())
    }
}
