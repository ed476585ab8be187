//! The guest of an arm, and a sample as a copy of it: the words of their script (`guest/ab.sh`). Some
//! are lines of shell.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use steer_ground::cpus::joined;
use steer_ground::word::Word;
use steer_lab::steering::Steering;
use steer_scenario::arm::Arm;
use steer_scenario::layout::Layout;

use super::options::AbOptions;
use crate::bench::{Bench, Branch};
use crate::guest::{Task, shell_words};
use crate::hardware::{Hardware, NO_WATCHDOGS, Network, Pace, RING, Wire};
use crate::machine::Machine;

const TEST: &str = include_str!("../../guest/ab.sh");
/// A guest of six CPUs with our programs fits, and three such nodes fit into the model.
const NODE_MIB: u32 = 768;
/// For how long a program sends that is killed at the sample's end.
const ENDLESS: &str = "--time 86400";
/// Seconds that the client has for opening its connections, so that its window begins at a known
/// moment.
const CONNECT_S: f64 = 0.05;
/// Seconds of the warm-up for which the model is on: by then caches are as full as they get.
const WARM_S: f64 = 0.05;
/// The shortest interval of the observer's timeline.
const SHORTEST_S: f64 = 0.01;
/// First source ports: each seed has its own, and so other hashes.
const PORTS: u16 = 20_000;
/// A multiple of every number of queues up to 8, so that with the port rule flow i meets queue i.
const PORT_STEP: u16 = 840;

/// Which sample it is.
#[derive(Debug, Clone)]
pub(crate) struct Which<'a> {
    pub(crate) world: Steering,
    pub(crate) arm: &'a Arm,
    /// Position of the arm.
    pub(super) order: u32,
    pub(crate) seed: u32,
    /// Which of its arm's guests it is a copy of.
    pub(super) boot: u32,
}

impl Which<'_> {
    /// First source port of the client.
    pub(super) fn source_port(&self) -> u16 {
        PORTS + PORT_STEP * (self.seed % 40) as u16
    }
}

/// The programs that every guest has.
pub(super) fn programs(options: &AbOptions, bench: &Bench) -> Result<Vec<PathBuf>> {
    let mut programs = options.programs.clone();
    programs.push(bench.tools.program("calibrate"));
    programs.extend(options.brought()?);
    Ok(programs)
}

/// The guest of the sample's arm, up to where seeds part.
pub(super) fn trunk<'a>(
    options: &AbOptions,
    machine: &'a Machine,
    which: &Which<'_>,
    programs: &[PathBuf],
) -> Task<'a> {
    let layout = options.layout();
    let (cpus, queues) = (options.shape.cpus(), options.queues);
    let steering = match which.world {
        Steering::Auto => Wire::Follow,
        Steering::Hash | Steering::Spread => Wire::Hash,
        Steering::Explicit => Wire::Port,
    };
    let hardware = Hardware {
        machine,
        shape: options.shape,
        node_mib: NODE_MIB,
        network: Some(Network { nics: options.nics, queues, steering, ring: RING }),
        pace: Pace::PRICED,
        kernel_words: NO_WATCHDOGS,
    };
    // As the lab's wheel: the driver spreads interrupts over all CPUs, an operator pins them near.
    let interrupts = (0..).zip(options.nics.nodes(options.shape)).map(|(nic, node): (usize, _)| {
        let cpus = match which.world {
            Steering::Auto | Steering::Spread => (0..cpus).collect(),
            Steering::Hash | Steering::Explicit => layout.nodes[node].clone(),
        };
        let cpus: Vec<String> = cpus.iter().map(usize::to_string).collect();
        format!("queues_to eth{nic} {}\n", cpus.join(" "))
    });
    let lead = CONNECT_S + options.warmup_s;
    // What is traced is of interest from the beginning.
    let warm = if options.workload.trace_long { lead } else { WARM_S.min(lead) };
    let clients: Vec<usize> = hardware.clients().collect();
    let hogs = options.workload.hogs(&layout, Duration::from_secs_f64(lead), options.duration_s);
    let arm = which.arm;
    let words = vec![
        ("mtu", options.mtu.to_string()),
        ("measured_cpus", joined(&(0..cpus).collect::<Vec<_>>())),
        ("client_cpus", joined(&clients)),
        ("client_cpu", clients.last().map_or_else(String::new, usize::to_string)),
        ("interrupts", interrupts.collect()),
        ("setup", setup(options)),
        ("xps", if which.world == Steering::Auto { "on" } else { "off" }.to_owned()),
        ("align", if arm.tunings.is_empty() { "" } else { "yes" }.to_owned()),
        ("scheduler", arm.scheduler.as_ref().map_or_else(String::new, |argv| argv.join(" "))),
        ("servers", servers(options, arm.pinned, &layout)),
        ("hogs", hogs.map_or_else(String::new, |argv| argv.join(" "))),
        ("profile", if options.profile { "yes" } else { "" }.to_owned()),
        ("lead_s", lead.to_string()),
        ("span_s", options.duration_s.to_string()),
        ("interval_s", (options.duration_s / 20.0).max(SHORTEST_S).to_string()),
        ("lead_us", format!("{:.0}", lead * 1e6)),
        ("warm_us", format!("{:.0}", warm * 1e6)),
        ("span_us", format!("{:.0}", options.duration_s * 1e6)),
    ];
    Task {
        name: format!("{}, {}, {}", machine.id, which.world.word(), arm.name),
        hardware,
        test: TEST,
        words,
        programs: programs.to_vec(),
        files: &[],
        profile: options.profile,
        layout: which.boot,
    }
}

