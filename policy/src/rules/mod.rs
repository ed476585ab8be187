//! Policy files: parses their text into a checked [`PolicySet`].

mod cgroup;
mod check;
mod contradiction;
mod process;
mod read;
mod refusal;
mod rule;
mod schema;
mod serves;
mod set;
mod sets;
mod text;
mod values;

pub(crate) use cgroup::Component;
pub use cgroup::{CgroupPattern, MAX_DEPTH};
pub(crate) use contradiction::Contradiction;
pub use process::{MAX_NAME as MAX_PROCESS_NAME, ProcessPattern};
pub(crate) use refusal::{Refusal, quote, similar};
pub use rule::Rule;
pub use schema::schema;
pub use serves::PortPool;
pub use set::{MAX_RULES, PolicySet};
pub use sets::Sets;
pub(crate) use text::Text;
pub use values::{
    Bytes, Class, Cores, Granularity, Latency, NicName, Pool, Port, Ports, Protocol, Steer, Time,
};
pub(crate) use values::{Given, Value};
