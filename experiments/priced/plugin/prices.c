/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is added to code as it is translated: at a block's start the test whether the turn is over
 * and the count of its instructions; the extra price of some instructions; while the model is on, a
 * look at each load and store; commands from the guest.
 *
 * Extra prices are added in instructions at the measured CPUs' price, so a fast client pays less.
 * An interrupt's whole price, entry and return, is paid at its IRET; so page faults pay it too.
 */
#include "priced.h"

/* nopl 0x5c4e00NN(%rax) */
static bool is_command(const uint8_t *b, size_t n)
{
	return n == 7 && b[0] == 0x0f && b[1] == 0x1f && b[2] == 0x80 && b[4] == 0 &&
	       b[5] == 0x4e && b[6] == 0x5c;
}

/* Skips prefixes; REX is the last of them. */
static size_t opcode_at(const uint8_t *b, size_t n)
{
	size_t k = 0;

	while (k < n && (b[k] == 0x66 || b[k] == 0x67 || b[k] == 0xf0 || b[k] == 0xf2 ||
			 b[k] == 0xf3 || b[k] == 0x2e || b[k] == 0x36 || b[k] == 0x3e ||
			 b[k] == 0x26 || b[k] == 0x64 || b[k] == 0x65))
		k++;
	if (k < n && (b[k] & 0xf0) == 0x40)
		k++;
	return k;
}

static bool is_locked(const uint8_t *b, size_t n)
{
	size_t k;

	for (k = 0; k < n && k < 4; k++)
		if (b[k] == 0xf0)
			return true;
	/* XCHG with memory locks by itself. */
	k = opcode_at(b, n);
	return k + 1 < n && (b[k] == 0x86 || b[k] == 0x87) && b[k + 1] < 0xc0;
}

/* The event that an instruction is, or EVENTS. */
static enum event event_of(const uint8_t *b, size_t n)
{
	size_t k = opcode_at(b, n);

	if (n == 2 && b[0] == 0xf3 && b[1] == 0x90)
		return EVENT_PAUSE;
	if (k < n && b[k] == 0xcf)
		return EVENT_INTERRUPT;
	if (k + 1 >= n || b[k] != 0x0f)
		return EVENTS;
	switch (b[k + 1]) {
	case 0x05:
		return EVENT_SYSCALL;
	case 0x30:
		return EVENT_WRMSR;
	case 0x22:
		return k + 2 < n && (b[k + 2] & 0x38) == 0x18 ? EVENT_CR3 : EVENTS;
	case 0x01:
		return k + 2 < n && (b[k + 2] & 0x38) == 0x38 && b[k + 2] < 0xc0 ? EVENT_INVLPG
										 : EVENTS;
	case 0x38: /* INVPCID */
		return k + 2 < n && b[k + 2] == 0x82 ? EVENT_INVLPG : EVENTS;
	default:
		return EVENTS;
	}
}

/* Returns what the instruction costs beyond its share. */
static uint64_t translate_instruction(struct qemu_plugin_insn *instruction)
{
	uint8_t b[16] = {0};
	size_t n = qemu_plugin_insn_data(instruction, b, sizeof b);
	enum event event = event_of(b, n);
	bool locked = is_locked(b, n);

	if (locked)
		event = EVENT_LOCK;
	if (event != EVENTS)
		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
			instruction, QEMU_PLUGIN_INLINE_ADD_U64, slot_c,
			machine.event[event] / machine.instruction);
	if (event == EVENT_PAUSE)
		qemu_plugin_register_vcpu_insn_exec_cb(instruction, clock_pause,
						       QEMU_PLUGIN_CB_NO_REGS, NULL);
	if (is_command(b, n) && b[3] == BRANCH)
		qemu_plugin_register_vcpu_insn_exec_cb(instruction, branch_command,
						       QEMU_PLUGIN_CB_R_REGS, NULL);
	else if (is_command(b, n))
		qemu_plugin_register_vcpu_insn_exec_cb(
			instruction, command_run, QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)b[3]);
	if (!model_on)
		return 0;
	if (event == EVENT_CR3 || event == EVENT_INVLPG)
		qemu_plugin_register_vcpu_insn_exec_cb(instruction, access_new_space,
						       QEMU_PLUGIN_CB_NO_REGS, NULL);
	qemu_plugin_register_vcpu_mem_cb(instruction, access_memory, QEMU_PLUGIN_CB_NO_REGS,
					 QEMU_PLUGIN_MEM_RW, locked ? (void *)1 : NULL);
	return event == EVENTS ? 0 : machine.event[event];
}

void prices_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
	size_t n = qemu_plugin_tb_n_insns(block);
	qemu_plugin_u64 slot_instructions = slot_c;
	uint64_t extra_ps = 0;

	(void)id;
	slot_instructions.offset = offsetof(struct slot, instructions);
	qemu_plugin_register_vcpu_tb_exec_cond_cb(block, clock_block_start, QEMU_PLUGIN_CB_NO_REGS,
						  QEMU_PLUGIN_COND_GE, slot_c, BIG, NULL);
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(block, QEMU_PLUGIN_INLINE_ADD_U64, slot_c,
							  n);
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(block, QEMU_PLUGIN_INLINE_ADD_U64,
							  slot_instructions, n);
	for (size_t k = 0; k < n; k++)
		extra_ps += translate_instruction(qemu_plugin_tb_get_insn(block, k));
	profile_translate(block, extra_ps);
}
