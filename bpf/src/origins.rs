//! How a socket's NIC is found: the tables of `origin.bpf.h`, and how they are filled.

use std::{collections::BTreeMap, net::Ipv6Addr};

use anyhow::{Context, Result};
use libbpf_rs::{MapCore, MapFlags};

/// The names of NICs. A NIC is given by its index in the plan, which is below `MAX_NICS`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// The network namespace of `interfaces`: its inode number, 0 for none.
    pub namespace: u32,
    /// No NAPI number is below this; `None` if unknown: then `napis` are not used.
    pub smallest_napi: Option<u32>,
    /// NIC by interface number. At most `MAX_INTERFACES`.
    pub interfaces: BTreeMap<u32, u32>,
    /// NIC by NAPI number. At most `MAX_NAPIS`.
    pub napis: BTreeMap<u32, u32>,
    /// NIC by the peer's address: first address (IPv4 in its IPv6 form) and how many of its bits
    /// count, 0 to 128. The longest prefix decides; `None` means no NIC. At most
    /// `MAX_PEER_PREFIXES`.
    pub peers: BTreeMap<(Ipv6Addr, u8), Option<u32>>,
}

/// `NIC_UNKNOWN` (flow.h), a macro and so not in the bindings.
const NIC_UNKNOWN: u32 = u32::MAX;

/// The maps of one object.
pub(crate) struct OriginMaps<'a, M> {
    pub(crate) napis: &'a M,
    pub(crate) interfaces: &'a M,
    pub(crate) peers: &'a M,
}

impl Origins {
    /// Makes the maps equal to this. Entries that stay are present all the time.
    pub(crate) fn fill<M: MapCore>(&self, maps: &OriginMaps<'_, M>) -> Result<()> {
        let number = |(key, nic): (&u32, &u32)| (key.to_ne_bytes().to_vec(), *nic);
        make_equal(maps.napis, self.napis.iter().map(number).collect())
            .context("filling the table of NAPI contexts")?;
        make_equal(maps.interfaces, self.interfaces.iter().map(number).collect())
            .context("filling the table of interfaces")?;
        let prefix = |((address, bits), nic): (&(Ipv6Addr, u8), &Option<u32>)| {
            // struct peer_prefix
            let key = [&u32::from(*bits).to_ne_bytes()[..], &address.octets()].concat();
            (key, nic.unwrap_or(NIC_UNKNOWN))
        };
        make_equal(maps.peers, self.peers.iter().map(prefix).collect())
            .context("filling the table of peers")
    }
}

fn make_equal(map: &impl MapCore, entries: BTreeMap<Vec<u8>, u32>) -> Result<()> {
    // collected first: deleting a key during a walk restarts the walk
    for key in map.keys().collect::<Vec<_>>() {
        if !entries.contains_key(&key) {
            map.delete(&key)?;
        }
    }
    for (key, nic) in entries {
        map.update(&key, &nic.to_ne_bytes(), MapFlags::ANY)?;
    }
    Ok(())
}
