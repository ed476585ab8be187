//! The map from kernel functions to categories, `data/kernel-symbols.toml`. This file looks up one
//! function; the rule for a whole stack is in `stack.rs`.

use anyhow::{Context as _, Result};
use globset::{Glob, GlobSet};
use serde::{Deserialize, Serialize};

/// The map this program was built with.
const BUILT_IN: &str = include_str!("../../data/kernel-symbols.toml");

/// The categories of CPU usage: the host-network-stack paper, section 2, Table 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Category {
    /// From user space to kernel space, and vice versa.
    DataCopy,
    /// All packet processing at the TCP/IP layers.
    TcpIp,
    /// Netdevice and driver operations: NAPI polling, GSO/GRO, qdisc.
    Netdevice,
    /// Building, splitting and releasing skbs.
    Skb,
    /// Memory of skbs and others, and page-related operations.
    Memory,
    /// Lock-related operations.
    Lock,
    /// Scheduling and switching between threads.
    Scheduling,
    /// All the remaining functions: interrupts, timers, files and the like.
    Others,
}

/// The context in which the kernel worked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub(crate) enum Context {
    /// Thread context: a system call, a fault, a kernel thread.
    Process,
    /// Softirq, wherever it runs.
    Softirq,
    /// A hardware interrupt.
    Irq,
}

/// How the functions of a group count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Class {
    /// The CPU was halted.
    Idle,
    /// At the leaf, counts for its caller.
    Caller,
    /// At the leaf, counts for its caller if the clock samples.
    CallerByClock,
    /// Work of a category.
    #[serde(untagged)]
    Work(Category),
}

/// What the map says about a function.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// Its group's class.
    pub class: Option<Class>,
    /// Whether the class applies to the function only, not to what it calls.
    pub leaf_only: bool,
    /// The context that begins with this function.
    pub context: Option<Context>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    contexts: Contexts,
    #[serde(rename = "group")]
    groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Contexts {
    softirq: Vec<String>,
    irq: Vec<String>,
    process: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    class: Class,
    #[serde(default)]
    leaf_only: bool,
    patterns: Vec<String>,
    /// For the reader, and the tests.
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests read them"))]
    examples: Vec<String>,
}

/// Patterns and their values. The first pattern that matches counts.
struct Ordered<T> {
    patterns: GlobSet,
    values: Vec<T>,
}

/// The map, ready for look-ups.
pub(crate) struct SymbolMap {
    classes: Ordered<(Class, bool)>,
    contexts: Ordered<Context>,
}

impl SymbolMap {
    /// The map this program was built with.
    ///
    /// # Errors
    /// When the file is not a valid map. Its test rules this out.
    pub(crate) fn built_in() -> Result<Self> {
        Self::parse(BUILT_IN).context("data/kernel-symbols.toml")
    }

    fn parse(text: &str) -> Result<Self> {
        let File { contexts, groups } = toml::from_str(text)?;
        let classes = groups.iter().flat_map(|group| {
            group.patterns.iter().map(|pattern| (pattern, (group.class, group.leaf_only)))
        });
        let Contexts { softirq, irq, process } = &contexts;
        let contexts =
            [(softirq, Context::Softirq), (irq, Context::Irq), (process, Context::Process)];
        let contexts = contexts
            .into_iter()
            .flat_map(|(patterns, context)| patterns.iter().map(move |pattern| (pattern, context)));
        Ok(Self { classes: Ordered::new(classes)?, contexts: Ordered::new(contexts)? })
    }

    /// Looks up a function.
    pub(crate) fn meaning(&self, function: &str) -> Meaning {
        // The compiler names copies of a function after it, with a suffix: `tcp_v4_rcv.part.0`.
        let name = function.split_once('.').map_or(function, |(name, _)| name);
        let (class, leaf_only) = self.classes.first(name).unzip();
        let leaf_only = leaf_only.unwrap_or(false);
        Meaning { class, leaf_only, context: self.contexts.first(name) }
    }
}

impl<T: Copy> Ordered<T> {
    fn new<'a>(entries: impl Iterator<Item = (&'a String, T)>) -> Result<Self> {
        let mut patterns = GlobSet::builder();
        let mut values = Vec::new();
        for (pattern, value) in entries {
            patterns.add(Glob::new(pattern)?);
            values.push(value);
        }
        Ok(Self { patterns: patterns.build()?, values })
    }

    fn first(&self, name: &str) -> Option<T> {
        self.patterns.matches(name).into_iter().min().map(|index| self.values[index])
    }
}

#[cfg(test)]
mod tests;
