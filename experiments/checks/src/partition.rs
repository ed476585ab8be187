//! CPUs that an isolated partition of a cpuset takes from all others (`cpuset.cpus.partition`).

use anyhow::{Result, ensure};
use steer_scenario::scheduler;
use steer_traffic::contend::GroupReport;

use super::bench::{Bench, groups_of};

/// Makes one of CPU 3, or says why the kernel does not.
const MAKE: &str = r#"
echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/apart
cd /sys/fs/cgroup/apart
echo 3 > cpuset.cpus
echo isolated > cpuset.cpus.partition
state=$(cat cpuset.cpus.partition)
[ "$state" = isolated ] || { echo "the partition is $state" >&2; exit 1; }
"#;

const REMOVE: &str = "rmdir /sys/fs/cgroup/apart";

/// Two threads in the partition compete while six run outside, which began before.
const COMPETE: &str = r#"
steer-bench contend --duration 6 --group 'outside threads=6' > /tmp/outside & outside=$!
sleep 1
echo $$ > /sys/fs/cgroup/apart/cgroup.procs
steer-bench contend --duration 4 --group 'inside threads=2'
wait $outside
"#;

/// The partition's CPU is for the threads inside, and they use no other: under a scheduler that was
/// loaded before, and under one that is loaded while the partition exists.
pub(super) fn isolated(bench: &mut Bench) -> Result<()> {
    bench.script(MAKE)?;
    let shared = compete(bench).and_then(|before| {
        scheduler::unload(&mut bench.guest.link, libc::SIGTERM)?;
        bench.load()?;
        Ok([before, compete(bench)?])
    });
    bench.script(REMOVE)?;
    let shared = shared?;
    bench.figures = format!(": CPUs in use inside and outside: {shared:.2?}");
    // by the guest's clock; what is missing goes to the kernel and the scheduler
    ensure!(
        shared.iter().all(
            |[inside, outside]| (0.9..=1.01).contains(inside) && (2.7..=3.03).contains(outside)
        ),
        "threads had {shared:.2?} CPUs inside and outside, where 1 and 3 are to be had"
    );
    bench.in_force()
}

/// How many CPUs the threads inside had, and those outside.
fn compete(bench: &mut Bench) -> Result<[f64; 2]> {
    let inside: [GroupReport; 1] = groups_of(&bench.script(COMPETE)?)?;
    let outside: [GroupReport; 1] = groups_of(&bench.script("cat /tmp/outside")?)?;
    Ok([inside[0].cpu_s / 4.0, outside[0].cpu_s / 6.0])
}
