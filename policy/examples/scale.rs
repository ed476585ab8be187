//! Measures a reload: reading 1,000 rules and finding the policies of 5,000 cgroups.
//!
//!     cargo run --release -p steer-policy --example scale

use std::{error::Error, fs, time::Instant};

use steer_policy::{Cgroup, CgroupTree, Effective, Files, PolicySet, Settings, Source};

const RULES: usize = 1000;
const CGROUPS: u64 = 5000;

fn main() -> Result<(), Box<dyn Error>> {
    // One rule per service, as a program that generates policy files would write.
    measure("literal", |n| format!("kubepods.slice/pod{}.slice/c{}.scope", n / 5, n % 5))?;
    // Each pattern is tried on every cgroup, at every depth.
    measure("globs at any depth", |n| format!("**/c*{n}*.scope"))?;
    // Every rule applies to all cgroups below some pods.
    measure("overlapping", |n| format!("**/pod{}*.slice/**", n % 10))?;
    Ok(())
}

fn measure(what: &str, pattern: impl Fn(usize) -> String) -> Result<(), Box<dyn Error>> {
    // Few different policies, because more than 1,024 would be refused. Each rule has a file of its
    // own, because one file may not set a key twice for the same cgroups.
    let rule = |n: usize| Source {
        name: format!("{n}.toml"),
        text: format!(
            "[[rule]]\ncgroup = \"{}\"\nprocess = \"p{}\"\nclass = \"{}\"\n",
            pattern(n),
            n % 4,
            ["long", "short", "none", "auto"][n % 4]
        ),
    };
    let files = Files::from_sources((0..RULES).map(rule).collect());
    let tree: CgroupTree = (0..CGROUPS)
        .map(|n| Cgroup {
            id: n + 1,
            path: format!("kubepods.slice/pod{}.slice/c{}.scope", n / 5, n % 5),
        })
        .collect();
    let start = Instant::now();
    let set = PolicySet::read(&files)?;
    let read = start.elapsed();
    let effective = Effective::new(set, Settings::default(), &tree)?;
    let all = start.elapsed();
    println!(
        "{what}: {RULES} rules read in {read:.1?}, {CGROUPS} cgroups placed in {:.1?}: {} policies \
         for {} cgroups; peak memory so far {}",
        all - read,
        effective.policies().len(),
        effective.cgroups().len(),
        peak_memory()?,
    );
    Ok(())
}

/// The peak memory use of this process.
fn peak_memory() -> Result<String, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    Ok(line.ok_or("no VmHWM in /proc/self/status")?.trim().to_string())
}
