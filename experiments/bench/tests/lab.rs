//! The lab from outside: each failure gives one clear error, and nothing is left behind, however a
//! run ends. Tests that boot a guest need root and STEER_LAB=1.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod guests;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use assert_cmd::prelude::*;
use predicates::prelude::*;
use tempfile::TempDir;

use guests::{KERNELS, QEMU, lab};

/// Environment variable by which a test recognises the processes it has caused.
const MARK: &str = "STEER_LAB_TEST";
/// No machine has a server on the discard port today.
const NO_MIRROR: &str = "http://127.0.0.1:9/debian";

/// One run of steer-bench, with its own folder for temporary files.
struct Bench {
    temporary: TempDir,
    mark: String,
}

impl Bench {
    fn new(test: &str) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let mark = format!("{test}-{}", std::process::id());
        Self { temporary, mark }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_steer-bench"));
        command.args(arguments).env(MARK, &self.mark).env("TMPDIR", self.temporary.path());
        command.env(QEMU.0, QEMU.1);
        command
    }

    /// The result of a whole A/B run.
    fn ab(&self, flags: &str) -> serde_json::Value {
        let out = tempfile::tempdir().unwrap();
        let mut command = self.command(&["ab", "--kernel-cache", KERNELS]);
        command.args(flags.split_whitespace()).arg("--out").arg(out.path()).assert().success();
        let result = fs::read(out.path().join("result.json")).unwrap();
        serde_json::from_slice(&result).unwrap()
    }

    /// Command lines and ids of all processes that this run started, directly or indirectly.
    fn processes(&self) -> Vec<(i32, String)> {
        let mark = format!("{MARK}={}", self.mark);
        let marked = |id: &i32| {
            let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
        };
        let ids = fs::read_dir("/proc").unwrap().flatten();
        let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(marked);
        ids.map(|id| (id, fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default()))
            .collect()
    }

    /// The emulator, once it runs a guest.
    fn qemu(&self) -> Option<i32> {
        let runs_guest = |line: &str| line.split('\0').any(|word| word == "-initrd");
        self.processes().into_iter().find(|(_, line)| runs_guest(line)).map(|(id, _)| id)
    }

    /// Nothing may be left. Namespace and tap have neither names nor files: they end with the last
    /// process that uses them.
    fn assert_clean(&self) {
        let gone = wait_for(Duration::from_secs(15), || self.processes().is_empty().then_some(()));
        assert!(gone.is_some(), "left running: {:?}", self.processes());
        let files: Vec<_> = fs::read_dir(self.temporary.path()).unwrap().flatten().collect();
        assert!(files.is_empty(), "left behind: {files:?}");
    }
}

fn wait_for<T>(time: Duration, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + time;
    while Instant::now() < deadline {
        if let Some(found) = probe() {
            return Some(found);
        }
        thread::sleep(Duration::from_millis(100));
    }
    None
}

#[test]
fn a_kernel_that_cannot_be_downloaded_leaves_no_half_cache() {
    let bench = Bench::new("mirror");
    let cache = tempfile::tempdir().unwrap();
    let cache_path = cache.path().to_str().unwrap();
    let arguments =
        ["kernel", "fetch", "6.18", "--mirror", NO_MIRROR, "--kernel-cache", cache_path];
    bench
        .command(&arguments)
        .assert()
        .failure()
        .stdout("")
        .stderr(predicate::str::contains("package lists could not be fetched from"))
        .stderr(predicate::str::contains("name another Debian mirror with --mirror"));
    let left = fs::read_dir(cache.path()).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert_eq!(left, [".lock"], "only the lock file may stay");
    bench.assert_clean();
}

#[test]
fn a_tampered_kernel_is_refused() {
    let bench = Bench::new("tampered");
    let cache = tempfile::tempdir().unwrap();
    example_kernel(cache.path(), "0000");
    bench
        .command(&["kernel", "fetch", "6.18", "--kernel-cache", cache.path().to_str().unwrap()])
        .assert()
        .failure()
        .stderr(predicate::str::contains("vmlinuz: SHA-256 differs from the manifest"));
    bench.assert_clean();
}

