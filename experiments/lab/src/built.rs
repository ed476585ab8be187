//! Programs that the lab builds from sources of its own: the emulator, and what the priced tier adds
//! to it. Each is built when its sources have changed, and kept in a folder that is named by their
//! hash.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use rustix::fs::{FlockOperation, flock};
use sha2::{Digest, Sha256};
use steer_ground::text::hex;

use super::kernel::folder_names;

/// Folder of what is built.
const FOLDER: &str = "target/lab/priced";

/// One thing to build.
#[derive(Debug)]
pub struct Part<'a> {
    /// Folder of its sources, from the project's root. Its last name is the part's name.
    pub sources: &'a str,
    /// Files that it consists of.
    pub files: &'a [&'a str],
    /// Hash of what else it is made of.
    pub also: &'a str,
}

/// What was built.
#[derive(Debug)]
pub struct Built {
    /// Its folder.
    pub folder: PathBuf,
    /// Hex SHA-256 of all that it is made of.
    pub hash: String,
}

/// Whoever holds it is the only one that builds.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "closing it gives the turn back")] File);

impl Turn {
    /// Waits for builds of other processes.
    ///
    /// # Errors
    /// When this is not the project's folder, or it cannot be written to.
    pub fn wait() -> Result<Self> {
        ensure!(
            Path::new("experiments/lab").is_dir(),
            "experiments/lab is not here: run this in the project's folder"
        );
        fs::create_dir_all(FOLDER).with_context(|| format!("creating {FOLDER}"))?;
        let lock = File::create(Path::new(FOLDER).join(".lock")).context("locking the builds")?;
        flock(&lock, FlockOperation::LockExclusive).context("waiting for another build")?;
        Ok(Self(lock))
    }
}

impl Part<'_> {
    /// Calls `make` with an empty folder, unless this was built before; then the new one takes the
    /// place of older ones.
    ///
    /// # Errors
    /// Those of `make`. Nothing half-built is left.
    pub fn get(&self, _turn: &Turn, make: impl FnOnce(&Path) -> Result<()>) -> Result<Built> {
        let hash = hash(Path::new(self.sources), self.also)?;
        let name = self.sources.rsplit('/').next().unwrap_or(self.sources);
        let folder = Path::new(FOLDER).join(format!("{name}-{}", &hash[..12]));
        if self.files.iter().all(|file| folder.join(file).is_file()) {
            return Ok(Built { folder, hash });
        }
        let draft = folder.with_extension("partial");
        for old in folder_names(Path::new(FOLDER))? {
            if old.starts_with(&format!("{name}-")) {
                remove(&Path::new(FOLDER).join(old))?;
            }
        }
        fs::create_dir(&draft).with_context(|| format!("creating {}", draft.display()))?;
        if let Err(error) = make(&draft) {
            remove(&draft)?;
            return Err(error.context(format!("building {}", self.sources)));
        }
        fs::rename(&draft, &folder).with_context(|| format!("renaming {}", draft.display()))?;
        Ok(Built { folder, hash })
    }
}

/// The files of a folder, in order; only those that end so, if `ending` is not empty.
///
/// # Errors
/// When the folder cannot be read.
pub fn sources(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
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
pub fn digest(parts: &[&[u8]]) -> String {
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
