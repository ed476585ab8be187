//! The kernel's functions by address, from /proc/kallsyms. This includes modules and BPF programs
//! that were loaded when the file was read.

use std::cmp::Reverse;
use std::fs;

use anyhow::{Context, Result, bail};

/// Symbols by ascending address. Each extends to the next one.
pub(crate) struct Symbols(Vec<Symbol>);

struct Symbol {
    start: u64,
    /// `None` if this is not a function: it only ends the function before it.
    function: Option<String>,
}

impl Symbols {
    /// Reads the symbols of the running kernel.
    ///
    /// # Errors
    /// When the kernel hides the addresses from this user. The message says what to do.
    pub(crate) fn read() -> Result<Self> {
        const PATH: &str = "/proc/kallsyms";
        let text = fs::read_to_string(PATH)
            .with_context(|| format!("cannot read {PATH}; has the kernel CONFIG_KALLSYMS?"))?;
        Self::parse(&text)
    }

    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut found = Vec::new();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) =
                (words.next(), words.next(), words.next())
            else {
                bail!("/proc/kallsyms has an unknown format: {line:?}");
            };
            let start = u64::from_str_radix(address, 16)
                .with_context(|| format!("/proc/kallsyms has an unknown format: {line:?}"))?;
            let function = matches!(kind, "t" | "T" | "w" | "W").then_some(name);
            found.push((start, function));
        }
        if found.iter().all(|(start, _)| *start == 0) {
            bail!(
                "the kernel hides its functions' addresses from this user: run it as root, and \
                 if kernel.kptr_restrict is 2, set it to 1 (sysctl kernel.kptr_restrict=1); \
                 otherwise CAP_SYSLOG is needed"
            );
        }
        // If several names have one address, keep the best.
        found.sort_by_key(|(start, function)| (*start, Reverse(rank(*function)), *function));
        found.dedup_by_key(|(start, _)| *start);
        let symbol = |(start, function): (u64, Option<&str>)| Symbol {
            start,
            function: function.map(Into::into),
        };
        Ok(Self(found.into_iter().map(symbol).collect()))
    }

    /// The number of symbols: ids are below it.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The id of the function that contains the address.
    pub(crate) fn find(&self, address: u64) -> Option<usize> {
        let after = self.0.partition_point(|symbol| symbol.start <= address);
        let id = after.checked_sub(1)?;
        self.0[id].function.is_some().then_some(id)
    }

    /// The name of the function with an id from [`Self::find`].
    pub(crate) fn name(&self, id: usize) -> &str {
        self.0[id].function.as_deref().unwrap_or_default()
    }
}

/// Ranks the names of one address. Functions come before anything else. Marks of sections
/// (`__kprobes_text_end`) and copies of names for early boot (`__pi_memcpy`) come last among
/// functions. Fewer leading underscores are better.
fn rank(function: Option<&str>) -> Option<(bool, Reverse<usize>)> {
    let name = function?;
    let is_mark = name.ends_with("_start") || name.ends_with("_end") || name.ends_with("text");
    let is_copy = name.starts_with("__pi_");
    let underscores = name.len() - name.trim_start_matches('_').len();
    Some((!is_mark && !is_copy, Reverse(underscores)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "\
        0000000000000000 A fixed_percpu_data\n\
        ffffffff81000000 T _stext\n\
        ffffffff81000000 T first\n\
        ffffffff81000010 t __memcpy\n\
        ffffffff81000010 T memcpy\n\
        ffffffff81000018 T __pi___thunk\n\
        ffffffff81000018 T __thunk\n\
        ffffffff81000020 D data\n\
        ffffffffc0000000 t driver_poll\t[nic]\n\
        ffffffffc0000040 b counter\t[nic]\n";

    #[test]
    fn addresses_are_found_in_the_function_they_are_in() {
        let symbols = Symbols::parse(TEXT).unwrap();
        let name = |address| symbols.find(address).map(|id| symbols.name(id).to_string());
        for (address, expected) in [
            (0xffff_ffff_8100_0000, Some("first")),
            (0xffff_ffff_8100_000f, Some("first")),
            (0xffff_ffff_8100_0011, Some("memcpy")),
            (0xffff_ffff_8100_0018, Some("__thunk")),
            (0xffff_ffff_8100_0020, None),
            (0xffff_ffff_c000_003f, Some("driver_poll")),
            (0xffff_ffff_ffff_ffff, None),
            (0x1000, None),
        ] {
            assert_eq!(name(address).as_deref(), expected, "{address:x}");
        }
    }

    #[test]
    fn hidden_addresses_say_what_to_do() {
        let error = Symbols::parse("0000000000000000 T first\n0000000000000000 T second\n")
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("kernel.kptr_restrict") && error.contains("CAP_SYSLOG"), "{error}");
        assert!(Symbols::parse("rubbish\n").is_err());
    }

    proptest! {
        /// Every address belongs to the last function that begins at or before it.
        #[test]
        fn the_nearest_function_below_is_found(
            starts in prop::collection::btree_set(1u64..10_000, 1..50), address in 0u64..11_000,
        ) {
            let text: String = starts.iter().map(|start| format!("{start:x} t f{start}\n")).collect();
            let symbols = Symbols::parse(&text).unwrap();
            let found = symbols.find(address).map(|id| symbols.name(id).to_string());
            let expected = starts.range(..=address).next_back().map(|start| format!("f{start}"));
            prop_assert_eq!(found, expected);
        }
    }
}
