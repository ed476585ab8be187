//! A machine: its file, read and checked, and its prices in the plugin's units.

mod keys;
mod prices;
mod read;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use steer_lab::kernel::folder_names;

/// Folder of the machines that this project has, from its root.
const FOLDER: &str = "experiments/priced/machines";

/// A machine, with values that are possible.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Machine {
    /// Its short name: that of its file, without the ending.
    pub(crate) id: String,
    /// Its name, as its file has it.
    pub(crate) name: String,
    /// All values, by section and key.
    values: BTreeMap<&'static str, f64>,
}

impl Machine {
    /// Reads a machine: a path to a file, or the name of one that this project has.
    ///
    /// # Errors
    /// Names the file, the line and the key of the first mistake; of an unknown name, the machines
    /// to choose from.
    pub(crate) fn find(named: &str) -> Result<Self> {
        let path = if named.ends_with(".toml") {
            PathBuf::from(named)
        } else {
            Path::new(FOLDER).join(named).with_extension("toml")
        };
        let text = fs::read_to_string(&path).with_context(|| unknown(named, &path))?;
        Self::parse(&text, &path)
    }

    /// The names of all machines that this project has, in order.
    ///
    /// # Errors
    /// When there is no such folder: the current folder is another one than the project's.
    pub(crate) fn all() -> Result<Vec<String>> {
        let names = folder_names(Path::new(FOLDER)).context("run this in the project's folder")?;
        let mut names: Vec<String> =
            names.iter().filter_map(|name| Some(name.strip_suffix(".toml")?.to_owned())).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// The same machine, as if its devices wrote to memory and not to the L3; `None` if they do.
    pub(crate) fn without_ddio(&self) -> Option<Self> {
        let mut other = self.clone();
        let ways = other.values.insert("cache.ddio_ways", 0.0);
        other.id += " without DDIO";
        Some(other).filter(|_| ways != Some(0.0))
    }

    /// A value by section and key, such as `latency.dram`, in the unit of the file.
    ///
    /// # Panics
    /// If there is no such key: a slip in this program, as a read machine has all of them.
    pub(crate) fn value(&self, key: &str) -> f64 {
        self.values[key]
    }

    /// A value that is a whole number.
    ///
    /// # Panics
    /// As [`Self::value`].
    pub(crate) fn count(&self, key: &str) -> usize {
        self.value(key) as usize
    }
}

/// The message about a machine whose file cannot be read.
fn unknown(named: &str, path: &Path) -> String {
    let known = Machine::all().unwrap_or_default().join(", ");
    if known.is_empty() || named.ends_with(".toml") {
        format!("cannot read the machine {}", path.display())
    } else {
        format!("there is no machine {named:?}: choose one of {known}, or name a file.toml")
    }
}
