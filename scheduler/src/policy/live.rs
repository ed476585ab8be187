//! The policy while the scheduler is in force. It is loaded once, and reloaded when files change or
//! at SIGHUP. It follows cgroups that come and go.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

use anyhow::{Result, anyhow};
use log::{error, info, warn};
use steer_bpf::Scheduler;
use steer_policy::{CgroupTree, Effective, Plan, Pools, Settings};

use super::{check::count, load, watch::Watch};
use crate::cgroups;
use crate::{signals::Flag, status::PolicyStatus, translate};

/// The policy files and the policies that they make.
pub(crate) struct LivePolicy {
    path: Option<PathBuf>,
    mount: Option<PathBuf>,
    effective: Effective,
    /// How many policies of `effective` the kernel side has; a new cgroup may add one.
    in_force: usize,
    watch: Option<Watch>,
    reload: Flag,
    status: PolicyStatus,
}

impl LivePolicy {
    /// Loads the files at `path`, or the installed ones. `reload` asks for them again later.
    /// `settings` hold where the files say nothing.
    ///
    /// # Errors
    /// All that is wrong with the files. Nothing is loaded then.
    pub(crate) fn load(path: Option<PathBuf>, settings: Settings, reload: Flag) -> Result<Self> {
        let files = load::files(path.as_deref());
        let mount = match cgroups::mount_point() {
            Ok(mount) => Some(mount),
            Err(error) if files.sources.is_empty() => {
                warn!("no policy for cgroups can be loaded later: {error:#}");
                None
            }
            Err(error) => return Err(error),
        };
        let effective = load::effective(&files, settings, &tree(mount.as_deref())?)
            .map_err(|problems| anyhow!("the policy files are refused:\n{problems}"))?;
        let watched = path.clone().unwrap_or_else(|| steer_policy::DEFAULT_DIR.into());
        let watch = Watch::start(&watched)
            .inspect_err(|error| {
                warn!("policy files are not watched, send SIGHUP after a change: {error:#}")
            })
            .ok();
        let status = PolicyStatus::default();
        Ok(Self { path, mount, effective, in_force: 0, watch, reload, status })
    }

    /// Puts the policy in force in place of the one before, all or nothing.
    ///
    /// # Errors
    /// The kernel refused a step: the policy before holds.
    pub(crate) fn apply(&mut self, scheduler: &mut Scheduler<'_>, plan: &Plan) -> Result<()> {
        let pools = Pools::new(plan, self.effective.policies());
        scheduler.set_policies(&translate::policies(&self.effective, &pools, plan))?;
        self.in_force = self.effective.policies().len();
        self.status.shortfalls = pools.shortfalls.iter().map(ToString::to_string).collect();
        for shortfall in &self.status.shortfalls {
            warn!("policy: {shortfall}");
        }
        let rules = self.effective.set().rules().len();
        info!(
            "policy: {} {} for {}",
            count(rules, "rule"),
            if rules == 1 { "holds" } else { "hold" },
            count(self.effective.cgroups().len(), "cgroup")
        );
        Ok(())
    }

    /// The files in force, and what became of reloads so far.
    pub(crate) fn status(&self) -> PolicyStatus {
        let set = self.effective.set();
        PolicyStatus {
            files: set.files().to_vec(),
            rules: set.rules().len(),
            cgroups: self.effective.cgroups().len(),
            ..self.status.clone()
        }
    }

    /// The settings where no rule says anything.
    pub(crate) fn settings(&self) -> &Settings {
        self.effective.settings()
    }

    /// Whether there is any rule, so that cgroups matter.
    pub(crate) fn has_rules(&self) -> bool {
        !self.effective.set().rules().is_empty()
    }

    /// Reloads changed files and follows cgroups, as is due.
    ///
    /// # Errors
    /// The kernel refused an entry of a table. Bad files or a swap that fails are no error: the old
    /// policy stays in force.
    pub(crate) fn follow(&mut self, scheduler: &mut Scheduler<'_>, plan: &Plan) -> Result<()> {
        let changed = self.watch.as_ref().is_some_and(|watch| watch.changes().try_recv().is_ok());
        if self.reload.take() || changed {
            return self.reload(scheduler, plan);
        }
        let (events, lost) = scheduler.cgroup_events()?;
        if lost {
            warn!("too many cgroups came and went at once: reading them all again");
            return self.reload(scheduler, plan);
        }
        let mut placed = Vec::new();
        for event in events {
            if event.gone {
                self.effective.remove(event.id);
                continue;
            }
            let Some(path) = event.path else {
                warn!("policy: a cgroup's path is too long or no UTF-8: its parent's holds for it");
                continue;
            };
            match self.effective.add(event.id, &path) {
                Ok(policy) => placed.push((event.id, policy)),
                Err(problem) => {
                    // unused policies fill the table: start a new one
                    error!("policy: {problem}; its parent's holds for /{path} until a reload");
                    return self.reload(scheduler, plan);
                }
            }
        }
        // a new policy may name a new pool
        if !placed.is_empty() && self.effective.policies().len() > self.in_force {
            if let Err(error) = self.apply(scheduler, plan) {
                error!(
                    "policy: {error:#}; the parent's holds for new cgroups until the next change"
                );
            }
            return Ok(());
        }
        for (id, policy) in placed {
            scheduler.set_cgroup(id, (policy != 0).then_some(policy))?;
        }
        Ok(())
    }

    fn reload(&mut self, scheduler: &mut Scheduler<'_>, plan: &Plan) -> Result<()> {
        let files = load::files(self.path.as_deref());
        let tree = tree(self.mount.as_deref())?;
        match load::effective(&files, self.settings().clone(), &tree) {
            Ok(effective) => {
                // `in_force` changes only if the swap succeeds
                let old = std::mem::replace(&mut self.effective, effective);
                match self.apply(scheduler, plan) {
                    Ok(()) => {
                        self.status.reloads += 1;
                        self.status.refused = None;
                    }
                    Err(error) => {
                        self.effective = old;
                        self.refuse(&error);
                    }
                }
            }
            Err(problems) => self.refuse(&problems),
        }
        Ok(())
    }

    fn refuse(&mut self, why: &impl Display) {
        self.status.refusals += 1;
        self.status.refused = Some(format!("{why:#}"));
        error!("the new policy is refused, the old one stays in force:\n{why:#}");
    }
}

fn tree(mount: Option<&Path>) -> Result<CgroupTree> {
    mount.map_or_else(|| Ok(CgroupTree::default()), cgroups::walk)
}
