//! Compiles the BPF objects, their skeletons, and the Rust view of the shared headers.
use std::{env, error::Error};

use scx_cargo::BpfBuilder;

/// Headers name each other by their path below this folder.
const HEADERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bpf");

fn main() -> Result<(), Box<dyn Error>> {
    objects("steer")?.enable_intf("src/bpf/pure/native.h", "intf.rs").build()?;
    objects("observer")?.build()?;

    if env::var_os("CARGO_FEATURE_TESTING").is_some() {
        for part in ["telemetry", "policy"] {
            // these use a part of the headers
            objects(part)?.add_cflag("-Wno-unused-function").build()?;
        }
        let mut native = cc::Build::new();
        native.file("src/bpf/pure/native.c").include(HEADERS).warnings(true);
        native.compile("steer_native");
    }
    // the builder watches the folder of the main file, but none below it
    println!("cargo:rerun-if-changed=src/bpf");
    Ok(())
}

/// The object `name`, not built yet.
fn objects(name: &str) -> Result<BpfBuilder, Box<dyn Error>> {
    let mut builder = BpfBuilder::new()?;
    builder.add_include_path(HEADERS).enable_skel(&format!("src/bpf/{name}.bpf.c"), name);
    Ok(builder)
}
