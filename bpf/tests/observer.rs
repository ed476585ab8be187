//! The observer, loaded for real on this kernel, on loopback traffic. Without root the tests say that
//! they are skipped.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::{
    fs,
    io::{Read, Write},
    mem::MaybeUninit,
    net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream},
    os::{fd::OwnedFd, unix::fs::MetadataExt},
    path::Path,
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::net::{self, AddressFamily, Protocol, SocketType, ipproto};
use steer_bpf::{
    CpuTime, KernelPlan, LoadedObserver, ObjectSlot, ObservedCgroup, Observer, Origins,
    bucket_floor, intf::*,
};

mod common;

/// Each test counts all traffic of this machine, so the tests take turns.
static TURN: Mutex<()> = Mutex::new(());

/// Two CPUs of one cache. The loopback device stands in for a NIC, since only the counting is tested;
/// CPU 0 is NIC-local to it.
fn plan() -> KernelPlan {
    KernelPlan {
        cpus: vec![
            cpu_plan { nics_local: 1, llc: 0, shard: 0, core: 0, node: 0, online: true },
            cpu_plan { nics_local: 0, llc: 0, shard: 0, core: 1, node: 0, online: true },
        ],
        nr_shards: 1,
        origins: Origins {
            namespace: common::own_namespace(),
            interfaces: [(1, 0)].into(),
            ..Origins::default()
        },
    }
}

/// Counts from now on.
fn observer(slot: &mut ObjectSlot, cgroup: Option<ObservedCgroup>, time: CpuTime) -> Observer<'_> {
    let loaded = LoadedObserver::load(slot, &common::settings(), &plan(), cgroup, time).unwrap();
    loaded.attach().unwrap()
}

fn pin_to(cpu: usize) {
    // SAFETY: a zeroed cpu_set_t is the empty set, and the call reads size_of bytes of it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &set), 0);
    }
}

/// A socket on the loopback's address, for TCP or MPTCP.
fn socket(protocol: Protocol) -> OwnedFd {
    net::socket(AddressFamily::INET, SocketType::STREAM, Some(protocol)).unwrap()
}

/// Receives `total` bytes in one connection on `cpu`, from a sender on another thread.
fn bulk_transfer(cpu: usize, total: usize) {
    transfer(ipproto::TCP, cpu, total);
}

