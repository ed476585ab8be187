//! The table of all findings. Its order is the order of the report within a severity: by cost. First
//! what keeps the scheduler from loading; then by the largest loss that a source names; then what no
//! source puts a figure on.

use crate::checks;
use crate::row::Row;

/// All findings that there are.
pub const TABLE: &[&Row] = &[
    // will it load
    &checks::kernel::NO_SCHED_EXT,
    &checks::kernel::PREEMPT_RT,
    &checks::kernel::ISOLATED,
    &checks::core_scheduling::USED,
    &checks::core_scheduling::HANGS,
    &checks::kernel::JIT_OFF,
    &checks::kernel::LOCKDOWN,
    &checks::config::NO_BTF,
    &checks::config::OLD_PAHOLE,
    &checks::config::NO_CONFIG,
    &checks::config::OPTION_OFF,
    &checks::rivals::LOADED,
    &checks::rivals::ENABLED,
    &checks::rights::BOUNDED,
    &checks::rights::NOT_ROOT,
    &checks::watchdog::REAL_TIME,
    // the host; sources name a factor
    &checks::irqs::ONE_CPU,
    &checks::irqs::REMOTE,
    &checks::steering::RPS_CROSSES,
    &checks::pci::UNKNOWN_NODE,
    &checks::offloads::OFF,
    &checks::mtu::SMALL,
    &checks::flow_control::PAUSE,
    &checks::pci::IOMMU,
    &checks::rings::CACHE,
    &checks::memory::UNBALANCED,
    &checks::memory::CHANNELS,
    &checks::pci::LANES,
    // the host; no source puts a figure on these
    &checks::softnet::DROPS,
    &checks::softnet::SQUEEZED,
    &checks::irqs::SHARED,
    &checks::irqs::NOT_TAKEN,
    &checks::irqs::ISOLATED,
    &checks::steering::XPS_MISSING,
    &checks::steering::XPS_CROSSES,
    &checks::steering::TOO_MANY_QUEUES,
    &checks::steering::ARFS_HALF,
    &checks::steering::ARFS_IDLE,
    &checks::mtu::PEERS,
    &checks::flow_control::COALESCING,
    &checks::polling::UNPREPARED,
    &checks::power::SLEEP,
    &checks::power::GOVERNOR,
    &checks::writers::TWO,
    &checks::writers::ONE,
    &checks::cgroups::PODS,
    &checks::cgroups::LIMITS,
    &checks::memory::CLUSTERED,
    &checks::memory::BALANCED,
    // what it would bring
    &checks::gain::FAR,
    &checks::gain::MIXED,
    &checks::gain::SPLIT,
    &checks::gain::QUIET,
];

/// The row with this id.
pub(crate) fn row(id: &str) -> Option<&'static Row> {
    TABLE.iter().copied().find(|row| row.id == id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::row::{Area, Severity};

    #[test]
    fn ids_are_unique_words() {
        let ids: BTreeSet<&str> = TABLE.iter().map(|row| row.id).collect();
        assert_eq!(ids.len(), TABLE.len());
        let plain =
            |id: &&str| id.chars().all(|c| c.is_ascii_lowercase() || "-0123456789".contains(c));
        assert!(ids.iter().all(plain), "{ids:?}");
    }

    #[test]
    fn every_row_says_why_and_where_from_and_how_to_undo_its_fix() {
        for row in TABLE {
            assert!(row.title.ends_with('.') && row.why.ends_with('.'), "{}", row.id);
            assert!(!row.source.is_empty() && !row.looks.is_empty(), "{}", row.id);
            assert_eq!(row.fix.is_empty(), row.undo.is_empty(), "{}: a fix and its undo", row.id);
        }
    }

    #[test]
    fn only_what_keeps_it_from_loading_is_an_error() {
        let of = |row: &&&Row| row.severity == Severity::Error && row.area != Area::Load;
        assert_eq!(TABLE.iter().filter(of).count(), 0);
        let gains = TABLE.iter().filter(|row| row.area == Area::Gain);
        assert!(gains.clone().all(|row| row.severity == Severity::Note));
    }
}
