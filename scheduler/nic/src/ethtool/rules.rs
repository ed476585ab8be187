//! ntuple rules. Those for all packets to a port are read and written, others only counted.

use std::io;

use steer_policy::{Port, Protocol};

use super::Ethtool;
use crate::queues::Queues;
use crate::rule::{Match, PortRule};

pub(super) const GET_COUNT: u32 = 0x2e;
pub(super) const GET_RULE: u32 = 0x2f;
pub(super) const GET_ALL: u32 = 0x30;
pub(super) const DELETE: u32 = 0x31;
pub(super) const INSERT: u32 = 0x32;

/// Bytes of `struct ethtool_rxnfc`, and where its parts are (include/uapi/linux/ethtool.h; a test
/// compares them with that file).
pub(super) const SIZE: usize = 192;
pub(super) const DATA: usize = 8;
pub(super) const FLOW_TYPE: usize = 16;
pub(super) const HEADER: usize = 20;
pub(super) const MASK: usize = 92;
pub(super) const COOKIE: usize = 168;
pub(super) const LOCATION: usize = 176;
/// The number of rules, or the RSS context of one.
pub(super) const COUNT: usize = 184;
pub(super) const LOCATIONS: usize = 188;
/// Where in the fields to compare the port of the destination is.
pub(super) const PORT_V4: usize = 10;
pub(super) const PORT_V6: usize = 34;

/// Where the mask's extension ends.
pub(super) const MASK_END: usize = 164;
/// The rule looks at further fields; some drivers say so of every rule.
pub(super) const FLOW_EXT: u32 = 0xc000_0000;
/// The rule sends packets to an RSS context.
pub(super) const FLOW_RSS: u32 = 0x2000_0000;
/// The driver chooses the rule's place, and (as the place) a free one.
pub(super) const SPECIAL: u32 = 0x8000_0000;
pub(super) const ANY: u32 = 0xffff_ffff;

/// A rule as the driver has it.
struct Found {
    location: u32,
    rule: PortRule,
    context: u32,
}

/// `struct ethtool_rxnfc`, with room for the places of rules behind it.
struct Request(Vec<u32>);

impl Request {
    fn new(command: u32, places: usize) -> Self {
        let mut request = Self(vec![0; (SIZE / 4).max(LOCATIONS / 4 + places)]);
        request.set(0, command);
        request
    }

    fn get(&self, byte: usize) -> u32 {
        self.0[byte / 4]
    }

    fn set(&mut self, byte: usize, value: u32) {
        self.0[byte / 4] = value;
    }

    fn bytes(&self, from: usize, count: usize) -> Vec<u8> {
        let bytes = self.0.iter().flat_map(|word| word.to_ne_bytes());
        bytes.skip(from).take(count).collect()
    }

    /// A 16-bit field in the network's order of bytes.
    fn set_u16(&mut self, byte: usize, value: u16) {
        let mut word = self.0[byte / 4].to_ne_bytes();
        word[byte % 4..byte % 4 + 2].copy_from_slice(&value.to_be_bytes());
        self.0[byte / 4] = u32::from_ne_bytes(word);
    }

    /// Where packets go: the low half of 64 bits is a queue, the other half must be zero.
    fn set_cookie(&mut self, queue: u32) {
        let bytes = u64::from(queue).to_ne_bytes();
        for (word, half) in bytes.chunks(4).enumerate() {
            let half = half.try_into().map_or(0, u32::from_ne_bytes);
            self.set(COOKIE + 4 * word, half);
        }
    }

    fn cookie(&self) -> u64 {
        self.bytes(COOKIE, 8).try_into().map_or(0, u64::from_ne_bytes)
    }

    fn set_match(&mut self, packets: Match) {
        let port = if packets.v6 { PORT_V6 } else { PORT_V4 };
        self.set(FLOW_TYPE, flow_type(packets));
        self.set_u16(HEADER + port, packets.port.number);
        self.set_u16(MASK + port, u16::MAX);
    }

    /// The packets of this rule, if it is one for all packets to a port.
    fn packets(&self) -> Option<Match> {
        let (protocol, v6) = match self.get(FLOW_TYPE) & !(FLOW_RSS | FLOW_EXT) {
            0x01 => (Protocol::Tcp, false),
            0x02 => (Protocol::Udp, false),
            0x05 => (Protocol::Tcp, true),
            0x06 => (Protocol::Udp, true),
            _ => return None,
        };
        let at = if v6 { PORT_V6 } else { PORT_V4 };
        let mask = self.bytes(MASK, MASK_END - MASK);
        let whole = |(byte, bits): (usize, &u8)| *bits == if byte / 2 == at / 2 { 0xff } else { 0 };
        let header = self.bytes(HEADER + at, 2);
        let number = u16::from_be_bytes(header.try_into().ok()?);
        let packets = Match { port: Port { protocol, number }, v6 };
        mask.iter().enumerate().all(whole).then_some(packets)
    }
}

fn flow_type(packets: Match) -> u32 {
    match (packets.port.protocol, packets.v6) {
        (Protocol::Tcp, false) => 0x01,
        (Protocol::Udp, false) => 0x02,
        (Protocol::Tcp, true) => 0x05,
        (Protocol::Udp, true) => 0x06,
    }
}

