//! Checks in a guest that was booted with nohz_full=.

use anyhow::{Context, Result, ensure};

use super::bench::Bench;

/// The words for its kernel: CPU 1 runs one thread without ticks.
pub(super) const WORDS: &str = "nohz_full=1";

/// Prints the timer interrupts of CPU 1 in 2 s beside one thread, then beside two, each with its
/// ticks of CPU time meanwhile.
const SCRIPT: &str = r#"
interrupts() { awk '$1 == "LOC:" { print $3 }' /proc/interrupts; }
time_of() { awk '{ print $14 + $15 }' /proc/$1/stat; }
taskset -c 1 sh -c 'while :; do :; done' & one=$!
sleep 1
before=$(interrupts); sleep 2; echo alone $(($(interrupts) - before))
taskset -c 1 sh -c 'while :; do :; done' & two=$!
sleep 1
before=$(interrupts); first=$(time_of $one); second=$(time_of $two)
sleep 2
echo both $(($(interrupts) - before)) $(($(time_of $one) - first)) $(($(time_of $two) - second))
kill $two
sleep 1
before=$(interrupts); sleep 2; echo again $(($(interrupts) - before))
kill $one
"#;

/// Two threads that share the CPU get the same time, and need its ticks (250 per second here). One
/// alone does not: the timer of scx_steer must not run there either (150 per second).
pub(super) fn alone(bench: &mut Bench) -> Result<()> {
    let said = bench.script(SCRIPT)?;
    let of = |name: &str| -> Result<Vec<u32>> {
        let mut words = said.lines().find_map(|line| line.strip_prefix(name));
        let words = words.take().with_context(|| format!("no {name}: {said}"))?;
        words.split_whitespace().map(|word| word.parse().context("reading a count")).collect()
    };
    let (alone, both, again) = (of("alone")?, of("both")?, of("again")?);
    bench.figures = format!(": {alone:?}, {both:?}, {again:?}");
    for (when, interrupts) in [("alone", alone[0]), ("alone again", again[0])] {
        ensure!(interrupts < 100, "{interrupts} timer interrupts in 2 s while a thread is {when}");
    }
    let [interrupts, one, two] = both[..] else { anyhow::bail!("strange counts: {said}") };
    ensure!(interrupts > 200, "only {interrupts} timer interrupts in 2 s beside two threads");
    ensure!(
        one.abs_diff(two) <= (one + two) / 4,
        "two equal threads had {one} and {two} ticks of CPU time"
    );
    Ok(())
}
