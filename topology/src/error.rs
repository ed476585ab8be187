//! Everything that can go wrong here, each with the file or variable to look at and the next step.

use std::io;
use std::path::PathBuf;

use crate::cpuset::{CpuSet, ParseCpuSetError};
use crate::machine::Source;

/// Why the machine could not be described.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A topology file that cannot be read: missing, a directory, no permission, not UTF-8.
    #[error(
        "cannot read the topology file {}: {source}; write one with: lstopo --of xml FILE",
        path.display()
    )]
    ReadXml {
        /// The file asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file that has no hwloc `<topology>` element, so it is something else.
    #[error(
        "{} is not an hwloc topology (no <topology> element); write one with: lstopo --of xml FILE",
        path.display()
    )]
    NotATopology {
        /// The file asked for.
        path: PathBuf,
    },
    /// A file in the format of hwloc 3, which the hwloc 2 library linked here cannot read.
    #[error(
        "{} is hwloc {version} XML, and this build links hwloc 2; \
         export it again with: lstopo --of xml --export-xml-flags v2 FILE",
        path.display()
    )]
    XmlTooNew {
        /// The file asked for.
        path: PathBuf,
        /// The version its header names.
        version: String,
    },
    /// A file that looks like an hwloc topology but that hwloc rejects.
    #[error(
        "hwloc rejects the topology file {}: it is damaged or cut short; \
         check it with: lstopo -i FILE",
        path.display()
    )]
    BadXml {
        /// The file asked for.
        path: PathBuf,
    },
    /// The live machine was asked for, but the environment gave hwloc another source.
    #[error(
        "hwloc does not describe this machine, because of {variables} in the environment; \
         unset it, or read a file on purpose with --xml FILE"
    )]
    NotThisMachine {
        /// The environment variables at fault, comma-separated.
        variables: String,
    },
    /// hwloc and the kernel speak of different CPUs, and still do after a wait.
    #[error(
        "hwloc describes a machine with CPUs {described}, but CPUs {online} are online; \
         unset HWLOC_XMLFILE and the like, or see what hwloc says with: lstopo --of console"
    )]
    OtherCpus {
        /// hwloc's.
        described: CpuSet,
        /// The kernel's.
        online: CpuSet,
    },
    /// hwloc failed on the live machine.
    #[error("hwloc cannot describe this machine: {0}; see what it says with: lstopo --of console")]
    Hwloc(String),
    /// The kernel's files are not where they should be. Without them a NIC would seem to be absent
    /// where it is only invisible.
    #[error(
        "there is no {}; mount the kernel's files with: mount -t {filesystem} none /{}",
        path.display(),
        if *filesystem == "sysfs" { "sys" } else { "proc" }
    )]
    NotMounted {
        /// The directory that is missing.
        path: PathBuf,
        /// The type of the file system that holds it: `sysfs` or `proc`.
        filesystem: &'static str,
    },
    /// A kernel file that exists but cannot be read.
    #[error("cannot read {}: {source}; check who may read it with: ls -l FILE", path.display())]
    ReadKernel {
        /// The file in sysfs or procfs.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A kernel file that holds something else than expected.
    #[error(
        "{} holds \"{text}\", which is not {wanted}; please report it with your kernel version",
        path.display()
    )]
    BadKernelValue {
        /// The file in sysfs or procfs.
        path: PathBuf,
        /// What it holds.
        text: String,
        /// What it should hold.
        wanted: &'static str,
    },
    /// A kernel file that should hold a CPU list and does not.
    #[error("{}: {source}; please report it with your kernel version", path.display())]
    BadKernelCpus {
        /// The file in sysfs or procfs.
        path: PathBuf,
        /// What is wrong with it.
        source: ParseCpuSetError,
    },
    /// A question to the kernel by netlink that it did not answer.
    #[error(
        "cannot ask the kernel for {what}: {source}; please report it with your kernel version"
    )]
    AskKernel {
        /// What was asked for.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The description contradicts itself.
    #[error("the topology of {of} contradicts itself: {what}; compare it with lstopo's")]
    Inconsistent {
        /// The machine described.
        of: Source,
        /// The first contradiction found.
        what: String,
    },
}
