//! What operators do for a host's network without us, as part of an arm: `default+rfs`. Set before
//! each sample of the arm and put back after it, whatever came of the sample.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Error, Result, bail, ensure};

use super::setup::Unsupported;
use crate::guest::{Link, Silent};
use crate::lab::steering::set;
use crate::lab::tool;

/// Name of irqbalance, and of its program.
const IRQBALANCE: &str = "irqbalance";
/// Flows that RFS follows, as the kernel's scaling.rst suggests for a server.
const FLOWS: usize = 32_768;
/// The table of the threads that read them.
const FLOW_ENTRIES: &str = "/proc/sys/net/core/rps_sock_flow_entries";

/// Something that an operator turns on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tuning {
    /// Packets are processed on the CPU where their flow is read: the table of readers, and one of
    /// each receive queue. `rps_cpus` stays as it is: it would only spread the packets of flows that
    /// nobody has read yet.
    Rfs,
    /// The daemon that spreads interrupts over CPUs by their load. It looks every second rather than
    /// every ten, so that it has settled when a sample begins.
    Irqbalance,
}

impl Tuning {
    /// Its name, as in arms.
    pub(super) fn named(name: &str) -> Result<Self> {
        match name {
            "rfs" => Ok(Self::Rfs),
            IRQBALANCE => Ok(Self::Irqbalance),
            _ => bail!("after a + comes rfs or {IRQBALANCE}, not {name:?}"),
        }
    }
}

/// Takes irqbalance into the guest, unless it is among the programs that the user brings.
///
/// # Errors
/// [`Unsupported`], when it is not installed.
pub(super) fn bring_irqbalance(programs: &mut Vec<PathBuf>) -> Result<()> {
    if programs.iter().any(|program| program.ends_with(IRQBALANCE)) {
        return Ok(());
    }
    // Installing it would also start it on this machine.
    const HOW: &str = "install the package irqbalance, or unpack it (apt-get download irqbalance; \
        dpkg -x) and name its program with --with";
    let program =
        tool::installed(IRQBALANCE, HOW).map_err(|error| Unsupported(error.to_string()))?;
    programs.push(program);
    Ok(())
}

/// What has to be put back.
#[derive(Debug, Default)]
pub(super) struct Tuned {
    /// Path and value of settings as they were, in the order they were changed in.
    before: Vec<(String, String)>,
    /// The same of the interrupts' affinities, which irqbalance may change as long as it runs.
    affinities: Vec<(String, String)>,
    /// Whether irqbalance was started.
    irqbalance: bool,
}

impl Tuned {
    /// Turns on all of them, or none.
    ///
    /// # Errors
    /// When a setting does not read back as it was written, or irqbalance does not start.
    pub(super) fn apply(link: &mut Link, tunings: &[Tuning], nics: &[String]) -> Result<Self> {
        let mut tuned = Self::default();
        for tuning in tunings {
            let applied = match tuning {
                Tuning::Rfs => tuned.start_rfs(link, nics).context("turning on RFS"),
                Tuning::Irqbalance => tuned.start_irqbalance(link).context("starting irqbalance"),
            };
            if let Err(error) = applied {
                return Err(with(error, tuned.undo(link)));
            }
        }
        Ok(tuned)
    }

    fn start_rfs(&mut self, link: &mut Link, nics: &[String]) -> Result<()> {
        self.change(link, FLOW_ENTRIES.to_owned(), &FLOWS.to_string())?;
        for nic in nics {
            let folder = format!("/sys/class/net/{nic}/queues");
            let queues = link.list(&folder)?;
            let queues: Vec<_> = queues.iter().filter(|name| name.starts_with("rx-")).collect();
            // the kernel rounds up to a power of two
            let each = FLOWS.div_ceil(queues.len().max(1)).next_power_of_two();
            for queue in queues {
                self.change(link, format!("{folder}/{queue}/rps_flow_cnt"), &each.to_string())?;
            }
        }
        Ok(())
    }

