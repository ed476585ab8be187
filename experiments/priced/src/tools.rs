//! The programs of the priced tier: the emulator, its plugin, and the guest's own. Each is built
//! when its sources have changed, and kept in a folder that is named by their hash.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use rustix::fs::{FlockOperation, flock};
use sha2::{Digest, Sha256};
use steer_ground::progress::Progress;
use steer_ground::text::{hex, words};
use steer_ground::tool;
use steer_lab::emulator::Emulator;
use steer_lab::kernel::folder_names;

/// Folder of the sources, from the project's root.
const SOURCES: &str = "experiments/priced";
/// Folder of what is built.
const BUILT: &str = "target/lab/priced";
/// The version whose source `emulator/build.sh` patches.
const VERSION: &str = "version 10.0.2";
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

/// One thing to build.
struct Built<'a> {
    /// Folder of its sources, and name of the folder that it goes to.
    name: &'a str,
    /// Files that it consists of.
    files: &'a [&'a str],
    /// Hash of what else it is made of.
    also: &'a str,
}

impl Tools {
    /// Builds what has changed.
    ///
    /// # Errors
    /// Names what is not installed, or the step that failed. Nothing half-built is left.
    pub(crate) fn build(progress: &Progress) -> Result<Self> {
        ensure!(
            Path::new(SOURCES).is_dir(),
            "{SOURCES} is not here: run this in the project's folder"
        );
        fs::create_dir_all(BUILT).with_context(|| format!("creating {BUILT}"))?;
        let lock =
            fs::File::create(Path::new(BUILT).join(".lock")).context("locking the builds")?;
        flock(&lock, FlockOperation::LockExclusive).context("waiting for another build")?;

        let part = Built { name: "emulator", files: &["qemu-system-x86_64"], also: "" };
        let (emulator, hash) = part.get(|out| {
            progress.step("building the emulator, once: 200 s of CPU");
            build_emulator(out)
        })?;
        let part = Built { name: "plugin", files: &["priced.so"], also: &hash };
        let (plugin, hash) = part.get(|out| {
            progress.step("building the plugin");
            build_plugin(&emulator, out)
        })?;
        let part = Built { name: "guest", files: &["calibrate", "flow"], also: "" };
        let (programs, of_programs) = part.get(|out| {
            progress.step("building the guest's programs");
            part.files.iter().try_for_each(|program| build_program(program, out))
        })?;
        let emulator = Emulator::built(emulator.join("qemu-system-x86_64"))?;
        ensure!(
            emulator.version.contains(VERSION),
            "the emulator in {BUILT} says {:?}, not {VERSION}: remove that folder to build it again",
            emulator.version
        );
        let hash = digest(&[hash.as_bytes(), of_programs.as_bytes()]);
        Ok(Self { emulator, plugin: plugin.join("priced.so"), programs, hash })
    }

    /// The path of a program of the guest.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }
}

impl Built<'_> {
    /// The folder, and the hash of all that it is made of. Calls `make` with an empty folder if
    /// there is none for this hash; it takes the place of older ones.
    fn get(&self, make: impl FnOnce(&Path) -> Result<()>) -> Result<(PathBuf, String)> {
        let hash = hash(&Path::new(SOURCES).join(self.name), self.also)?;
        let name = format!("{}-{}", self.name, &hash[..12]);
        let folder = Path::new(BUILT).join(&name);
        if self.files.iter().all(|file| folder.join(file).is_file()) {
            return Ok((folder, hash));
        }
        let draft = folder.with_extension("partial");
        for old in folder_names(Path::new(BUILT))? {
            if old.starts_with(&format!("{}-", self.name)) {
                remove(&Path::new(BUILT).join(old))?;
            }
        }
        fs::create_dir(&draft).with_context(|| format!("creating {}", draft.display()))?;
        if let Err(error) = make(&draft) {
            remove(&draft)?;
            return Err(error.context(format!("building {SOURCES}/{}", self.name)));
        }
        fs::rename(&draft, &folder).with_context(|| format!("renaming {}", draft.display()))?;
        Ok((folder, hash))
    }
}

fn build_emulator(out: &Path) -> Result<()> {
    let script = Path::new(SOURCES).join("emulator/build.sh");
    tool::output(Command::new(script).arg(out), "emulator/build.sh").map(drop)
}

fn build_plugin(emulator: &Path, out: &Path) -> Result<()> {
    let glib = tool::output(
        Command::new("pkg-config").args(["--cflags", "glib-2.0"]),
        "asking for libglib2.0-dev (run make priced-setup)",
    )?;
    let mut compiler = Command::new("cc");
    compiler.args(words(FLAGS)).args(words("-shared -fPIC -fvisibility=hidden"));
    compiler.args(words(&glib)).arg("-I").arg(emulator).arg("-o").arg(out.join("priced.so"));
    compiler.args(sources(&Path::new(SOURCES).join("plugin"), "c")?).arg("-lm");
    tool::output(&mut compiler, "the C compiler").map(drop)
}

fn build_program(name: &str, out: &Path) -> Result<()> {
    let source = Path::new(SOURCES).join("guest").join(name).with_extension("c");
    let mut compiler = Command::new("cc");
    compiler.args(words(FLAGS)).args(["-static", "-pthread", "-o"]);
    tool::output(compiler.arg(out.join(name)).arg(source), "the C compiler").map(drop)
}

/// The files of a folder, in order; only those that end so, if `ending` is not empty.
fn sources(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut names = folder_names(folder)?;
    names.sort_unstable();
    let paths = names.into_iter().map(|name| folder.join(name));
    Ok(paths
        .filter(|path| ending.is_empty() || path.extension().is_some_and(|it| it == ending))
        .collect())
}

/// Hex SHA-256 of all files of a folder with their names, and of `also`.
fn hash(folder: &Path, also: &str) -> Result<String> {
    let mut parts = vec![also.as_bytes().to_vec()];
    for path in sources(folder, "")? {
        parts.push(path.as_os_str().as_encoded_bytes().to_vec());
        parts.push(fs::read(&path).with_context(|| format!("reading {}", path.display()))?);
    }
    Ok(digest(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>()))
}

/// Hex SHA-256 of parts; where one ends and the next begins counts as well.
pub(crate) fn digest(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hex(&hash.finalize())
}

/// Removes a folder, if it is there.
fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", folder.display()))
        }
        _ => Ok(()),
    }
}
