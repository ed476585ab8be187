//! The measured machine. An agent in the lab's guest starts programs, and reads and writes
//! settings; [`Link`] is the host's end of the connection. [`Here`] does the same on the host
//! itself, without a guest.

mod bpf_stats;
mod here;
mod jobs;
mod link;
mod protocol;
mod serve;

pub use bpf_stats::{BpfProgram, print as print_bpf_stats};
pub use here::Here;
pub use link::{Link, Silent};
pub use protocol::Finished;
pub use serve::serve;
