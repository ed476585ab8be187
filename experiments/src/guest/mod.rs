//! The guest's side of the lab: an agent that starts programs and reads and writes settings for
//! the host, and the host's end of the line to it.

mod agent;
mod jobs;
mod link;
mod protocol;

pub(crate) use agent::serve;
pub(crate) use link::{Link, Silent};
pub(crate) use protocol::Finished;
