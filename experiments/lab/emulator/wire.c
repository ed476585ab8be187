/*
 * A wire between two NICs, in virtual time: several queues a side, a rate, a delay, receive
 * steering.
 *
 *     sender's queue -> segmentation -> link (rate, delay) -> steering -> receiver's queue
 *
 * The sending NIC cuts a large TCP frame to the MTU as hardware does (TSO), and the checksum of
 * what arrives is good (the receiver is told so). Frames that arrive within one moderation interval
 * are delivered together, so one interrupt stands for several frames. A receive queue whose ring is
 * full holds frames up to its buffer's size; what comes after that is dropped and counted. A sender
 * further ahead of the link than LEAD waits, so its ring fills as a real one does.
 *
 * Everything happens at timers of the virtual clock: a run repeats.
 *
 * Added to QEMU by scx_steer's priced lab (experiments/priced).
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "clients.h"
#include "net/checksum.h"
#include "net/eth.h"
#include "net/net.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/iov.h"
#include "qemu/timer.h"
#include "standard-headers/linux/virtio_net.h"
#include "wire.h"

#define MAX_QUEUES 64
#define FLOWS      4096  /* buckets of the table that remembers a flow's queue */
#define LEAD_NS    20000 /* how far ahead of the link a sender may be */

typedef enum { FOLLOW, HASH, PORT } Steering;

typedef QSIMPLEQ_HEAD(, Frame) Frames;

typedef struct Wire Wire;

typedef struct Queue {
    NetClientState nc;
    Wire *wire;
    Frames waiting; /* arrived, but the guest's ring is full */
    size_t waiting_bytes;
    bool blocked;
} Queue;

/* One side: the NIC's queues, and what is on its way to it. */
struct Wire {
    QLIST_ENTRY(Wire) next;
    int link;
    Wire *peer;
    Queue *queue[MAX_QUEUES];
    unsigned int queues;
    unsigned int header; /* bytes of virtio header */
    bool accepts_checksums;
    Steering steering;
    uint8_t sent_from[FLOWS];
    Frames coming;
    int64_t link_free; /* ns: when the last frame on its way here has left the sender */
    int64_t delivered; /* ns: the last delivery */
    uint64_t rest_ps;
    uint64_t rate_mbit, delay_ns, moderation_ns, buffer_bytes;
    uint64_t frames, bytes, dropped;
    QEMUTimer *timer;
};

static QLIST_HEAD(, Wire) wires = QLIST_HEAD_INITIALIZER(&wires);

/* The guest may use fewer queues than the NIC has: the first ones (ethtool -L). */
static unsigned int queues_in_use(const Wire *to)
{
    unsigned int count = to->queues;

    while (count > 1) {
        NetClientState *nic = to->queue[count - 1]->nc.peer;

        if (!nic || !nic->info->can_receive || nic->info->can_receive(nic)) {
            break;
        }
        count--;
    }
    return count;
}

static unsigned int steer(Wire *to, const uint8_t *frame, size_t size)
{
    WireFlow flow = wire_flow_of(frame, size);
    unsigned int queues = queues_in_use(to);

    switch (to->steering) {
    case FOLLOW:
        return to->sent_from[flow.hash % FLOWS] % queues;
    case PORT:
        return flow.source_port % queues;
    case HASH:
    default:
        return flow.hash % queues;
    }
}

static void arm(Wire *to)
{
    Frame *first = QSIMPLEQ_FIRST(&to->coming);

    if (first && !timer_pending(to->timer)) {
        timer_mod(to->timer, MAX(first->arrives, to->delivered + (int64_t)to->moderation_ns));
    }
}

/* Puts a frame on the link to @to. */
static void transmit(Wire *to, Frame *frame)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    /* preamble, checksum and gap between frames take 24 bytes of the link */
    uint64_t ps = to->rest_ps + (frame->size - to->header + 24) * 8 * 1000000 / to->rate_mbit;

    to->link_free = MAX(to->link_free, now) + ps / 1000;
    to->rest_ps = ps % 1000;
    frame->arrives = to->link_free + to->delay_ns;
    QSIMPLEQ_INSERT_TAIL(&to->coming, frame, next);
    arm(to);
}

