//! RPC servers in cgroups of their own, and on which CPUs they serve.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::bench::Bench;
use steer_ground::text::words;
use steer_lab::net;
use steer_result::ObserverReport;
use steer_traffic::client::ClientReport;
use steer_traffic::generator::Generator;

const PATIENCE: Duration = Duration::from_secs(60);

/// A server with two threads: the name of its cgroup below `lab`, and the port of its RPC service.
pub(super) struct Server(pub(super) &'static str, pub(super) u16);

impl Server {
    /// Starts it. `prefix` is shell text before the command, such as `taskset`.
    pub(super) fn start(&self, bench: &mut Bench, prefix: &str) -> Result<()> {
        let &Self(name, port) = self;
        let cgroup = format!("/sys/fs/cgroup/lab/{name}");
        let server = format!(
            "mkdir -p {cgroup}; echo $$ > {cgroup}/cgroup.procs; \
             exec {prefix} steer-bench server --rpc-threads 2 --rpc-port {port} --long-port {} \
             --long-out-port {}",
            port + 10,
            port + 20
        );
        bench.guest.link.spawn(name, &["sh", "-c", &server])?;
        bench.guest.link.expect(name, "ready", PATIENCE)
    }

    /// Stops it, and removes its cgroup.
    pub(super) fn stop(&self, bench: &mut Bench) -> Result<()> {
        bench.guest.link.stop(self.0)?;
        bench.script(&format!("rmdir /sys/fs/cgroup/lab/{}", self.0)).map(drop)
    }
}

/// Sends all `servers` the same RPCs, and calls `during` meanwhile. Returns the share of each
/// server's CPU time on NIC-local CPUs, as the observer sees it.
///
/// A client starts when its observer is loaded: while the kernel checks an observer's programs,
/// other threads on that CPU may wait (6.12 does not preempt it).
pub(super) fn share_near_the_nic<const N: usize>(
    bench: &mut Bench,
    servers: [&Server; N],
    during: fn(&mut Bench) -> Result<()>,
) -> Result<[f64; N]> {
    let observer = |name: &str| format!("observe-{name}");
    for Server(name, _) in servers {
        let observe = format!("scx_steer observe --cgroup lab/{name} --lead 5 --duration 5 --json");
        bench.guest.link.spawn(&observer(name), &words(&observe))?;
    }
    let mut clients = Vec::new();
    for Server(name, port) in servers {
        bench.guest.link.expect(&observer(name), "observing", PATIENCE)?;
        let mut client = bench.guest.net.command(std::env::current_exe()?);
        client.args(words(&format!(
            "client --server {} --long-flows 0 --rpc-connections 8 --rpc-rate 500 --rpc-port {port} \
             --warmup 2 --duration 12 --json",
            net::GUEST
        )));
        clients.push(Generator::start(client)?);
    }
    let deadline = Instant::now() + PATIENCE;
    during(bench)?;
    for client in clients {
        let report: ClientReport = serde_json::from_str(&client.finish(deadline)?)?;
        ensure!(report.rpc.is_some_and(|rpc| rpc.count > 0), "no RPC was answered");
    }
    let mut shares = [0.0; N];
    for (Server(name, _), share) in servers.iter().zip(&mut shares) {
        let observed = bench.guest.link.wait(&observer(name), PATIENCE)?;
        ensure!(observed.success(), "{}", observed.last_words());
        *share = near_the_nic(&serde_json::from_str(&observed.stdout)?, &bench.facts.local_cpus())
            .with_context(|| format!("the observer saw no RPC in {name}"))?;
    }
    Ok(shares)
}

/// The share of short-flow CPU time on `cpus`, from an observer's timeline.
fn near_the_nic(observed: &ObserverReport, cpus: &[usize]) -> Option<f64> {
    let (mut near, mut all) = (0.0, 0.0);
    for line in &observed.timeline.as_ref()?.cpus {
        let spent: f64 = line.short.iter().sum();
        all += spent;
        if cpus.contains(&line.cpu) {
            near += spent;
        }
    }
    (all > 0.0).then(|| near / all)
}
