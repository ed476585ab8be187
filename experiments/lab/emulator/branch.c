/*
 * Branches: copies of a running emulator. A guest boots once, and each copy of it then goes on by
 * itself.
 *
 * fork() copies one thread, here that of the vCPUs. It holds the big lock, so no other thread is in
 * the middle of anything. RCU's thread starts anew in the copy (util/rcu.c). The main loop's does
 * not: its work was to end the emulator, which is done here; timers and devices run on the vCPUs'
 * thread anyway (turns.c).
 *
 * Added to QEMU by scx_steer's priced lab (experiments/priced).
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <sys/prctl.h>
#include "chardev/char-fd.h"
#include "exec/cpu-common.h"
#include "exec/ramblock.h"
#include "hw/core/cpu.h"
#include "io/channel-file.h"
#include "qemu/main-loop.h"
#include "qemu/plugin.h"
#include "qemu/rcu.h"
#include "system/runstate.h"
#include "branch.h"

static bool is_branch;

/* The guest's memory is not copied by default (ram_block_add(), system/physmem.c). */
static int let_copy(RAMBlock *block, void *unused)
{
    return madvise(qemu_ram_get_host_addr(block), qemu_ram_get_max_length(block), MADV_DOFORK);
}

int qemu_plugin_fork(void)
{
    pid_t trunk = getpid(), pid;
    sigset_t asked;

    g_assert(bql_locked() && qemu_in_vcpu_thread());
    if (qemu_ram_foreach_block(let_copy, NULL)) {
        return -1;
    }
    rcu_enable_atfork();
    pid = fork();
    rcu_disable_atfork();
    if (pid) {
        return pid;
    }
    is_branch = true;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != trunk) {
        _exit(EXIT_FAILURE);
    }
    /* The main loop's thread took this signal. */
    sigemptyset(&asked);
    sigaddset(&asked, SIGTERM);
    pthread_sigmask(SIG_UNBLOCK, &asked, NULL);
    return 0;
}

bool qemu_plugin_console_to(const char *name, const char *path)
{
    Chardev *chr = qemu_chr_find(name);
    int to = open(path, O_WRONLY | O_CLOEXEC), from;

    if (!chr || to < 0) {
        return false;
    }
    from = QIO_CHANNEL_FILE(FD_CHARDEV(chr)->ioc_out)->fd;
    return dup2(to, from) == from && !close(to);
}

bool qemu_plugin_write_guest(unsigned int vcpu_index, uint64_t address, const void *from,
                             size_t length)
{
    return !cpu_memory_rw_debug(qemu_get_cpu(vcpu_index), address, (void *)from, length, true);
}

bool branch_should_end(void)
{
    return is_branch && qemu_shutdown_requested_get() != SHUTDOWN_CAUSE_NONE;
}
