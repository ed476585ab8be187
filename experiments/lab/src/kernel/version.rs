//! Kernel releases in Debian's naming. Decides which of them the lab can use, and chooses one.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use anyhow::{Error, Result, bail, ensure};

/// A kernel release, such as `7.2.13+deb14-cloud-amd64`. `uname -r` prints the same in the guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// Upstream version: major, minor, patch.
    numbers: [u32; 3],
    /// Debian release the package was built for: 13 in `+deb13`.
    debian: u32,
    /// Whether this is the cloud flavour. It is smaller, and has all drivers that most guests need.
    cloud: bool,
}

impl Release {
    /// The reason why the lab must not use this release, if there is one.
    fn known_bad(&self) -> Option<&'static str> {
        let built_with_old_pahole = match self.numbers {
            [7, 1, _] => true,
            [7, 2, patch] => patch <= 12 && self.debian == 13,
            _ => false,
        };
        built_with_old_pahole.then_some(
            "built with pahole < 1.26: its kfunc BTF is malformed and no sched_ext program loads",
        )
    }

    /// Does it have the drivers of real NICs?
    pub(super) fn has_drivers(&self) -> bool {
        !self.cloud
    }

    /// The packages that together contain the image, its modules and its configuration.
    pub fn packages(&self) -> Vec<String> {
        // Debian split linux-image in three when it packaged 6.19.
        let kinds: &[&str] =
            if self.numbers < [6, 19, 0] { &["image"] } else { &["binary", "modules", "base"] };
        kinds.iter().map(|kind| format!("linux-{kind}-{self}")).collect()
    }

    /// The packages with its headers, and with the source of its series.
    pub(super) fn headers(&self) -> [String; 3] {
        let [major, minor, patch] = self.numbers;
        [
            format!("linux-headers-{self}"),
            format!("linux-headers-{major}.{minor}.{patch}+deb{}-common", self.debian),
            format!("linux-source-{major}.{minor}"),
        ]
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        let flavour = if self.cloud { "cloud-amd64" } else { "amd64" };
        write!(f, "{major}.{minor}.{patch}+deb{}-{flavour}", self.debian)
    }
}

impl FromStr for Release {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parse = || {
            let (version, rest) = text.split_once("+deb")?;
            let (debian, flavour) = rest.split_once('-')?;
            let cloud = match flavour {
                "cloud-amd64" => true,
                "amd64" => false,
                _ => return None,
            };
            let numbers = numbers(version)?.try_into().ok()?;
            Some(Self { numbers, debian: debian.parse().ok()?, cloud })
        };
        parse().ok_or_else(|| Error::msg(format!("{text:?} is not a Debian kernel release")))
    }
}

impl PartialOrd for Release {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Orders by preference: the newer version, and the cloud flavour of the same version.
impl Ord for Release {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |release: &Self| (release.numbers, release.debian, release.cloud);
        key(self).cmp(&key(other))
    }
}

/// What the user asked for: a series (`6.18`) or one version (`6.18.15`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    numbers: Vec<u32>,
    /// With the drivers of real NICs.
    drivers: bool,
}

impl Wanted {
    /// The same, with the drivers of real NICs.
    pub fn with_drivers(self) -> Self {
        Self { drivers: true, ..self }
    }

    /// The newest of `releases` that matches and that the lab can use.
    pub(crate) fn newest_of(&self, releases: impl IntoIterator<Item = Release>) -> Option<Release> {
        let usable = |release: &Release| self.fits(release) && release.known_bad().is_none();
        releases.into_iter().filter(usable).max()
    }

    /// Explains why none of `releases` can be used.
    pub fn explain(&self, releases: &[Release]) -> String {
        match releases.iter().filter(|release| self.fits(release)).max() {
            Some(release) => match release.known_bad() {
                Some(reason) => format!("{release} is there but was {reason}"),
                None => format!("{release} is there"),
            },
            None => match releases.iter().max() {
                Some(newest) => {
                    format!("the mirror has no kernel of that series; its newest is {newest}")
                }
                None => "the mirror has no Debian kernel at all".to_owned(),
            },
        }
    }