    fn start_irqbalance(&mut self, link: &mut Link) -> Result<()> {
        for irq in link.list("/proc/irq")? {
            if irq.parse::<u32>().is_ok() {
                let path = format!("/proc/irq/{irq}/smp_affinity_list");
                self.affinities.push((path.clone(), link.read(&path)?));
            }
        }
        link.spawn(IRQBALANCE, &[IRQBALANCE, "--foreground", "--interval=1"])?;
        self.irqbalance = true;
        Ok(())
    }

    fn change(&mut self, link: &mut Link, path: String, value: &str) -> Result<()> {
        self.before.push((path.clone(), link.read(&path)?));
        set(link, &path, value)
    }

    /// Puts everything back, and sees that it is; gives doubts.
    ///
    /// # Errors
    /// Names what did not go back, after all else did; or says that irqbalance had ended by itself.
    /// [`Silent`] at once, when the guest does not answer.
    pub(super) fn undo(self, link: &mut Link) -> Result<Vec<String>> {
        let mut left = Vec::new();
        let mut moved = 0;
        let stopped = if self.irqbalance { stop_irqbalance(link) } else { Ok(()) };
        if stopped.as_ref().is_err_and(|error| error.is::<Silent>()) {
            return stopped.map(|()| Vec::new());
        }
        for (path, value) in &self.affinities {
            match link.read(path) {
                Ok(now) if now == *value => {}
                Ok(_) => {
                    moved += 1;
                    unless_silent(set(link, path, value), &mut left)?;
                }
                Err(error) => unless_silent(Err(error), &mut left)?,
            }
        }
        for (path, value) in self.before.iter().rev() {
            unless_silent(set(link, path, value), &mut left)?;
        }
        ensure!(left.is_empty(), "not put back: {}", left.join("; "));
        stopped?;
        let idle = self.irqbalance && moved == 0;
        Ok(idle.then(|| "irqbalance moved no interrupt".to_owned()).into_iter().collect())
    }
}

/// Notes a failure, unless it is that the guest does not answer.
fn unless_silent(result: Result<()>, left: &mut Vec<String>) -> Result<()> {
    let error = match result {
        Err(error) if !error.is::<Silent>() => error,
        other => return other,
    };
    left.push(format!("{error:#}"));
    Ok(())
}

/// Ends irqbalance, which must not have ended before.
fn stop_irqbalance(link: &mut Link) -> Result<()> {
    if let Some(ended) = link.ended(IRQBALANCE, Duration::ZERO)? {
        bail!("irqbalance ended by itself (code {:?}): {}", ended.code, ended.last_words());
    }
    link.stop(IRQBALANCE).map(drop)
}

/// A failure, and what was left behind because of it, if anything was.
pub(super) fn with(error: Error, undone: Result<Vec<String>>) -> Error {
    match undone {
        Ok(_) => error,
        Err(silent) if silent.is::<Silent>() => silent.context(format!("{error:#}")),
        Err(left) => error.context(format!("{left:#}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::Here;
    use crate::traffic::stop::Stop;

    /// A setting of this process alone: a number, which reads back in plain digits.
    const SETTING: &str = "/proc/self/oom_score_adj";

    fn here() -> Link {
        Link::here(Here::new(Vec::new(), Box::leak(Box::new(Stop::never()))))
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
        assert_eq!(tuned.undo(&mut link).unwrap(), Vec::<String>::new());
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
        let own = |(path, value): (&str, &str)| (path.to_owned(), value.to_owned());
        let tuned = Tuned { before: settings.map(own).into(), ..Tuned::default() };
        let failed = with(Error::msg("the sample failed"), tuned.undo(&mut link));
        assert_eq!(link.read(other).unwrap(), before);
        let said = format!("{failed:#}");
        assert!(said.starts_with("not put back:") && said.contains(gone), "{said}");
        assert!(said.ends_with("the sample failed"), "{said}");
    }
}
