//! The programs of the priced tier: the emulator, its plugin, and the guest's own.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use steer_ground::progress::Progress;
use steer_ground::text::words;
use steer_ground::tool;
use steer_lab::built::{Part, Turn, digest, sources};
use steer_lab::emulator::Emulator;

/// Folder of the plugin's sources.
const PLUGIN: &str = "experiments/priced/plugin";
/// Folder of the sources of the guest's programs.
const GUEST: &str = "experiments/priced/guest";
/// The C compiler's flags for everything.
const FLAGS: &str = "-std=gnu11 -O2 -Wall -Wextra -Werror";

/// What runs the priced machine.
#[derive(Debug)]
pub(crate) struct Tools {
    /// Our QEMU.
    pub(crate) emulator: Emulator,
    /// The plugin.
    pub(crate) plugin: PathBuf,
    /// The guest's programs, by name.
    programs: PathBuf,
    /// Hex SHA-256 of the sources of all.
    pub(crate) hash: String,
}

impl Tools {
    /// Builds what has changed.
    ///
    /// # Errors
    /// Names what is not installed, or the step that failed. Nothing half-built is left.
    pub(crate) fn build(progress: &Progress) -> Result<Self> {
        let turn = Turn::wait()?;
        let (emulator, built) = Emulator::build(&turn, progress)?;
        let part = Part { sources: PLUGIN, files: &["priced.so"], also: &built.hash };
        let plugin = part.get(&turn, |out| {
            progress.step("building the plugin");
            build_plugin(&built.folder, out)
        })?;
        let part = Part { sources: GUEST, files: &["calibrate", "flow"], also: "" };
        let programs = part.get(&turn, |out| {
            progress.step("building the guest's programs");
            part.files.iter().try_for_each(|program| build_program(program, out))
        })?;
        let hash = digest(&[plugin.hash.as_bytes(), programs.hash.as_bytes()]);
        Ok(Self {
            emulator,
            plugin: plugin.folder.join("priced.so"),
            programs: programs.folder,
            hash,
        })
    }

    /// The path of a program of the guest.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }
}

fn build_plugin(emulator: &Path, out: &Path) -> Result<()> {
    let glib = tool::output(
        Command::new("pkg-config").args(["--cflags", "glib-2.0"]),
        "asking for libglib2.0-dev (run make priced-setup)",
    )?;
    let mut compiler = Command::new("cc");
    compiler.args(words(FLAGS)).args(words("-shared -fPIC -fvisibility=hidden"));
    compiler.args(words(&glib)).arg("-I").arg(emulator).arg("-o").arg(out.join("priced.so"));
    compiler.args(sources(Path::new(PLUGIN), "c")?).arg("-lm");
    tool::output(&mut compiler, "the C compiler").map(drop)
}

fn build_program(name: &str, out: &Path) -> Result<()> {
    let source = Path::new(GUEST).join(name).with_extension("c");
    let mut compiler = Command::new("cc");
    compiler.args(words(FLAGS)).args(["-static", "-pthread", "-o"]);
    tool::output(compiler.arg(out.join(name)).arg(source), "the C compiler").map(drop)
}
