//! `steer-bench bpf-stats`: the kernel's counts for each loaded BPF program, in the guest. The
//! kernel counts while /proc/sys/kernel/bpf_stats_enabled is 1, and then reads the clock twice per
//! run.

use anyhow::Result;
use libbpf_rs::ProgramType;
use libbpf_rs::btf::{Btf, BtfType};
use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions, ProgramInfo};
use serde::{Deserialize, Serialize};

/// A loaded BPF program, and what the kernel counted for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BpfProgram {
    /// The kernel's id for it. The kernel does not reuse ids.
    pub id: u32,
    /// Its full name in the source.
    pub name: String,
    /// What it is attached to: struct_ops, tracing, ...
    pub kind: String,
    /// How often it ran.
    pub runs: u64,
    /// Total time of its runs, in nanoseconds.
    pub ns: u64,
}

impl From<ProgramInfo> for BpfProgram {
    fn from(info: ProgramInfo) -> Self {
        let kind = match info.ty {
            ProgramType::StructOps => "struct_ops".to_owned(),
            other => format!("{other:?}").to_lowercase(),
        };
        // the kernel itself keeps only the first 15 characters of a name
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
pub fn print() -> Result<()> {
    let all =
        ProgInfoIter::with_query_opts(ProgInfoQueryOptions::default().include_func_info(true));
    println!("{}", serde_json::to_string(&all.map(BpfProgram::from).collect::<Vec<_>>())?);
    Ok(())
}
