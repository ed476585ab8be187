//! Applies the settings of an arm, and puts them back.

use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow, ensure};

use super::journal::Journal;
use super::pause::Pause;
use super::was::Was;
use super::{idle, xps};
use crate::nic::NearNic;
use crate::topology;
use steer_ground::warning::{Kind, Warning};
use steer_lab::SCX_STEER;
use steer_lab::agent::{Link, Silent};
use steer_lab::facts::{affinity_path, queue_folders};
use steer_lab::steering::set;
use steer_scenario::tuning::{IRQBALANCE, Tuning};

/// Size of the RFS table, as the kernel's scaling.rst suggests for a server.
const FLOWS: usize = 32_768;
/// The file with the size of the global RFS table.
const FLOW_ENTRIES: &str = "/proc/sys/net/core/rps_sock_flow_entries";
/// Time for `scx_steer nic`, which waits for interrupts to move.
const NIC_STEP: Duration = Duration::from_secs(120);
/// Time for a program that only reads something.
const STEP: Duration = Duration::from_secs(30);

/// The settings to put back.
#[derive(Debug, Default)]
pub(crate) struct Tuned {
    /// Old values, in the order of the changes. They include the affinities of all interrupts if
    /// irqbalance runs, because it may change any of them.
    before: Vec<Was>,
    /// `scx_steer nic` has set a mode, and keeps a journal of its own.
    aligned: bool,
    /// Names of the programs that were started.
    programs: Vec<&'static str>,
    /// On a host, the journal with the same values.
    journal: Option<Journal>,
}

impl Tuned {
    /// Applies all of them on a machine with these NICs, or none.
    ///
    /// # Errors
    /// A setting does not read back as it was written, or a program does not start. `Unsupported`:
    /// the machine lacks the setting.
    pub(crate) fn apply(
        link: &mut Link,
        nics: &[NearNic],
        journal: Option<Journal>,
        tunings: &[Tuning],
    ) -> Result<Self> {
        let mut tuned = Self { journal, ..Self::default() };
        // It changes channels, which resets what the others set: it comes first, and goes last.
        let (first, others): (Vec<&Tuning>, Vec<_>) =
            tunings.iter().partition(|tuning| **tuning == Tuning::Align);
        for tuning in first.into_iter().chain(others) {
            let applied = match tuning {
                Tuning::Align => tuned.align(link, nics).context("setting the mode align"),
                Tuning::Rfs => tuned.start_rfs(link, nics).context("turning on RFS"),
                Tuning::Irqbalance => tuned.start_irqbalance(link).context("starting irqbalance"),
                Tuning::Xps => tuned.start_xps(link, nics).context("setting XPS"),
                Tuning::NoPause => tuned.stop_pause(link, nics).context("turning off pause frames"),
                Tuning::ShallowIdle => idle::start(link)
                    .map(|()| tuned.programs.push(idle::HOLDER))
                    .context("limiting idle states"),
            };
            if let Err(error) = applied {
                return Err(with(error, tuned.undo(link)));
            }
        }
        Ok(tuned)
    }

    fn align(&mut self, link: &mut Link, nics: &[NearNic]) -> Result<()> {
        let mut argv = vec![SCX_STEER, "nic", "apply", "--mode", "align"];
        argv.extend(nics.iter().map(|nic| nic.name.as_str()));
        self.aligned = true;
        let applied = link.run(&argv, NIC_STEP)?;
        ensure!(applied.success(), "scx_steer nic apply failed: {}", applied.last_words());
        Ok(())
    }

    fn start_rfs(&mut self, link: &mut Link, nics: &[NearNic]) -> Result<()> {
        self.change(link, FLOW_ENTRIES.to_owned(), &FLOWS.to_string())?;
        for nic in nics {
            let queues = queue_folders(link, &nic.name, "rx-")?;
            // the kernel rounds up to a power of two
            let each = FLOWS.div_ceil(queues.len().max(1)).next_power_of_two();
            for queue in queues {
                self.change(link, format!("{queue}/rps_flow_cnt"), &each.to_string())?;
            }
        }
        Ok(())
    }