fn transfer(protocol: Protocol, cpu: usize, total: usize) {
    let listener = socket(protocol);
    net::bind(&listener, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    net::listen(&listener, 1).unwrap();
    let listener = TcpListener::from(listener);
    let address = listener.local_addr().unwrap();
    let receiver = thread::spawn(move || {
        pin_to(cpu);
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = vec![0; 256 << 10];
        while stream.read(&mut buffer).unwrap() > 0 {}
    });
    let sender = socket(protocol);
    net::connect(&sender, &address).unwrap();
    let mut sender = TcpStream::from(sender);
    sender.write_all(&vec![0; total]).unwrap();
    drop(sender);
    receiver.join().unwrap();
}

#[test]
fn bytes_time_and_softirq_are_counted_where_they_happen() {
    if !common::is_root("bytes_time_and_softirq_are_counted_where_they_happen") {
        return;
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut slot = MaybeUninit::uninit();
    let observer = observer(&mut slot, None, CpuTime::Traced);
    let before = observer.read(0..2).unwrap();
    let start = Instant::now();
    bulk_transfer(0, 64 << 20);
    let middle = observer.read(0..2).unwrap();
    bulk_transfer(1, 64 << 20);
    // one thread that never blocks: its time shows though no switch reports it
    while start.elapsed() < Duration::from_millis(500) {}
    let after = observer.read(0..2).unwrap();
    let elapsed = start.elapsed().as_nanos() as u64;

    let total = |cpus: &[observed_cpu], counter: &dyn Fn(&observed_cpu) -> u64| -> u64 {
        cpus.iter().map(counter).sum()
    };
    let grew =
        |from: &[observed_cpu], to: &[observed_cpu], counter: &dyn Fn(&observed_cpu) -> u64| {
            total(to, counter) - total(from, counter)
        };
    let long = traffic_class_CLASS_LONG as usize;
    let placed = |c: &observed_cpu| c.placed_bytes;
    let local = |c: &observed_cpu| c.local_bytes;

    assert!(grew(&before, &middle, &|c| c.received_bytes[long]) > 32 << 20);
    let on_cpu_0 = grew(&before, &middle, &placed);
    assert_eq!(grew(&before, &middle, &local), on_cpu_0, "CPU 0 is NIC-local");
    assert!(on_cpu_0 > 32 << 20);
    assert!(grew(&middle, &after, &placed) > 32 << 20);
    assert_eq!(grew(&middle, &after, &local), 0, "CPU 1 is not");
    assert!(grew(&before, &after, &|c| c.run_ns[long]) > 0);
    assert!(grew(&before, &after, &|c| c.softirq_ns) > 0, "loopback delivers in softirq");

    let windows = |shared: fn(&observed_cpu) -> &shared_time| {
        let long_ns = grew(&before, &after, &|c| shared(c).long_ns);
        (long_ns, grew(&before, &after, &|c| shared(c).mixed_ns))
    };
    let (of_threads, mixed) = windows(|c| &c.thread_windows);
    let (of_all, mixed_with_softirq) = windows(|c| &c.all_windows);
    let softirq = grew(&before, &after, &|c| c.softirq_class_ns[long]);
    assert!(0 < of_threads && of_threads <= grew(&before, &after, &|c| c.run_ns[long]));
    assert!(of_threads < of_all, "softirq for long flows counts: {of_threads}, {of_all}");
    let open = 2 * 100_000_000;
    assert!(of_all <= of_threads + softirq + open, "{of_all}: {of_threads} + {softirq}");
    assert!(mixed <= of_threads && mixed_with_softirq <= of_all);

    let all_time = |c: &observed_cpu| c.run_ns.iter().sum::<u64>() + c.softirq_ns + c.irq_ns;
    let busy = grew(&before, &after, &all_time);
    assert!(busy > elapsed / 4, "the spinning thread alone is a good part: {busy} of {elapsed}");
    assert!(busy < elapsed * 21 / 10, "no time is counted twice: {busy} of 2 x {elapsed}");
}

#[test]
fn an_mptcp_connection_is_placed_as_the_tcp_connection_that_carries_it() {
    let test = "an_mptcp_connection_is_placed_as_the_tcp_connection_that_carries_it";
    if !common::is_root(test) {
        return;
    }
    if !Path::new("/proc/sys/net/mptcp/enabled").exists() {
        eprintln!("SKIPPED {test}: this kernel has no MPTCP");
        return;
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut slot = MaybeUninit::uninit();
    let observer = observer(&mut slot, None, CpuTime::Traced);
    transfer(ipproto::MPTCP, 0, 64 << 20);
    let cpu = &observer.read(0..2).unwrap()[0];
    assert!(cpu.received_bytes[traffic_class_CLASS_LONG as usize] > 32 << 20, "{cpu:?}");
    assert!(cpu.placed_bytes > 32 << 20, "its NIC is known: {cpu:?}");
    assert!(cpu.llc_bytes > 32 << 20, "and so is the CPU of its packets: {cpu:?}");
}

#[test]
fn samples_show_who_runs_without_tracing_switches() {
    if !common::is_root("samples_show_who_runs_without_tracing_switches") {
        return;
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut slot = MaybeUninit::uninit();
    let observer = observer(&mut slot, None, CpuTime::Sampled);
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(1) {
        bulk_transfer(0, 64 << 20);
    }
    let cpus = observer.read(0..2).unwrap();
    let elapsed = start.elapsed().as_nanos() as u64;
    let long = traffic_class_CLASS_LONG as usize;
    let sum = |counter: fn(&observed_cpu) -> u64| cpus.iter().map(counter).sum::<u64>();

    assert!(cpus[0].run_ns[long] > 0, "the receiver runs on CPU 0");
    assert!(sum(|cpu| cpu.softirq_ns) > 0, "loopback delivers in softirq");
    assert!(sum(|cpu| cpu.received_bytes.iter().sum()) > 32 << 20);
    let busy = sum(|cpu| cpu.run_ns.iter().sum::<u64>() + cpu.softirq_ns);
    assert!(busy > elapsed / 4, "sender and receiver are busy: {busy} of {elapsed}");
    assert!(busy < elapsed * 21 / 10, "no time is counted twice: {busy} of 2 x {elapsed}");
    assert_eq!(sum(|cpu| cpu.switches.iter().sum()), 0, "switches are not traced");
    assert_eq!(sum(|cpu| cpu.irq_ns), 0, "nor interrupts");
}

/// Sends in chunks of `chunk` bytes to a reader that sleeps `pause` before each of its reads.
fn slow_transfer(chunk: usize, chunks: usize, pause: Duration) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let receiver = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = vec![0; chunk];
        for _ in 0..chunks {
            thread::sleep(pause);
            stream.read_exact(&mut buffer).unwrap();
        }
    });
    let mut sender = TcpStream::connect(address).unwrap();
    for _ in 0..chunks {
        sender.write_all(&vec![0; chunk]).unwrap();
    }
    receiver.join().unwrap();
}

#[test]
fn packets_are_sized_and_their_payload_timed_until_it_is_copied() {
    if !common::is_root("packets_are_sized_and_their_payload_timed_until_it_is_copied") {
        return;
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut slot = MaybeUninit::uninit();
    let observer = observer(&mut slot, None, CpuTime::Traced);
    let sum = |counters: fn(&observed_cpu) -> &[u64]| {
        let cpus = observer.read(0..2).unwrap();
        let mut all = vec![0; counters(&cpus[0]).len()];
        for cpu in &cpus {
            all.iter_mut().zip(counters(cpu)).for_each(|(all, one)| *all += one);
        }
        all
    };
    let waits = || sum(|cpu| &cpu.waits);
    let longer_than = |waits: &[u64], ns: u64| -> u64 {
        let buckets = waits.iter().enumerate();
        buckets.filter(|(bucket, _)| bucket_floor(*bucket) >= ns).map(|(_, count)| count).sum()
    };

    // the receiver's flow is long from its first read on; what comes before is not counted
    bulk_transfer(0, 64 << 20);
    let quick = waits();
    let seen: u64 = quick.iter().sum();
    let marks = (64 << 20) / (64 << 10);
    assert!((marks / 2..=marks).contains(&seen), "one sample in 64 KiB: {seen} of {marks}");
    let bytes: u64 = sum(|cpu| std::slice::from_ref(&cpu.skb_bytes))[0];
    // what the receiver took from the socket's backlog is left out
    assert!((1 << 20..=64 << 20).contains(&bytes), "counted once each: {bytes}");
    let packets = sum(|cpu| &cpu.skbs);
    let at_least: u64 =
        packets.iter().enumerate().map(|(bucket, count)| bucket_floor(bucket) * count).sum();
    assert!(at_least <= bytes && bytes <= at_least * 5 / 4 + 1, "{at_least} is not {bytes}");

    // a reader that sleeps 20 ms per 128 KiB leaves both marks waiting that long
    slow_transfer(128 << 10, 25, Duration::from_millis(20));
    let slow = waits();
    let waited = longer_than(&slow, 15_000_000) - longer_than(&quick, 15_000_000);
    assert!(waited >= 20, "{waited} of 50 marks waited for the sleeper");
}

#[test]
fn the_traffic_of_other_cgroups_can_be_left_out() {
    if !common::is_root("the_traffic_of_other_cgroups_can_be_left_out") {
        return;
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mounts = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].map(Path::new);
    let root = mounts.into_iter().find(|root| root.join("cgroup.controllers").exists()).unwrap();
    let empty = root.join(format!("steer-test-{}", std::process::id()));
    fs::create_dir(&empty).unwrap();
    let seen = [(root, 0), (empty.as_path(), 1)].map(|(folder, depth)| {
        let cgroup = ObservedCgroup { id: fs::metadata(folder).unwrap().ino(), depth };
        let mut slot = MaybeUninit::uninit();
        let observer = observer(&mut slot, Some(cgroup), CpuTime::Traced);
        bulk_transfer(0, 1 << 20);
        let counted = observer.read(0..2).unwrap();
        counted.iter().map(|cpu| cpu.received_bytes.iter().sum::<u64>()).sum::<u64>()
    });
    fs::remove_dir(&empty).unwrap();
    assert!(seen[0] >= 1 << 20, "all threads are below the root: {seen:?}");
    assert_eq!(seen[1], 0, "none is in the new cgroup");
}
