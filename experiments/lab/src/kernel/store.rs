//! A kernel in the cache: a folder with a manifest of its files, which is checked at every use.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use steer_ground::text::hex;

/// Modules for the guest's NIC, in the order in which they must be loaded.
pub(super) const MODULES: [&str; 3] = ["failover", "net_failover", "virtio_net"];
/// Modules of other network devices, for a kernel that has them: real NICs which QEMU emulates, and
/// devices that stand on others.
pub(super) const DRIVERS: [&str; 6] = ["8021q", "bonding", "bridge", "e1000e", "igb", "veth"];
const MANIFEST: &str = "manifest.json";
const MANIFEST_VERSION: u32 = 1;

/// The content of a kernel folder, and where it came from.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    /// Version of this format.
    version: u32,
    /// The kernel release, as `uname -r` prints it.
    kernel: String,
    /// The packages it was unpacked from.
    packages: Vec<Package>,
    /// Hex SHA-256 of every file in the folder except this one.
    files: BTreeMap<String, String>,
}

/// A downloaded Debian package.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Package {
    /// Its name.
    name: String,
    /// The file apt downloaded, with the package's version in its name.
    file: String,
    /// Hex SHA-256 of that file.
    sha256: String,
}

impl Package {
    /// Records a downloaded package.
    pub(super) fn of(name: &str, deb: &Path) -> Result<Self> {
        let file = deb.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name: name.to_owned(), file, sha256: sha256(deb)? })
    }
}

/// A verified kernel in the cache.
#[derive(Debug, Clone)]
pub struct Kernel {
    dir: PathBuf,
    /// The release, as `uname -r` prints it.
    pub release: String,
    /// The packages it came from, as `NAME_VERSION_ARCHITECTURE.deb`.
    pub packages: Vec<String>,
}

impl Kernel {
    /// Opens a kernel folder and checks every file against the manifest.
    ///
    /// # Errors
    /// Names the file that is missing or differs, and the folder to remove.
    pub fn open(dir: &Path) -> Result<Self> {
        let next =
            || format!("the cached kernel is damaged; remove {} to fetch it again", dir.display());
        let text = fs::read_to_string(dir.join(MANIFEST))
            .with_context(|| format!("reading {MANIFEST}"))
            .with_context(next)?;
        let manifest: Manifest = serde_json::from_str(&text)
            .with_context(|| format!("parsing {MANIFEST}"))
            .with_context(next)?;
        let version = manifest.version;
        ensure!(
            version == MANIFEST_VERSION,
            "{} has manifest version {version}, but this program reads {MANIFEST_VERSION}: remove it \
             to fetch it again",
            dir.display()
        );
        for (name, expected) in &manifest.files {
            let actual = sha256(&dir.join(name)).with_context(next)?;
            ensure!(&actual == expected, "{name}: SHA-256 differs from the manifest: {}", next());
        }
        let packages = manifest.packages.into_iter().map(|package| package.file).collect();
        Ok(Self { dir: dir.to_owned(), release: manifest.kernel, packages })
    }

    /// Writes the manifest of a folder that was just filled.
    pub(super) fn seal(dir: &Path, release: &str, packages: Vec<Package>) -> Result<()> {
        let mut files = BTreeMap::new();
        for name in folder_names(dir)? {
            files.insert(name.clone(), sha256(&dir.join(name))?);
        }
        let manifest =
            Manifest { version: MANIFEST_VERSION, kernel: release.to_owned(), packages, files };
        fs::write(dir.join(MANIFEST), serde_json::to_string_pretty(&manifest)?)
            .with_context(|| format!("writing {MANIFEST}"))
    }

    /// The compressed image that QEMU boots.
    pub fn image(&self) -> PathBuf {
        self.dir.join("vmlinuz")
    }

    /// The build configuration. libbpf needs it in the guest.
    pub fn config(&self) -> PathBuf {
        self.dir.join("config")
    }

