/*
 * Frames on the wire (wire-frames.c), for wire.c.
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef NET_WIRE_H
#define NET_WIRE_H

#include "qemu/queue.h"

typedef struct Frame {
    QSIMPLEQ_ENTRY(Frame) next;
    int64_t arrives; /* virtual ns */
    size_t size;     /* with the virtio header */
    uint8_t data[];
} Frame;

/* A flow by its addresses and ports. The hash is the same for both directions. */
typedef struct WireFlow {
    uint32_t hash;
    uint16_t source_port;
} WireFlow;

typedef void WireEmit(void *to, Frame *frame, bool unfinished_checksum);

WireFlow wire_flow_of(const uint8_t *frame, size_t size);

/* A frame with an empty virtio header of @header bytes, and room for @size. */
Frame *wire_frame(size_t header, size_t size);

/* Cuts a TCP frame, without its virtio header, into pieces of at most @mss bytes of payload. */
void wire_segment(const uint8_t *data, size_t size, size_t mss, size_t header, WireEmit *emit,
                  void *to);

#endif
