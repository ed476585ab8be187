//! The kernel's counts of what networking costs CPUs: interrupts, receive softirqs, ACKs.

use std::fs;

use anyhow::{Context, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rates per second, on all CPUs together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Network {
    /// Interrupts of any kind, including timers and interrupts between CPUs.
    pub interrupts_per_s: f64,
    /// Runs of the softirq that receives packets (NET_RX).
    pub net_rx_per_s: f64,
    /// Received segments with nothing but an acknowledgement, in the network namespace of the
    /// measuring process.
    pub pure_acks_per_s: f64,
}

/// The counts since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    interrupts: u64,
    net_rx: u64,
    pure_acks: u64,
}

impl Counts {
    /// Reads /proc.
    ///
    /// # Errors
    /// When a file cannot be read or has another format.
    pub(super) fn read() -> Result<Self> {
        let text = |path| fs::read_to_string(path).with_context(|| format!("cannot read {path}"));
        Self::parse(&text("/proc/stat")?, &text("/proc/self/net/netstat")?)
    }

    fn parse(stat: &str, netstat: &str) -> Result<Self> {
        // Both lines begin with their sum. The softirq line continues with HI, TIMER, NET_TX and
        // NET_RX.
        let interrupts = number(stat, "intr", 0).context("/proc/stat has no sum of interrupts")?;
        let net_rx = number(stat, "softirq", 4).context("/proc/stat has no NET_RX softirqs")?;
        let pure_acks = table(netstat, "TcpExt:", "TCPPureAcks");
        let pure_acks = pure_acks.context("/proc/net/netstat has no TCPPureAcks")?;
        Ok(Self { interrupts, net_rx, pure_acks })
    }

    /// The rates since an earlier reading.
    pub(super) fn since(&self, earlier: &Self, duration_s: f64) -> Network {
        let rate = |after: u64, before: u64| after.saturating_sub(before) as f64 / duration_s;
        Network {
            interrupts_per_s: rate(self.interrupts, earlier.interrupts),
            net_rx_per_s: rate(self.net_rx, earlier.net_rx),
            pure_acks_per_s: rate(self.pure_acks, earlier.pure_acks),
        }
    }
}

/// The number at position `place` of the line that begins with the word `begin`.
fn number(text: &str, begin: &str, place: usize) -> Option<u64> {
    let mut lines = text.lines().map(str::split_ascii_whitespace);
    lines.find_map(|mut words| (words.next()? == begin).then(|| words.nth(place)?.parse().ok())?)
}

/// The number called `name`. A line of names precedes the line of numbers, and both begin with
/// `begin`.
fn table(text: &str, begin: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.starts_with(begin));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let mut both = names.split_ascii_whitespace().zip(numbers.split_ascii_whitespace());
    both.find(|(found, _)| *found == name)?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  1 2 3\nintr 700 5 6\nctxt 9\nsoftirq 99 1 2 3 40 5 6 7 8 9 10\n";
    const NETSTAT: &str = "TcpExt: TW TCPPureAcks\nTcpExt: 4 50\nIpExt: InOctets\nIpExt: 3\n";

    #[test]
    fn counts_are_found_by_name_and_become_rates() {
        let before = Counts::parse(STAT, NETSTAT).unwrap();
        assert_eq!(before, Counts { interrupts: 700, net_rx: 40, pure_acks: 50 });
        let after = Counts { interrupts: 900, net_rx: 40, pure_acks: 51 };
        let Network { interrupts_per_s, net_rx_per_s, pure_acks_per_s } = after.since(&before, 2.0);
        assert_eq!((interrupts_per_s, net_rx_per_s, pure_acks_per_s), (100.0, 0.0, 0.5));
    }

    #[test]
    fn other_formats_are_no_zeros() {
        for (stat, netstat, why) in [
            ("", NETSTAT, "sum of interrupts"),
            ("intr 7\nsoftirq 1 2 3 4\n", NETSTAT, "NET_RX"),
            (STAT, "TcpExt: TW\nTcpExt: 4\n", "TCPPureAcks"),
            (STAT, "TcpExt: TCPPureAcks\n", "TCPPureAcks"),
        ] {
            let error = Counts::parse(stat, netstat).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        Counts::read().unwrap();
    }
}
