//! From which NIC a socket's packets come, on real sockets in network namespaces. A NAPI context
//! tells it in every namespace, an interface number only in scx_steer's own, a peer's address by the
//! host's routes. Without root the test says that it is skipped.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::{
    ffi::CStr,
    io::{Read, Write},
    mem::MaybeUninit,
    net::{IpAddr, Ipv6Addr, TcpListener, TcpStream},
    os::fd::AsRawFd,
    process::Command,
    sync::mpsc::{Receiver, Sender, channel},
    thread,
};

use steer_bpf::{CpuTime, KernelPlan, LoadedObserver, Origins, intf::*};

mod common;

const BYTES: usize = 4 << 20;
/// The receiver's end of the cable. It has the same number as the sender's end in the other
/// namespace: both are the first device after the loopback.
const CABLE: &CStr = c"veth-in";

/// What the container says: its namespace, its interface's number, the last NAPI context.
type Heard = (u32, u32, u32);

fn run(command: &str) {
    let mut words = command.split(' ');
    let status = Command::new(words.next().unwrap()).args(words).status().unwrap();
    assert!(status.success(), "{command}");
}

/// The NAPI context that received the last packet, 0 for none.
fn last_napi(stream: &TcpStream) -> u32 {
    let (mut napi, mut size) = (0u32, 4);
    // SAFETY: the option is a number of the size given.
    let result = unsafe {
        let out = (&raw mut napi).cast();
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_INCOMING_NAPI_ID,
            out,
            &raw mut size,
        )
    };
    assert_eq!(result, 0);
    napi
}

/// Puts the calling thread into a new network namespace; returns its number.
fn new_namespace() -> u32 {
    // SAFETY: no memory is touched; only this thread's network namespace changes.
    assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNET) }, 0);
    common::own_namespace()
}

/// A server in a namespace of its own. It tells its namespace and its interface's number, then
/// receives one connection for each message it gets, until the channel closes.
fn container(ready: &Sender<Heard>, rounds: &Receiver<()>, thread_id: &Sender<i32>) {
    let namespace = new_namespace();
    // SAFETY: no memory is touched.
    thread_id.send(unsafe { libc::gettid() }).unwrap();
    rounds.recv().unwrap();
    // a veth has a NAPI context only with GRO, and uses it only for what is not segmented later
    run("ethtool -K veth-in gro on");
    run("ip link set veth-in up");
    run("ip address add 10.77.0.2/24 dev veth-in");
    run("ip address add fd77::2/64 dev veth-in nodad");
    // SAFETY: the name is a C string.
    let ifindex = unsafe { libc::if_nametoindex(CABLE.as_ptr()) };
    let listener = TcpListener::bind(":::7777").unwrap();
    ready.send((namespace, ifindex, 0)).unwrap();
    while rounds.recv().is_ok() {
        let (mut stream, _) = listener.accept().unwrap();
        let mut all = Vec::new();
        assert_eq!(stream.read_to_end(&mut all).unwrap(), BYTES);
        ready.send((namespace, ifindex, last_napi(&stream))).unwrap();
    }
}

/// One transfer to `server`: the bytes that the observer counts for NIC 0, and the NAPI context that
/// received them.
fn transfer(
    origins: Origins,
    server: IpAddr,
    rounds: &Sender<()>,
    ready: &Receiver<Heard>,
) -> (u64, u32) {
    let cpus =
        vec![cpu_plan { nics_local: 1, llc: 0, shard: 0, core: 0, node: 0, online: true }; 64];
    let plan = KernelPlan { cpus, nr_shards: 1, origins };
    let mut slot = MaybeUninit::uninit();
    let (settings, time) = (common::settings(), CpuTime::Traced);
    let loaded = LoadedObserver::load(&mut slot, &settings, &plan, None, time).unwrap();
    let observer = loaded.attach().unwrap();
    rounds.send(()).unwrap();
    let mut stream = TcpStream::connect((server, 7777)).unwrap();
    stream.write_all(&vec![0; BYTES]).unwrap();
    drop(stream);
    let (_, _, napi) = ready.recv().unwrap();
    (observer.read([]).unwrap().iter().map(|cpu| cpu.placed_bytes).sum(), napi)
}

#[test]
fn a_socket_in_a_container_finds_its_nic_or_none() {
    if !common::is_root("a_socket_in_a_container_finds_its_nic_or_none") {
        return;
    }
    // this thread becomes the host, so that the real one's interfaces are left alone
    let host = new_namespace();
    let (ready_in, ready) = channel();
    let (rounds, rounds_in) = channel();
    let (id_in, id) = channel();
    let server = thread::spawn(move || container(&ready_in, &rounds_in, &id_in));
    let netns = id.recv().unwrap();
    run(&format!("ip link add veth-out type veth peer name veth-in netns {netns}"));
    run("ethtool -K veth-out tso off gso off");
    run("ip link set veth-out up");
    run("ip address add 10.77.0.1/24 dev veth-out");
    run("ip address add fd77::1/64 dev veth-out nodad");
    rounds.send(()).unwrap();
    let (inside, ifindex, _) = ready.recv().unwrap();
    // SAFETY: the name is a C string.
    assert_eq!(ifindex, unsafe { libc::if_nametoindex(c"veth-out".as_ptr()) }, "they collide");
    assert_ne!(host, inside);

    let v4: IpAddr = "10.77.0.2".parse().unwrap();
    let v6: IpAddr = "fd77::2".parse().unwrap();
    let from = |namespace| Origins {
        namespace,
        smallest_napi: None,
        interfaces: [(ifindex, 0)].into(),
        ..Origins::default()
    };
    let behind = |ways: &[(&str, u8, Option<u32>)]| Origins {
        peers: ways
            .iter()
            .map(|(address, bits, nic)| ((address.parse::<Ipv6Addr>().unwrap(), *bits), *nic))
            .collect(),
        ..from(host)
    };
    let placed = |origins, server| transfer(origins, server, &rounds, &ready).0;

    assert_eq!(placed(from(host), v4), 0, "an interface of this number is another one here");
    assert!(placed(from(inside), v4) > 0, "the namespace of the numbers");
    // no wider than the test's own addresses: the machine's other sockets are seen as well
    let net = ("::ffff:10.77.0.0", 120, Some(0));
    assert!(placed(behind(&[net]), v4) > 0, "by the peer's address");
    assert_eq!(placed(behind(&[net]), v6), 0, "an IPv4 route is none for IPv6");
    assert!(placed(behind(&[("fd77::", 64, Some(0))]), v6) > 0, "by the peer's IPv6 address");
    let on_host = ("::ffff:10.77.0.1", 128, None);
    assert_eq!(placed(behind(&[net, on_host]), v4), 0, "the peer is on this host");

    let (_, napi) = transfer(from(host), v4, &rounds, &ready);
    assert!(napi > 0, "the veth has a NAPI context");
    let by_napi = |napis: &[u32]| Origins {
        smallest_napi: Some(napi),
        napis: napis.iter().map(|napi| (*napi, 0)).collect(),
        ..behind(&[net])
    };
    assert!(placed(by_napi(&[napi]), v6) > 0, "by the NAPI context");
    assert_eq!(placed(by_napi(&[]), v4), 0, "a NAPI context that is not the host's");

    drop(rounds);
    server.join().unwrap();
}
