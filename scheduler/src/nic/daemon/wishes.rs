//! What is wanted of the NICs: the host file, read again when it changes, and the command line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use log::{error, info, warn};
use steer_nic::Mode;
use steer_policy::{
    DEFAULT_DIR, DEFAULT_HOST_FILE, Files, HostConfig, NicWish, OnExit, PolicySet, PortPool, Trust,
};

use crate::nic::args::HostArgs;
use crate::policy::{Watch, load};
use crate::signals::Flag;

/// The wishes in force.
pub(super) struct Wishes {
    path: Option<PathBuf>,
    /// Modes of the command line. They go before those of the file.
    modes: Vec<(String, Mode)>,
    config: HostConfig,
    /// The policy files, which say where packets to some ports belong.
    policy: Option<PathBuf>,
    policies: PolicySet,
    /// Of the host file and the policy files.
    watches: Vec<Watch>,
    reload: Flag,
    /// How often a new file was put in force, and how often one was refused.
    pub(super) reloads: u64,
    pub(super) refusals: u64,
    /// Why the file on disk is not in force.
    pub(super) refused: Option<String>,
}

impl Wishes {
    /// Reads the files.
    ///
    /// # Errors
    /// All that is wrong with them.
    pub(super) fn load(args: &HostArgs, policy: Option<&Path>, reload: Flag) -> Result<Self> {
        let path = args.host.clone();
        let config = HostConfig::read(&files(path.as_deref()))
            .map_err(|problems| anyhow!("the host file is refused:\n{problems}"))?;
        config.warnings().iter().for_each(|warning| warn!("{warning}"));
        let watched = path.clone().unwrap_or_else(|| DEFAULT_HOST_FILE.into());
        let policy = policy.map(Path::to_owned);
        let watch = |path: &Path| {
            let watch = Watch::start(path);
            watch.inspect_err(|error| {
                let path = path.display();
                warn!("{path} is not watched, send SIGHUP after a change: {error:#}");
            })
        };
        let rules = policy.as_deref().unwrap_or(Path::new(DEFAULT_DIR));
        let watches = [&watched, rules].into_iter().filter_map(|path| watch(path).ok()).collect();
        let modes = args.nic_modes.iter().map(|it| (it.interface.clone(), it.mode)).collect();
        let (reloads, refusals, refused) = (0, 0, None);
        let policies = PolicySet::default();
        let mut wishes = Self {
            path,
            modes,
            config,
            policy,
            policies,
            watches,
            reload,
            reloads,
            refusals,
            refused,
        };
        wishes.read_policies()?;
        Ok(wishes)
    }

    /// Reads the policy files, if a NIC needs them.
    fn read_policies(&mut self) -> Result<()> {
        if self.nics().values().any(|wish| wish.mode == Mode::Rules) {
            self.policies = load::set(self.policy.as_deref())?;
        }
        Ok(())
    }

    /// Where packets that arrive through a NIC belong, for the ports that policy files name.
    pub(super) fn ports(&self, nic: &str) -> Vec<PortPool> {
        self.policies.ports(nic)
    }

    /// Reads the files again if that is due. A bad file changes nothing.
    pub(super) fn follow(&mut self) {
        let news = self.watches.iter().filter(|watch| watch.changes().try_recv().is_ok());
        // each has its say taken
        let changed = news.count() > 0;
        if !(self.reload.take() || changed) {
            return;
        }
        match HostConfig::read(&files(self.path.as_deref())) {
            Ok(config) => {
                config.warnings().iter().for_each(|warning| warn!("{warning}"));
                self.refused = None;
                if config != self.config {
                    self.reloads += 1;
                    self.config = config;
                    info!("the host file changed: its modes are set");
                }
            }
            Err(problems) => {
                self.refusals += 1;
                self.refused = Some(problems.to_string());
                error!("the new host file is refused, the old one stays in force:\n{problems}");
            }
        }
        if let Err(error) = self.read_policies() {
            error!("the ports that were named before stay in force: {error:#}");
        }
    }

    /// The NICs of which something is wanted.
    pub(super) fn nics(&self) -> BTreeMap<String, NicWish> {
        let mut nics = self.config.nics.clone();
        for (name, mode) in &self.modes {
            nics.entry(name.clone()).or_default().mode = *mode;
        }
        nics.retain(|_, wish| wish.mode != Mode::Keep);
        nics
    }

    /// What becomes of the settings at the end.
    pub(super) fn on_exit(&self) -> OnExit {
        self.config.on_exit
    }
}

/// The file named, or the installed one. The installed one may be missing.
pub(in crate::nic) fn files(path: Option<&Path>) -> Files {
    let mut files = Files::default();
    let default = Path::new(DEFAULT_HOST_FILE);
    match path {
        Some(path) => files.add(path, Trust::Required),
        None if default.symlink_metadata().is_ok() => files.add(default, Trust::Required),
        None => {}
    }
    files
}
