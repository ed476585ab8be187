//! What the machine is: packages, NUMA nodes, last-level caches, cores and CPUs; NICs with their
//! node, queues and IRQs. Only this room knows hwloc or a sysfs path. It returns plain data
//! ([`Machine`]), in which unknown is `None`, never zero.
//!
//! ```no_run
//! let machine = steer_topology::Machine::live()?;
//! print!("{}", steer_topology::tree(&machine));
//! # Ok::<(), steer_topology::Error>(())
//! ```

mod cpuset;
mod devices;
mod error;
pub mod genetlink;
mod hwloc;
mod irq;
mod load;
mod locality;
mod machine;
pub mod napi;
mod netdev;
mod netlink;
mod news;
mod nic;
mod queue_name;
mod root;
mod routes;
mod tree;
mod validate;

pub use cpuset::{CpuSet, MAX_CPU, ParseCpuSetError};
pub use devices::{Interface, NetworkDevices};
pub use error::Error;
pub use irq::irqs_of;
pub use machine::{Core, Cpu, Llc, Machine, Node, Package, Source};
pub use news::DeviceNews;
pub use nic::{Direction, Irq, Nic, QueueRef, Queues};
pub use routes::{MAX_ROUTES, Route};
pub use tree::tree;
