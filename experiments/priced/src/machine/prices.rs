//! The prices that the plugin reads (`plugin/machine.c`): whole numbers, times in picoseconds.

use std::fmt::Write;

use super::Machine;

/// Picoseconds of a nanosecond.
const PS: f64 = 1000.0;
/// Bytes of a line. GB/s are bytes per nanosecond.
const LINE: f64 = 64.0;

/// Times that the plugin takes as they are, by its names.
const TIMES: [(&str, &str); 24] = [
    ("lock", "core.lock_ns"),
    ("pause", "core.pause_ns"),
    ("syscall", "core.syscall_ns"),
    ("interrupt", "core.interrupt_ns"),
    ("cr3", "core.cr3_ns"),
    ("invlpg", "core.invlpg_ns"),
    ("wrmsr", "core.wrmsr_ns"),
    ("wake", "core.wake_ns"),
    ("io_read", "core.io_read_ns"),
    ("io_write", "core.io_write_ns"),
    ("l2", "latency.l2"),
    ("l3", "latency.l3"),
    ("l3_other", "latency.l3_other"),
    ("l3_remote", "latency.l3_remote"),
    ("core", "latency.core"),
    ("core_other", "latency.core_other"),
    ("core_remote", "latency.core_remote"),
    ("dram", "latency.dram"),
    ("dram_remote", "latency.dram_remote"),
    ("upgrade", "latency.upgrade"),
    ("upgrade_other", "latency.upgrade_other"),
    ("upgrade_remote", "latency.upgrade_remote"),
    ("dram_queue", "memory.dram_queue_ns"),
    ("link_queue", "memory.link_queue_ns"),
];

/// Counts. The plugin has the same names.
const COUNTS: [&str; 13] = [
    "core.window_instructions",
    "core.window_misses",
    "core.stream_lines",
    "core.store_lines",
    "cache.l1_kib",
    "cache.l1_ways",
    "cache.l2_kib",
    "cache.l2_ways",
    "cache.l3_kib",
    "cache.l3_ways",
    "cache.l3_cores",
    "cache.l3_victim",
    "cache.ddio_ways",
];

impl Machine {
    /// Picoseconds that an instruction takes without stalls.
    pub(crate) fn instruction_ps(&self) -> f64 {
        PS * self.value("core.cpi") / self.value("core.clock_ghz")
    }

    /// All prices, one a line.
    pub(crate) fn prices(&self) -> String {
        let mut text = String::new();
        let mut price = |name: &str, value: f64| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name} {}", value.round());
        };
        price("instruction", self.instruction_ps());
        // Two threads together do `smt_gain`, so each takes longer than alone.
        price("smt_percent", 200.0 / self.value("core.smt_gain"));
        price("dram_line", PS * LINE / self.value("memory.dram_gbs"));
        price("link_line", PS * LINE / self.value("memory.link_gbs"));
        for (name, key) in TIMES {
            price(name, PS * self.value(key));
        }
        for key in COUNTS {
            price(key.rsplit('.').next().unwrap_or(key), self.value(key));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn prices_are_whole_numbers_of_picoseconds() {
        let text = include_str!("../../machines/xeon-gold-6128.toml");
        let machine = Machine::parse(text, Path::new("xeon-gold-6128.toml")).unwrap();
        insta::assert_snapshot!(machine.prices());
    }

    #[test]
    fn the_plugin_knows_every_price() {
        let plugin = include_str!("../../plugin/machine.c");
        let text = include_str!("../../machines/uniform.toml");
        let machine = Machine::parse(text, Path::new("uniform.toml")).unwrap();
        let prices = machine.prices();
        for name in prices.lines().filter_map(|line| line.split(' ').next()) {
            let known = plugin.contains(&format!("PRICE({name})"))
                || plugin.contains(&format!("\"{name}\""));
            assert!(known, "{name}");
        }
        assert_eq!(prices.lines().count(), plugin.matches("PRICE(").count() - 1 + 7 + 12);
    }
}
