//! The lab's network: an unnamed network namespace with one multi-queue tap (a "cable") for each
//! NIC of the guest. All of it lives only while descriptors of this process and of QEMU refer to
//! it. However the processes end, the kernel removes everything, and nothing is left to clean up.

use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use steer_ground::tool;

/// The guest's end of the first cable.
pub const GUEST: Ipv4Addr = guest(0);
/// Length of the network prefix of both ends.
pub const PREFIX: u8 = 30;

/// The source ports that the kernel may choose in the namespace. They are below the fixed ports of
/// the rounds. Otherwise the connection to the guest's agent could take one of those.
const PORT_RANGE: (&str, &str) = ("/proc/sys/net/ipv4/ip_local_port_range", "10000 19999");

/// The namespace and the taps in it.
#[derive(Debug)]
pub struct Net {
    namespace: OwnedFd,
    /// Descriptors of each tap's queues.
    taps: Vec<Vec<OwnedFd>>,
}

/// The guest's end of a cable, by its number.
const fn guest(cable: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 42, cable, 2)
}

/// The MAC address of the NIC at a cable. The guest identifies the NIC by it.
pub(super) fn mac(cable: u8) -> String {
    format!("52:54:00:00:00:{cable:02x}")
}

/// Arguments of `ip` that give the host's end of a cable its address, and bring it up.
fn host_end(cable: u8) -> [String; 2] {
    [
        format!("address add 10.42.{cable}.1/{PREFIX} dev tap{cable}"),
        format!("link set tap{cable} up"),
    ]
}

impl Net {
    /// Creates the namespace, and `taps` taps with `queues` queues each. The taps are up and have
    /// the host's addresses.
    ///
    /// # Errors
    /// Without root, or without `/dev/net/tun`. The message says which.
    pub fn create(taps: usize, queues: usize) -> Result<Self> {
        ensure!(
            rustix::process::geteuid().is_root(),
            "the lab creates a network namespace and a tap device: run it as root"
        );
        let (namespace, taps) = elsewhere(move || {
            // SAFETY: only this short-lived thread's network namespace changes; no memory or
            // descriptor is unshared.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.context("making a namespace")?;
            let namespace = File::open("/proc/thread-self/ns/net").context("opening it")?;
            fs::write(PORT_RANGE.0, PORT_RANGE.1)
                .with_context(|| format!("writing {}", PORT_RANGE.0))?;
            let tap = |name: String| (0..queues).map(|_| tap::open_queue(&name)).collect();
            let taps = (0..taps).map(|cable| tap(format!("tap{cable}")));
            Ok((OwnedFd::from(namespace), taps.collect::<Result<Vec<_>>>()?))
        })
        .context("setting up the lab's network")?;
        let net = Self { namespace, taps };
        for arguments in net.cables().flat_map(host_end) {
            tool::output(net.command("ip").args(arguments.split(' ')), "ip")?;
        }
        Ok(net)
    }

    /// A network that exists already: `namespace` is the file of the one at the other end of the
    /// only cable. Without one, there is no cable.
    ///
    /// # Errors
    /// When there is no such file.
    pub(super) fn existing(namespace: Option<&Path>) -> Result<Self> {
        let path = namespace.unwrap_or(Path::new("/proc/self/ns/net"));
        let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
        Ok(Self { namespace: file.into(), taps: namespace.iter().map(|_| Vec::new()).collect() })
    }

    /// One descriptor per queue of each tap, for QEMU to inherit.
    pub fn taps(&self) -> &[Vec<OwnedFd>] {
        &self.taps
    }

    /// Attaches the queues that a QEMU has detached because its guest did not use them. The next
    /// QEMU expects all queues to be attached.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub fn attach(&self) -> Result<()> {
        self.taps.iter().flatten().try_for_each(|queue| tap::attach_queue(queue.as_fd()))
    }

    /// Queues of each tap.
    pub fn queues(&self) -> usize {
        self.taps.first().map_or(0, Vec::len)
    }

    /// The guest's addresses, one for each NIC.
    pub fn guests(&self) -> Vec<IpAddr> {
        self.cables().map(|cable| guest(cable).into()).collect()
    }

    /// Numbers of the cables. A guest has at most 64 nodes.
    pub(super) fn cables(&self) -> impl Iterator<Item = u8> {
        0..self.taps.len() as u8
    }

    /// A command that runs inside the namespace, and does not outlive this process.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        tool::die_with_us(tool::enter_net(&mut command, self.namespace.as_fd()));
        command
    }

    /// Connects to a port of the guest.
    pub fn connect(&self, port: u16, timeout: Duration) -> Result<TcpStream> {
        let namespace = self.namespace.try_clone()?;
        elsewhere(move || {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
            let address = SocketAddr::from((GUEST, port));
            TcpStream::connect_timeout(&address, timeout)
                .with_context(|| format!("connecting to {address}"))
        })
    }

    /// Lets an eBPF program choose the queue, or restores the tap's own logic.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub fn steer(&self, program: Option<BorrowedFd<'_>>) -> Result<()> {
        let program = program.map_or(-1, |program| program.as_raw_fd());
        for queues in &self.taps {
            let queue = queues.first().context("the tap has no queue")?;
            tap::set_steering(queue.as_fd(), program)?;
        }
        Ok(())
    }
}

/// Words for the guest kernel's command line. From them, `init.sh` numbers the NICs and gives them
/// addresses.
pub(super) fn kernel_words(cables: impl Iterator<Item = u8>) -> String {
    let word = |cable| format!("lab.nic={},{}/{PREFIX}", mac(cable), guest(cable));
    cables.map(word).collect::<Vec<_>>().join(" ")
}

/// Runs `work` on its own thread, so that changing the namespace there does not affect ours.
fn elsewhere<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match thread::Builder::new().name("netns".to_owned()).spawn(work)?.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// The `ioctl`s of `/dev/net/tun` that the lab needs.
mod tap {
    use std::fs::OpenOptions;
    use std::io;
    use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
    use std::os::unix::fs::OpenOptionsExt;

    use anyhow::{Context, Result};

    /// Opens one more queue of the tap `name`. Opening the first queue creates the tap.
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

    /// Attaches a queue if it is detached.
    pub(super) fn attach_queue(queue: BorrowedFd<'_>) -> Result<()> {
        // SAFETY: all-zero bytes are a valid ifreq.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        request.ifr_ifru.ifru_flags = libc::IFF_ATTACH_QUEUE as libc::c_short;
        // SAFETY: TUNSETQUEUE reads one ifreq, which lives across the call.
        let status = unsafe { libc::ioctl(queue.as_raw_fd(), libc::TUNSETQUEUE, &raw mut request) };
        let error = io::Error::last_os_error();
        // drivers/net/tun.c, tun_set_queue(): EINVAL means that it is attached
        if status < 0 && error.raw_os_error() != Some(libc::EINVAL) {
            return Err(error).context("attaching a tap queue (TUNSETQUEUE)");
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cable_is_a_network_of_its_own() {
        assert_eq!(host_end(0), ["address add 10.42.0.1/30 dev tap0", "link set tap0 up"]);
        assert_eq!(host_end(1), ["address add 10.42.1.1/30 dev tap1", "link set tap1 up"]);
        assert_eq!(
            kernel_words(0..2),
            "lab.nic=52:54:00:00:00:00,10.42.0.2/30 lab.nic=52:54:00:00:00:01,10.42.1.2/30"
        );
    }
}
