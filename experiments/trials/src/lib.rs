//! Trials in a guest, without the A/B method: what a scheduler costs without traffic, how soon
//! placement adapts to a change, what host steering does to settings.

pub mod adapt;
pub mod drivers;
pub mod journal;
pub mod neutral;
mod nic;
