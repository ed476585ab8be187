//! The telemetry, loaded for real on this kernel, on loopback traffic. The ops that use it need
//! sched_ext and are tested in the lab. Without root the tests say that they are skipped.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::{
    io::{Read, Write},
    mem::MaybeUninit,
    net::{TcpListener, TcpStream, UdpSocket},
    os::fd::{AsFd, AsRawFd},
    thread,
};

use rustix::{process::Pid, thread::gettid};
use steer_bpf::{Telemetry, intf};

mod common;

/// A pause ends no burst: this machine may stop a test at any moment, for any time.
fn patient_settings() -> intf::class_settings {
    intf::class_settings { idle_gap_ns: u64::MAX, ..common::settings() }
}

const RPC_BYTES: usize = 512;
const ROUNDS: usize = 10;

/// Serves one bulk connection, then one ping-pong connection; returns the bulk bytes.
fn serve(listener: &TcpListener) -> usize {
    let (mut bulk, _) = listener.accept().unwrap();
    let (mut rpc, _) = listener.accept().unwrap();
    let mut message = [0; RPC_BYTES];
    for _ in 0..ROUNDS {
        rpc.read_exact(&mut message).unwrap();
        rpc.write_all(&message).unwrap();
    }
    let mut all = Vec::new();
    bulk.read_to_end(&mut all).unwrap()
}

#[test]
fn telemetry_tells_long_from_short_flows() {
    if !common::is_root("telemetry_tells_long_from_short_flows") {
        return;
    }
    let mut slot = MaybeUninit::uninit();
    let telemetry = Telemetry::attach(&mut slot, &patient_settings()).unwrap();
    let before = telemetry.counters().unwrap();

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || serve(&listener));
    let mut bulk = TcpStream::connect(address).unwrap();
    let mut rpc = TcpStream::connect(address).unwrap();
    let mut message = [0; RPC_BYTES];
    for _ in 0..ROUNDS {
        rpc.write_all(&message).unwrap();
        rpc.read_exact(&mut message).unwrap();
    }
    bulk.write_all(&vec![0; 1 << 20]).unwrap();
    drop(bulk);
    assert_eq!(server.join().unwrap(), 1 << 20);

    let after = telemetry.counters().unwrap();
    let grew = |counter: intf::steer_counter| after[counter as usize] - before[counter as usize];
    assert!(grew(intf::steer_counter_CNT_FLOW_LONG) >= 1, "the sender's side is one burst");
    assert!(grew(intf::steer_counter_CNT_FLOW_SHORT) >= 2, "both sides of the ping-pong");
}

#[test]
fn telemetry_charges_the_thread_that_moves_the_data() {
    if !common::is_root("telemetry_charges_the_thread_that_moves_the_data") {
        return;
    }
    let mut slot = MaybeUninit::uninit();
    let telemetry = Telemetry::attach(&mut slot, &patient_settings()).unwrap();
    telemetry.follow(gettid()).unwrap();
    let load = || own_task(&telemetry).load;
    assert_eq!(load().long_ns, 0);

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut bulk = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut served, _) = listener.accept().unwrap();
    let server = thread::spawn(move || served.read_to_end(&mut Vec::new()).unwrap());
    (0..16).for_each(|_| bulk.write_all(&[0; 64 << 10]).unwrap());
    drop(bulk);
    assert_eq!(server.join().unwrap(), 1 << 20);

    assert_eq!(load().short_ns, 0);
    assert!(load().long_ns > 0, "1 MiB is a long flow, and this thread sent it");
}

/// It fetches the packets on whatever CPU it runs, also where the NIC's steering is fixed.
#[test]
fn packets_of_a_thread_that_polls_the_nic_are_taken_to_follow_it() {
    if !common::is_root("packets_of_a_thread_that_polls_the_nic_are_taken_to_follow_it") {
        return;
    }
    let mut slot = MaybeUninit::uninit();
    let telemetry = Telemetry::attach(&mut slot, &patient_settings()).unwrap();
    telemetry.follow(gettid()).unwrap();
    telemetry.set_nic(LOOPBACK, 0).unwrap();
    for polls in [false, true] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let client = thread::spawn(move || {
            TcpStream::connect(address).unwrap().write_all(&vec![0; 1 << 20]).unwrap();
        });
        let (mut served, _) = listener.accept().unwrap();
        poll_nic(&served, if polls { 50 } else { 0 });
        assert_eq!(served.read_to_end(&mut Vec::new()).unwrap(), 1 << 20);
        client.join().unwrap();
        let task = own_task(&telemetry);
        assert_eq!(task.home.nic, 0);
        assert_eq!(task.probe_until_ns > 0, polls);
    }
}

