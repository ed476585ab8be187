/*
 * Turns: lets a plugin own the guest's clock and say which vCPU runs next.
 *
 * With -accel tcg,thread=single, one thread runs all vCPUs. Here a plugin takes over two decisions:
 * what time it is (QEMU_CLOCK_VIRTUAL and the TSC), and which vCPU has the turn. A vCPU keeps the
 * turn until the plugin ends it. Timers of the virtual clock run on this thread alone, when the
 * plugin moves the clock; the main loop leaves them alone. So nothing that the guest sees depends
 * on the host's time, and a run repeats.
 *
 * Added to QEMU by scx_steer's priced lab (experiments/priced).
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "exec/cpu-common.h"
#include "exec/tb-flush.h"
#include "hw/core/cpu.h"
#include "hw/pci/pci.h"
#include "hw/pci/pci_bus.h"
#include "hw/pci/pci_device.h"
#include "hw/virtio/virtio.h"
#include "qemu/error-report.h"
#include "qemu/guest-random.h"
#include "qemu/main-loop.h"
#include "qemu/plugin.h"
#include "qemu/rcu.h"
#include "qemu/timer.h"
#include "system/cpus.h"
#include "system/numa.h"
#include "system/tcg.h"
#include "tcg/startup.h"
#include "tcg-accel-ops.h"
#include "branch.h"
#include "turns.h"

static const struct qemu_plugin_turns *turns;
static QemuThread *vcpu_thread;
static QemuCond *halt_cond;

static int64_t turns_ticks(void)
{
    return turns->ticks();
}

static int64_t turns_now(void)
{
    return turns->now_ns();
}

static void turns_interrupt(CPUState *cpu, int mask)
{
    turns->interrupted(cpu->cpu_index);
    tcg_handle_interrupt(cpu, mask);
}

static void turns_kick(CPUState *unused)
{
    CPUState *cpu;

    CPU_FOREACH (cpu) {
        cpu_exit(cpu);
    }
}

/* A vCPU that the machine or a debugger has stopped cannot have the turn. */
static bool any_stopped(void)
{
    CPUState *cpu;

    CPU_FOREACH (cpu) {
        if (cpu->stop || cpu_is_stopped(cpu)) {
            return true;
        }
    }
    return false;
}

static void *turns_thread(void *arg)
{
    CPUState *cpu = arg;

    rcu_register_thread();
    tcg_register_thread();
    bql_lock();
    qemu_thread_get_self(cpu->thread);
    cpu->thread_id = qemu_get_thread_id();
    cpu->neg.can_do_io = true;
    cpu_thread_signal_created(cpu);
    qemu_guest_random_seed_thread_part2(cpu->random_seed);

    for (;;) {
        int next;

        /* Here other threads of the emulator get the lock, and work they left for a vCPU is done.
         */
        bql_unlock();
        bql_lock();
        CPU_FOREACH (cpu) {
            current_cpu = cpu;
            qemu_wait_io_event_common(cpu);
        }
        if (branch_should_end()) {
            turns->ended();
            _exit(EXIT_SUCCESS);
        }
        next = any_stopped() ? -1 : turns->next();
        if (next < 0) {
            qemu_cond_wait_bql(halt_cond);
            continue;
        }
        cpu = current_cpu = qemu_get_cpu(next);
        bql_unlock();
        if (tcg_cpu_exec(cpu) == EXCP_ATOMIC) {
            cpu_exec_step_atomic(cpu);
        }
        bql_lock();
    }
    return NULL;
}

static void turns_create_vcpu(CPUState *cpu)
{
    /* CF_PARALLEL: else a plugin's inline operations count for the vCPU that translated the code.
     */
    tcg_cpu_init_cflags(cpu, true);
    if (!vcpu_thread) {
        vcpu_thread = cpu->thread;
        halt_cond = cpu->halt_cond;
        qemu_thread_create(cpu->thread, "turns", turns_thread, cpu, QEMU_THREAD_JOINABLE);
        return;
    }
    g_free(cpu->thread);
    qemu_cond_destroy(cpu->halt_cond);
    g_free(cpu->halt_cond);
    cpu->thread = vcpu_thread;
    cpu->halt_cond = halt_cond;
    cpu->thread_id = first_cpu->thread_id;
    cpu->neg.can_do_io = true;
    cpu->created = true;
}

void turns_accel_ops(AccelOpsClass *ops)
{
    if (!turns) {
        return;
    }
    ops->create_vcpu_thread = turns_create_vcpu;
    ops->kick_vcpu_thread = turns_kick;
    ops->handle_interrupt = turns_interrupt;
    ops->get_virtual_clock = turns_now;
    ops->get_elapsed_ticks = turns_ticks;
}

/* The NUMA node of the PCI bus that a virtio device is behind; -1 when it belongs to none. */
static int device_node(VirtIODevice *vdev)
{
    DeviceState *proxy = qdev_get_parent_bus(DEVICE(vdev))->parent;
    PCIDevice *pci = (PCIDevice *)object_dynamic_cast(OBJECT(proxy), TYPE_PCI_DEVICE);
    int node = pci ? pci_bus_numa_node(pci_device_root_bus(pci)) : NUMA_NODE_UNASSIGNED;

    return node == NUMA_NODE_UNASSIGNED ? -1 : node;
}

static void tell(void (*what)(int, uint64_t, uint64_t), int node, const hwaddr *address,
                 const struct iovec *sg, unsigned int count, uint64_t limit)
{
    for (unsigned int i = 0; i < count && limit; i++) {
        uint64_t length = MIN(sg[i].iov_len, limit);

        what(node, address[i], length);
        limit -= length;
    }
}

void turns_dma(VirtIODevice *vdev, const VirtQueueElement *elem, unsigned int written)
{
    int node;

    if (!turns) {
        return;
    }
    node = device_node(vdev);
    tell(turns->device_read, node, elem->out_addr, elem->out_sg, elem->out_num, UINT64_MAX);
    tell(turns->device_wrote, node, elem->in_addr, elem->in_sg, elem->in_num, written);
}

bool qemu_plugin_take_turns(qemu_plugin_id_t id, const struct qemu_plugin_turns *ours)
{
    if (ours->version != QEMU_PLUGIN_TURNS_VERSION || turns || first_cpu || !tcg_enabled() ||
        qemu_tcg_mttcg_enabled()) {
        return false;
    }
    qemu_virtual_clock_is_owned = true;
    turns = ours;
    return true;
}

bool qemu_plugin_vcpu_is_idle(unsigned int vcpu_index)
{
    CPUState *cpu = qemu_get_cpu(vcpu_index);

    return cpu->halted && !cpu_has_work(cpu);
}

void qemu_plugin_end_turn(unsigned int vcpu_index, uintptr_t return_address)
{
    CPUState *cpu = qemu_get_cpu(vcpu_index);

    g_assert(cpu == current_cpu);
    cpu->exception_index = EXCP_INTERRUPT;
    cpu_loop_exit_restore(cpu, return_address);
}

int qemu_plugin_running_vcpu(void)
{
    return current_cpu && qemu_in_vcpu_thread() ? current_cpu->cpu_index : -1;
}

int64_t qemu_plugin_next_timer_ns(void)
{
    return qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL, QEMU_TIMER_ATTR_ALL);
}

void qemu_plugin_run_timers(void)
{
    g_assert(bql_locked());
    while (qemu_clock_run_timers(QEMU_CLOCK_VIRTUAL)) {
        /* A timer may arm one that is due already. */
    }
}

void qemu_plugin_retranslate(void)
{
    tb_flush(current_cpu);
}
