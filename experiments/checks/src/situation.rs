//! What a guest's threads wait for, for who has to find out why traffic does not pass.

use anyhow::{Result, ensure};

use super::bench::{Bench, RESTART};

/// A line for each thread that is running, waits for a CPU (R), or sleeps undisturbed (D): with where it
/// is in the kernel. By the shell alone, for which other programs need not be run.
const SCRIPT: &str = "\
for thread in /proc/[0-9]*/task/*; do
  read -r stat < $thread/stat || continue
  rest=${stat##*) }
  case $rest in [RD]*) read -r _ place < $thread/stack; echo \"${stat%)*}) ${rest%% *} ${place%%+*}\";; esac
done 2> /dev/null";

/// Says it in one line.
pub(super) fn describe(bench: &mut Bench) -> Result<String> {
    let said = bench.guest.link.run(&["sh", "-c", SCRIPT], RESTART)?;
    ensure!(said.success(), "reading /proc failed: {}", said.last_words());
    let online = bench.guest.link.read("/sys/devices/system/cpu/online")?;
    let threads: Vec<_> = said.stdout.lines().collect();
    Ok(format!("CPUs {online} are online; who runs or waits, and where: {}", threads.join(", ")))
}
