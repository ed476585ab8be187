"""Boots a guest in the priced machine and collects what it says. Used by calibrate.py and flow.py.

A first driver, to be replaced by `steer-bench priced`.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
TARGET = HERE.parent.parent / "target"
EMULATOR = TARGET / "priced/emulator"
FIRMWARE = [TARGET / "lab/qemu/usr/share/qemu", pathlib.Path("/usr/share/seabios")]
MODULES = ["failover.ko", "net_failover.ko", "virtio_net.ko"]

# Everything that would tell the guest of the host, or of time outside the model, is off.
KERNEL_WORDS = (
    "console=ttyS0 loglevel=4 panic=-1 tsc=reliable tsc_early_khz=1000000 lpj=4000000 no_timer_check "
    "nokaslr norandmaps random.trust_cpu=off mitigations=off init_on_alloc=0 numa_balancing=disable "
    "nowatchdog nmi_watchdog=0"
)
CPU = "max,-rdrand,-rdseed,-la57,-erms,-fsrm,-monitor"


def machine(name):
    """The values of a machine's file."""
    return tomllib.loads((HERE / "machines" / f"{name}.toml").read_text())


def build():
    """The emulator, the plugin and the guest's programs, if they are older than their sources."""
    subprocess.run([HERE / "emulator/build.sh", EMULATOR], check=True)
    flags = subprocess.check_output(["pkg-config", "--cflags", "glib-2.0"], text=True).split()
    subprocess.run(
        ["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden"]
        + [f"-I{EMULATOR}", *flags, "-o", EMULATOR / "priced.so", *sorted((HERE / "plugin").glob("*.c")), "-lm"],
        check=True,
    )
    for program in ["calibrate", "flow"]:
        subprocess.run(
            ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-pthread"]
            + ["-o", EMULATOR / program, HERE / "guest" / f"{program}.c"],
            check=True,
        )


def kernel():
    """The lab's kernel 6.18."""
    found = sorted(TARGET.glob("lab/kernels/6.18*/vmlinuz"))
    if not found:
        sys.exit("no kernel: run target/release/steer-bench kernel fetch 6.18")
    return found[-1]


def initramfs(out, extra):
    """Writes the guest's root: busybox, our programs, the NIC's modules, the tests, and more by their paths."""
    with tempfile.TemporaryDirectory() as root:
        root = pathlib.Path(root)
        for folder in ["bin", "dev", "proc", "sys", "tmp", "lib/modules"]:
            (root / folder).mkdir(parents=True)
        copies = [("/bin/busybox", "bin/busybox"), (EMULATOR / "calibrate", "bin/calibrate"), (EMULATOR / "flow", "bin/flow")]
        copies += [(kernel().parent / m, f"lib/modules/{m}") for m in MODULES]
        copies += [(t, t.name) for t in (HERE / "guest").glob("test-*.sh")]
        copies += [(HERE / "guest/init.sh", "init")]
        copies += [(source, to) for to, source in extra.items()]
        for source, to in copies:
            (root / to).parent.mkdir(parents=True, exist_ok=True)
            (root / to).write_bytes(pathlib.Path(source).read_bytes())
            (root / to).chmod(0o755)
        for path in root.rglob("*"):
            os.utime(path, (0, 0))
        names = "\n".join(sorted(str(p.relative_to(root)) for p in root.rglob("*"))) + "\n"
        with open(out, "wb") as file:
            subprocess.run(["cpio", "-o", "-H", "newc", "--quiet", "--reproducible"], input=names.encode(), cwd=root, stdout=file, check=True)


def shape_arguments(nodes, cores, threads, mib, l3_cores):
    per_node = cores * threads
    # The guest learns from dies which CPUs share an L3.
    dies = cores // l3_cores if l3_cores < cores else 1
    arguments = ["-m", f"{nodes * mib}M"]
    arguments += ["-smp", f"{nodes * per_node},sockets={nodes},dies={dies},cores={cores // dies},threads={threads}"]
    for n in range(nodes):
        arguments += ["-object", f"memory-backend-ram,id=mem{n},size={mib}M"]
        arguments += ["-numa", f"node,nodeid={n},cpus={n * per_node}-{(n + 1) * per_node - 1},memdev=mem{n}"]
    for a in range(nodes):
        for b in range(a + 1, nodes):
            arguments += ["-numa", f"dist,src={a},dst={b},val=21"]
    return arguments


def wire_arguments(nic_node, queues, steering, rate_mbit):
    """Two NICs on a wire: the measured one on a node's bus, the client's on none."""
    device = "virtio-net-pci,netdev={},bus={},mq=on,vectors={},ioeventfd=off,tx=timer,x-txtimer=2000,romfile="
    return [
        *["-device", f"pxb-pcie,id=nicbus0,bus_nr=128,numa_node={nic_node},bus=pcie.0"],
        *["-device", "pcie-root-port,id=nicport0,bus=nicbus0,chassis=1"],
        *["-netdev", f"wire,id=net0,link=0,queues={queues},steering={steering},rate={rate_mbit}"],
        *["-netdev", f"wire,id=net1,link=0,queues=1,rate={rate_mbit}"],
        *["-device", device.format("net0", "nicport0", 2 * queues + 2)],
        *["-device", device.format("net1", "pcie.0", 4)],
    ]


def run(name, machine_name, test, words="", nodes=2, cores=2, threads=1, mib=768, plugin="", network=(), extra={}, limit=7200, out=None):
    """Boots a guest that runs a test. Returns its lines of JSON and the model's marks."""
    out = pathlib.Path(out or TARGET / "priced/runs")
    out.mkdir(parents=True, exist_ok=True)
    image, console, report, log = (out / f"{name}.{end}" for end in ["cpio", "console", "marks", "log"])
    initramfs(image, extra)
    options = f"machine={HERE}/machines/{machine_name}.toml,nodes={nodes},cores={cores},threads={threads},node_mib={mib},report={report}"
    command = [EMULATOR / "qemu-system-x86_64", *[x for f in FIRMWARE for x in ("-L", f)]]
    command += "-nodefaults -no-user-config -no-reboot -display none -monitor none -machine q35".split()
    command += shape_arguments(nodes, cores, threads, mib, machine(machine_name)["cache"]["l3_cores"])
    command += ["-accel", "tcg,thread=single,tb-size=512", "-seed", "1", "-rtc", "base=2026-01-01,clock=vm", "-cpu", CPU]
    command += ["-chardev", f"file,id=console,path={console}", "-serial", "chardev:console", *network]
    command += ["-plugin", f"{EMULATOR}/priced.so,{options}{plugin and ','}{plugin}"]
    command += ["-kernel", kernel(), "-initrd", image, "-append", f"{KERNEL_WORDS} t.test={test} {words}"]
    with open(log, "wb") as file:
        try:
            done = subprocess.run(["nice", "-n", "10", *command], stdout=file, stderr=file, timeout=limit).returncode == 0
        except subprocess.TimeoutExpired:
            sys.exit(f"{name}: not done after {limit} s of real time; see {console}")
    text = console.read_text(errors="replace") if console.exists() else ""
    if not done or "@@end" not in text:
        sys.exit(f"{name}: the run failed; see {log} and {console}\n{log.read_text()}")
    image.unlink()
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return lines, [json.loads(line) for line in report.read_text().splitlines()]
