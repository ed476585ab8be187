//! The measured machine: an agent that starts programs and reads and writes settings in the lab's
//! guest, the host's end of the line to it, and the same for the host itself, without a guest.

mod agent;
mod bpf_stats;
mod here;
mod jobs;
mod link;
mod protocol;

pub(crate) use agent::serve;
pub(crate) use bpf_stats::{BpfProgram, print as print_bpf_stats};
pub(crate) use here::Here;
pub(crate) use link::{Link, Silent};
pub(crate) use protocol::Finished;
