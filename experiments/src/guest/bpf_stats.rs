//! `steer-bench bpf-stats`: what the kernel has counted of each loaded BPF program, in the guest.
//! It counts while /proc/sys/kernel/bpf_stats_enabled holds 1, at two looks at the clock per run.

use anyhow::Result;
use libbpf_rs::ProgramType;
use libbpf_rs::btf::{Btf, BtfType};
use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions, ProgramInfo};
use serde::{Deserialize, Serialize};

/// A loaded BPF program and what became of it while the kernel counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BpfProgram {
    /// The kernel's number for it; none is used twice.
    pub(crate) id: u32,
    pub(crate) name: String,
    /// What it is attached to: struct_ops, tracing, ...
    pub(crate) kind: String,
    pub(crate) runs: u64,
    /// Time from the beginning to the end of its runs, all together.
    pub(crate) ns: u64,
}

impl From<ProgramInfo> for BpfProgram {
    fn from(info: ProgramInfo) -> Self {
        let kind = match info.ty {
            ProgramType::StructOps => "struct_ops".to_owned(),
            other => format!("{other:?}").to_lowercase(),
        };
        // the kernel itself keeps the first 15 characters of a name alone
        let name = full_name(&info).unwrap_or_else(|| info.name.to_string_lossy().into_owned());
        Self { id: info.id, name, kind, runs: info.run_cnt, ns: info.run_time_ns }
    }
}

/// The name of a program's first function, from its debug information, if it has any.
fn full_name(info: &ProgramInfo) -> Option<String> {
    let function = info.func_info.first()?.type_id.into();
    let types = Btf::from_prog_id(info.id).ok()?;
    Some(types.type_by_id::<BtfType<'_>>(function)?.name()?.to_string_lossy().into_owned())
}

/// Prints all programs as JSON.
///
/// # Errors
/// When standard output is closed.
pub(crate) fn print() -> Result<()> {
    let all =
        ProgInfoIter::with_query_opts(ProgInfoQueryOptions::default().include_func_info(true));
    println!("{}", serde_json::to_string(&all.map(BpfProgram::from).collect::<Vec<_>>())?);
    Ok(())
}