    fn start_irqbalance(&mut self, link: &mut Link) -> Result<()> {
        alone(link)?;
        for irq in link.list("/proc/irq")?.iter().filter_map(|name| name.parse().ok()) {
            let path = affinity_path(irq);
            self.note(Was::File { value: link.read(&path)?, path })?;
        }
        link.spawn(IRQBALANCE, &[IRQBALANCE, "--foreground", "--interval=1"])?;
        self.programs.push(IRQBALANCE);
        Ok(())
    }

    fn start_xps(&mut self, link: &mut Link, nics: &[NearNic]) -> Result<()> {
        alone(link)?;
        for NearNic { name, cpus } in nics {
            let tx_queues = queue_folders(link, name, "tx-")?.len();
            let queues = topology::queues(link, name);
            for (path, value) in xps::one_to_one(name, &queues, tx_queues, cpus)? {
                self.change(link, path, &value)?;
            }
        }
        Ok(())
    }

    fn stop_pause(&mut self, link: &mut Link, nics: &[NearNic]) -> Result<()> {
        for NearNic { name, .. } in nics {
            let pause = Pause::to_turn_off(link, name)?;
            self.note(Was::Pause { nic: name.clone(), pause })?;
            Pause::OFF.set(link, name)?;
        }
        Ok(())
    }

    fn change(&mut self, link: &mut Link, path: String, value: &str) -> Result<()> {
        self.note(Was::File { path: path.clone(), value: link.read(&path)? })?;
        set(link, &path, value)
    }

    /// Remembers a setting that is about to be changed.
    fn note(&mut self, was: Was) -> Result<()> {
        if let Some(journal) = &self.journal {
            journal.note(&was)?;
        }
        self.before.push(was);
        Ok(())
    }

    /// Puts back the settings of a killed run. Returns whether there were any.
    ///
    /// # Errors
    /// A setting cannot be put back. The message names it.
    pub(crate) fn recover(link: &mut Link, journal: &Journal) -> Result<bool> {
        let before = journal.left()?;
        let found = !before.is_empty();
        Self { before, journal: Some(journal.clone()), ..Self::default() }.undo(link)?;
        Ok(found)
    }

    /// Puts everything back and checks it, even after Ctrl-C. Returns warnings.
    ///
    /// # Errors
    /// Some settings cannot be put back: the message names them, and the others are put back first.
    /// Or a program had ended by itself. [`Silent`] at once if the guest does not answer.
    pub(crate) fn undo(self, link: &mut Link) -> Result<Vec<Warning>> {
        link.insist(true);
        let undone = self.put_back(link);
        link.insist(false);
        undone
    }

    fn put_back(self, link: &mut Link) -> Result<Vec<Warning>> {
        let (mut left, mut ended) = (Vec::new(), Vec::new());
        for program in &self.programs {
            unless_silent(link.stop(program).map(drop), &mut ended)?;
        }
        let mut moved = 0;
        for was in self.before.iter().rev() {
            let put_back = was.put_back(link);
            moved += usize::from(was.is_affinity() && matches!(put_back, Ok(true)));
            unless_silent(put_back.map(drop), &mut left)?;
        }
        if self.aligned {
            let restored =
                link.run(&[SCX_STEER, "nic", "restore"], NIC_STEP).and_then(|restored| {
                    ensure!(restored.success(), "scx_steer nic restore: {}", restored.last_words());
                    Ok(())
                });
            unless_silent(restored, &mut left)?;
        }
        ensure!(left.is_empty(), "not put back: {}", left.join("; "));
        if let Some(journal) = &self.journal {
            journal.clear()?;
        }
        ensure!(ended.is_empty(), "{}", ended.join("; "));
        let idle = self.programs.contains(&IRQBALANCE) && moved == 0;
        let warning = || Warning::new(Kind::IrqbalanceIdle, "irqbalance moved no interrupt");
        Ok(idle.then(warning).into_iter().collect())
    }
}

