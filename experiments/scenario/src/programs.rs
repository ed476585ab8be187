//! Starts the servers and hogs on the measured machine for a sample.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::arm::Arm;
use super::layout::Layout;
use super::workload::Workload;
use steer_lab::agent::Link;

/// Time for a program in an emulated guest to listen on its port.
const START: Duration = Duration::from_secs(60);
/// How often to check whether a program is ready.
const LOOK: Duration = Duration::from_millis(100);
/// Name of our server among the agent's programs.
pub const SERVER: &str = "server";
/// Name of the hogs.
pub const HOGS: &str = "hogs";

/// How a program shows that it is ready.
enum Ready {
    /// It prints a line that starts like this.
    Says(&'static str),
    /// It listens on this port, and prints nothing.
    Listens(u16),
}

impl Ready {
    fn wait(&self, link: &mut Link, name: &str) -> Result<()> {
        let port = match self {
            Self::Says(line) => return link.expect(name, line, START),
            Self::Listens(port) => *port,
        };
        let deadline = Instant::now() + START;
        while !listens(&link.read("/proc/net/tcp")?, port) {
            if let Some(ended) = link.ended(name, LOOK)? {
                bail!("it ended (code {:?}): {}", ended.code, ended.last_words());
            }
            ensure!(Instant::now() < deadline, "it did not listen on port {port} within {START:?}");
        }
        Ok(())
    }
}

/// Whether a program listens on an IPv4 port, according to /proc/net/tcp.
fn listens(sockets: &str, port: u16) -> bool {
    let local = format!(":{port:04X}");
    sockets.lines().any(|line| {
        // Number, local address, remote address, state.
        let mut words = line.split_whitespace().skip(1);
        let here = words.next().is_some_and(|address| address.ends_with(&local));
        here && words.nth(1) == Some("0A")
    })
}

/// Starts all programs, and returns their names. The hogs count from `window` on.
///
/// # Errors
/// When a program ends, or is not ready in time.
pub fn serve(
    link: &mut Link,
    layout: &Layout,
    arm: &Arm,
    workload: &Workload,
    window: Instant,
) -> Result<Vec<String>> {
    let mut programs = Vec::new();
    let mut start = |name: String, argv: Vec<String>, ready: Ready| {
        link.spawn(&name, &argv)?;
        ready.wait(link, &name).with_context(|| format!("starting {name}"))?;
        programs.push(name);
        anyhow::Ok(())
    };
    start(SERVER.to_owned(), workload.server(arm.pinned, layout), Ready::Says("ready"))?;
    for (flow, argv) in workload.iperf_servers(arm.pinned, layout).into_iter().enumerate() {
        start(format!("iperf3-{flow}"), argv, Ready::Says("Server listening"))?;
    }
    for server in workload.rpc_servers(arm.pinned, layout) {
        start(server.name, server.argv, Ready::Listens(server.port))?;
    }
    let lead = window.saturating_duration_since(Instant::now());
    if let Some(argv) = workload.hogs(layout, lead, workload.duration().as_secs_f64()) {
        start(HOGS.to_owned(), argv, Ready::Says("ready"))?;
    }
    Ok(programs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_told_from_a_connection() {
        let sockets = "  sl  local_address rem_address   st tx_queue rx_queue\n\
            \x20  0: 00000000:18EB 00000000:0000 0A 00000000:00000000 00:00000000\n\
            \x20  1: 0100007F:1F90 0100007F:18EC 01 00000000:00000000 00:00000000\n";
        assert!(listens(sockets, 6379));
        assert!(!listens(sockets, 8080), "connected");
        assert!(!listens(sockets, 6380), "the other end");
    }
}
