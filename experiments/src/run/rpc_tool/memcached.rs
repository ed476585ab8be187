//! memcached, with its threads, asked by our own client. The one load tool of Debian 12, memcaslap,
//! counts latencies by powers of two and chooses its source ports itself; our client makes its usual
//! histogram, and the arms of a round meet the same queues.

use std::net::IpAddr;

use super::{Calls, Needed, Server};

pub(super) const NEEDED: &[Needed] =
    &[Needed { program: "memcached", how: "apt install memcached", in_guest: true }];
const PORT: u16 = 11211;
/// Becomes memcached.
const SCRIPT: &str = include_str!("../../../lab/memcached.sh");
/// Connections that it opens for itself.
const SPARE: u32 = 64;

/// The server; none without connections.
pub(super) fn servers(calls: Calls, address: IpAddr) -> Vec<Server> {
    let most = calls.connections + SPARE;
    let mut argv = ["sh", "-ec", SCRIPT, "memcached.sh"].map(str::to_owned).to_vec();
    argv.extend([address.to_string()]);
    argv.extend([u32::from(PORT), calls.threads.into(), most].map(|number| number.to_string()));
    let server = Server { name: "memcached".to_owned(), argv, port: PORT };
    (calls.connections > 0).then_some(server).into_iter().collect()
}

/// What our client has to know.
pub(super) fn client() -> Vec<String> {
    vec!["--rpc-protocol=memcached".to_owned(), format!("--rpc-port={PORT}")]
}
