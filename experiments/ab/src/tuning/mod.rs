//! What operators do for a host's network without us, as part of an arm: `default+rfs`. Set before
//! each sample of the arm and put back after it, whatever came of the sample.

mod idle;
mod journal;
mod pause;
mod tuned;
mod was;
mod xps;

pub(super) use journal::{JOURNAL, Journal};
pub(super) use tuned::{Tuned, with};