/// Records an error. If the guest does not answer, returns that error instead.
fn unless_silent(result: Result<()>, failures: &mut Vec<String>) -> Result<()> {
    let error = match result {
        Err(error) if !error.is::<Silent>() => error,
        other => return other,
    };
    failures.push(format!("{error:#}"));
    Ok(())
}

/// Checks that the machine's own irqbalance is not running.
fn alone(link: &mut Link) -> Result<()> {
    ensure!(
        !link.run(&["pidof", IRQBALANCE], STEP)?.success(),
        "irqbalance runs on this machine and moves interrupts: stop it first (systemctl stop \
         irqbalance)"
    );
    Ok(())
}

/// An error, together with the settings that could not be put back after it.
pub(crate) fn with(error: Error, undone: Result<Vec<Warning>>) -> Error {
    match undone {
        Ok(_) => error,
        Err(silent) if silent.is::<Silent>() => silent.context(format!("{error:#}")),
        // As text only: a setting that stays changed must not count as `Unsupported`.
        Err(left) => anyhow!("{left:#}: {error:#}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unsupported::Unsupported;
    use steer_ground::stop::{Interrupted, Stop};
    use steer_lab::agent::Here;

    /// A setting of this process only: a number that reads back in plain digits.
    const SETTING: &str = "/proc/self/oom_score_adj";

    fn here() -> Link {
        Link::here(Here::new(Vec::new(), Box::leak(Box::new(Stop::never().unwrap()))))
    }

    #[test]
    fn what_was_changed_goes_back_even_what_did_not_take_its_value() {
        let mut link = here();
        let before = link.read(SETTING).unwrap();
        let mut tuned = Tuned::default();
        for value in ["0x3", "0x7"] {
            let changed = tuned.change(&mut link, SETTING.to_owned(), value);
            // it reads back without the 0x
            assert!(changed.unwrap_err().to_string().contains("was written"), "{value}");
        }
        assert_ne!(link.read(SETTING).unwrap(), before);
        assert_eq!(tuned.undo(&mut link).unwrap(), []);
        assert_eq!(link.read(SETTING).unwrap(), before);
    }

    #[test]
    fn what_does_not_go_back_is_named_and_the_rest_goes_back() {
        let mut link = here();
        let other = "/proc/thread-self/comm";
        let before = link.read(other).unwrap();
        link.write(other, "renamed").unwrap();
        let gone = "/proc/sys/net/no_such_setting";
        let settings = [(other, before.as_str()), (gone, "1")];
        let was =
            |(path, value): (&str, &str)| Was::File { path: path.into(), value: value.into() };
        let tuned = Tuned { before: settings.map(was).into(), ..Tuned::default() };
        let failed = with(Unsupported("the sample failed".into()).into(), tuned.undo(&mut link));
        assert_eq!(link.read(other).unwrap(), before);
        let said = format!("{failed:#}");
        assert!(said.starts_with("not put back:") && said.contains(gone), "{said}");
        assert!(said.ends_with("the sample failed"), "{said}");
        assert!(!failed.is::<Unsupported>(), "it would pass for something to leave out");
    }

    #[test]
    fn what_a_killed_run_left_goes_back_though_the_user_wants_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(&folder.path().join("journal"), true).unwrap().unwrap();
        // A setting of this thread only, unlike those of the other tests.
        let name = "/proc/thread-self/comm";
        let before = here().read(name).unwrap();
        let mut killed = Tuned { journal: Some(journal.clone()), ..Tuned::default() };
        killed.change(&mut here(), name.to_owned(), "changed").unwrap();
        drop(killed);
        assert_eq!(here().read(name).unwrap(), "changed");

        let stop = Box::leak(Box::new(Stop::always().unwrap()));
        let mut link = Link::here(Here::new(Vec::new(), stop));
        assert!(Tuned::recover(&mut link, &journal).unwrap());
        assert_eq!(here().read(name).unwrap(), before);
        assert!(!Tuned::recover(&mut link, &journal).unwrap(), "nothing is left to put back");
        assert!(link.read(name).unwrap_err().is::<Interrupted>(), "and then it ends");
    }
}
