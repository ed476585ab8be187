//! The telemetry, loaded for real on this kernel, on loopback traffic. The ops that use it need
//! sched_ext and are tested in the lab. Without root the tests say that they are skipped.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::{
    io::{Read, Write},
    mem::MaybeUninit,
    net::{TcpListener, TcpStream},
    thread,
};

use rustix::thread::gettid;
use steer_bpf::{Telemetry, intf};

mod common;

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
    let telemetry = Telemetry::attach(&mut slot, &common::settings()).unwrap();
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
    let telemetry = Telemetry::attach(&mut slot, &common::settings()).unwrap();
    telemetry.follow(gettid()).unwrap();
    let tid = gettid().as_raw_nonzero().get() as u32;
    let threads = telemetry.threads().unwrap();
    let load = || threads.read(tid).unwrap().unwrap().load;
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
