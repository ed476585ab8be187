//! What this kernel's BPF can do, and whether it may be asked.

use std::{
    ffi::{CStr, CString},
    os::fd::{FromRawFd, OwnedFd},
    ptr,
};

use libbpf_rs::{
    Link, OpenProgramMut, ProgramMut,
    libbpf_sys::{
        BPF_MAP_TYPE_ARRAY, BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, bpf_insn, bpf_map_create,
        bpf_prog_load, bpf_prog_load_opts, libbpf_find_vmlinux_btf_id,
    },
};

/// `BPF_ALU64 | BPF_MOV | BPF_K` and `BPF_JMP | BPF_EXIT` (include/uapi/linux/bpf.h).
const MOVE: u8 = 0xb7;
const EXIT: u8 = 0x95;

/// Lets a program of a section `fentry/FUNCTION` be loaded if this kernel can trace the function.
/// [`attach_if_loaded`] attaches it.
pub(crate) fn load_if_traceable(program: &mut OpenProgramMut<'_>) {
    let section = program.section().to_string_lossy();
    let function = section.strip_prefix("fentry/").and_then(|name| CString::new(name).ok());
    program.set_autoload(function.is_some_and(|function| can_trace(&function)));
    program.set_autoattach(false);
}

/// Attaches a program that may not have been loaded. Some kernels load it and cannot attach it.
pub(crate) fn attach_if_loaded(program: &ProgramMut<'_>) -> Option<Link> {
    program.autoload().then(|| program.attach().ok()).flatten()
}

/// Whether a program can be put at the entry of this kernel function. Some kernels have no function
/// tracer. Tries it: loads a program that does nothing.
fn can_trace(function: &CStr) -> bool {
    // SAFETY: it only reads the name.
    let id = unsafe { libbpf_find_vmlinux_btf_id(function.as_ptr(), BPF_TRACE_FENTRY) };
    let Ok(attach_btf_id) = u32::try_from(id) else { return false };
    let nothing = [MOVE, EXIT].map(|code| bpf_insn { code, ..bpf_insn::default() });
    let mut options = bpf_prog_load_opts {
        sz: size_of::<bpf_prog_load_opts>() as u64,
        expected_attach_type: BPF_TRACE_FENTRY,
        attach_btf_id,
        ..bpf_prog_load_opts::default()
    };
    // SAFETY: all pointers are to values that live until it returns.
    let program = unsafe {
        bpf_prog_load(
            BPF_PROG_TYPE_TRACING,
            ptr::null(),
            c"GPL".as_ptr(),
            nothing.as_ptr(),
            nothing.len() as u64,
            &raw mut options,
        )
    };
    if program < 0 {
        return false;
    }
    // SAFETY: the kernel has just made this file descriptor for us.
    drop(unsafe { OwnedFd::from_raw_fd(program) });
    true
}

/// Whether bpf(2) may be called with the capabilities of this process. A seccomp filter may forbid
/// it nevertheless. Tries it: makes the smallest map.
pub fn may_call_bpf() -> bool {
    // SAFETY: the name is not read beyond its end, and no options are given.
    let map =
        unsafe { bpf_map_create(BPF_MAP_TYPE_ARRAY, c"probe".as_ptr(), 4, 4, 1, ptr::null()) };
    if map < 0 {
        return map != -libc::EPERM;
    }
    // SAFETY: the kernel has just made this file descriptor for us.
    drop(unsafe { OwnedFd::from_raw_fd(map) });
    true
}
