//! `scx_steer doctor`: what keeps the scheduler from loading, what a host loses between its NICs and
//! its threads, and where long flows run now. Reads only; needs neither BPF nor sched_ext.
//!
//! One direction: [`Host`] (facts) → the checks of [`TABLE`] → [`Report`] → text, JSON, exit code.
//! The table is also the source of docs/doctor.md.

mod case;
mod checks;
mod connections;
mod core_scheduling;
mod document;
mod facts;
mod host;
mod needs;
mod observed;
mod record;
mod report;
mod root;
mod row;
mod table;
mod text;

pub use case::{Case, Checked, Evidence, Unchecked};
pub use connections::Connection;
pub use core_scheduling::{core_scheduling_hangs, core_scheduling_users};
pub use document::{explain, page};
pub use facts::{Facts, NicFacts};
pub use host::{Host, Wanted};
pub use needs::{in_force, missing_for_sched_ext, missing_for_tracing};
pub use observed::Observed;
pub use record::record;
pub use report::{Finding, Report};
pub use root::Root;
pub use row::{Area, Row, Severity};
pub use table::TABLE;
