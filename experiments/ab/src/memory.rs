//! Checks that a guest has enough memory for its connections, and this machine for both.

use anyhow::{Context, Result, ensure};
use procfs::{Current, Meminfo};

use super::unsupported::Unsupported;

/// Memory of a connection in the guest, in bytes. The kernel's part of an idle one was 4.6 KiB
/// (6.18, mean of 10,000). The rest is for the server, telemetry and packets.
const IN_GUEST: u64 = 8 << 10;
/// The same at the client's end, without telemetry.
const HERE: u64 = 6 << 10;
/// Memory of a guest without connections, in MiB: kernel, root file system and programs.
const GUEST_MIB: u64 = 512;
/// The emulator's own memory in MiB, most of it for translated code.
const EMULATOR_MIB: u64 = 512;

const MIB: u64 = 1 << 20;

/// Checks that the connections fit into a guest with this many nodes, and MiB per node.
///
/// # Errors
/// They do not fit. The message names the flag and its least value.
pub(super) fn check_guest(connections: u32, nodes: usize, node_mib: u32) -> Result<()> {
    let need = guest_mib(connections);
    let nodes = nodes as u64;
    ensure!(
        need <= nodes * u64::from(node_mib),
        "{connections} RPC connections need about {need} MiB in the guest: set --node-memory to {} at \
         least",
        need.div_ceil(nodes)
    );
    Ok(())
}

/// Checks that this machine has enough memory for the guest and for the client.
///
/// # Errors
/// [`Unsupported`]: it has not.
pub(super) fn check_here(connections: u32) -> Result<()> {
    let own = u64::from(connections) * HERE / MIB;
    let need = guest_mib(connections) + EMULATOR_MIB + own;
    let memory = Meminfo::current().context("cannot read /proc/meminfo")?;
    let available = memory.mem_available.unwrap_or(memory.mem_free) / MIB;
    if need > available {
        let said = format!(
            "{connections} RPC connections need about {need} MiB of memory on this machine, guest \
             included; it has {available} MiB available: free some, or open fewer connections"
        );
        return Err(Unsupported(said).into());
    }
    Ok(())
}

/// Memory that the guest uses.
fn guest_mib(connections: u32) -> u64 {
    GUEST_MIB + u64::from(connections) * IN_GUEST / MIB
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_needs_a_larger_guest() {
        check_guest(16, 2, 1024).unwrap();
        let error = check_guest(300_000, 2, 1024).unwrap_err().to_string();
        let least: u32 = error.split_whitespace().rev().nth(2).unwrap().parse().unwrap();
        check_guest(300_000, 2, least).unwrap();
        assert!(check_guest(300_000, 2, least - 1).is_err(), "{error}");
    }

    #[test]
    fn what_does_not_fit_here_says_what_it_needs() {
        // Tens of TiB.
        let error = check_here(u32::MAX).unwrap_err();
        let reason = error.downcast_ref::<Unsupported>().unwrap().to_string();
        assert!(reason.contains("MiB of memory on this machine"), "{reason}");
    }
}
