//! What the papers measured, and what the model has to show for it.

use serde::Serialize;
use steer_traffic::long::Reads;

use super::measure::{Figure, Measure, Variant};
use super::verdict::Expect;
use crate::flows::Case;

/// A long flow on one core, which the others are compared with.
const ALONE: Case = Case::one_flow(2, 2);
const OTHER_CORE: Case = Case::one_flow(2, 3);
const SPLIT: Case = Case::one_flow(2, 0);
const REMOTE: Case = Case::one_flow(0, 0);
const DISCARDED: Case = Case { reads: Reads::Discard, ..ALONE };
const TOUCHED: Case = Case { reads: Reads::Touch, ..ALONE };
const INCAST_8: Case = Case { long: 8, ..ALONE };
const INCAST_24: Case = Case { long: 24, ..ALONE };
const SHORT: Case = Case { long: 0, short: 16, ..ALONE };
const SHORT_REMOTE: Case = Case { long: 0, short: 16, ..REMOTE };
const SHORT_64: Case = Case { short_kib: 64, ..SHORT };
const MIXED: Case = Case { short: 16, ..ALONE };
const SMALL_BUFFER: Case = Case { receive_kib: 3200, ..ALONE };

const NO_DDIO: Variant = Variant { ddio: false, ..Variant::AS_IT_IS };
const SMALL_RING: Variant = Variant { ring: 256, ..Variant::AS_IT_IS };

/// All that is measured, by guest.
pub(super) const GUESTS: [(Variant, &[Case]); 3] =
    [(Variant::AS_IT_IS, &CASES), (NO_DDIO, &[ALONE]), (SMALL_RING, &[SMALL_BUFFER])];
const CASES: [Case; 12] = [
    ALONE,
    OTHER_CORE,
    SPLIT,
    REMOTE,
    DISCARDED,
    TOUCHED,
    INCAST_8,
    INCAST_24,
    SHORT,
    SHORT_64,
    SHORT_REMOTE,
    MIXED,
];

/// A published result: a figure of one case, or its ratio to that of another.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Claim {
    /// What it says.
    pub(super) what: &'static str,
    /// The paper and the place in it.
    pub(super) source: &'static str,
    /// What was measured.
    #[serde(skip)]
    pub(super) measure: Measure,
    /// What came out.
    pub(super) expect: Expect,
}

const fn claim(
    what: &'static str,
    source: &'static str,
    measure: Measure,
    expect: Expect,
) -> Claim {
    Claim { what, source, measure, expect }
}

/// The host-network-stack paper (Cai et al., SIGCOMM 2021), the multicore paper (Faulkner et al.), and
/// the end-system paper (Chase et al., 2001). A figure without a unit is a ratio: of throughput per core, where nothing else is named.
pub(super) const CLAIMS: [Claim; 16] = [
    claim(
        "one flow on one core: Gb/s",
        "Cai, sec. 3.1",
        Measure::of(Figure::PerCore, ALONE),
        Expect::Value(42.0),
    ),
    claim(
        "softirq and thread on two cores / one",
        "Faulkner",
        Measure::ratio(Figure::PerCore, OTHER_CORE, ALONE),
        Expect::Less,
    ),
    claim(
        "on two nodes / two cores of one",
        "Faulkner",
        Measure::ratio(Figure::PerCore, SPLIT, OTHER_CORE),
        Expect::Less,
    ),
    claim(
        "core far from the NIC / near",
        "Cai, fig. 4",
        Measure::ratio(Figure::PerCore, REMOTE, ALONE),
        Expect::Ratio(0.8),
    ),
    claim(
        "without DDIO / with",
        "Cai, sec. 3.8",
        Measure::ratio(Figure::PerCore, ALONE, ALONE).with(NO_DDIO),
        Expect::Ratio(0.81),
    ),
    claim(
        "buffer 3,200 KiB, ring 256 / as it is",
        "Cai, fig. 3(e)",
        Measure::ratio(Figure::PerCore, SMALL_BUFFER, ALONE).with(SMALL_RING),
        Expect::Ratio(1.31),
    ),
    claim(
        "data that no CPU touches / copied",
        "Chase, fig. 2",
        Measure::ratio(Figure::PerCore, DISCARDED, ALONE),
        Expect::More,
    ),
    claim(
        "data that the program reads / copied only",
        "Chase, fig. 2",
        Measure::ratio(Figure::PerCore, TOUCHED, ALONE),
        Expect::Less,
    ),
    claim(
        "8 flows on one core / 1",
        "Cai, fig. 6",
        Measure::ratio(Figure::PerCore, INCAST_8, ALONE),
        Expect::Ratio(0.81),
    ),
    claim(
        "24 flows on one core / 1",
        "Cai, fig. 6",
        Measure::ratio(Figure::PerCore, INCAST_24, ALONE),
        Expect::Less,
    ),
    claim(
        "16 RPC connections on one core: Gb/s",
        "Cai, sec. 3.7",
        Measure::of(Figure::PerCore, SHORT),
        Expect::Value(6.15),
    ),
    claim(
        "RPCs of 64 KiB / of 4 KiB",
        "Cai, fig. 10(a)",
        Measure::ratio(Figure::PerCore, SHORT_64, SHORT),
        Expect::More,
    ),
    claim(
        "RPCs far from the NIC / near",
        "Cai, fig. 10(c)",
        Measure::ratio(Figure::PerCore, SHORT_REMOTE, SHORT),
        Expect::Same,
    ),
    claim(
        "flow and RPCs together / flow alone",
        "Cai, fig. 11",
        Measure::ratio(Figure::PerCore, MIXED, ALONE),
        Expect::Ratio(0.57),
    ),
    claim(
        "the flow's part of that / flow alone",
        "Cai, fig. 11",
        Measure::ratio(Figure::Long, MIXED, ALONE),
        Expect::Ratio(0.48),
    ),
    claim(
        "the RPCs' part of it / RPCs alone",
        "Cai, fig. 11",
        Measure::ratio(Figure::Short, MIXED, SHORT),
        Expect::Ratio(0.42),
    ),
];