/* The receiver is told that the checksum is good, or is given one if @unfinished. */
static void finish(void *opaque, Frame *frame, bool unfinished)
{
    Wire *to = opaque;
    struct virtio_net_hdr_v1 *header = (void *)frame->data;

    if (to->accepts_checksums) {
        header->flags = VIRTIO_NET_HDR_F_DATA_VALID;
    } else if (unfinished) {
        net_checksum_calculate(frame->data + to->header, frame->size - to->header, CSUM_ALL);
    }
    transmit(to, frame);
}

/* The NIC on our side sends. */
static ssize_t wire_receive_iov(NetClientState *nc, const struct iovec *iov, int count)
{
    Queue *queue = DO_UPCAST(Queue, nc, nc);
    Wire *from = queue->wire, *to = from->peer;
    size_t size = iov_size(iov, count), header = from->header;
    g_autofree uint8_t *data = NULL;
    struct virtio_net_hdr_v1 *h;
    Frame *frame;

    if (!to || !to->queues || size < header + sizeof(struct eth_header)) {
        return size;
    }
    data = g_malloc(size);
    iov_to_buf(iov, count, 0, data, size);
    h = (void *)data;
    from->sent_from[wire_flow_of(data + header, size - header).hash % FLOWS] = nc->queue_index;
    switch (h->gso_type & ~VIRTIO_NET_HDR_GSO_ECN) {
    case VIRTIO_NET_HDR_GSO_TCPV4:
    case VIRTIO_NET_HDR_GSO_TCPV6:
        wire_segment(data + header, size - header, le16_to_cpu(h->gso_size), to->header, finish,
                     to);
        break;
    default:
        frame = wire_frame(to->header, size - header);
        memcpy(frame->data + to->header, data + header, size - header);
        finish(to, frame, h->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM);
    }
    return size;
}

static ssize_t wire_receive(NetClientState *nc, const uint8_t *data, size_t size)
{
    struct iovec iov = {.iov_base = (void *)data, .iov_len = size};

    return wire_receive_iov(nc, &iov, 1);
}

static bool wire_can_receive(NetClientState *nc)
{
    Wire *to = DO_UPCAST(Queue, nc, nc)->wire->peer;

    return !to || to->link_free - qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) < LEAD_NS;
}

static void wire_drained(NetClientState *nc, ssize_t size);

/* Hands the NIC what waits for this queue, until its ring is full. */
static void hand_over(Queue *queue)
{
    while (!queue->blocked && !QSIMPLEQ_EMPTY(&queue->waiting)) {
        Frame *frame = QSIMPLEQ_FIRST(&queue->waiting);

        QSIMPLEQ_REMOVE_HEAD(&queue->waiting, next);
        queue->waiting_bytes -= frame->size;
        /* The emulator copies a frame that the ring has no room for, and tells us when it has. */
        queue->blocked =
            !qemu_send_packet_async(&queue->nc, frame->data, frame->size, wire_drained);
        g_free(frame);
    }
}

static void wire_drained(NetClientState *nc, ssize_t size)
{
    Queue *queue = DO_UPCAST(Queue, nc, nc);

    queue->blocked = false;
    hand_over(queue);
}

static void wire_deliver(void *opaque)
{
    Wire *to = opaque;
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    Frame *frame;

    while ((frame = QSIMPLEQ_FIRST(&to->coming)) && frame->arrives <= now) {
        Queue *queue = to->queue[steer(to, frame->data + to->header, frame->size - to->header)];

        QSIMPLEQ_REMOVE_HEAD(&to->coming, next);
        if (queue->waiting_bytes + frame->size > to->buffer_bytes) {
            to->dropped++;
            g_free(frame);
            continue;
        }
        to->frames++;
        to->bytes += frame->size - to->header;
        QSIMPLEQ_INSERT_TAIL(&queue->waiting, frame, next);
        queue->waiting_bytes += frame->size;
        hand_over(queue);
    }
    to->delivered = now;
    arm(to);
    if (to->peer && to->link_free - now < LEAD_NS) {
        for (unsigned int k = 0; k < to->peer->queues; k++) {
            qemu_flush_queued_packets(&to->peer->queue[k]->nc);
        }
    }
}

static bool wire_has_vnet_hdr(NetClientState *nc)
{
    return true;
}

