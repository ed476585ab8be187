//! Host steering: what decides on which CPU a NIC's packets are served. Reads the settings, plans
//! changes for a mode, and writes them so that everything can be put back: each old value is in a
//! journal on disk before the first write. Needs no sched_ext and no particular kernel.
//!
//! One direction: [`Live::state`] → [`plan`](fn@plan) → [`apply`] ⇄ [`Journal`] → [`restore`].

mod births;
mod change;
mod device;
mod engine;
mod error;
mod ethtool;
mod files;
mod irqbalance;
mod journal;
mod judge;
mod kernel;
mod live;
mod load;
mod order;
mod pace;
mod plan;
mod proof;
mod queues;
mod read;
mod rule;
mod setting;
mod state;
mod threads;
mod writers;

pub use change::{Change, undo};
pub use device::{Device, Presence};
pub use engine::{Applied, Restored, Steps, Stop, Verdict, absorb, apply, restore};
pub use error::{Error, Fault};
pub use journal::{Entry, Found, Held, Journal, Lock, Store};
pub use judge::{Judge, Next, Sample};
pub use kernel::Kernel;
pub use live::Live;
pub use load::Load;
pub use pace::Pace;
pub use plan::{HostState, Irqbalance, Mode, NicPlan, Options, Refusal, plan};
pub use proof::{Proof, Rules};
pub use queues::Queues;
pub use rule::{Match, PortRule};
pub use setting::{Channels, Setting, Value, What, name};
pub use state::{
    ChannelState, Coalesce, Feature, IrqState, NapiState, NicState, Pause, Rings, RxQueue, TxQueue,
};
pub use writers::{Writer, writers};
