//! The guest's root file system: busybox, our programs with their shared libraries, the NIC's
//! modules and the kernel's configuration. It is packed in memory, so there is no file to clean up.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use cpio::newc::{Builder, trailer};
use rustix::fs::MemfdFlags;

use super::kernel::Kernel;
use steer_ground::tool;

/// A script: path in the guest, and text.
pub type Script<'a> = (&'a str, &'a str);
/// The script that the kernel starts.
const INIT: Script<'static> = ("init", include_str!("../init.sh"));
/// From Debian's package busybox-static. A dynamic busybox would need its libraries before it can
/// mount anything.
const BUSYBOX: &str = "/usr/bin/busybox";
/// Folders of the root, including mount points, parents first.
const FOLDERS: [&str; 9] =
    ["bin", "boot", "dev", "lib", "lib/modules", "proc", "run", "sys", "tmp"];

/// A file of the root file system.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry<'a> {
    /// Path in the guest, without the leading slash.
    path: String,
    content: Content<'a>,
    executable: bool,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Content<'a> {
    File(PathBuf),
    Text(&'a str),
}

/// Packs a root file system with `programs` in `/bin`, each under its file name, and with `scripts`
/// in addition to `init`.
///
/// It is not compressed: unpacking takes an emulated guest longer than reading takes QEMU.
///
/// # Errors
/// Names the program or library that is missing.
pub fn pack(kernel: &Kernel, programs: &[PathBuf], scripts: &[Script<'_>]) -> Result<OwnedFd> {
    pack_with(kernel, &[], programs, scripts)
}

/// The same, with `drivers`: further modules of the kernel.
///
/// # Errors
/// As [`pack`].
pub(crate) fn pack_with(
    kernel: &Kernel,
    drivers: &[PathBuf],
    programs: &[PathBuf],
    scripts: &[Script<'_>],
) -> Result<OwnedFd> {
    let entries = entries(kernel, drivers, programs, scripts)?;
    let memory = rustix::fs::memfd_create("initramfs", MemfdFlags::CLOEXEC)
        .context("making a memory file for the initramfs")?;
    let mut archive = File::from(memory);
    let mut folders: BTreeSet<String> = FOLDERS.map(str::to_owned).into();
    for entry in &entries {
        let above =
            Path::new(&entry.path).ancestors().skip(1).filter(|path| *path != Path::new(""));
        folders.extend(above.map(|path| path.to_string_lossy().into_owned()));
    }
    for folder in folders {
        Builder::new(&folder).mode(0o040_755).write(&mut archive, 0).finish()?;
    }
    for entry in entries {
        let content = match &entry.content {
            Content::File(file) => {
                fs::read(file).with_context(|| format!("reading {}", file.display()))?
            }
            Content::Text(text) => text.as_bytes().to_vec(),
        };
        let mode = if entry.executable { 0o100_755 } else { 0o100_644 };
        let size = u32::try_from(content.len())
            .with_context(|| format!("{} is too large for an initramfs", entry.path))?;
        let mut file = Builder::new(&entry.path).mode(mode).write(&mut archive, size);
        file.write_all(&content)?;
        file.finish()?;
    }
    trailer(&mut archive)?;
    Ok(archive.into())
}

/// The entries, sorted by path and without duplicates.
fn entries<'a>(
    kernel: &Kernel,
    drivers: &[PathBuf],
    programs: &[PathBuf],
    scripts: &[Script<'a>],
) -> Result<BTreeSet<Entry<'a>>> {
    let file = |path: String, from: PathBuf, executable| Entry {
        path,
        content: Content::File(from),
        executable,
    };
    let script = |&(path, text): &Script<'a>| Entry {
        path: path.to_owned(),
        content: Content::Text(text),
        executable: true,
    };
    let mut entries: BTreeSet<Entry<'_>> = [INIT].iter().chain(scripts).map(script).collect();
    let config = format!("boot/config-{}", kernel.release);
    entries.insert(file(config, kernel.config(), false));
    for module in kernel.modules().chain(drivers.iter().cloned()) {
        entries.insert(file(format!("lib/modules/{}", name_of(&module)?), module, false));
    }
    let busybox = PathBuf::from(BUSYBOX);
    entries.insert(file("bin/busybox".to_owned(), busybox, true));
    for program in programs {
        entries.insert(file(format!("bin/{}", name_of(program)?), program.clone(), true));
        for library in libraries(program)? {
            let path = library.to_string_lossy().trim_start_matches('/').to_owned();
            entries.insert(file(path, library, true));
        }
    }
    Ok(entries)
}

/// The shared libraries of a program, including its loader.
fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let mut command = Command::new("ldd");
    let listing = match tool::output(command.arg(program), "ldd") {
        Ok(listing) => listing,
        Err(error) if format!("{error:#}").contains("not a dynamic executable") => String::new(),
        Err(error) => {
            return Err(error.context(format!("listing libraries of {}", program.display())));
        }
    };
    let missing: Vec<&str> = listing.lines().filter(|line| line.contains("not found")).collect();
    ensure!(missing.is_empty(), "{}: {}", program.display(), missing.join("; ").trim());
    let path =
        |line: &str| line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from);
    Ok(listing.lines().filter_map(path).collect())
}

fn name_of(path: &Path) -> Result<String> {
    let name = path
        .file_name()
        .with_context(|| format!("{} is not the path of a file", path.display()))?;
    Ok(name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, SeekFrom};

    use cpio::newc::Reader;

    use super::*;
    use crate::kernel::example;

    /// Path and mode of everything in an archive.
    fn listing(archive: OwnedFd) -> Vec<String> {
        let mut archive = File::from(archive);
        archive.seek(SeekFrom::Start(0)).unwrap();
        let mut listing = Vec::new();
        loop {
            let reader = Reader::new(archive).unwrap();
            let entry = reader.entry();
            if entry.is_trailer() {
                return listing;
            }
            listing.push(format!("{:o} {}", entry.mode(), entry.name()));
            archive = reader.finish().unwrap();
        }
    }

    #[test]
    fn holds_scripts_modules_configuration_and_every_folder_before_its_files() {
        let (_dir, kernel) = example();
        insta::assert_snapshot!(listing(pack(&kernel, &[], &[("det.sh", "")]).unwrap()).join("\n"));
    }

    #[test]
    fn programs_bring_their_loader_and_libraries() {
        let (_dir, kernel) = example();
        let this = std::env::current_exe().unwrap();
        let listing = listing(pack(&kernel, std::slice::from_ref(&this), &[]).unwrap());
        let name = this.file_name().unwrap().to_string_lossy().into_owned();
        assert!(listing.contains(&format!("100755 bin/{name}")));
        assert!(listing.iter().any(|entry| entry.contains("/libc.so.6")));
        assert!(listing.iter().any(|entry| entry.contains("ld-linux")));
    }

    #[test]
    fn is_the_same_every_time() {
        let (_dir, kernel) = example();
        let bytes = |archive: OwnedFd| {
            let mut archive = File::from(archive);
            archive.seek(SeekFrom::Start(0)).unwrap();
            let mut bytes = Vec::new();
            archive.read_to_end(&mut bytes).unwrap();
            bytes
        };
        let one = bytes(pack(&kernel, &[], &[]).unwrap());
        assert_eq!(one, bytes(pack(&kernel, &[], &[]).unwrap()));
    }

    #[test]
    fn names_what_is_missing() {
        let (_dir, kernel) = example();
        let error = pack(&kernel, &[PathBuf::from("/no/such/program")], &[]).unwrap_err();
        assert!(format!("{error:#}").contains("/no/such/program"));
    }
}
