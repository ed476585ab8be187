//! Where packets arrive under the modes `rules` and `arfs`: connections over the cable of the
//! simulated NIC (experiments/lab/modules/nicsim).

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::ops::Range;
use std::os::fd::AsFd;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_incoming_cpu};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use steer_ground::cpus::CpuList;
use steer_ground::tool;

use super::device::ip;

/// The rules to set. The CPUs 0 and 1 serve the NIC.
pub(super) const POLICY: &str = r#"
[[rule]]
cgroup = "web.slice"
pool = "1"
exclusive = true
ports = ["tcp/443", "udp/443"]

[[rule]]
cgroup = "cache.slice"
pool = "2-3"
ports = ["tcp/6379"]
"#;
/// The CPUs that packets to a port have to arrive on, all of them: the pool's one queue, an RSS
/// context over two queues, and what RSS is left with.
const TCP: [(u16, &[u32]); 3] = [(443, &[1]), (6379, &[2, 3]), (8080, &[0])];
const UDP: [(u16, &[u32]); 2] = [(443, &[1]), (8080, &[0])];
/// Enough that both queues of a context get one: else once in 2^23 runs.
const CONNECTIONS: usize = 24;

/// The port of the connections that are followed, messages on each, and where their readers run.
/// Half of the connections arrive there anyway; that all of them do happens once in 2^16 runs.
const FOLLOWED: u16 = 9000;
const MESSAGES: usize = 100;
const READERS: u32 = 2;
const FOLLOWED_CONNECTIONS: u32 = 16;

const NAMESPACE: &str = "far";
const FAR_4: Ipv4Addr = Ipv4Addr::new(10, 43, 0, 1);
const NEAR_4: Ipv4Addr = Ipv4Addr::new(10, 43, 0, 2);
const FAR_6: Ipv6Addr = Ipv6Addr::new(0xfd43, 0, 0, 0, 0, 0, 0, 1);
const NEAR_6: Ipv6Addr = Ipv6Addr::new(0xfd43, 0, 0, 0, 0, 0, 0, 2);
const FAR_PORTS: Range<u16> = 20_000..20_016;
const PATIENCE: Duration = Duration::from_secs(20);

/// Gives both ends of the cable addresses; the far end goes to a namespace.
pub(super) fn connect(interface: &str) -> Result<()> {
    let commands = [
        format!("netns add {NAMESPACE}"),
        format!("link set simfar netns {NAMESPACE}"),
        format!("-n {NAMESPACE} link set simfar up"),
        format!("-n {NAMESPACE} address add {FAR_4}/24 dev simfar"),
        format!("-n {NAMESPACE} address add {FAR_6}/64 dev simfar nodad"),
        format!("address add {NEAR_4}/24 dev {interface}"),
    ];
    commands.iter().try_for_each(|command| ip(command))
}

/// Packets to all ports arrive where the policy sends them.
pub(super) fn check(interface: &str) -> Result<String> {
    // a link that goes down loses its IPv6 addresses
    ip(&format!("address replace {NEAR_6}/64 dev {interface} nodad"))?;
    for near in [IpAddr::from(NEAR_4), IpAddr::from(NEAR_6)] {
        for (port, wanted) in TCP {
            arrive(SocketAddr::new(near, port), wanted, "tcp", tcp)?;
        }
        for (port, wanted) in UDP {
            arrive(SocketAddr::new(near, port), wanted, "udp", udp)?;
        }
    }
    Ok("packets arrive on the CPUs of their pools".into())
}

fn arrive(
    to: SocketAddr,
    wanted: &[u32],
    protocol: &str,
    cpus: impl Fn(SocketAddr) -> Result<BTreeSet<u32>>,
) -> Result<()> {
    let seen = cpus(to).with_context(|| format!("{protocol} to {to}"))?;
    let wanted: BTreeSet<u32> = wanted.iter().copied().collect();
    ensure!(seen == wanted, "{protocol} packets to {to} arrive on CPUs {seen:?}, not {wanted:?}");
    Ok(())
}

