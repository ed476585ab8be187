//! A host as the checks see it: files below a root, facts, and what the operator wants.

use std::fs;
use std::io;
use std::path::Path;

use steer_topology::Machine;

use crate::case::Unchecked;
use crate::facts::{Facts, NicFacts};
use crate::needs;
use crate::observed::Observed;
use crate::record::FACTS;
use crate::root::Root;

/// A host.
#[derive(Debug)]
pub struct Host {
    /// Its files.
    pub root: Root,
    /// Its other facts.
    pub facts: Facts,
    /// Folder of the cgroup2 tree, below the root and without a leading slash.
    pub cgroups: String,
    /// What is wanted of it.
    pub wanted: Wanted,
}

/// What the operator wants.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// A wake-up may take this many microseconds longer because a CPU sleeps.
    pub wake_up_us: u64,
}

impl Default for Wanted {
    /// 50 µs: C1 and C1E of server CPUs stay below, C6 does not (drivers/idle/intel_idle.c).
    fn default() -> Self {
        Wanted { wake_up_us: 50 }
    }
}

impl Host {
    /// A recorded host: a folder that [`record`](crate::record()) wrote.
    ///
    /// # Errors
    /// It lacks the facts, or they are not understood.
    pub fn recorded(folder: &Path, wanted: Wanted) -> io::Result<Host> {
        let path = folder.join(FACTS);
        let named = |error: io::Error| {
            let hint = "is it a folder made by `scx_steer doctor --record`?";
            io::Error::new(error.kind(), format!("{}: {error}; {hint}", path.display()))
        };
        let facts = fs::read_to_string(&path).and_then(|text| Facts::recorded(&text));
        let facts = facts.map_err(named)?;
        Ok(Host { root: Root::new(folder), facts, cgroups: "sys/fs/cgroup".into(), wanted })
    }

    /// The machine.
    pub(crate) fn machine(&self) -> Result<&Machine, Unchecked> {
        self.facts.machine.as_ref().map_err(|why| Unchecked(why.clone()))
    }

    /// The NICs.
    pub(crate) fn nics(&self) -> Result<&[NicFacts], Unchecked> {
        match &self.facts.nics {
            Ok(nics) => Ok(nics),
            Err(why) => Err(Unchecked(why.clone())),
        }
    }

    /// The NICs that are up: a link that is down costs nothing.
    pub(crate) fn nics_up(&self) -> Result<Vec<&NicFacts>, Unchecked> {
        let down = |nic: &&NicFacts| nic.state.operstate.as_deref() == Some("down");
        Ok(self.nics()?.iter().filter(|nic| !down(nic)).collect())
    }

    /// The measurement.
    pub(crate) fn observed(&self) -> Result<&Observed, Unchecked> {
        self.facts.observed.as_ref().map_err(|why| Unchecked(why.clone()))
    }

    /// Whether more than one node has CPUs, so that near and far differ.
    pub(crate) fn has_several_nodes(&self) -> Result<bool, Unchecked> {
        Ok(self.machine()?.nodes_with_cpus().count() > 1)
    }

    /// The kernel's release, such as `6.18.15`.
    pub(crate) fn release(&self) -> Result<String, Unchecked> {
        Ok(self.root.text("proc/sys/kernel/osrelease")?.unwrap_or_default())
    }

    /// Major and minor number of the kernel.
    pub(crate) fn kernel(&self) -> Result<(u32, u32), Unchecked> {
        let release = self.release()?;
        needs::version(&release).ok_or_else(|| {
            Unchecked(format!(
                "/proc/sys/kernel/osrelease contains \"{release}\", which is no version"
            ))
        })
    }
}
