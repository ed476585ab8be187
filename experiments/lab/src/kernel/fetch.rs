//! Fetches a kernel: finds its packages, downloads and verifies them, picks out what a guest needs,
//! and moves that into the cache. Or takes one that was built here. All work happens in a hidden
//! folder of the cache, so a killed fetch leaves no partial kernel.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

use super::apt::{self, Apt};
use super::store::{DRIVERS, Kernel, MODULES, Package, needs};
use super::version::{Release, Wanted};
use steer_ground::progress::Progress;
use steer_ground::tool;

/// Prefix of the work folders. They are hidden, so that none is taken for a kernel.
const WORK: &str = ".fetch-";

/// Fetches the newest matching kernel from `mirror` into `cache`.
///
/// # Errors
/// Names the step and the package. The cache is then unchanged.
pub(super) fn fetch(
    wanted: &Wanted,
    mirror: &str,
    cache: &Path,
    progress: &Progress,
) -> Result<Kernel> {
    ensure!(
        wanted.is_packaged(),
        "Debian has sched_ext from 6.16 on; `make kernel-6.12` builds 6.12"
    );
    let (cache, work, _alone) = begin(cache)?;
    progress.step(format!("kernel {wanted}: fetching package lists"));
    let apt = Apt::update(work.path(), mirror)?;
    let release = resolve(&apt, wanted)?;
    let root = work.path().join("root");
    let mut packages = Vec::new();
    for name in release.packages() {
        progress.step(format!("kernel {wanted}: downloading {name}"));
        let deb = apt.download(&name)?;
        packages.push(Package::of(&name, &deb)?);
        apt::unpack(&deb, &root)?;
    }

    progress.step(format!("kernel {wanted}: unpacking"));
    keep(&root, &release, packages, work.path(), &cache)
}

/// Unpacks the headers of a kernel and the source of its series.
pub(super) fn headers(
    release: &Release,
    mirror: &str,
    into: &Path,
    progress: &Progress,
) -> Result<()> {
    fs::create_dir_all(into).with_context(|| format!("creating {}", into.display()))?;
    let work = TempDir::new()?;
    progress.step(format!("headers of {release}: fetching package lists"));
    let apt = Apt::update(work.path(), mirror)?;
    for name in release.headers() {
        progress.step(format!("headers of {release}: downloading {name}"));
        apt::unpack(&apt.download(&name)?, into)?;
    }
    Ok(())
}

/// Takes a kernel that was built from the source `package`; its files are in `root`.
///
/// # Errors
/// Names what is missing. The cache is then unchanged.
pub(super) fn add(release: &Release, root: &Path, package: &Path, cache: &Path) -> Result<Kernel> {
    let (cache, work, _alone) = begin(cache)?;
    let name = file_name(package);
    let name = name.split('_').next().unwrap_or_default();
    keep(root, release, vec![Package::of(name, package)?], work.path(), &cache)
}

/// Creates the cache and a work folder in it, for one process at a time.
fn begin(cache: &Path) -> Result<(PathBuf, TempDir, File)> {
    fs::create_dir_all(cache).with_context(|| format!("creating {}", cache.display()))?;
    let cache = cache.canonicalize()?;
    let alone = lock(&cache)?;
    remove_leftovers(&cache)?;
    let work = tempfile::Builder::new().prefix(WORK).tempdir_in(&cache)?;
    Ok((cache, work, alone))
}

/// Moves what a guest needs of the files in `root` into the cache.
fn keep(
    root: &Path,
    release: &Release,
    packages: Vec<Package>,
    work: &Path,
    cache: &Path,
) -> Result<Kernel> {
    let kept = work.join("kept");
    pick(root, &kept, release.has_drivers()).with_context(|| format!("unpacking {release}"))?;
    Kernel::seal(&kept, &release.to_string(), packages)?;
    let home = cache.join(release.to_string());
    fs::rename(&kept, &home).with_context(|| format!("moving into {}", home.display()))?;
    Kernel::open(&home)
}

/// Allows one fetch at a time. The lock is released when the process ends, however it ends.
fn lock(cache: &Path) -> Result<File> {
    let path = cache.join(".lock");
    let file = File::create(&path).with_context(|| format!("creating {}", path.display()))?;
    flock(&file, FlockOperation::LockExclusive).context("locking the kernel cache")?;
    Ok(file)
}

/// Removes work folders of killed fetches. We have the lock, so none is in use.
fn remove_leftovers(cache: &Path) -> Result<()> {
    for entry in fs::read_dir(cache)?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(WORK) {
            fs::remove_dir_all(entry.path())
                .with_context(|| format!("removing {}", entry.path().display()))?;
        }
    }
    Ok(())
}

/// The newest matching release for which the archive has every package.
fn resolve(apt: &Apt, wanted: &Wanted) -> Result<Release> {
    let names = apt.names("linux-")?;
    let listed: Vec<Release> = names
        .iter()
        .filter_map(|name| name.strip_prefix("linux-image-").or(name.strip_prefix("linux-binary-")))
        .filter_map(|release| release.parse().ok())
        .collect();
    let whole =
        |release: &Release| release.packages().iter().all(|package| names.contains(package));
    let candidates: Vec<Release> =
        listed.iter().filter(|release| whole(release)).cloned().collect();
    match wanted.newest_of(candidates.iter().cloned()) {
        Some(release) => Ok(release),
        None if wanted.newest_of(listed.iter().cloned()).is_some() => bail!(
            "the archive no longer has all packages of any {wanted} kernel; choose another series"
        ),
        None => bail!("{}; choose another series with --kernel", wanted.explain(&listed)),
    }
}

/// Copies what a guest needs from the unpacked packages into `kept`.
fn pick(root: &Path, kept: &Path, drivers: bool) -> Result<()> {
    fs::create_dir_all(kept)?;
    let files = walk(root)?;
    let find = |prefix: &str| {
        let mut named = files.iter().filter(|path| file_name(path).starts_with(prefix));
        named.next().with_context(|| format!("the packages contain no {prefix}"))
    };
    for prefix in ["vmlinuz", "config"] {
        fs::copy(find(prefix)?, kept.join(prefix))?;
    }
    let drivers = if drivers { &DRIVERS[..] } else { &[] };
    let mut modules: Vec<String> = MODULES.iter().chain(drivers).map(|&it| it.into()).collect();
    while let Some(module) = modules.pop() {
        let file = kept.join(format!("{module}.ko"));
        if !file.exists() {
            unxz(find(&format!("{module}.ko"))?, &file)?;
            modules.extend(needs(&fs::read(&file)?));
        }
    }
    Ok(())
}

/// Decompresses a module: the guest's `insmod` needs plain modules.
fn unxz(packed: &Path, plain: &Path) -> Result<()> {
    ensure!(file_name(packed).ends_with(".ko.xz"), "{} is not xz-compressed", packed.display());
    let module = tool::bytes(Command::new("busybox").arg("xzcat").arg(packed), "busybox xzcat")?;
    fs::write(plain, module).with_context(|| format!("writing {}", plain.display()))
}

fn walk(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        match entry.file_type()? {
            kind if kind.is_dir() => files.extend(walk(&entry.path())?),
            kind if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
    Ok(files)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
