//! Traffic from another host. The agent there starts our client towards whoever asks for it with
//! the right key, and can do nothing else; the runner's end of the line asks for it.

mod about;
mod agent;
mod frame;
mod handshake;
mod key;
mod link;
mod protocol;
mod session;

pub(crate) use about::About;
pub(crate) use agent::{AgentArgs, run as agent};
pub(crate) use key::Key;
pub(crate) use link::Agent;