/// The CPUs that handle the data of connections.
fn tcp(to: SocketAddr) -> Result<BTreeSet<u32>> {
    let listener = TcpListener::bind(to)?;
    let far = far(move || {
        let connect = |_| {
            let mut stream = TcpStream::connect_timeout(&to, PATIENCE)?;
            stream.write_all(b"?")?;
            Ok(stream)
        };
        (0..CONNECTIONS).map(connect).collect::<Result<Vec<_>>>()
    });
    let _connected = join(far)?;
    let mut seen = BTreeSet::new();
    for _ in 0..CONNECTIONS {
        let (mut stream, _) = listener.accept()?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.read_exact(&mut [0])?;
        seen.insert(socket_incoming_cpu(&stream)?);
    }
    Ok(seen)
}

/// The CPUs that handle datagrams. The kernel notes them for connected sockets only.
fn udp(to: SocketAddr) -> Result<BTreeSet<u32>> {
    let far_end = if to.is_ipv4() { IpAddr::from(FAR_4) } else { FAR_6.into() };
    let mut seen = BTreeSet::new();
    for port in FAR_PORTS {
        let from = SocketAddr::new(far_end, port);
        let receiver = UdpSocket::bind(to)?;
        receiver.set_read_timeout(Some(PATIENCE))?;
        receiver.connect(from)?;
        join(far(move || Ok(UdpSocket::bind(from)?.send_to(b"?", to)?)))?;
        receiver.recv(&mut [0])?;
        seen.insert(socket_incoming_cpu(&receiver)?);
    }
    Ok(seen)
}

/// Packets of a connection follow the thread that reads them, by rules that the NIC counts.
pub(super) fn follow(interface: &str) -> Result<String> {
    let before = rules_of_flows(interface)?;
    for turn in 0..FOLLOWED_CONNECTIONS {
        let cpu = turn % READERS;
        let seen = thread::scope(|scope| {
            scope.spawn(|| read_on(cpu)).join().ok().context("the reading thread panicked")?
        })?;
        ensure!(seen == cpu, "packets for a thread on CPU {cpu} arrive on CPU {seen}");
    }
    let rules = rules_of_flows(interface)? - before;
    ensure!(rules > 0, "the NIC has installed no rule");
    Ok(format!("packets follow the thread that reads; rules installed: {rules}"))
}

/// Reads messages on a CPU; gives the CPU on which the last one arrived.
fn read_on(cpu: u32) -> Result<u32> {
    CpuList::of([cpu as usize]).context("no CPU")?.pin_current_thread()?;
    let to = SocketAddr::new(NEAR_4.into(), FOLLOWED);
    let listener = TcpListener::bind(to)?;
    set_socket_timeout(&listener, Timeout::Recv, Some(PATIENCE))?;
    let far = far(move || {
        let mut stream = TcpStream::connect_timeout(&to, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        (0..MESSAGES).try_for_each(|_| {
            stream.write_all(b"?")?;
            Ok(stream.read_exact(&mut [0])?)
        })
    });
    let (mut stream, _) = listener.accept()?;
    stream.set_read_timeout(Some(PATIENCE))?;
    for _ in 0..MESSAGES {
        stream.read_exact(&mut [0])?;
        stream.write_all(b"!")?;
    }
    let seen = socket_incoming_cpu(&stream)?;
    join(far)?;
    Ok(seen)
}

/// The rules that accelerated RFS has installed.
fn rules_of_flows(interface: &str) -> Result<u64> {
    let text = tool::output(Command::new("ethtool").args(["-S", interface]), "ethtool -S")?;
    let count = text.lines().find_map(|line| line.trim().strip_prefix("rx_arfs_add: "));
    count.context("the NIC does not count rules of flows")?.parse().context("rx_arfs_add")
}

/// Does `work` on a thread of its own in the namespace of the cable's far end.
fn far<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> thread::JoinHandle<Result<T>> {
    thread::spawn(move || {
        let path = format!("/run/netns/{NAMESPACE}");
        let namespace = File::open(&path).with_context(|| format!("opening {path}"))?;
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
        work()
    })
}

fn join<T>(thread: thread::JoinHandle<Result<T>>) -> Result<T> {
    thread.join().ok().context("a thread of the cable's far end panicked")?
}
