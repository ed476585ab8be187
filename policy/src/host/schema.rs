//! The JSON Schema of a host file, for editors and other checkers.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, schema_for};

use super::{NicMode, OnExit, ServingCores};

/// Host steering of scx_steer: /etc/scx_steer/host.toml.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
#[allow(dead_code, reason = "only used for its schema: `read` reads the file")]
struct HostFile {
    /// What becomes of the settings when scx_steer ends.
    #[schemars(default)]
    on_exit: OnExit,
    /// What is wanted of each NIC, by the interface's name. NICs not named here stay as they are.
    #[schemars(default)]
    nic: BTreeMap<String, NicTable>,
}

/// What is wanted of one NIC.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only used for its schema: `read` reads the file")]
struct NicTable {
    /// Its mode. Required.
    mode: NicMode,
    /// The CPUs that serve it, as in `0-3,8`, instead of the NIC-local ones.
    cpus: Option<String>,
    /// How many cores of these take its interrupts: a number, or `load` for as many as the load
    /// needs. Default: all.
    cores: Option<ServingCores>,
}

/// The JSON Schema of a host file that was converted to JSON.
pub fn host_schema() -> Schema {
    schema_for!(HostFile)
}