impl Ethtool {
    /// How many rules the device has.
    pub(crate) fn rule_count(&self, interface: &str) -> io::Result<u32> {
        Ok(self.count(interface)?.get(COUNT))
    }

    fn count(&self, interface: &str) -> io::Result<Request> {
        let mut request = Request::new(GET_COUNT, 0);
        self.call(interface, &mut request.0)?;
        Ok(request)
    }

    /// The rules for all packets to a port.
    pub(crate) fn port_rules(&self, interface: &str) -> io::Result<Vec<PortRule>> {
        Ok(self.found(interface)?.into_iter().map(|found| found.rule).collect())
    }

    fn found(&self, interface: &str) -> io::Result<Vec<Found>> {
        let mut rules = Vec::new();
        for location in self.locations(interface)?.1 {
            let mut request = Request::new(GET_RULE, 0);
            request.set(LOCATION, location);
            match self.call(interface, &mut request.0) {
                // it has just gone
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => continue,
                result => result?,
            }
            let Some(packets) = request.packets() else { continue };
            let by_table = request.get(FLOW_TYPE) & FLOW_RSS != 0;
            let context = if by_table { request.get(COUNT) } else { 0 };
            let queues = match u32::try_from(request.cookie()) {
                Ok(queue) if !by_table => Queues::all([queue]),
                Ok(0) if context != 0 => Queues::all(self.rss_context(interface, context)?),
                // dropped, to a virtual function, by the default table
                _ => None,
            };
            rules.push(Found { location, rule: PortRule { packets, queues }, context });
        }
        Ok(rules)
    }

    /// The size of the table of rules, and the places in use.
    fn locations(&self, interface: &str) -> io::Result<(u32, Vec<u32>)> {
        let count = self.rule_count(interface)?;
        let mut request = Request::new(GET_ALL, count as usize);
        request.set(COUNT, count);
        self.call(interface, &mut request.0)?;
        let places = request.0[LOCATIONS / 4..].iter().take(request.get(COUNT) as usize);
        Ok((request.get(DATA), places.copied().collect()))
    }

    /// Sends packets to queues, or takes the rule away. More than one queue need an RSS context of
    /// just these.
    pub(crate) fn set_port_rule(
        &self,
        interface: &str,
        packets: Match,
        queues: Queues,
    ) -> io::Result<()> {
        let before = self.found(interface)?.into_iter().find(|it| it.rule.packets == packets);
        let mut request = Request::new(INSERT, 0);
        request.set_match(packets);
        match queues.len() {
            0 => {
                let Some(before) = before else { return Ok(()) };
                return self.delete_rule(interface, before.location);
            }
            1 => request.set_cookie(queues.iter().next().unwrap_or_default()),
            _ => {
                let context = self.find_context(interface, queues)?.ok_or_else(|| {
                    io::Error::other(format!("there is no RSS context of the queues {queues}"))
                })?;
                request.set(FLOW_TYPE, flow_type(packets) | FLOW_RSS);
                request.set(COUNT, context);
            }
        }
        let location = match (self.chooses_locations(interface)?, before) {
            (false, Some(before)) => before.location,
            (false, None) => self.free_location(interface)?,
            (true, before) => {
                // such drivers do not replace a rule
                before.map_or(Ok(()), |before| self.delete_rule(interface, before.location))?;
                ANY
            }
        };
        request.set(LOCATION, location);
        self.call(interface, &mut request.0)
    }

    fn delete_rule(&self, interface: &str, location: u32) -> io::Result<()> {
        let mut request = Request::new(DELETE, 0);
        request.set(LOCATION, location);
        self.call(interface, &mut request.0)
    }

    fn chooses_locations(&self, interface: &str) -> io::Result<bool> {
        Ok(self.count(interface)?.get(DATA) & SPECIAL != 0)
    }

    /// The last free place: the first rule that fits a packet counts.
    fn free_location(&self, interface: &str) -> io::Result<u32> {
        let (size, used) = self.locations(interface)?;
        let free = (0..size).rev().find(|location| !used.contains(location));
        free.ok_or_else(|| io::Error::other(format!("all {size} places for rules are taken")))
    }

    /// Whether a rule uses an RSS context.
    pub(super) fn is_used(&self, interface: &str, context: u32) -> io::Result<bool> {
        Ok(self.found(interface)?.iter().any(|found| found.context == context))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_reads_as_it_was_written() {
        for protocol in [Protocol::Tcp, Protocol::Udp] {
            for v6 in [false, true] {
                let packets = Match { port: Port { protocol, number: 0x1234 }, v6 };
                let mut request = Request::new(INSERT, 0);
                request.set_match(packets);
                request.set_cookie(7);
                assert_eq!((request.packets(), request.cookie()), (Some(packets), 7));
                request.set(FLOW_TYPE, flow_type(packets) | FLOW_EXT);
                assert_eq!(request.packets(), Some(packets), "as ixgbe says it");
                // one for a VLAN is another kind
                request.set_u16(MASK_END - 12, u16::MAX);
                assert_eq!(request.packets(), None);
                request.set_u16(MASK_END - 12, 0);
                // one that looks at the source as well is another kind
                request.set_u16(MASK + 8, u16::MAX);
                assert_eq!(request.packets(), None);
            }
        }
    }
}
