//! An arm: one way of scheduling the same workload. Parses its name on the command line.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Error, Result, anyhow, bail, ensure};

use super::tuning::Tuning;
use steer_lab::SCX_STEER;

/// The arm that repeats another.
pub const AGAIN: &str = "again";

/// One way of scheduling the same workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arm {
    /// Its name in results.
    pub name: String,
    /// Command line of the sched_ext scheduler to load in the guest, if there is one.
    pub scheduler: Option<Vec<String>>,
    /// Whether the server's threads are pinned by hand: long flows to the NIC's node, RPCs
    /// elsewhere.
    pub pinned: bool,
    /// Settings that an operator would change in addition.
    pub tunings: Vec<Tuning>,
}

impl Arm {
    /// Whether it loads the plain scx_steer, with or without settings.
    pub fn is_own(&self) -> bool {
        self.name.split('+').next() == Some(SCX_STEER)
    }
}

impl FromStr for Arm {
    type Err = Error;

    /// `default`, `scx_steer`, `pinned`, or `NAME=COMMAND` for any other sched_ext scheduler. The
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
            ensure!(!tunings[..index].contains(tuning), "{text:?} has the same setting twice");
        }
        ensure!(
            !(tunings.contains(&Tuning::Irqbalance) && tunings.contains(&Tuning::Xps)),
            "{text:?}: irqbalance would move the interrupts that xps pins; use only one of them"
        );
        let scheduler = match (base, command) {
            ("default" | "pinned", None) => None,
            (SCX_STEER, None) => Some(SCX_STEER),
            (_, None) => bail!(
                "{}: write default, scx_steer, pinned, or NAME=COMMAND for another sched_ext \
                 scheduler",
                no_arm(text)
            ),
            (_, Some(command)) => {
                let own = ["default", SCX_STEER, "pinned", AGAIN].contains(&base);
                ensure!(!own, "{base} is a reserved name; choose another");
                ensure!(!base.is_empty() && !command.trim().is_empty(), "{text:?} lacks a part");
                Some(command)
            }
        };
        ensure!(
            !(tunings.contains(&Tuning::Align) && tunings.contains(&Tuning::Xps)),
            "{text:?}: align and xps set the same; use only one of them"
        );
        let argv = |command: &str| command.split_whitespace().map(str::to_owned).collect();
        Ok(Self {
            name: name.to_owned(),
            scheduler: scheduler.map(argv),
            pinned: base == "pinned",
            tunings,
        })
    }
}

/// Checks that no two arms share a name.
///
/// # Errors
/// Names the arm.
pub fn check_names(arms: &[Arm]) -> Result<()> {
    for (index, arm) in arms.iter().enumerate() {
        let twice = arms[..index].iter().any(|other| other.name == arm.name);
        ensure!(!twice, "--arms names {} twice", arm.name);
    }
    Ok(())
}

/// Checks that a guest with these programs can run all arms.
///
/// # Errors
/// Names the arm, and the program that is missing.
pub fn check_programs(arms: &[Arm], programs: &[PathBuf]) -> Result<()> {
    for arm in arms {
        if let Some(program) = arm.scheduler.as_ref().and_then(|argv| argv.first()) {
            let name = program.strip_prefix("/bin/").unwrap_or(program);
            let known = programs.iter().any(|path| path.file_name() == Some(name.as_ref()));
            ensure!(known, "{}: the guest has no {program}: name it with --with", arm.name);
        }
    }
    Ok(())
}

fn no_arm(text: &str) -> String {
    format!("{text:?} is not an arm")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_needs_a_program_of_the_guest() {
        let check =
            |arm: &str| check_programs(&[arm.parse().unwrap()], &["/usr/bin/scx_lavd".into()]);
        for good in ["default", "pinned", "lavd=scx_lavd", "lavd=/bin/scx_lavd --performance"] {
            check(good).unwrap();
        }
        for bad in ["scx_steer", "lavd=lavd", "lavd=/usr/bin/scx_lavd"] {
            assert!(check(bad).is_err(), "{bad} was accepted");
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
        assert!(arm.is_own() && arm.scheduler.unwrap() == [SCX_STEER]);
        let arm: Arm = "default+xps+nopause+shallow-idle".parse().unwrap();
        assert_eq!(arm.tunings, [Tuning::Xps, Tuning::NoPause, Tuning::ShallowIdle]);
        assert_eq!("scx_steer+align".parse::<Arm>().unwrap().tunings, [Tuning::Align]);
        for bad in ["", "eevdf", "pinned=scx_lavd", "=scx_lavd", "lavd=", "again", "again=scx_lavd"]
            .into_iter()
            .chain(["+rfs", "default+", "default+fast", "default+rfs+rfs", "again+rfs", "+rfs=x"])
            .chain(["default+rfs=x", "default+irqbalance+xps", "scx_steer+align+xps"])
        {
            assert!(bad.parse::<Arm>().is_err(), "{bad:?} was accepted");
        }
    }
}
