//! What a guest's threads wait for. This helps to find out why traffic does not pass.

use anyhow::{Result, ensure};

use super::bench::{Bench, RESTART};

/// Prints a line for each thread that runs or waits for a CPU (R), or sleeps uninterruptibly (D), and
/// where in the kernel it is. The shell does this alone: new programs may not get a CPU.
const SCRIPT: &str = "\
for thread in /proc/[0-9]*/task/*; do
  read -r stat < $thread/stat || continue
  rest=${stat##*) }
  case $rest in [RD]*) read -r _ place < $thread/stack; echo \"${stat%)*}) ${rest%% *} ${place%%+*}\";; esac
done 2> /dev/null";

/// Describes it in one line.
pub(super) fn describe(bench: &mut Bench) -> Result<String> {
    let said = bench.guest.link.run(&["sh", "-c", SCRIPT], RESTART)?;
    ensure!(said.success(), "reading /proc failed: {}", said.last_words());
    let online = bench.guest.link.read("/sys/devices/system/cpu/online")?;
    let threads: Vec<_> = said.stdout.lines().collect();
    Ok(format!(
        "CPUs {online} are online; threads that run or wait, and where: {}",
        threads.join(", ")
    ))
}
