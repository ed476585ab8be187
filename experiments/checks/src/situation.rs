//! What a guest's threads wait for. This helps to find out why traffic does not pass, or why
//! scx_steer does not load.

use anyhow::{Result, ensure};

use super::bench::{Bench, RESTART};
use steer_scenario::scheduler::JOB;

/// Lines of the scheduler's log that are quoted.
const LOG_LINES: usize = 20;

/// Prints a line for each thread that runs or waits for a CPU (R), or sleeps uninterruptibly (D): its
/// CPU time in user and kernel space, in ticks of 10 ms, and where in the kernel it is. The shell does
/// this alone: new programs may not get a CPU.
const SCRIPT: &str = "\
for thread in /proc/[0-9]*/task/*; do
  read -r stat < $thread/stat || continue
  rest=${stat##*) }
  case $rest in [RD]*)
    read -r _ place < $thread/stack
    set -- $rest
    echo \"${stat%)*}) $1 ${12} ${13} ${place%%+*}\";;
  esac
done 2> /dev/null";

/// Describes it in one line.
pub(super) fn describe(bench: &mut Bench) -> Result<String> {
    let said = bench.guest.link.run(&["sh", "-c", SCRIPT], RESTART)?;
    ensure!(said.success(), "reading /proc failed: {}", said.last_words());
    let online = bench.guest.link.read("/sys/devices/system/cpu/online")?;
    let threads: Vec<_> = said.stdout.lines().collect();
    let log = bench.guest.link.so_far(JOB)?.stderr;
    let said = log.lines().filter(|line| !line.starts_with("[DEBUG]"));
    let last: Vec<_> = said.rev().take(LOG_LINES).collect();
    Ok(format!(
        "CPUs {online} are online; threads that run or wait, and where: {}; the scheduler's last \
         words, newest first: {}",
        threads.join(", "),
        last.join(" | ")
    ))
}
