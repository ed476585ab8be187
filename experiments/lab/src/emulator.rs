//! Finds the QEMU that the lab runs on: 10 or later. Older versions run kernel code that was just
//! patched (a tracepoint, a static key) from stale translations, and a busy guest dies of `Oops:
//! int3` within minutes. `experiments/lab/setup.sh` unpacks a new version beside the installed one.
//!
//! Guests whose runs repeat need our own build: Debian's source with a patch
//! (`experiments/lab/emulator`).

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use steer_ground::progress::Progress;
use steer_ground::tool;

use super::built::{Built, Part, Turn};

/// The installed QEMU.
const INSTALLED: &str = "qemu-system-x86_64";
/// The environment variable with the folder of the QEMU that `setup.sh` unpacks, and its default.
const UNPACKED: (&str, &str) = ("STEER_LAB_QEMU", "target/lab/qemu");
/// The folder of firmware that the unpacked packages lack.
const FIRMWARE: &str = "/usr/share/seabios";
/// The first version on which a busy guest survives.
const OLDEST: u32 = 10;

/// Folder of the patch and of the script that builds QEMU with it.
const SOURCES: &str = "experiments/lab/emulator";
/// The version whose source the script patches.
const PATCHED: &str = "version 10.0.2";

/// A QEMU of the right version.
#[derive(Debug, Clone)]
pub struct Emulator {
    program: PathBuf,
    /// Folders of firmware and tables, if different from its built-in ones.
    data: Vec<PathBuf>,
    /// Its version, as it prints it.
    pub version: String,
}

impl Emulator {
    /// Finds the unpacked QEMU, or else the installed one.
    ///
    /// # Errors
    /// When there is no QEMU, or only an older version.
    pub fn find() -> Result<Self> {
        let unpacked = unpacked().join("usr/bin").join(INSTALLED);
        let found = if unpacked.is_file() {
            Self::built(unpacked)?
        } else {
            Self::at(INSTALLED.into(), Vec::new())?
        };
        let version = &found.version;
        let major = major(version).with_context(|| format!("{version:?} contains no version"))?;
        ensure!(
            major >= OLDEST,
            "{version} is too old: the lab needs version {OLDEST}; run make setup"
        );
        Ok(found)
    }

    /// Our own build, and what it is made of. It is built if the patch has changed.
    ///
    /// # Errors
    /// Names what is not installed, or the step that failed.
    pub fn build(turn: &Turn, progress: &Progress) -> Result<(Self, Built)> {
        let part = Part { sources: SOURCES, files: &[INSTALLED], also: "" };
        let built = part.get(turn, |out| {
            progress.step("building the emulator, once: 200 s of CPU");
            let script = Path::new(SOURCES).join("build.sh");
            tool::output(Command::new(script).arg(out), "emulator/build.sh").map(drop)
        })?;
        let emulator = Self::built(built.folder.join(INSTALLED))?;
        ensure!(
            emulator.version.contains(PATCHED),
            "the emulator in {} says {:?}, not {PATCHED}: remove that folder to build it again",
            built.folder.display(),
            emulator.version
        );
        Ok((emulator, built))
    }

    /// One that has no firmware of its own: it gets that of the unpacked packages.
    fn built(program: PathBuf) -> Result<Self> {
        Self::at(program, vec![unpacked().join("usr/share/qemu"), FIRMWARE.into()])
    }

    fn at(program: PathBuf, data: Vec<PathBuf>) -> Result<Self> {
        let said =
            tool::output(Command::new(&program).arg("--version"), "asking for QEMU's version")?;
        let version = said.lines().next().unwrap_or_default().to_owned();
        Ok(Self { program, data, version })
    }

    /// A command that runs it. The caller adds the arguments for the machine.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        for folder in &self.data {
            command.arg("-L").arg(folder);
        }
        command
    }
}

/// The folder of the QEMU that `setup.sh` unpacks.
fn unpacked() -> PathBuf {
    env::var(UNPACKED.0).unwrap_or_else(|_| UNPACKED.1.to_owned()).into()
}

/// The major number in `QEMU emulator version 10.0.2 (…)`.
fn major(version: &str) -> Option<u32> {
    version.split_once("version ")?.1.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_versions() {
        assert_eq!(major("QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)"), Some(10));
        assert_eq!(major("something else"), None);
    }
}
