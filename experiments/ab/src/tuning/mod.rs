//! Settings that operators use without scx_steer, as part of an arm: `default+rfs`. They are set
//! before each sample of the arm, and put back after it, even if the sample failed.

mod idle;
mod journal;
mod pause;
mod tuned;
mod was;
mod xps;

pub(super) use journal::{JOURNAL, Journal};
pub(super) use tuned::{Tuned, with};