    /// Does Debian have such a kernel with sched_ext, now or once?
    pub(crate) fn is_packaged(&self) -> bool {
        self.numbers[..2] >= [6, 16][..]
    }

    fn fits(&self, release: &Release) -> bool {
        release.numbers.starts_with(&self.numbers) && (!self.drivers || release.has_drivers())
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.numbers.iter().map(u32::to_string).collect();
        f.write_str(&parts.join("."))?;
        f.write_str(if self.drivers { " with drivers" } else { "" })
    }
}

impl FromStr for Wanted {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let Some(numbers) = numbers(text).filter(|numbers| (2..=3).contains(&numbers.len())) else {
            bail!("{text:?} is neither a kernel series such as 6.18 nor a version such as 6.18.15");
        };
        ensure!(
            numbers[..2] >= [6, 12][..],
            "kernel {text} is too old: Linux has sched_ext from 6.12 on"
        );
        Ok(Self { numbers, drivers: false })
    }
}

/// The numbers of a dotted version.
fn numbers(text: &str) -> Option<Vec<u32>> {
    text.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn releases(names: &[&str]) -> Vec<Release> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    fn newest(wanted: &str, names: &[&str]) -> Option<String> {
        let wanted: Wanted = wanted.parse().unwrap();
        wanted.newest_of(releases(names)).map(|release| release.to_string())
    }

    #[test]
    fn picks_the_newest_of_the_series_by_number_not_by_letter() {
        let names = ["6.18.9+deb13-cloud-amd64", "6.18.15+deb13-cloud-amd64", "6.19.1+deb13-amd64"];
        assert_eq!(newest("6.18", &names).as_deref(), Some("6.18.15+deb13-cloud-amd64"));
        assert_eq!(newest("6.18.9", &names).as_deref(), Some("6.18.9+deb13-cloud-amd64"));
        assert_eq!(newest("6.16", &names), None);
    }

    #[test]
    fn prefers_the_cloud_flavour_of_the_same_version() {
        let names = ["6.18.15+deb13-amd64", "6.18.15+deb13-cloud-amd64"];
        assert_eq!(newest("6.18", &names).as_deref(), Some("6.18.15+deb13-cloud-amd64"));
    }

    #[test]
    fn drivers_are_in_the_other_flavour() {
        let names = ["6.18.15+deb13-amd64", "6.18.15+deb13-cloud-amd64"];
        let wanted = "6.18".parse::<Wanted>().unwrap().with_drivers();
        assert_eq!(wanted.newest_of(releases(&names)).unwrap().to_string(), names[0]);
        assert_eq!(wanted.newest_of(releases(&names[1..])), None);
    }

    #[test]
    fn passes_over_kernels_with_malformed_btf() {
        let names = ["7.1.13+deb13-cloud-amd64", "7.2.12+deb13-cloud-amd64"];
        assert_eq!(newest("7.1", &names), None);
        assert_eq!(newest("7.2", &names), None);
        let wanted: Wanted = "7.2".parse().unwrap();
        insta::assert_snapshot!(wanted.explain(&releases(&names)));
        let names = ["7.2.12+deb13-cloud-amd64", "7.2.13+deb14-cloud-amd64"];
        assert_eq!(newest("7.2", &names).as_deref(), Some("7.2.13+deb14-cloud-amd64"));
    }

    #[test]
    fn knows_how_debian_splits_the_packages() {
        let [old, new] = ["6.18.15+deb13-cloud-amd64", "7.2.13+deb14-cloud-amd64"]
            .map(|name| name.parse::<Release>().unwrap().packages());
        assert_eq!(old, ["linux-image-6.18.15+deb13-cloud-amd64"]);
        assert_eq!(new.len(), 3);
        assert_eq!(new[0], "linux-binary-7.2.13+deb14-cloud-amd64");
    }

    #[test]
    fn refuses_what_is_no_version() {
        for bad in ["", "6", "six", "6.18.15.1", "6.11", "6.18-rc1"] {
            assert!(bad.parse::<Wanted>().is_err(), "{bad:?} was accepted");
        }
    }
}
