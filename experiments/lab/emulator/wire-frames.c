/*
 * Frames on the wire: which flow one belongs to, and cutting large ones to the MTU (TSO).
 *
 * Added to QEMU by scx_steer's priced lab (experiments/priced).
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "net/checksum.h"
#include "net/eth.h"
#include "wire.h"

WireFlow wire_flow_of(const uint8_t *frame, size_t size)
{
    WireFlow flow = {0};
    size_t ip = sizeof(struct eth_header), ports, address, length;
    uint32_t sum = 0;
    uint8_t protocol;

    if (size < ip + 20) {
        return flow;
    }
    if (lduw_be_p(frame + 12) == ETH_P_IP) {
        protocol = frame[ip + 9];
        address = ip + 12, length = 8, ports = ip + (frame[ip] & 15) * 4;
    } else if (lduw_be_p(frame + 12) == ETH_P_IPV6 && size >= ip + 40) {
        protocol = frame[ip + 6];
        address = ip + 8, length = 32, ports = ip + 40;
    } else {
        return flow;
    }
    for (size_t k = 0; k < length; k += 4) {
        sum += ldl_be_p(frame + address + k);
    }
    if ((protocol == IP_PROTO_TCP || protocol == IP_PROTO_UDP) && size >= ports + 4) {
        flow.source_port = lduw_be_p(frame + ports);
        sum += flow.source_port + lduw_be_p(frame + ports + 2);
    }
    /* Murmur's finalizer: neighbouring ports spread over the queues. */
    sum ^= sum >> 16;
    sum *= 0x85ebca6b;
    sum ^= sum >> 13;
    sum *= 0xc2b2ae35;
    flow.hash = sum ^ sum >> 16;
    return flow;
}

Frame *wire_frame(size_t header, size_t size)
{
    Frame *frame = g_malloc(sizeof *frame + header + size);

    frame->size = header + size;
    memset(frame->data, 0, header);
    return frame;
}

void wire_segment(const uint8_t *data, size_t size, size_t mss, size_t header, WireEmit *emit,
                  void *to)
{
    size_t ip = sizeof(struct eth_header), tcp, headers, payload, done = 0;
    bool v4 = lduw_be_p(data + 12) == ETH_P_IP;
    uint16_t id = 0;

    tcp = ip + (v4 ? (data[ip] & 15) * 4 : 40);
    headers = tcp + (data[tcp + 12] >> 4) * 4;
    payload = size - headers;
    if (v4) {
        id = lduw_be_p(data + ip + 4);
    }
    while (done < payload) {
        size_t part = MIN(mss, payload - done);
        Frame *frame = wire_frame(header, headers + part);
        uint8_t *f = frame->data + header;

        memcpy(f, data, headers);
        memcpy(f + headers, data + headers + done, part);
        if (v4) {
            stw_be_p(f + ip + 2, headers - ip + part);
            stw_be_p(f + ip + 4, id++);
            stw_be_p(f + ip + 10, 0);
            stw_be_p(f + ip + 10, net_raw_checksum(f + ip, tcp - ip));
        } else {
            stw_be_p(f + ip + 4, headers - tcp + part);
        }
        stl_be_p(f + tcp + 4, ldl_be_p(data + tcp + 4) + done);
        done += part;
        if (done < payload) {
            f[tcp + 13] &= ~(TH_FIN | TH_PUSH);
        }
        emit(to, frame, true);
    }
}
