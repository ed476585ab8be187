//! The CPUs of a guest and the places of its NICs, and QEMU's arguments for them.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use anyhow::{Error, Result, bail, ensure};
use steer_ground::text::words;
use steer_ground::word::Word;

/// The CPUs of a guest. Every socket is a NUMA node with its share of CPUs and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Sockets, each a NUMA node.
    pub sockets: usize,
    /// Cores per socket.
    pub cores: usize,
    /// SMT threads per core.
    pub threads: usize,
}

/// NUMA nodes of the guest that have a NIC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Nics {
    /// Only the last node.
    #[default]
    LastNode,
    /// Only the first node.
    FirstNode,
    /// All nodes, one NIC each.
    EachNode,
}

impl Word for Nics {
    const ALL: &'static [Self] = &[Self::LastNode, Self::FirstNode, Self::EachNode];

    fn word(self) -> &'static str {
        match self {
            Self::LastNode => "last-node",
            Self::FirstNode => "first-node",
            Self::EachNode => "each-node",
        }
    }
}

impl Nics {
    /// The nodes, in the order of the NICs.
    pub fn nodes(self, shape: Shape) -> Range<usize> {
        match self {
            Self::LastNode => shape.sockets - 1..shape.sockets,
            Self::FirstNode => 0..1,
            Self::EachNode => 0..shape.sockets,
        }
    }
}

impl Shape {
    /// All CPUs of the guest.
    pub fn cpus(self) -> usize {
        self.sockets * self.cores * self.threads
    }

    /// Arguments for CPUs, nodes with `node_mib` MiB each, their distances, and a port for each
    /// NIC.
    pub(super) fn arguments(self, nics: Nics, node_mib: u32) -> Vec<String> {
        let mut arguments = self.machine(1, node_mib);
        arguments.extend(ports(nics.nodes(self)));
        arguments
    }

    /// Arguments for CPUs, nodes with `node_mib` MiB each, and their distances. The cores of a
    /// socket are on `dies`; a guest sees an L3 for each die.
    pub fn machine(self, dies: usize, node_mib: u32) -> Vec<String> {
        let Self { sockets, cores, threads } = self;
        let per_node = cores * threads;
        let of_dies = if dies > 1 { format!("dies={dies},") } else { String::new() };
        let mut arguments = words(&format!(
            "-smp {},sockets={sockets},{of_dies}cores={},threads={threads}",
            self.cpus(),
            cores / dies
        ));
        for node in 0..sockets {
            let (first, last) = (node * per_node, (node + 1) * per_node - 1);
            arguments.extend(words(&format!(
                "-object memory-backend-ram,id=mem{node},size={node_mib}M \
                 -numa node,nodeid={node},cpus={first}-{last},memdev=mem{node}"
            )));
        }
        for from in 0..sockets {
            for to in from + 1..sockets {
                arguments.extend(words(&format!("-numa dist,src={from},dst={to},val=21")));
            }
        }
        arguments
    }
}

/// Arguments for a port of a NIC, `nicport0` and so on, on a bus of each of these nodes.
pub fn ports(nodes: impl IntoIterator<Item = usize>) -> Vec<String> {
    let port = |(nic, node): (usize, usize)| {
        // The far side of the port takes a bus number too.
        let (bus, chassis) = (128 + 2 * nic, nic + 1);
        words(&format!(
            "-device pxb-pcie,id=nicbus{nic},bus_nr={bus},numa_node={node},bus=pcie.0 \
             -device pcie-root-port,id=nicport{nic},bus=nicbus{nic},chassis={chassis}"
        ))
    };
    nodes.into_iter().enumerate().flat_map(port).collect()
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.sockets, self.cores, self.threads)
    }
}

impl FromStr for Shape {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts: Option<Vec<usize>> = text.split('x').map(|part| part.parse().ok()).collect();
        let shape = match parts.as_deref() {
            Some(&[sockets, cores]) => Self { sockets, cores, threads: 1 },
            Some(&[sockets, cores, threads]) => Self { sockets, cores, threads },
            _ => bail!("{text:?} is not a shape: write SOCKETSxCORES or SOCKETSxCORESxTHREADS"),
        };
        let sizes = [shape.sockets, shape.cores, shape.threads];
        ensure!(
            sizes.iter().all(|size| (1..=64).contains(size)) && (2..=64).contains(&shape.cpus()),
            "a guest has 2 to 64 CPUs, but {text} would have {}",
            sizes.iter().product::<usize>()
        );
        Ok(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_read_and_bounded() {
        let shape: Shape = "2x2".parse().unwrap();
        assert_eq!((shape.cpus(), shape.to_string().as_str()), (4, "2x2x1"));
        assert_eq!("2x4x2".parse::<Shape>().unwrap().cpus(), 16);
        for bad in ["", "2", "2x", "1x1", "0x4", "2x2x2x2", "64x64", "axb"] {
            assert!(bad.parse::<Shape>().is_err(), "{bad:?} was accepted");
        }
    }

    #[test]
    fn the_nic_hangs_on_the_last_node() {
        let shape: Shape = "2x2".parse().unwrap();
        insta::assert_snapshot!(shape.arguments(Nics::default(), 1024).join("\n"));
    }

    #[test]
    fn or_on_each() {
        let arguments = "2x2".parse::<Shape>().unwrap().arguments(Nics::EachNode, 1024);
        let of_nics: Vec<_> = arguments.iter().filter(|word| word.contains("nicbus")).collect();
        insta::assert_debug_snapshot!(of_nics);
    }
}
