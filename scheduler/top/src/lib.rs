//! The screen of `scx_steer top`. Pure: a [`Sample`] and an [`App`] in, a frame out. Whoever fills
//! samples needs BPF; this crate does not.

mod app;
mod sample;
mod saved;
mod theme;
mod view;

pub use app::{Action, App, View};
pub use sample::{CgroupUse, CpuUse, NicUse, QueueUse, Sample, ThreadUse};
pub use saved::{load, save};
pub use view::draw;
