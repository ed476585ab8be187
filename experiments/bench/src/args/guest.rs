//! The flags that choose the guest to boot, and those of `steer-bench lab run`.

use std::path::PathBuf;

use clap::{Args, value_parser};
use steer_ground::word::Word;
use steer_lab::guest::GuestOptions;
use steer_lab::kernel::{Source, Wanted};
use steer_lab::shape::{Nics, Shape};

use super::choice::choice;

/// Where kernels come from and where they are kept.
#[derive(Debug, Clone, Args)]
pub(crate) struct SourceArgs {
    /// Folder of downloaded kernels. Kernels in it are not downloaded again.
    #[arg(long, value_name = "DIR", default_value = "target/lab/kernels")]
    pub(crate) kernel_cache: PathBuf,
    /// Debian mirror to fetch kernels from [default: the one this machine's apt uses].
    #[arg(long, value_name = "URI")]
    pub(crate) mirror: Option<String>,
}

impl From<SourceArgs> for Source {
    fn from(args: SourceArgs) -> Self {
        let SourceArgs { kernel_cache, mirror } = args;
        Self { kernel_cache, mirror }
    }
}

/// Which guest to boot.
#[derive(Debug, Clone, Args)]
pub(crate) struct GuestArgs {
    /// Kernel series, such as 6.18, or version, such as 6.18.15.
    #[arg(long, value_name = "VERSION", default_value = "6.18")]
    pub(crate) kernel: Wanted,
    /// CPUs of the guest: NUMA nodes x cores [x SMT threads].
    #[arg(long, value_name = "SHAPE", default_value = "2x2")]
    pub(crate) shape: Shape,
    /// Memory of each of the guest's NUMA nodes, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    #[arg(value_parser = value_parser!(u32).range(512..=1 << 20))]
    pub(crate) node_memory: u32,
    /// NUMA nodes of the guest that have a NIC. With several NICs, connections use them in turns,
    /// but the connections of an --rpc-tool other than builtin all use the first.
    #[arg(long, value_name = "NODES", value_parser = choice(nics), default_value = Nics::default().word())]
    pub(crate) nics: Nics,
    /// More words for the guest's kernel command line, such as nohz_full=3. May be repeated.
    #[arg(long, value_name = "WORD")]
    pub(crate) kernel_word: Vec<String>,
    /// The scx_steer program to test. The file must be called scx_steer [default: scx_steer in this
    /// program's folder].
    #[arg(long, value_name = "PATH")]
    pub(crate) scx_steer: Option<PathBuf>,
    /// Another program to put into the guest's /bin. May be repeated.
    #[arg(long = "with", value_name = "PATH")]
    pub(crate) extra: Vec<PathBuf>,
    /// Where kernels come from.
    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

impl From<GuestArgs> for GuestOptions {
    fn from(args: GuestArgs) -> Self {
        let GuestArgs { kernel, shape, node_memory, nics, kernel_word, scx_steer, extra, source } =
            args;
        let source = source.into();
        let (devices, kernel_words) = ("", kernel_word.join(" "));
        Self { kernel, shape, node_memory, nics, devices, kernel_words, scx_steer, extra, source }
    }
}

/// Flags of `steer-bench lab run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
    /// Longest time the command may take, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub(crate) timeout: u64,
    /// The command and its arguments, after `--`.
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<String>,
}

/// Describes which nodes have NICs, for the help.
pub(super) fn nics(nics: Nics) -> &'static str {
    match nics {
        Nics::LastNode => "Only the last node",
        Nics::FirstNode => "Only the first node",
        Nics::EachNode => "All nodes, one NIC each",
    }
}
