//! Everything that can go wrong here. Each error names the file or variable, and the next step.

use std::io;
use std::path::PathBuf;

use crate::cpuset::{CpuSet, ParseCpuSetError};
use crate::machine::Source;

/// Why the machine could not be described.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A topology file that cannot be read: it is missing, a directory, not permitted or not UTF-8.
    #[error(
        "cannot read the topology file {}: {source}; write one with: lstopo --of xml FILE",
        path.display()
    )]
    ReadXml {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file without an hwloc `<topology>` element: something else.
    #[error(
        "{} is not an hwloc topology (no <topology> element); write one with: lstopo --of xml FILE",
        path.display()
    )]
    NotATopology {
        /// The file.
        path: PathBuf,
    },
    /// A file in the format of hwloc 3. The hwloc 2 library that is linked here cannot read it.
    #[error(
        "{} is hwloc {version} XML, and this build links hwloc 2; \
         export it again with: lstopo --of xml --export-xml-flags v2 FILE",
        path.display()
    )]
    XmlTooNew {
        /// The file.
        path: PathBuf,
        /// The version in its header.
        version: String,
    },
    /// A file that looks like an hwloc topology, but that hwloc rejects.
    #[error(
        "hwloc rejects the topology file {}: it is damaged or cut short; \
         check it with: lstopo -i FILE",
        path.display()
    )]
    BadXml {
        /// The file.
        path: PathBuf,
    },
    /// The environment points hwloc at another source than the live machine.
    #[error(
        "hwloc does not describe this machine, because of {variables} in the environment; \
         unset it, or read a file on purpose with --xml FILE"
    )]
    NotThisMachine {
        /// The environment variables, comma-separated.
        variables: String,
    },
    /// hwloc and the kernel report different CPUs, and still do after a wait.
    #[error(
        "hwloc describes a machine with CPUs {described}, but CPUs {online} are online; \
         unset HWLOC_XMLFILE and the like, or see what hwloc says with: lstopo --of console"
    )]
    OtherCpus {
        /// The CPUs that hwloc reports.
        described: CpuSet,
        /// The CPUs that the kernel reports.
        online: CpuSet,
    },
    /// hwloc failed on the live machine.
    #[error("hwloc cannot describe this machine: {0}; see what it says with: lstopo --of console")]
    Hwloc(String),
    /// The kernel's files are not mounted. Without them a NIC would seem absent, although it is
    /// only invisible.
    #[error(
        "there is no {}; mount the kernel's files with: mount -t {filesystem} none /{}",
        path.display(),
        if *filesystem == "sysfs" { "sys" } else { "proc" }
    )]
    NotMounted {
        /// The missing directory.
        path: PathBuf,
        /// The type of its file system: `sysfs` or `proc`.
        filesystem: &'static str,
    },
    /// A kernel file that exists but cannot be read.
    #[error("cannot read {}: {source}; check who may read it with: ls -l FILE", path.display())]
    ReadKernel {
        /// The file in sysfs or procfs.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A kernel file with unexpected content.
    #[error(
        "{} contains \"{text}\", which is not {wanted}; please report it with your kernel version",
        path.display()
    )]
    BadKernelValue {
        /// The file in sysfs or procfs.
        path: PathBuf,
        /// Its content.
        text: String,
        /// The expected kind of content.
        wanted: &'static str,
    },
    /// A kernel file that should contain a CPU list, but does not.
    #[error("{}: {source}; please report it with your kernel version", path.display())]
    BadKernelCpus {
        /// The file in sysfs or procfs.
        path: PathBuf,
        /// Why it is not one.
        source: ParseCpuSetError,
    },
    /// A netlink request that the kernel did not answer.
    #[error(
        "cannot ask the kernel for {what}: {source}; please report it with your kernel version"
    )]
    AskKernel {
        /// What was requested.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The description contradicts itself.
    #[error("the topology of {of} contradicts itself: {what}; compare it with lstopo's")]
    Inconsistent {
        /// The described machine.
        of: Source,
        /// The first contradiction found.
        what: String,
    },
}
