//! Debian's package tools, with their own lists and cache. Nothing on the machine is changed or
//! installed. apt itself checks the archive's signature.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use steer_ground::tool;

/// Suites of the Debian archive that carry kernels with sched_ext.
const SUITES: [&str; 2] = ["trixie-backports", "sid"];
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// apt with its own sources and folders.
pub(super) struct Apt {
    dir: PathBuf,
}

impl Apt {
    /// Sets the folders up under `dir` and fetches the package lists.
    pub(super) fn update(dir: &Path, mirror: &str) -> Result<Self> {
        for sub in ["lists/partial", "cache/archives/partial"] {
            let sub = dir.join(sub);
            fs::create_dir_all(&sub).with_context(|| format!("creating {}", sub.display()))?;
        }
        let sources: String = SUITES
            .map(|suite| format!("deb [signed-by={KEYRING}] {mirror} {suite} main\n"))
            .concat();
        fs::write(dir.join("sources.list"), sources)?;
        fs::write(dir.join("status"), "")?;
        let apt = Self { dir: dir.to_owned() };
        // Without this option, an unreachable mirror is only a warning, with exit code 0.
        tool::output(apt.command("apt-get").args(["update", "--error-on=any"]), "apt-get update")
            .with_context(|| {
            format!(
                "the package lists could not be fetched from {mirror}; check the network, or \
                     name another Debian mirror with --mirror"
            )
        })?;
        Ok(apt)
    }

    /// Names of all packages that start with `prefix`.
    pub(super) fn names(&self, prefix: &str) -> Result<Vec<String>> {
        let listing =
            tool::output(self.command("apt-cache").args(["pkgnames", prefix]), "apt-cache")?;
        Ok(listing.lines().map(str::to_owned).collect())
    }

    /// Downloads a package into the folder and checks it. Returns its file.
    pub(super) fn download(&self, package: &str) -> Result<PathBuf> {
        let into = self.dir.join("debs").join(package);
        fs::create_dir_all(&into)?;
        let mut command = self.command("apt-get");
        tool::output(command.current_dir(&into).args(["download", package]), "apt-get download")
            .with_context(|| format!("package {package} could not be downloaded; try again"))?;
        let file = fs::read_dir(&into)?.next().context("apt-get download left no file")??;
        Ok(file.path())
    }

    fn command(&self, program: &str) -> Command {
        let at = |name: &str| self.dir.join(name).display().to_string();
        let options = [
            ("Dir::Etc::sourcelist", at("sources.list")),
            ("Dir::Etc::sourceparts", "/dev/null".to_owned()),
            ("Dir::State", at("")),
            ("Dir::State::lists", at("lists")),
            ("Dir::State::status", at("status")),
            ("Dir::Cache", at("cache")),
            ("Acquire::Languages", "none".to_owned()),
            ("Acquire::IndexTargets::deb::DEP-11::DefaultEnabled", "false".to_owned()),
            ("Acquire::Retries", "2".to_owned()),
            ("Acquire::http::Timeout", "30".to_owned()),
            // apt's sandbox user could not write to our folders.
            ("APT::Sandbox::User", "root".to_owned()),
        ];
        let mut command = Command::new(program);
        command.arg("-q").args(
            options.iter().flat_map(|(name, value)| ["-o".to_owned(), format!("{name}={value}")]),
        );
        command
    }
}

/// Unpacks a package into `root` without installing it.
pub(super) fn unpack(deb: &Path, root: &Path) -> Result<()> {
    tool::output(Command::new("dpkg").arg("-x").arg(deb).arg(root), "dpkg -x").map(drop)
}

/// The mirror that this machine's own apt fetches its release from.
pub(super) fn mirror_of_host() -> Result<String> {
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    if let Ok(parts) = fs::read_dir("/etc/apt/sources.list.d") {
        files.extend(parts.flatten().map(|entry| entry.path()));
    }
    let os_release = fs::read_to_string("/etc/os-release").context("reading /etc/os-release")?;
    let codename = os_release
        .lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="))
        .context("/etc/os-release has no VERSION_CODENAME")?;
    files
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok())
        .find_map(|text| mirror_in(&text, codename))
        .with_context(|| {
            format!("no source in /etc/apt serves {codename}; name a Debian mirror with --mirror")
        })
}

/// The first URI that serves `suite` in an apt source file, one-line or deb822.
fn mirror_in(text: &str, suite: &str) -> Option<String> {
    one_line(text, suite).or_else(|| deb822(text, suite))
}

fn one_line(text: &str, suite: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let mut rest = line.trim().strip_prefix("deb ")?.trim_start();
        if let Some(options) = rest.strip_prefix('[') {
            rest = options.split_once(']')?.1;
        }
        let mut words = rest.split_whitespace();
        let uri = words.next()?;
        (words.next() == Some(suite)).then(|| uri.to_owned())
    })
}

fn deb822(text: &str, suite: &str) -> Option<String> {
    text.split("\n\n").find_map(|stanza| {
        let field =
            |name: &str| stanza.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let serves = field("Suites")?.split_whitespace().any(|word| word == suite);
        let uri = field("URIs")?.split_whitespace().next()?;
        serves.then(|| uri.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_one_line_sources() {
        let text = "# deb http://old.example/debian bookworm main\n\
                    deb [arch=amd64 signed-by=/k.gpg] http://a.example/debian bookworm main\n";
        assert_eq!(mirror_in(text, "bookworm").as_deref(), Some("http://a.example/debian"));
        assert_eq!(mirror_in(text, "trixie"), None);
    }

    #[test]
    fn reads_deb822_sources() {
        let text = "Types: deb\nURIs: http://sec.example/s\nSuites: bookworm-security\n\n\
                    Types: deb\n# a comment\nURIs: http://a.example/debian http://b.example/d\n\
                    Suites: bookworm bookworm-updates\nComponents: main\n";
        assert_eq!(mirror_in(text, "bookworm").as_deref(), Some("http://a.example/debian"));
        assert_eq!(mirror_in(text, "bookworm-security").as_deref(), Some("http://sec.example/s"));
    }

    #[test]
    fn finds_none_where_no_source_serves_the_suite() {
        assert_eq!(mirror_in("", "bookworm"), None);
        assert_eq!(mirror_in("deb http://a.example/tool nodistro main", "bookworm"), None);
    }
}
