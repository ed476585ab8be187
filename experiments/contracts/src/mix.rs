//! The mixes: which threads compete in which cgroups. All of a mix is data, in
//! `experiments/data/contract-mixes.toml`.

use anyhow::{Context, Error, Result, ensure};
use serde::Deserialize;

use steer_traffic::contend::cgroup::Cgroup;
use steer_traffic::contend::group::Group;

const MIXES: &str = include_str!("../../data/contract-mixes.toml");

/// Groups of threads that compete, and what is allowed.
#[derive(Debug, Clone)]
pub(crate) struct Mix {
    pub(crate) name: String,
    pub(crate) cgroups: Vec<Cgroup>,
    pub(crate) groups: Vec<Group>,
    /// Length of the window.
    pub(crate) seconds: u16,
    /// Longest time that a runnable thread may wait for a CPU.
    pub(crate) pause_ms: f64,
    /// A share may differ by this part of it from what the kernel's own scheduler gives.
    pub(crate) share: f64,
    /// The groups' shares by weight, if they are expected instead of the kernel's scheduler's.
    pub(crate) by_weight: Option<Vec<f64>>,
    /// Whether traffic passes the NIC at the same time.
    pub(crate) traffic: bool,
    /// The arguments of `steer-bench contend`.
    arguments: Vec<String>,
}

/// A mix as the file has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Entry {
    name: String,
    #[serde(default)]
    cgroups: Vec<String>,
    groups: Vec<String>,
    #[serde(default = "default_seconds")]
    seconds: u16,
    pause_ms: f64,
    #[serde(default = "default_share")]
    share: f64,
    by_weight: Option<Vec<f64>>,
    /// Measure the mix a second time, with traffic.
    #[serde(default)]
    also_with_traffic: bool,
}

fn default_seconds() -> u16 {
    3
}

fn default_share() -> f64 {
    0.1
}

#[derive(Debug, Deserialize)]
struct File {
    mix: Vec<Entry>,
}

impl Mix {
    /// All mixes, in the file's order.
    pub(crate) fn all() -> Result<Vec<Self>> {
        Self::read(MIXES).context("experiments/data/contract-mixes.toml")
    }

    pub(crate) fn read(text: &str) -> Result<Vec<Self>> {
        let File { mix: entries } = toml::from_str(text)?;
        let mut mixes: Vec<Self> = Vec::new();
        for entry in entries {
            let mix = Self::of(&entry).with_context(|| entry.name.clone())?;
            ensure!(
                mixes.iter().all(|other| other.name != mix.name),
                "two mixes are called {:?}",
                mix.name
            );
            mixes.push(mix.clone());
            if entry.also_with_traffic {
                let name = format!("{}; traffic", mix.name);
                mixes.push(Self { name, traffic: true, ..mix });
            }
        }
        Ok(mixes)
    }

    fn of(entry: &Entry) -> Result<Self> {
        let parse = |texts: &[String]| -> Result<Vec<Cgroup>> {
            texts.iter().map(|text| text.parse().map_err(Error::msg)).collect()
        };
        let cgroups = parse(&entry.cgroups)?;
        let groups = entry.groups.iter().map(|text| text.parse().map_err(Error::msg));
        let groups = groups.collect::<Result<Vec<Group>>>()?;
        ensure!(entry.seconds >= 2, "the window is too short: limits are judged over 2 s");
        ensure!(!groups.is_empty(), "it has no groups");
        ensure!(
            entry.by_weight.as_ref().is_none_or(|shares| shares.len() == groups.len()),
            "by-weight needs a share for each group"
        );
        let flags = |flag: &'static str, texts: &[String]| {
            texts.iter().flat_map(move |text| [flag.to_owned(), text.clone()]).collect::<Vec<_>>()
        };
        let mut arguments = flags("--cgroup", &entry.cgroups);
        arguments.extend(flags("--group", &entry.groups));
        let Entry { seconds, pause_ms, share, .. } = *entry;
        let (name, by_weight) = (entry.name.clone(), entry.by_weight.clone());
        let traffic = false;
        Ok(Self { name, cgroups, groups, seconds, pause_ms, share, by_weight, traffic, arguments })
    }

    /// The command that measures it in the guest.
    pub(crate) fn command(&self) -> Vec<String> {
        let fixed = ["steer-bench", "contend", "--duration", &self.seconds.to_string()];
        fixed.map(str::to_owned).into_iter().chain(self.arguments.iter().cloned()).collect()
    }

    /// The groups whose CPU time counts against a cgroup's limit, by index.
    pub(crate) fn covered(&self, cgroup: &Cgroup) -> Vec<usize> {
        let inside = |group: &Group| group.cgroup.as_ref().is_some_and(|path| cgroup.covers(path));
        (0..self.groups.len()).filter(|&index| inside(&self.groups[index])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_the_mixes_that_are_wanted() {
        let mixes = Mix::all().unwrap();
        assert!(mixes.len() >= 20, "{}", mixes.len());
        assert!(mixes.iter().filter(|mix| mix.traffic).count() >= 3);
        for mix in &mixes {
            for group in mix.groups.iter().filter(|group| group.cgroup.is_some()) {
                let known = |cgroup: &Cgroup| Some(&cgroup.path) == group.cgroup.as_ref();
                assert!(mix.cgroups.iter().any(known), "{}: {}", mix.name, group.name);
            }
        }
    }

    #[test]
    fn a_mix_becomes_a_command() {
        let mixes = Mix::read(
            "[[mix]]\nname = 'x'\ncgroups = ['a max=20%', 'b']\n\
             groups = ['one cgroup=a nice=5', 'two cgroup=b']\npause-ms = 100\n\
             also-with-traffic = true",
        )
        .unwrap();
        let names: Vec<_> = mixes.iter().map(|mix| (mix.name.as_str(), mix.traffic)).collect();
        assert_eq!(names, [("x", false), ("x; traffic", true)]);
        let mix = &mixes[0];
        let expected = "steer-bench|contend|--duration|3|--cgroup|a max=20%|--cgroup|b|--group|\
                        one cgroup=a nice=5|--group|two cgroup=b";
        assert_eq!(mix.command().join("|"), expected);
        assert_eq!(mix.covered(&mix.cgroups[0]), [0]);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, message) in [
            ("groups = ['a nice=20']", "a: nice=20: write a whole number"),
            ("groups = ['a']\ncgroups = ['a max=1']", "a: max=1: write a percentage"),
            ("groups = ['a']\nseconds = 1", "the window is too short"),
            ("groups = []", "it has no groups"),
            ("groups = ['a', 'b']\nby-weight = [1.0]", "by-weight needs a share for each group"),
        ] {
            let text = format!("[[mix]]\nname = 'x'\npause-ms = 100\n{text}");
            let error = format!("{:#}", Mix::read(&text).unwrap_err());
            assert!(error.contains(&format!("x: {message}")), "{error}");
        }
        let twice = "[[mix]]\nname = 'x'\npause-ms = 1\ngroups = ['a']\n".repeat(2);
        assert!(Mix::read(&twice).unwrap_err().to_string().contains("two mixes are called"));
    }
}
