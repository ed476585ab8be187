//! Compiles the two BPF objects, their skeletons, and the Rust view of the shared headers.
use std::{env, error::Error};

use scx_cargo::BpfBuilder;

fn main() -> Result<(), Box<dyn Error>> {
    BpfBuilder::new()?
        .enable_intf("src/bpf/native.h", "intf.rs")
        .enable_skel("src/bpf/steer.bpf.c", "steer")
        .build()?;
    BpfBuilder::new()?.enable_skel("src/bpf/observer.bpf.c", "observer").build()?;

    if env::var_os("CARGO_FEATURE_TESTING").is_some() {
        BpfBuilder::new()?.enable_skel("src/bpf/telemetry.bpf.c", "telemetry").build()?;
        cc::Build::new().file("src/bpf/native.c").warnings(true).compile("steer_native");
    }
    Ok(())
}