    /// The modules of the guest's NIC, in load order.
    pub(crate) fn modules(&self) -> impl Iterator<Item = PathBuf> {
        MODULES.iter().map(|name| self.module(name))
    }

    /// The modules of other network devices, in load order: what one needs comes before it.
    ///
    /// # Errors
    /// The kernel does not have them, or one cannot be read.
    pub fn drivers(&self) -> Result<Vec<PathBuf>> {
        let mut order = Vec::new();
        for name in DRIVERS {
            self.order(name, &mut order)?;
        }
        Ok(order)
    }

    fn order(&self, name: &str, order: &mut Vec<PathBuf>) -> Result<()> {
        let path = self.module(name);
        if order.contains(&path) {
            return Ok(());
        }
        let module = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        for needed in needs(&module) {
            self.order(&needed, order)?;
        }
        order.push(path);
        Ok(())
    }

    fn module(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.ko"))
    }
}

/// The modules that a module needs, by the field of its `.modinfo` section.
pub(super) fn needs(module: &[u8]) -> Vec<String> {
    const FIELD: &[u8] = b"\0depends=";
    let at = module.windows(FIELD.len()).position(|window| window == FIELD);
    let value = at.map_or(&[][..], |at| &module[at + FIELD.len()..]);
    let value = value.split(|byte| *byte == 0).next().unwrap_or_default();
    let names = value.split(|byte| *byte == b',').filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

/// Hex SHA-256 of a file.
fn sha256(path: &Path) -> Result<String> {
    let content = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    Ok(hex(&Sha256::digest(content)))
}

/// Names of the entries of a folder, without hidden ones.
///
/// # Errors
/// When it cannot be read.
pub fn folder_names(dir: &Path) -> Result<Vec<String>> {
    let reading = || format!("reading {}", dir.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).with_context(reading)? {
        let name = entry.with_context(reading)?.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            names.push(name);
        }
    }
    Ok(names)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A folder that looks like a kernel folder, and the kernel in it.
    pub fn example() -> (tempfile::TempDir, Kernel) {
        let dir = tempfile::tempdir().unwrap();
        let modules = MODULES.map(|module| format!("{module}.ko"));
        for name in modules.iter().map(String::as_str).chain(["vmlinuz", "config"]) {
            fs::write(dir.path().join(name), name).unwrap();
        }
        Kernel::seal(dir.path(), "6.18.15+deb13-cloud-amd64", Vec::new()).unwrap();
        let kernel = Kernel::open(dir.path()).unwrap();
        (dir, kernel)
    }

    #[test]
    fn opens_what_it_sealed() {
        assert_eq!(example().1.release, "6.18.15+deb13-cloud-amd64");
    }

    #[test]
    fn finds_what_a_module_needs() {
        assert_eq!(
            needs(b"license=GPL\0depends=ptp,i2c-algo-bit\0name=igb\0"),
            ["ptp", "i2c-algo-bit"]
        );
        assert!(needs(b"license=GPL\0depends=\0name=ptp\0").is_empty());
        assert!(needs(b"").is_empty());
    }

    #[test]
    fn refuses_a_tampered_file_and_names_it() {
        let (dir, _) = example();
        fs::write(dir.path().join("vmlinuz"), "something else").unwrap();
        let error = format!("{:#}", Kernel::open(dir.path()).unwrap_err());
        assert!(error.starts_with("vmlinuz: SHA-256 differs"), "{error}");
        assert!(error.contains("to fetch it again"), "{error}");
    }

    #[test]
    fn refuses_a_missing_file_and_a_missing_manifest() {
        let (dir, _) = example();
        fs::remove_file(dir.path().join("config")).unwrap();
        assert!(format!("{:#}", Kernel::open(dir.path()).unwrap_err()).contains("config"));
        fs::remove_file(dir.path().join(MANIFEST)).unwrap();
        assert!(format!("{:#}", Kernel::open(dir.path()).unwrap_err()).contains(MANIFEST));
    }
}
