//! The tap's explicit steering: an eBPF program that sends a TCP packet to the queue that is its
//! source port modulo the number of queues. It has only a dozen instructions, so it is assembled
//! here, without a BPF compiler and loader.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use anyhow::{Context, Result};

/// Loads the program for a tap with `queues` queues.
///
/// # Errors
/// When the kernel refuses it: without root or CONFIG_BPF_SYSCALL.
pub(super) fn load(queues: usize) -> Result<OwnedFd> {
    let queues = i32::try_from(queues).context("too many queues")?;
    let code = instructions(queues);
    let attributes = LoadAttributes {
        program_type: PROGRAM_TYPE_SOCKET_FILTER,
        instruction_count: code.len() as u32,
        instructions: code.as_ptr() as u64,
        license: c"GPL".as_ptr() as u64,
    };
    // SAFETY: BPF_PROG_LOAD reads the attributes, the instructions and the licence, all of which
    // live across the call. Missing attributes count as zero.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            PROG_LOAD,
            &raw const attributes,
            size_of::<LoadAttributes>() as libc::c_uint,
        )
    };
    let descriptor = i32::try_from(result)?;
    if descriptor < 0 {
        return Err(io::Error::last_os_error())
            .context("loading the tap's steering program (needs root and CONFIG_BPF_SYSCALL)");
    }
    // SAFETY: the call gave us this descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// `BPF_PROG_LOAD` of bpf(2).
const PROG_LOAD: libc::c_int = 5;
/// `BPF_PROG_TYPE_SOCKET_FILTER`: what TUNSETSTEERINGEBPF takes.
const PROGRAM_TYPE_SOCKET_FILTER: u32 = 1;

/// The first members of `union bpf_attr` for `BPF_PROG_LOAD`.
#[repr(C)]
struct LoadAttributes {
    program_type: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
}

/// `struct bpf_insn`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Instruction {
    opcode: u8,
    /// Destination in the low half, source in the high one.
    registers: u8,
    offset: i16,
    immediate: i32,
}

const fn instruction(opcode: u8, to: u8, from: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction { opcode, registers: to | from << 4, offset, immediate }
}

/// Loads bytes of the packet into r0, from a constant offset, plus a register's value for an
/// indirect load. Beyond the packet's end, the program returns 0.
const LOAD_BYTE: u8 = 0x30;
const LOAD_HALF: u8 = 0x28;
const LOAD_HALF_INDIRECT: u8 = 0x48;
const MOVE: u8 = 0xbf;
const MOVE_CONSTANT: u8 = 0xb7;
const AND: u8 = 0x57;
const SHIFT_LEFT: u8 = 0x67;
const MODULO: u8 = 0x97;
const JUMP_IF_NOT: u8 = 0x55;
const EXIT: u8 = 0x95;

const ETHERNET_HEADER: i32 = 14;
const ETHERTYPE_AT: i32 = 12;
const ETHERTYPE_IPV4: i32 = 0x0800;
const IP_PROTOCOL_AT: i32 = ETHERNET_HEADER + 9;
const PROTOCOL_TCP: i32 = 6;

fn instructions(queues: i32) -> [Instruction; 13] {
    [
        // Packet loads need the packet in r6.
        instruction(MOVE, 6, 1, 0, 0),
        instruction(LOAD_HALF, 0, 0, 0, ETHERTYPE_AT),
        instruction(JUMP_IF_NOT, 0, 0, 8, ETHERTYPE_IPV4),
        instruction(LOAD_BYTE, 0, 0, 0, IP_PROTOCOL_AT),
        instruction(JUMP_IF_NOT, 0, 0, 6, PROTOCOL_TCP),
        // Length of the IP header: the low half of its first byte, in words of 4 bytes.
        instruction(LOAD_BYTE, 0, 0, 0, ETHERNET_HEADER),
        instruction(AND, 0, 0, 0, 0x0f),
        instruction(SHIFT_LEFT, 0, 0, 0, 2),
        // The source port is the first field after the IP header.
        instruction(LOAD_HALF_INDIRECT, 0, 0, 0, ETHERNET_HEADER),
        instruction(MODULO, 0, 0, 0, queues),
        instruction(EXIT, 0, 0, 0, 0),
        // All packets other than TCP over IPv4 go to queue 0.
        instruction(MOVE_CONSTANT, 0, 0, 0, 0),
        instruction(EXIT, 0, 0, 0, 0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_land_on_the_answer_for_other_packets() {
        let code = instructions(4);
        for (at, instruction) in code.iter().enumerate() {
            if instruction.opcode == JUMP_IF_NOT {
                let target = at as i16 + 1 + instruction.offset;
                assert_eq!(code[target as usize].opcode, MOVE_CONSTANT);
            }
        }
    }
}
