//! Long flows, as both ends of them need it: a sender's pace, how it sends and how a
//! receiver reads.

mod pace;
mod read;
mod send;

pub(crate) use pace::Pacer;
pub(crate) use read::{Reader, Reads};
pub(crate) use send::send;
