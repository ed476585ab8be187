//! The virtual lab: kernels, the emulator, guests, their network, and programs in them.

pub mod agent;
pub mod built;
pub mod console;
pub mod emulator;
pub mod facts;
pub mod fresh;
pub mod guest;
pub mod initramfs;
pub mod kernel;
pub mod net;
pub mod parts;
pub mod qemu;
pub mod shape;
pub mod steering;
mod steering_program;

/// The program name of the scheduler that the lab tests.
pub const SCX_STEER: &str = "scx_steer";
