#!/usr/bin/env python3
"""Long flows and RPCs at fixed rates under several schedulers, in the priced machine.

    ab.py MACHINE [--arms default,scx_steer,pinned] [--seeds N] [--long-rate 4Gbit] [--rpc-rate 40000] ...
"""

import argparse
import subprocess

import lab

MEASURED = range(4)


def libraries(program):
    """The shared libraries that a program needs."""
    found = [word for line in subprocess.check_output(["ldd", program], text=True).splitlines() for word in line.split()]
    return [word for word in found if word.startswith("/")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("machine")
    parser.add_argument("--arms", default="default,scx_steer,pinned")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--mtu", type=int, default=1500)
    parser.add_argument("--steering", default="hash", choices=["auto", "hash", "explicit"])
    parser.add_argument("--long", type=int, default=2)
    parser.add_argument("--long-rate", default="4Gbit")
    parser.add_argument("--rpc", type=int, default=16)
    parser.add_argument("--rpc-rate", default="40000")
    parser.add_argument("--warm", type=float, default=0.1)
    parser.add_argument("--span", type=float, default=0.2)
    args = parser.parse_args()

    lab.build()
    programs = [lab.TARGET / "release/steer-bench", "/usr/bin/chrt"]
    programs += [lab.TARGET / "release" / arm for arm in args.arms.split(",") if arm not in ("default", "pinned")]
    extra = {f"bin/{lab.pathlib.Path(p).name}": p for p in programs}
    for program in programs:
        extra |= {path.lstrip("/"): path for path in libraries(program)}
    config = lab.kernel().parent / "config"
    extra[f"boot/config-{config.parent.name}"] = config
    wire = {"auto": "follow", "hash": "hash", "explicit": "port"}[args.steering]
    network = lab.wire_arguments(nic_node=1, queues=4, steering=wire, rate_mbit=100000)
    softirqs, xps = ("0,1,2,3", "on") if args.steering == "auto" else ("2,3", "off")
    for seed in range(args.seeds):
        for arm in args.arms.split(","):
            words = f"t.scheduler={arm} t.seed={seed} t.mtu={args.mtu} t.softirqs={softirqs} t.xps={xps}"
            words += f" t.long={args.long} t.long_rate={args.long_rate} t.rpc={args.rpc} t.rpc_rate={args.rpc_rate}"
            words += f" t.warm={args.warm} t.span={args.span} t.before={args.warm + 0.03} t.inside={args.span - 0.05:.3f}"
            name = f"ab-{args.machine}-{args.steering}-{arm}-{seed}"
            lines, marks = lab.run(name, args.machine, "ab", words, nodes=3, plugin="clients=0x30", network=network, extra=extra)
            show(arm, seed, lines, marks)


def show(arm, seed, lines, marks):
    client = next(line["client"] for line in lines if "client" in line)
    mark = next(m for m in marks if m["mark"] == 0x11)
    cpus = [mark["cpus"][k] for k in MEASURED]
    busy = [c["busy_ps"] / mark["span_ps"] for c in cpus]
    stall = sum(c["stall_ps"] for c in cpus) / sum(c["busy_ps"] for c in cpus)
    long, rpc = client["long"], client["rpc"]
    gbits = long["bytes_per_s"] * 8e-9
    print(
        f"{arm:10} {seed} long {gbits:6.2f} Gb/s, rpc {rpc['rate']:8.0f}/s, p50 {rpc['p50_us']:6.0f} p99 {rpc['p99_us']:6.0f} us, "
        f"CPUs used {sum(busy):.3f} ({' '.join(f'{b:.2f}' for b in busy)}), stalls {stall:.2f}",
        flush=True,
    )


main()
