//! Guests whose clock counts instructions. Nothing that runs beside them changes what they find, so
//! these tests share a program and run two at a time.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod fairness;
mod priced;

#[allow(dead_code, reason = "run in the project's folder, it finds kernels and QEMU by itself")]
#[path = "../guests/mod.rs"]
mod guests;
