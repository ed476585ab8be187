//! The arms of an A/B run: what differs between samples that are compared.

use std::str::FromStr;

use anyhow::{Error, Result, anyhow, bail, ensure};

use super::tuning::Tuning;

/// The arm whose ratios to the others are reported.
pub(crate) const SUBJECT: &str = "scx_steer";

/// The arm that repeats another.
const AGAIN: &str = "again";

/// The arm that is compared with the others: scx_steer, or the last named where it is not among
/// them.
pub(crate) fn subject(arms: &[Arm]) -> &str {
    let own = arms.iter().find(|arm| arm.name == SUBJECT);
    own.or(arms.iter().rfind(|arm| arm.name != AGAIN)).map_or(SUBJECT, |arm| &arm.name)
}

/// The first arm that the subject is compared with.
fn reference(arms: &[Arm]) -> Option<&Arm> {
    let subject = subject(arms);
    arms.iter().find(|arm| arm.name != subject && arm.name != AGAIN)
}

/// Adds the reference once more.
pub(super) fn repeat(arms: &mut Vec<Arm>) {
    let again = reference(arms).map(|arm| Arm { name: AGAIN.to_owned(), ..arm.clone() });
    arms.extend(again);
}

/// The arms that are equal, as a pair, if one is repeated.
pub(super) fn equal(arms: &[Arm]) -> Option<String> {
    let again = arms.iter().find(|arm| arm.name == AGAIN)?;
    Some(format!("{}/{}", again.name, reference(arms)?.name))
}

/// One way of scheduling the same workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arm {
    /// Its name in results.
    pub(crate) name: String,
    /// Command line of the sched_ext scheduler to load in the guest, if there is one.
    pub(crate) scheduler: Option<Vec<String>>,
    /// Whether the server's threads are pinned by hand: long flows on the NIC's node, RPCs
    /// elsewhere.
    pub(crate) pinned: bool,
    /// What an operator turns on in the guest besides.
    pub(crate) tunings: Vec<Tuning>,
}

impl Arm {
    /// Whether it loads scx_steer as it is, tuned or not.
    pub(super) fn is_own(&self) -> bool {
        self.name.split('+').next() == Some(SUBJECT)
    }
}

impl FromStr for Arm {
    type Err = Error;

    /// `default`, `scx_steer`, `pinned`, or `NAME=COMMAND` for any other sched_ext scheduler; the
    /// name may end in settings, like `+rfs` ([`Tuning`]).
    fn from_str(text: &str) -> Result<Self> {
        let (name, command) =
            text.split_once('=').map_or((text, None), |(name, command)| (name, Some(command)));
        let mut words = name.split('+');
        let base = words.next().unwrap_or_default();
        let tunings: Vec<Tuning> = words
            .map(Tuning::named)
            .collect::<Result<_>>()
            .map_err(|error| anyhow!("{}: {error}", no_arm(text)))?;
        for (index, tuning) in tunings.iter().enumerate() {
            ensure!(!tunings[..index].contains(tuning), "{text:?} names a setting twice");
        }
        ensure!(
            !(tunings.contains(&Tuning::Irqbalance) && tunings.contains(&Tuning::Xps)),
            "{text:?}: irqbalance would move the interrupts that xps pins; name one of them"
        );
        let scheduler = match (base, command) {
            ("default" | "pinned", None) => None,
            (SUBJECT, None) => Some(SUBJECT),
            (_, None) => bail!(
                "{}: write default, scx_steer, pinned, or NAME=COMMAND for another sched_ext \
                 scheduler",
                no_arm(text)
            ),
            (_, Some(command)) => {
                let own = ["default", SUBJECT, "pinned", AGAIN].contains(&base);
                ensure!(!own, "{base} is a name of its own; choose another");
                ensure!(!base.is_empty() && !command.trim().is_empty(), "{text:?} lacks a part");
                Some(command)
            }
        };
        let argv = |command: &str| command.split_whitespace().map(str::to_owned).collect();
        Ok(Self {
            name: name.to_owned(),
            scheduler: scheduler.map(argv),
            pinned: base == "pinned",
            tunings,
        })
    }
}

fn no_arm(text: &str) -> String {
    format!("{text:?} is no arm")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_policies_are_compared_with_each_other() {
        let arms = |names: &[&str]| -> Vec<Arm> {
            names.iter().map(|name| format!("{name}=scx_steer").parse().unwrap()).collect()
        };
        assert_eq!(subject(&arms(&["old", "new"])), "new");
        let own: Vec<Arm> = ["scx_steer", "default"].iter().map(|n| n.parse().unwrap()).collect();
        assert_eq!(subject(&own), SUBJECT);
    }

    #[test]
    fn the_repeated_arm_is_the_reference_and_never_the_subject() {
        for (names, pair, who) in [
            (["default", "scx_steer"], "again/default", SUBJECT),
            (["scx_steer", "pinned"], "again/pinned", SUBJECT),
            (["old=scx_steer", "new=scx_steer"], "again/old", "new"),
        ] {
            let mut arms: Vec<Arm> = names.iter().map(|name| name.parse().unwrap()).collect();
            assert_eq!(equal(&arms), None);
            repeat(&mut arms);
            assert_eq!((equal(&arms).as_deref(), subject(&arms)), (Some(pair), who));
            assert_eq!(arms.len(), 3);
        }
    }

    #[test]
    fn arms_are_read() {
        let arm: Arm = "pinned".parse().unwrap();
        assert!(arm.pinned && arm.scheduler.is_none());
        let arm: Arm = "lavd=scx_lavd --performance".parse().unwrap();
        assert_eq!(arm.name, "lavd");
        assert_eq!(arm.scheduler.unwrap(), ["scx_lavd", "--performance"]);
        let arm: Arm = "lavd+rfs=scx_lavd +x".parse().unwrap();
        assert_eq!((arm.name.as_str(), arm.tunings), ("lavd+rfs", vec![Tuning::Rfs]));
        let arm: Arm = "scx_steer+irqbalance+rfs".parse().unwrap();
        assert_eq!(arm.tunings, [Tuning::Irqbalance, Tuning::Rfs]);
        assert!(arm.is_own() && arm.scheduler.unwrap() == [SUBJECT]);
        let arm: Arm = "default+xps+nopause+shallow-idle".parse().unwrap();
        assert_eq!(arm.tunings, [Tuning::Xps, Tuning::NoPause, Tuning::ShallowIdle]);
        for bad in ["", "eevdf", "pinned=scx_lavd", "=scx_lavd", "lavd=", "again", "again=scx_lavd"]
            .into_iter()
            .chain(["+rfs", "default+", "default+fast", "default+rfs+rfs", "again+rfs", "+rfs=x"])
            .chain(["default+rfs=x", "default+irqbalance+xps"])
        {
            assert!(bad.parse::<Arm>().is_err(), "{bad:?} was accepted");
        }
    }
}