#[test]
fn versions_shapes_and_arms_that_make_no_sense_are_refused() {
    let missing = "the guest has no scx_simple: name it with --with";
    let refused: [(&[&str], &str); 18] = [
        (&["kernel", "fetch", "6.11"], "too old"),
        (&["kernel", "fetch", "newest"], "neither a kernel series"),
        (&["lab", "test", "--shape", "1x1"], "2 to 64 CPUs"),
        (&["ab", "--arms", "eevdf"], "is not an arm"),
        (&["ab", "--arms", "default,default"], "twice"),
        (
            &["ab", "--arms", "default+fast"],
            "a setting (after +) is one of rfs, irqbalance, xps, align, nopause",
        ),
        (&["ab", "--arms", "default,simple=scx_simple"], missing),
        (&["lab", "neutral", "--arms", "default,simple=scx_simple"], missing),
        (&["lab", "adapt", "--arms", "simple=scx_simple"], missing),
        (&["lab", "contracts", "--scheduler", "simple=scx_simple"], missing),
        (&["ab", "--shape", "1x4"], "another node than the NIC's"),
        (&["lab", "adapt", "--arms", "default+rfs"], "remove the settings (after +)"),
        (&["lab", "adapt", "--long-flows", "0"], "set --long-flows"),
        (&["lab", "test", "--nics", "each-node"], "lab test uses one NIC"),
        (&["det", "--nics", "each-node"], "the deterministic tier uses one NIC"),
        (&["det", "--scheduler", "pinned", "--workload", "pipe"], "a --workload with traffic"),
        (&["det", "--cpus", "3-4"], "--cpus 3-4: the guest has CPUs 0-3"),
        (&["det", "--scheduler", "pinned", "--cpus", "0"], "pinned chooses the CPUs itself"),
    ];
    for (arguments, message) in refused {
        let bench = Bench::new("flags");
        let output = bench.command(arguments).assert().failure();
        output.stderr(predicate::str::contains(message));
        bench.assert_clean();
    }
}

#[test]
fn help_tells_of_the_cost_of_bpf_programs_but_not_of_the_guests_part_in_it() {
    let help = |arguments: &[&str]| Bench::new("help").command(arguments).assert().success();
    help(&["det", "--help"]).stdout(predicate::str::contains("--bpf-stats"));
    help(&["det", "selftest", "--help"]).stdout(predicate::str::contains("--bpf-stats"));
    help(&["--help"]).stdout(predicate::str::contains("bpf-stats").not());
}

#[test]
fn without_qemu_the_network_goes_away_again() {
    if !lab("without_qemu_the_network_goes_away_again") {
        return;
    }
    let bench = Bench::new("no-qemu");
    let (cache, tools) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    example_kernel(cache.path(), VMLINUZ_SHA256);
    for tool in ["/usr/bin/ldd", "/usr/sbin/ip", "/bin/bash", "/bin/cat"] {
        let name = Path::new(tool).file_name().unwrap();
        std::os::unix::fs::symlink(tool, tools.path().join(name)).unwrap();
    }
    let scheduler = tools.path().join("scx_steer");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_steer-bench"), &scheduler).unwrap();
    let cache = cache.path().to_str().unwrap();
    let arguments = ["lab", "test", "--clock", "real", "--kernel-cache", cache];
    bench
        .command(&arguments)
        .arg("--scx-steer")
        .arg(&scheduler)
        .env("PATH", tools.path())
        .env(QEMU.0, tools.path())
        .assert()
        .failure()
        .stderr(predicate::str::contains("qemu-system-x86_64 is not installed"));
    bench.assert_clean();
}

#[test]
fn killed_it_takes_its_guest_with_it() {
    if !lab("killed_it_takes_its_guest_with_it") {
        return;
    }
    let bench = Bench::new("killed");
    let mut child = lab_test(&bench);
    wait_for(Duration::from_secs(60), || bench.qemu()).expect("QEMU starts");
    child.kill().unwrap();
    child.wait().unwrap();
    bench.assert_clean();
}

