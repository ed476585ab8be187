//! Trials in a guest, without the A/B method: what a scheduler costs without traffic, and how
//! soon placement adapts to a change.

pub mod adapt;
pub mod drivers;
pub mod journal;
pub mod neutral;
mod nic;
