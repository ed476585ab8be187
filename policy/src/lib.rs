//! What should happen: validated [`Settings`], the [`Plan`] of a machine, and policies for cgroups
//! from files.
//!
//! A policy goes through three steps, each checked before the next. [`Files`] are loaded; a
//! [`PolicySet`] is read from them; the set and the host's cgroups make an [`Effective`] table. A
//! reload makes a new table, and the old one stays valid for as long as its owner keeps it.
//!
//! Only [`Files`] touches the file system. The rest is pure: no clock, no BPF. Everything here is
//! tested without root.

mod effective;
mod files;
mod host;
mod origins;
mod plan;
mod pools;
mod problem;
mod rules;
mod settings;
mod shards;

pub use effective::{
    Cgroup, CgroupPolicy, CgroupTree, Effective, Explained, Explanation, MAX_CGROUPS, MAX_POLICIES,
    MAX_PROCESSES, Origin, Outvoted, PolicyId, ProcessPolicy, RuleId,
};
pub use files::{DEFAULT_DIR, Files, MAX_FILE_BYTES, Source, Trust};
pub use host::{
    DEFAULT_HOST_FILE, HostConfig, NicMode, NicWish, OnExit, ServingCores, host_schema,
};
pub use origins::Origins;
pub use plan::{CpuPlace, Plan, PlannedNic};
pub use pools::{CpuPool, MAX_POOLS, Pools};
pub use problem::{Location, Position, Problem, Problems, Severity};
pub use rules::{
    Bytes, CgroupPattern, Class, Cores, Granularity, Latency, MAX_DEPTH, MAX_PROCESS_NAME,
    MAX_RULES, NicName, PolicySet, Pool, Port, PortPool, Ports, ProcessPattern, Protocol, Rule,
    Sets, Steer, Time, schema,
};
pub use settings::{Classification, Placement, Settings, SettingsError};
