/*
 * What turns.c asks branch.c.
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ACCEL_BRANCH_H
#define ACCEL_BRANCH_H

/* Whether this is a copy of an emulator, and the guest has shut down or a signal has ended it. */
bool branch_should_end(void);

#endif
