//! Does accelerated RFS work? The kernel hands the driver a rule for each flow, and nobody tells
//! whether the NIC has taken it. Some drivers count.

use std::collections::BTreeMap;
use std::time::Duration;

/// So many packets, in this time at least, bring a new flow or one whose thread has moved.
const PACKETS: u64 = 100_000;
const TIME: Duration = Duration::from_secs(60);
/// After no rule was installed, accelerated RFS is not tried again for this long.
const REST: Duration = Duration::from_secs(3600);

/// What a driver counts: rules that the NIC has taken, and rules that it has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Taken.
    pub added: u64,
    /// Not taken.
    pub failed: u64,
}

impl Rules {
    /// The sums over all rings; `None` if the driver does not count. mlx5 does, since Linux 6.6
    /// (f98e51585f2c, "net/mlx5e: aRFS, Introduce ethtool stats").
    pub fn counted(statistics: &BTreeMap<String, u64>) -> Option<Self> {
        let of = |name: &str| statistics.get(name).copied();
        Some(Self { added: of("rx_arfs_add")?, failed: of("rx_arfs_err")? })
    }
}

/// What is known of one NIC in the mode `arfs`.
#[derive(Clone, Debug, Default)]
pub struct Proof(State);

#[derive(Clone, Debug, Default)]
enum State {
    #[default]
    New,
    /// The driver does not count.
    Unknown,
    /// Since then, with these counts of rules and packets.
    Waits(Duration, Rules, u64),
    Works,
    /// No rule was installed; so many were refused.
    Fails(Duration, u64),
}

impl Proof {
    /// Whether the mode is of use, as far as is known.
    pub fn holds(&self) -> bool {
        !matches!(self.0, State::Fails(..))
    }

    /// Whether no further counts change what is known.
    pub fn is_settled(&self) -> bool {
        matches!(self.0, State::Works)
    }

    /// What is known, in words.
    pub fn says(&self) -> String {
        match self.0 {
            State::New | State::Waits(..) => "waits for packets that show whether it works".into(),
            State::Unknown => "not verified: the driver does not count its rules".into(),
            State::Works => "the NIC installs rules".into(),
            State::Fails(_, failed) => {
                format!("the NIC installs no rules ({failed} failed): align is in force instead")
            }
        }
    }

    /// Takes the counts of a moment since some start: of rules, and of packets received. Whether
    /// what is known has changed.
    pub fn step(&mut self, at: Duration, rules: Option<Rules>, packets: u64) -> bool {
        let next = match (&self.0, rules) {
            (State::Fails(since, _), _) if at < *since + REST => return false,
            (State::Works, _) => return false,
            (State::Unknown, None) => return false,
            (_, None) => State::Unknown,
            (State::Waits(_, first, _), Some(now)) if now.added > first.added => State::Works,
            (State::Waits(since, first, before), Some(now)) => {
                if at < *since + TIME || packets < before.saturating_add(PACKETS) {
                    return false;
                }
                State::Fails(at, now.failed.saturating_sub(first.failed))
            }
            (_, Some(now)) => State::Waits(at, now, packets),
        };
        self.0 = next;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(added: u64, failed: u64) -> Option<Rules> {
        Some(Rules { added, failed })
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn reads_the_counters_of_mlx5() {
        let mut statistics: BTreeMap<String, u64> = [
            ("rx_packets", 9),
            ("rx_arfs_add", 12),
            ("rx_arfs_request_in", 3),
            ("rx_arfs_err", 1),
            ("rx0_arfs_add", 12),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        assert_eq!(Rules::counted(&statistics), rules(12, 1));
        statistics.remove("rx_arfs_add");
        assert_eq!(Rules::counted(&statistics), None);
    }

    #[test]
    fn one_rule_is_proof() {
        let mut proof = Proof::default();
        assert!(proof.step(at(0), rules(5, 0), 0));
        assert!(!proof.step(at(10), rules(5, 0), 10));
        assert!(proof.step(at(20), rules(6, 0), 20));
        assert!(!proof.step(at(500), rules(6, 0), 1 << 30));
        assert!(proof.is_settled());
        assert_eq!((proof.holds(), proof.says().as_str()), (true, "the NIC installs rules"));
    }

    #[test]
    fn many_packets_without_a_rule_are_the_opposite_and_it_is_tried_again() {
        let mut proof = Proof::default();
        proof.step(at(0), rules(0, 7), 1000);
        assert!(!proof.step(at(59), rules(0, 9), 1 << 30), "too soon");
        assert!(!proof.step(at(600), rules(0, 9), 100_999), "too few");
        assert!(proof.step(at(601), rules(0, 9), 101_000));
        assert!(!proof.holds());
        assert!(proof.says().starts_with("the NIC installs no rules (2 failed)"));
        assert!(!proof.step(at(4200), rules(0, 9), 1 << 40));
        assert!(proof.step(at(4201), rules(0, 9), 1 << 40));
        assert!(proof.holds());
    }

    #[test]
    fn a_driver_that_does_not_count_is_believed() {
        let mut proof = Proof::default();
        assert!(proof.step(at(0), None, 0));
        assert!(!proof.step(at(1000), None, 1 << 40));
        assert!(proof.holds() && proof.says().starts_with("not verified"));
    }
}
