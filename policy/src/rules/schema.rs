//! The JSON Schema of a policy file, for editors and other checkers.

use schemars::{JsonSchema, Schema, schema_for};

use super::sets::Sets;

/// A policy file of scx_steer.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only used for its schema: `read` reads the files")]
struct PolicyFile {
    /// The rules, in any order. For each setting, the most specific rule that sets it wins.
    #[schemars(default)]
    rule: Vec<RuleTable>,
}

/// What a rule applies to, and what it sets.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only used for its schema: `read` reads the files")]
struct RuleTable {
    /// The cgroups it applies to, each with its descendants: a path from the cgroup2 root. Names
    /// may contain `*`, `?`, `[ab]` and `{a,b}`; the name `**` stands for any depth. Required.
    #[schemars(length(min = 1))]
    cgroup: String,
    /// The processes it applies to: a name of at most 15 bytes, or its start followed by `*`.
    /// Default: all processes.
    #[schemars(length(min = 1, max = 16), regex(pattern = r"^[^*?\[{]+\*?$"))]
    process: Option<String>,
    /// What it sets.
    #[schemars(flatten)]
    sets: Sets,
}

/// The JSON Schema of a policy file that was converted to JSON.
pub fn schema() -> Schema {
    schema_for!(PolicyFile)
}
