//! Counters of the kernel as rates.

use std::collections::BTreeMap;
use std::fs;

/// The counts of the sample before, by name.
#[derive(Debug, Default)]
pub(super) struct Rates(BTreeMap<String, u64>);

impl Rates {
    /// How much a counter grew per second; 0 when it is seen for the first time or began anew.
    pub(super) fn of(&mut self, name: String, count: u64, seconds: f64) -> f64 {
        let before = self.0.insert(name, count).unwrap_or(count);
        count.saturating_sub(before) as f64 / seconds
    }
}

/// How often each interrupt came, over all CPUs.
pub(super) fn interrupts() -> BTreeMap<u32, u64> {
    counts(&fs::read_to_string("/proc/interrupts").unwrap_or_default())
}

/// The sums in a text like /proc/interrupts (proc_interrupts(5)).
fn counts(text: &str) -> BTreeMap<u32, u64> {
    let cpus = text.lines().next().unwrap_or_default().split_whitespace().count();
    let line = |line: &str| {
        let (number, counts) = line.split_once(':')?;
        let counts =
            counts.split_whitespace().take(cpus).map_while(|count| count.parse::<u64>().ok());
        Some((number.trim().parse().ok()?, counts.sum::<u64>()))
    };
    text.lines().skip(1).filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_a_rate_from_its_second_reading() {
        let mut rates = Rates::default();
        assert_eq!(rates.of("a".into(), 100, 1.0), 0.0);
        assert_eq!(rates.of("a".into(), 300, 2.0), 100.0);
        assert_eq!(rates.of("a".into(), 5, 1.0), 0.0, "it began anew");
    }

    #[test]
    fn interrupts_are_summed_over_the_cpus() {
        let text = "      CPU0   CPU1\n  24:  5  7  PCI-MSIX 3-edge  virtio1-input.0\n NMI:  1  1  Non-maskable\n";
        assert_eq!(counts(text), [(24, 12)].into());
        assert_eq!(counts(""), BTreeMap::new());
    }
}
