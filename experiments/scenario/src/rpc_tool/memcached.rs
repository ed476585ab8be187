//! memcached as RPC server, with our own client. Debian 12's only load tool, memcaslap, counts
//! latencies by powers of two and chooses its source ports itself. Our client makes its usual
//! histogram, and uses the same queues in all arms of a round.

use std::net::IpAddr;

use super::server::{Calls, Needed, Server};

pub(super) const NEEDED: &[Needed] =
    &[Needed { program: "memcached", how: "apt install memcached", in_guest: true }];
pub(super) const PORT: u16 = 11211;
/// Script that becomes memcached.
const SCRIPT: &str = include_str!("../../memcached.sh");
/// Connections that memcached needs for itself.
const SPARE: u32 = 64;

/// The server; empty if there are no connections.
pub(super) fn servers(calls: Calls, address: IpAddr) -> Vec<Server> {
    let most = calls.connections + SPARE;
    let mut argv = ["sh", "-ec", SCRIPT, "memcached.sh"].map(str::to_owned).to_vec();
    argv.extend([address.to_string()]);
    argv.extend([u32::from(PORT), calls.threads.into(), most].map(|number| number.to_string()));
    let server = Server { name: "memcached".to_owned(), argv, port: PORT };
    (calls.connections > 0).then_some(server).into_iter().collect()
}
