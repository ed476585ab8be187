//! Traffic from another host. The agent on that host starts our client against any runner that
//! holds the right key. It can do nothing else. The runner's part is [`Agent`].

mod about;
mod agent;
mod frame;
mod handshake;
mod key;
mod link;
mod protocol;
mod session;

pub use about::About;
pub use agent::{AgentOptions, run as agent};
pub use key::Key;
pub use link::Agent;