/// Lines that run the commands of the setup.
fn setup(options: &AbOptions) -> String {
    let line = |place: &str, command: &String| {
        format!("set_up {} {place}\n", shell_words(std::slice::from_ref(command)))
    };
    let peer = options.setup.setup_peer.iter().map(|command| line("inside", command));
    let guest = options.setup.setup_guest.iter().map(|command| line("", command));
    peer.chain(guest).collect()
}

/// Lines that start all servers, and wait until they are ready.
fn servers(options: &AbOptions, pinned: bool, layout: &Layout) -> String {
    let workload = &options.workload;
    let serve = |name: &str, argv: &[String], ready: &str| {
        format!("serve {name} {}\n{ready}\n", shell_words(argv))
    };
    let said = |name: &str, text: &str| format!("await /tmp/{name}.out '{text}'");
    let own = serve("server", &workload.server(pinned, layout), &said("server", "ready"));
    let iperf = workload.iperf_servers(pinned, layout);
    let iperf = (0..).zip(&iperf).map(|(flow, argv): (usize, _)| {
        let name = format!("iperf3-{flow}");
        serve(&name, argv, &said(&name, "Server listening"))
    });
    let rpc = workload.rpc_servers(pinned, layout);
    let rpc = rpc.iter().map(|it| serve(&it.name, &it.argv, &format!("listens {}", it.port)));
    [own].into_iter().chain(iperf).chain(rpc).collect()
}

/// The sample itself: what its seed chooses.
pub(super) fn branch(
    options: &AbOptions,
    machine: &Machine,
    which: &Which<'_>,
    trunk: usize,
) -> Branch {
    let mut load = options.workload.load(Default::default(), which.source_port());
    load.connect_s = CONNECT_S;
    load.warmup_s = options.warmup_s;
    load.duration_s = options.duration_s;
    let Which { world, arm, seed, .. } = which;
    let servers = options.servers();
    let mut client = vec!["steer-bench".to_owned()];
    client.extend(load.arguments(&servers));
    client.extend(options.workload.client_flags());
    let senders = options.workload.iperf_clients(&servers, ENDLESS, which.source_port());
    let senders = (0..).zip(&senders).map(|(flow, argv): (usize, _)| {
        format!("send iperf3-client-{flow} {}\n", shell_words(argv))
    });
    Branch {
        trunk,
        name: format!("{}, {}, seed {seed}, {}", machine.id, world.word(), arm.name),
        words: vec![
            ("seed", seed.to_string()),
            ("senders", senders.collect()),
            ("client_command", if load.is_none() { String::new() } else { client.join(" ") }),
        ],
    }
}
