//! The keys of a machine's file: what values are possible, and which must not exceed which.

/// A key and its possible values.
pub(super) struct Key {
    /// Section and name.
    pub(super) name: &'static str,
    pub(super) least: f64,
    pub(super) most: f64,
    /// Whether only whole numbers are possible.
    pub(super) whole: bool,
}

const fn number(name: &'static str, least: f64, most: f64) -> Key {
    Key { name, least, most, whole: false }
}

const fn count(name: &'static str, least: u32, most: u32) -> Key {
    Key { name, least: least as f64, most: most as f64, whole: true }
}

/// Nanoseconds from where a line comes.
const fn latency(name: &'static str) -> Key {
    number(name, 0.5, 2000.0)
}

/// Every key of a file. The README says what they mean. The most of `window_misses` is the size of
/// a table in `plugin/window.c`; the other bounds only tell a slip from a machine.
pub(super) const KEYS: [Key; 42] = [
    number("core.clock_ghz", 0.5, 10.0),
    number("core.cpi", 0.1, 10.0),
    number("core.smt_gain", 1.0, 2.0),
    number("core.lock_ns", 0.0, 1000.0),
    number("core.pause_ns", 1.0, 1000.0),
    number("core.syscall_ns", 0.0, 10_000.0),
    number("core.interrupt_ns", 0.0, 10_000.0),
    number("core.cr3_ns", 0.0, 10_000.0),
    number("core.invlpg_ns", 0.0, 10_000.0),
    number("core.wrmsr_ns", 0.0, 10_000.0),
    number("core.wake_ns", 0.0, 1_000_000.0),
    number("core.io_read_ns", 0.0, 100_000.0),
    number("core.io_write_ns", 0.0, 100_000.0),
    count("core.window_instructions", 1, 2000),
    count("core.window_misses", 1, 32),
    count("core.stream_lines", 1, 128),
    count("core.store_lines", 1, 128),
    count("cache.l1_kib", 1, 1024),
    count("cache.l1_ways", 1, 64),
    count("cache.l2_kib", 1, 65_536),
    count("cache.l2_ways", 1, 64),
    count("cache.l3_kib", 1, 1_048_576),
    count("cache.l3_ways", 1, 64),
    count("cache.l3_cores", 1, 1024),
    count("cache.l3_victim", 0, 1),
    count("cache.ddio_ways", 0, 64),
    latency("latency.l2"),
    latency("latency.l3"),
    latency("latency.l3_other"),
    latency("latency.l3_remote"),
    latency("latency.core"),
    latency("latency.core_other"),
    latency("latency.core_remote"),
    latency("latency.dram"),
    latency("latency.dram_remote"),
    latency("latency.upgrade"),
    latency("latency.upgrade_other"),
    latency("latency.upgrade_remote"),
    number("memory.dram_gbs", 0.1, 10_000.0),
    number("memory.dram_queue_ns", 0.0, 1000.0),
    number("memory.link_gbs", 0.1, 10_000.0),
    number("memory.link_queue_ns", 0.0, 1000.0),
];

/// Pairs of which the first must not be above the second: what is nearer is not dearer.
pub(super) const ORDER: [(&str, &str); 11] = [
    ("latency.l2", "latency.l3"),
    ("latency.l3", "latency.l3_other"),
    ("latency.l3_other", "latency.l3_remote"),
    ("latency.l3", "latency.core"),
    ("latency.core", "latency.core_other"),
    ("latency.core_other", "latency.core_remote"),
    ("latency.l3", "latency.dram"),
    ("latency.dram", "latency.dram_remote"),
    ("latency.upgrade", "latency.upgrade_other"),
    ("latency.upgrade_other", "latency.upgrade_remote"),
    ("cache.ddio_ways", "cache.l3_ways"),
];

/// Caches, as size in KiB and ways: the size must divide into sets of 64-byte lines.
pub(super) const CACHES: [(&str, &str); 3] = [
    ("cache.l1_kib", "cache.l1_ways"),
    ("cache.l2_kib", "cache.l2_ways"),
    ("cache.l3_kib", "cache.l3_ways"),
];