#[test]
fn a_qemu_that_crashes_at_first_is_started_again() {
    if !lab("a_qemu_that_crashes_at_first_is_started_again") {
        return;
    }
    let bench = Bench::new("crashes");
    let mut child = lab_test(&bench);
    let qemu = wait_for(Duration::from_secs(60), || bench.qemu()).expect("QEMU starts");
    // By then it has detached the tap queues that its guest does not use yet.
    thread::sleep(Duration::from_millis(500));
    Command::new("kill").args(["-ABRT", &qemu.to_string()]).assert().success();
    let again = || bench.qemu().filter(|other| *other != qemu);
    wait_for(Duration::from_secs(60), again).expect("it is started again");
    child.kill().unwrap();
    child.wait().unwrap();
    bench.assert_clean();
}

#[test]
fn a_guest_that_hangs_is_one_clear_error_and_leaves_the_samples_before() {
    if !lab("a_guest_that_hangs_is_one_clear_error_and_leaves_the_samples_before") {
        return;
    }
    let bench = Bench::new("hangs-mid-run");
    let out = tempfile::tempdir().unwrap();
    let arguments = "ab --arms default --steering hash --pairs 3 --warmup 1 --duration 2 --no-hogs";
    let mut command = bench.command(&arguments.split(' ').collect::<Vec<_>>());
    command.args(["--kernel-cache", KERNELS, "--out"]).arg(out.path());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let result = out.path().join("result.json");
    wait_for(Duration::from_secs(180), || result.exists().then_some(())).expect("a first sample");
    let qemu = bench.qemu().expect("QEMU runs");
    Command::new("kill").args(["-STOP", &qemu.to_string()]).assert().success();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{said}");
    assert!(said.contains("the guest does not answer"), "{said}");
    let kept = fs::read_to_string(result).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["raw"].as_array().unwrap().len(), 1);
    let unfinished = &kept["unfinished"];
    let said = unfinished["error"].as_str().unwrap();
    assert!(unfinished["planned"] == 3 && said.contains("does not answer"), "{unfinished}");
    bench.assert_clean();
}

#[test]
fn with_a_nic_on_each_node_threads_go_to_their_own() {
    if !lab("with_a_nic_on_each_node_threads_go_to_their_own") {
        return;
    }
    let bench = Bench::new("nics");
    let result =
        bench.ab("--nics each-node --steering auto,hash --arms scx_steer --pairs 3 --duration 3");
    let (topology, sample) = (&result["topology"], &result["raw"][0]);
    let other = &topology["other_nics"][0];
    for (nic, name, queues, local, cpus) in [
        (0, "eth0", &topology["queues"], "0-1", ["0", "1"]),
        (1, "eth1", &other["queues"], "2-3", ["2", "3"]),
    ] {
        let seen = &sample["observe"]["nics"][nic];
        assert!(seen["name"] == name && seen["local_cpus"] == local, "{seen}");
        let queues = queues["hash"].as_array().unwrap();
        let pinned = queues.iter().all(|queue| cpus.iter().any(|cpu| queue["cpus"] == *cpu));
        assert!(!queues.is_empty() && pinned, "{name}: {queues:?}");
    }
    let flows = sample["client"]["long"]["per_flow_bytes"].as_array().unwrap();
    assert!(flows.len() == 2 && flows.iter().all(|bytes| bytes.as_u64() > Some(0)), "{flows:?}");
    // In auto, packets follow threads. If NICs did not each keep a core, RPCs would get whole
    // nodes.
    for mode in ["auto", "hash"] {
        let local_share = &result["worlds"][mode]["arms"]["scx_steer"]["local_share"];
        assert!(local_share["median"].as_f64() > Some(0.9), "{mode}: {local_share}");
    }
    bench.assert_clean();
}

/// Four long flows, four CPUs, all near the NIC. Without reserved cores, long flows claim every CPU
/// and share much of their time with RPCs (experiments/runs/2026-11-30-one-node).
#[test]
fn where_long_flows_could_claim_every_core_rpcs_keep_some() {
    if !lab("where_long_flows_could_claim_every_core_rpcs_keep_some") {
        return;
    }
    let bench = Bench::new("room");
    let result = bench.ab(
        "--shape 1x4 --steering auto --arms scx_steer --long-flows 4 --long-rate 100Mbit --pairs 3 \
         --warmup 2 --duration 3",
    );
    let mixed_share =
        result["worlds"]["auto"]["arms"]["scx_steer"]["mixed_share"]["median"].as_f64();
    assert!(mixed_share < Some(0.25), "{mixed_share:?}");
    bench.assert_clean();
}