/// It works for others, each for a moment: what one of them moved says nothing of the next.
#[test]
fn a_worker_of_the_kernel_has_no_class() {
    if !common::is_root("a_worker_of_the_kernel_has_no_class") {
        return;
    }
    let mut slot = MaybeUninit::uninit();
    let telemetry = Telemetry::attach(&mut slot, &patient_settings()).unwrap();
    let long = || telemetry.counters().unwrap()[intf::steer_counter_CNT_FLOW_LONG as usize];
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connect = || {
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    };
    let ((mut sender, relayed), (relaying, mut receiver)) = (connect(), connect());
    telemetry.relay(relayed.as_fd(), relaying.as_fd()).unwrap();
    let workers = workers();
    workers.iter().for_each(|worker| telemetry.follow(*worker).unwrap());
    let before = long();
    let client = thread::spawn(move || sender.write_all(&vec![0; 1 << 20]).unwrap());
    receiver.read_exact(&mut vec![0; 1 << 20]).unwrap();
    client.join().unwrap();

    assert!(long() >= before + 3, "what is sent, relayed and received are long flows");
    let threads = telemetry.threads().unwrap();
    for worker in workers {
        // a worker may have ended
        let Some(task) = threads.read(worker.as_raw_pid() as u32).unwrap() else { continue };
        assert_eq!(task.load.long_ns, 0, "of thread {worker:?}");
    }
}

/// The kernel's worker threads.
fn workers() -> Vec<Pid> {
    let processes = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap());
    let worker = |entry: std::fs::DirEntry| {
        let name = std::fs::read_to_string(entry.path().join("comm")).ok()?;
        let pid = entry.file_name().to_str()?.parse().ok()?;
        name.starts_with("kworker/").then(|| Pid::from_raw(pid))?
    };
    processes.filter_map(worker).collect()
}

/// What is known of this thread, which is followed.
fn own_task(telemetry: &Telemetry<'_>) -> intf::task_ctx {
    let tid = gettid().as_raw_nonzero().get() as u32;
    telemetry.threads().unwrap().read(tid).unwrap().unwrap()
}

/// The loopback device, in every namespace.
const LOOPBACK: u32 = 1;

/// How long a thread that reads from the socket polls the NIC, in microseconds.
fn poll_nic(socket: &TcpStream, us: libc::c_int) {
    let (value, size) = ((&raw const us).cast(), size_of_val(&us) as libc::socklen_t);
    // SAFETY: the kernel reads as many bytes as `us` has.
    let set = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_BUSY_POLL, value, size)
    };
    assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
}

/// A socket that takes datagrams from anybody, as servers of QUIC have. `answer` is the size of what
/// it sends for every two datagrams; 0: it sends nothing. The load of the thread that serves it.
fn serve_datagrams(telemetry: &Telemetry, size: usize, answer: usize) -> intf::thread_load {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let (client, mut buffer) = (UdpSocket::bind("127.0.0.1:0").unwrap(), [0; 2048]);
    for _ in 0..200 {
        for _ in 0..2 {
            client.send_to(&buffer[..size], address).unwrap();
        }
        let mut from = address;
        for _ in 0..2 {
            from = server.recv_from(&mut buffer).unwrap().1;
        }
        if answer > 0 {
            server.send_to(&buffer[..answer], from).unwrap();
            client.recv_from(&mut buffer).unwrap();
        }
    }
    own_task(telemetry).load
}

#[test]
fn telemetry_tells_acknowledged_datagrams_from_a_ping_pong() {
    if !common::is_root("telemetry_tells_acknowledged_datagrams_from_a_ping_pong") {
        return;
    }
    let mut slot = MaybeUninit::uninit();
    let telemetry = Telemetry::attach(&mut slot, &patient_settings()).unwrap();
    // each case in a thread of its own: a thread's sums last
    let load = |size, answer| {
        thread::scope(|scope| {
            let serve = || {
                telemetry.follow(gettid()).unwrap();
                serve_datagrams(&telemetry, size, answer)
            };
            scope.spawn(serve).join().unwrap()
        })
    };
    let ping_pong = load(400, 400);
    assert!(ping_pong.short_ns > 0 && ping_pong.long_ns == 0, "{ping_pong:?}");
    let acknowledged = load(1350, 40);
    assert!(acknowledged.short_ns == 0 && acknowledged.long_ns == 0, "{acknowledged:?}");
    let bulk = load(1350, 0);
    assert!(bulk.short_ns == 0 && bulk.long_ns > 0, "{bulk:?}");
}
