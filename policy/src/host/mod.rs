//! Host steering as the administrator wants it: `/etc/scx_steer/host.toml`.

mod mode;
mod read;
mod schema;

use std::collections::BTreeMap;

use serde::Serialize;
use steer_topology::CpuSet;

use crate::{
    files::Files,
    problem::{Problem, Problems},
};

pub use mode::{NicMode, OnExit, ServingCores};
pub use schema::host_schema;

/// The file that is read if no other is named.
pub const DEFAULT_HOST_FILE: &str = "/etc/scx_steer/host.toml";

/// What is wanted of the host's NICs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HostConfig {
    /// What becomes of the settings when scx_steer ends.
    pub on_exit: OnExit,
    /// What is wanted of each NIC, by the interface's name. NICs not named here stay as they are.
    pub nics: BTreeMap<String, NicWish>,
    #[serde(skip)]
    warnings: Vec<Problem>,
}

/// What is wanted of one NIC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NicWish {
    /// Its mode.
    pub mode: NicMode,
    /// The CPUs that serve it, instead of the NIC-local ones.
    pub cpus: Option<CpuSet>,
    /// How many cores of these take its interrupts.
    pub cores: ServingCores,
}

impl HostConfig {
    /// Reads a host file. No file means that nothing is wanted.
    ///
    /// # Errors
    /// All problems, including those found while loading the file.
    pub fn read(files: &Files) -> Result<Self, Problems> {
        let mut problems = files.problems.clone();
        let mut config = Self::default();
        for source in &files.sources {
            let (read, found) = read::read(source);
            problems.extend(found);
            config = read;
        }
        config.warnings = Problems::judge(problems)?;
        Ok(config)
    }

    /// What does not do what it seems to do.
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }
}
