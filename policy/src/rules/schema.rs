//! The JSON Schema of a policy file, for editors and other checkers.

use schemars::{JsonSchema, Schema, schema_for};

use super::sets::Sets;

/// A policy file of scx_steer.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is of interest: `read` reads files by hand")]
struct PolicyFile {
    /// The rules, in any order: for each setting the most specific rule that sets it wins.
    #[schemars(default)]
    rule: Vec<RuleTable>,
}

/// Whom a rule is for, and what it sets.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is of interest: `read` reads files by hand")]
struct RuleTable {
    /// The cgroups it is for, each with its descendants: a path from the cgroup2 root whose names
    /// may hold `*`, `?`, `[ab]` and `{a,b}`; `**` by itself stands for any depth. Required.
    #[schemars(length(min = 1))]
    cgroup: String,
    /// The processes in them it is for: a name of at most 15 bytes, or its start followed by `*`.
    /// Default: all.
    #[schemars(length(min = 1, max = 16), regex(pattern = r"^[^*?\[{]+\*?$"))]
    process: Option<String>,
    /// What it sets.
    #[schemars(flatten)]
    sets: Sets,
}

/// The JSON Schema of a policy file, read as JSON.
pub fn schema() -> Schema {
    schema_for!(PolicyFile)
}
