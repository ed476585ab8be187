#!/usr/bin/env python3
"""Runs the microbenchmarks on a machine and holds what the guest measures against the machine's file.

    calibrate.py [MACHINE...]      all machines without arguments; fails when a check does
"""

import sys

import lab

CORES = 4
FAR = CORES  # first CPU of the other node
MAX_KIB = 192 << 10


class Checks:
    """Prints a line per check, and remembers whether any failed."""

    def __init__(self):
        self.failed = 0

    def near(self, what, measured, wanted, percent):
        off = (measured / wanted - 1) * 100
        good = abs(off) <= percent
        self.failed += not good
        print(f"  {'ok  ' if good else 'FAIL'} {what:44} {measured:10.2f}  wanted {wanted:9.2f} ± {percent} %  ({off:+.1f} %)")

    def below(self, what, measured, least, most):
        good = least <= measured <= most
        self.failed += not good
        print(f"  {'ok  ' if good else 'FAIL'} {what:44} {measured:10.2f}  wanted {least} to {most}")


def sizes(m):
    """Working sets in KiB that fill half of the L1, the L2 and the L3, and three times the L3."""
    cache = m["cache"]
    l3 = max(2 * cache["l2_kib"], min(cache["l3_kib"] // 2, 16 << 10))
    return [cache["l1_kib"] // 2, cache["l2_kib"] // 2, l3, min(3 * cache["l3_kib"], MAX_KIB)]


def find(lines, test, **fields):
    found = [line for line in lines if line["test"] == test and all(line.get(k) == v for k, v in fields.items())]
    if not found:
        sys.exit(f"the guest did not report {test} {fields}")
    return found[0]


def check(name, lines, checks):
    m = lab.machine(name)
    latency, kib = m["latency"], sizes(m)
    chase = lambda cpu, node, size: find(lines, "chase", cpu=cpu, node=node, kib=size)["ns"]
    # What the loop's instructions cost; the model's L1 is free.
    loop = chase(0, 0, kib[0])

    for spin in [line for line in lines if line["test"] == "spin"]:
        alone = find(lines, "spin")["ns"][0]
        checks.near(f"spin, the slowest of {len(spin['ns'])} CPUs, ns", max(spin["ns"]), alone, 0.5)
    for sleep in [line for line in lines if line["test"] == "sleep"]:
        # The kernel's timer slack is 50 us; the rest is leaving the idle state.
        checks.below(f"sleep of {sleep['us']} us", sleep["mean_us"], sleep["us"] + 50, sleep["us"] + 56)
    for level, size in zip(["l2", "l3", "dram"], kib[1:]):
        checks.near(f"chase {level}, {size} KiB, ns", chase(0, 0, size) - loop, latency[level], 10)
    checks.near("chase dram_remote from node 0, ns", chase(0, 1, kib[3]) - loop, latency["dram_remote"], 10)
    checks.near("chase dram_remote from node 1, ns", chase(FAR, 0, kib[3]) - loop, latency["dram_remote"], 10)
    checks.near("chase dram from node 1, ns", chase(FAR, 1, kib[3]) - loop, latency["dram"], 10)

    stream = lambda node, threads: find(lines, "stream", node=node, threads=threads)["gbs"]
    lines_in_flight = m["core"]["stream_lines"]
    price = lambda level: latency[level] / lines_in_flight + 64 / 64 * loop / 4
    checks.near("stream local, GB/s", stream(0, 1), 64 / price("dram"), 15)
    checks.near("stream remote, GB/s", stream(1, 1), 64 / price("dram_remote"), 15)
    link, want = m["memory"]["link_gbs"], CORES * stream(1, 1)
    checks.near(f"stream remote by {CORES} CPUs, GB/s", stream(1, CORES), min(link, want), 10)

    bounce = lambda cpu: find(lines, "bounce", cpus=[0, cpu])["ns"]
    checks.near("bounce near, ns a round", bounce(1), 2 * latency["core"], 10)
    if m["cache"]["l3_cores"] < CORES:
        checks.near("bounce to another L3 of the node, ns a round", bounce(CORES - 1), 2 * latency["core_other"], 10)
    checks.near("bounce far, ns a round", bounce(FAR), 2 * latency["core_remote"], 10)
    checks.below("pipe on one CPU, us a round", find(lines, "pipe", cpus=[0, 0])["ns"] / 1e3, 2, 6)
    for cpu in [1, FAR]:
        pipe = find(lines, "pipe", cpus=[0, cpu])["ns"] / 1e3
        checks.below(f"pipe from CPU 0 to {cpu}, us a round", pipe, 4, 25)
    checks.below("system call, ns", find(lines, "syscall")["ns"], 40, 250)

    if name == "uniform":
        for what, test in [("chase", "ns"), ("stream", "gbs"), ("write", "gbs"), ("gather", "ns")]:
            fields = {"chase": {"kib": kib[3]}, "stream": {"threads": 1}}.get(what, {})
            near, far = (find(lines, what, cpu=0, node=n, **fields)[test] for n in (0, 1))
            checks.near(f"control: {what} of the other node", far, near, 1)
        checks.near("control: bounce to the other node", bounce(FAR), bounce(1), 2)


def main():
    lab.build()
    names = sys.argv[1:] or sorted(p.stem for p in (lab.HERE / "machines").glob("*.toml"))
    checks = Checks()
    for name in names:
        words = f"t.far={FAR} t.other={CORES - 1} t.cores={CORES} t.sizes={','.join(map(str, sizes(lab.machine(name))))}"
        lines, marks = lab.run(f"calibrate-{name}", name, "calibrate", words, cores=CORES, mib=1024)
        print(f"{name}: {lab.machine(name)['name']}")
        check(name, lines, checks)
    sys.exit(f"{checks.failed} checks failed" if checks.failed else 0)


main()