static bool wire_has_vnet_hdr_len(NetClientState *nc, int len)
{
    return len >= (int)sizeof(struct virtio_net_hdr) &&
           len <= (int)sizeof(struct virtio_net_hdr_v1_hash);
}

static void wire_set_vnet_hdr_len(NetClientState *nc, int len)
{
    nc->vnet_hdr_len = len;
    DO_UPCAST(Queue, nc, nc)->wire->header = len;
}

static void wire_set_offload(NetClientState *nc, int csum, int tso4, int tso6, int ecn, int ufo,
                             int uso4, int uso6)
{
    DO_UPCAST(Queue, nc, nc)->wire->accepts_checksums = csum;
}

static void wire_cleanup(NetClientState *nc)
{
    Wire *wire = DO_UPCAST(Queue, nc, nc)->wire;

    if (wire->timer) {
        info_report("wire %d: %" PRIu64 " frames, %" PRIu64 " bytes, %" PRIu64 " dropped",
                    wire->link, wire->frames, wire->bytes, wire->dropped);
        timer_free(wire->timer);
        wire->timer = NULL;
    }
}

static NetClientInfo wire_info = {
    .type = NET_CLIENT_DRIVER_WIRE,
    .size = sizeof(Queue),
    .receive = wire_receive,
    .receive_iov = wire_receive_iov,
    .can_receive = wire_can_receive,
    .has_vnet_hdr = wire_has_vnet_hdr,
    .has_vnet_hdr_len = wire_has_vnet_hdr_len,
    .set_vnet_hdr_len = wire_set_vnet_hdr_len,
    .set_offload = wire_set_offload,
    .cleanup = wire_cleanup,
};

static bool parse_steering(const char *word, Steering *to, Error **errp)
{
    static const char *const words[] = {[FOLLOW] = "follow", [HASH] = "hash", [PORT] = "port"};

    for (size_t k = 0; k < ARRAY_SIZE(words); k++) {
        if (!strcmp(word, words[k])) {
            *to = k;
            return true;
        }
    }
    error_setg(errp, "wire: steering is follow, hash or port, not '%s'", word);
    return false;
}

int net_init_wire(const Netdev *netdev, const char *name, NetClientState *peer, Error **errp)
{
    const NetdevWireOptions *options = &netdev->u.wire;
    Steering steering;
    Wire *wire, *other;

    if (!parse_steering(options->steering ?: "hash", &steering, errp)) {
        return -1;
    }
    if (options->has_queues && (options->queues < 1 || options->queues > MAX_QUEUES)) {
        error_setg(errp, "wire: queues are 1 to %d", MAX_QUEUES);
        return -1;
    }
    if (options->has_rate && options->rate < 1) {
        error_setg(errp, "wire: the rate is at least 1 Mbit/s");
        return -1;
    }
    wire = g_new0(Wire, 1);
    wire->link = options->link;
    wire->queues = options->has_queues ? options->queues : 1;
    wire->header = sizeof(struct virtio_net_hdr);
    wire->steering = steering;
    wire->rate_mbit = options->has_rate ? options->rate : 100000;
    wire->delay_ns = options->has_delay ? options->delay : 1000;
    wire->moderation_ns = options->has_moderation ? options->moderation : 5000;
    wire->buffer_bytes = (options->has_buffer ? options->buffer : 512) << 10;
    QSIMPLEQ_INIT(&wire->coming);
    wire->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, wire_deliver, wire);
    QLIST_FOREACH (other, &wires, next) {
        if (other->link != wire->link) {
            continue;
        }
        if (other->peer) {
            error_setg(errp, "wire: link %d has two ends already", wire->link);
            return -1;
        }
        wire->peer = other;
        other->peer = wire;
    }
    QLIST_INSERT_HEAD(&wires, wire, next);
    for (unsigned int k = 0; k < wire->queues; k++) {
        NetClientState *nc = qemu_new_net_client(&wire_info, peer, "wire", name);
        Queue *queue = DO_UPCAST(Queue, nc, nc);

        nc->queue_index = k;
        queue->wire = wire;
        QSIMPLEQ_INIT(&queue->waiting);
        wire->queue[k] = queue;
    }
    return 0;
}
