#!/usr/bin/env python3
"""One TCP flow into a machine, with softirq and thread where the paper had them.

    flow.py MACHINE [--mtu N] [--seed N] [--ms N] [--steering follow|hash|port] [--plugin OPTIONS]

Three nodes of two CPUs: 0 and 1; 2 and 3 with the NIC; 4 and 5 drive the traffic.
"""

import argparse

import lab

PLACEMENTS = {
    "2-2": "NIC's node, one core",
    "2-3": "NIC's node, two cores",
    "2-0": "softirq on the NIC's node, thread on the other",
    "0-0": "the other node, one core",
    "0-1": "the other node, two cores",
}
MARK = 0x11


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("machine")
    parser.add_argument("--mtu", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ms", type=int, default=20, help="measured time of the guest")
    parser.add_argument("--steering", default="hash")
    parser.add_argument("--plugin", default="", help="further options of the plugin")
    args = parser.parse_args()

    lab.build()
    words = f"t.mtu={args.mtu} t.seed={args.seed} t.span={args.ms} t.client=4 t.cases={','.join(PLACEMENTS)}"
    name = f"flow-{args.machine}-{args.mtu}-{args.seed}"
    network = lab.wire_arguments(nic_node=1, queues=2, steering=args.steering, rate_mbit=100000)
    plugin = "clients=0x30" + (args.plugin and "," + args.plugin)
    lines, marks = lab.run(name, args.machine, "flow", words, nodes=3, plugin=plugin, network=network)
    print(f"{args.machine}, MTU {args.mtu}, seed {args.seed}: Gb/s of payload")
    print(f"{'':48}{'flow':>8}{'a core':>8}{'':>7}{'busy':>6}{'stalls':>8}")
    best = None
    for line, mark in zip([x for x in lines if "softirq" in x], [m for m in marks if m["mark"] == MARK]):
        cpus = [mark["cpus"][k] for k in sorted({line["softirq"], line["thread"]})]
        bits, busy = 8 * line["flow"]["bytes"], sum(c["busy_ps"] for c in cpus) / 1000
        stalls = sum(c["stall_ps"] for c in cpus) / 1000 / busy
        per_core = bits / busy
        best = best or per_core
        what = PLACEMENTS[f"{line['softirq']}-{line['thread']}"]
        print(
            f"{what:48}{bits / line['flow']['ns']:8.2f}{per_core:8.2f}{per_core / best - 1:+7.0%}"
            f"{busy / mark['span_ps'] * 1000:6.2f}{stalls:8.2f}"
        )


main()