/// Threads must follow their IRQs even to a core that is reserved for short flows, until it is
/// known that packets do not follow. Half of the threads once stayed away for good. One may be
/// late, because the emulator may be. The rates are low: both flows may share a queue, and threads
/// leave a CPU whose softirq fills it.
#[test]
fn where_irqs_move_threads_follow() {
    if !lab("where_irqs_move_threads_follow") {
        return;
    }
    let bench = Bench::new("adapt");
    let out = tempfile::NamedTempFile::new().unwrap();
    bench
        .command(&["lab", "adapt", "--kernel-cache", KERNELS, "--arms", "scx_steer"])
        .args(
            "--rounds 4 --warmup 1 --duration 6 --long-rate 30Mbit --rpc-rate 200"
                .split_whitespace(),
        )
        .arg("--out")
        .arg(out.path())
        .assert()
        .success();
    let result: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.path()).unwrap()).unwrap();
    let moved = result["times"][0]["moved_irq_ms"].as_array().unwrap();
    let late = moved.iter().filter(|time| time.is_null()).count();
    assert!(moved.len() == 8 && late <= 1, "{moved:?}");
    bench.assert_clean();
}

/// Loads scx_steer again, as a CPU goes, while threads that began after it keep all CPUs busy. Those
/// that sleep are handed over before these: this takes longer than the slice with which the thread that
/// loads it is handed over.
const RELOAD: &str = "\
scx_steer > /tmp/log 2>&1 & until grep -q 'in force' /tmp/log; do sleep 0.2; done
for i in $(seq 2500); do sleep 1000 & done
for i in $(seq 100); do sh -c 'renice -n 19 $$; while :; do :; done' & done; sleep 2
times=$(cat /sys/kernel/sched_ext/enable_seq); echo 0 > /sys/devices/system/cpu/cpu1/online
while [ $(cat /sys/kernel/sched_ext/enable_seq) = $times ]; do sleep 0.2; done
sleep 5; cat /sys/kernel/sched_ext/state";

/// On some kernels, without a real-time priority, the guest hung (bpf/src/realtime.rs).
#[test]
fn it_loads_beside_threads_that_keep_all_cpus_busy() {
    if !lab("it_loads_beside_threads_that_keep_all_cpus_busy") {
        return;
    }
    let bench = Bench::new("busy");
    let arguments = ["lab", "run", "--kernel-cache", KERNELS, "--", "sh", "-c", RELOAD];
    let loaded = bench.command(&arguments).assert().success();
    loaded.stdout(predicate::str::contains("enabled"));
}

/// Starts the guest test, which boots a guest.
fn lab_test(bench: &Bench) -> Child {
    let scx_steer = PathBuf::from(env!("CARGO_BIN_EXE_steer-bench")).with_file_name("scx_steer");
    assert!(scx_steer.exists(), "build the whole workspace first, scx_steer is missing");
    let mut command = bench.command(&["lab", "test", "--clock", "real", "--kernel-cache", KERNELS]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// SHA-256 of the text `vmlinuz`.
const VMLINUZ_SHA256: &str = "42f083196bf0997a4f9c37295e311eb5012aa59e383c15b8ba466070af14cd8f";

/// A cache with something that passes for a kernel if its image has this checksum.
fn example_kernel(cache: &Path, sha256: &str) {
    let release = "6.18.15+deb13-cloud-amd64";
    let dir = cache.join(release);
    fs::create_dir(&dir).unwrap();
    for name in ["vmlinuz", "config", "failover.ko", "net_failover.ko", "virtio_net.ko"] {
        fs::write(dir.join(name), name).unwrap();
    }
    let manifest = format!(
        r#"{{"version":1,"kernel":"{release}","packages":[],"files":{{"vmlinuz":"{sha256}"}}}}"#
    );
    fs::write(dir.join("manifest.json"), manifest).unwrap();
}
