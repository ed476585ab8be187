/*
 * What the rest of the emulator calls in turns.c.
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ACCEL_TURNS_H
#define ACCEL_TURNS_H

#include "hw/virtio/virtio.h"
#include "system/accel-ops.h"

/* Called when TCG has filled in its operations: replaces those that a plugin has taken over. */
void turns_accel_ops(AccelOpsClass *ops);

/* A device has read the element's readable buffers and written so many bytes to its writable ones.
 */
void turns_dma(VirtIODevice *vdev, const VirtQueueElement *elem, unsigned int written);

#endif
