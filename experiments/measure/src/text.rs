//! The report for a person: CPU time, the breakdown, the counters, the warnings.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use indexmap::IndexMap;

use super::breakdown::{Breakdown, title};
use super::counters::Count;
use super::network::Network;
use super::report::{CountersReport, CpuReport, Usage};
use super::usage::CpuTime;

/// Widest line in columns.
const WIDTH: u16 = 100;

/// Stands for an unknown value.
const UNKNOWN: &str = "–";

/// The whole report as text.
pub(crate) fn text(report: &CpuReport) -> String {
    let CpuReport {
        duration_s, kernel, cpus, usage, counters, breakdown, network, warnings, ..
    } = report;
    let mut text = format!(
        "measured {duration_s:.2} s on CPUs {cpus}, kernel {kernel}\n\n\
         CPU time in percent of each CPU's: {:.2} CPUs used\n{}\n",
        usage.cpus_used,
        usage_table(usage)
    );
    if let Some(breakdown) = breakdown {
        text += &format!(
            "\nBusy time in percent, {} samples by {} at {} Hz\n{}\n",
            breakdown.samples,
            breakdown.event,
            breakdown.hz,
            breakdown_table(breakdown)
        );
        text += &top_unclassified(breakdown);
    }
    if let Some(Network { interrupts_per_s, net_rx_per_s, pure_acks_per_s }) = network {
        text += &format!(
            "\nOn all CPUs {interrupts_per_s:.0} interrupts/s, {net_rx_per_s:.0} NET_RX softirqs/s, \
             {pure_acks_per_s:.0} pure ACKs/s received\n"
        );
    }
    text += &format!("\nEvents\n{}\n", counters_table(counters));
    text += &unavailable(counters);
    for warning in warnings {
        let options = textwrap::Options::new(usize::from(WIDTH));
        let options = options.initial_indent("\nnote: ").subsequent_indent("      ");
        text += &textwrap::fill(&warning.to_string(), options);
        text.push('\n');
    }
    text
}

fn usage_table(usage: &Usage) -> Table {
    let mut table = table(&["", "user", "system", "softirq", "irq", "steal", "iowait", "idle"]);
    let mut row = |name: String, time: &CpuTime| {
        let CpuTime { user_s, system_s, softirq_s, irq_s, steal_s, iowait_s, idle_s } = *time;
        let all = time.busy_s() + steal_s + iowait_s + idle_s;
        let states = [user_s, system_s, softirq_s, irq_s, steal_s, iowait_s, idle_s];
        // If the time is below the clock's tick, there is no total to divide by.
        let share = |state: f64| if all > 0.0 { percent(state / all) } else { UNKNOWN.into() };
        table.add_row([name].into_iter().chain(states.map(share)));
    };
    row("all".into(), &usage.total);
    for (cpu, time) in &usage.by_cpu {
        row(format!("CPU {cpu}"), time);
    }
    align(table)
}

fn breakdown_table(breakdown: &Breakdown) -> Table {
    let mut table = table(&["", "total", "process", "softirq", "irq"]);
    table.add_row(["user space".to_string(), percent(breakdown.user)]);
    for (name, share) in &breakdown.kernel {
        let shares = [share.total, share.process, share.softirq, share.irq].map(percent);
        table.add_row([title(name).to_string()].into_iter().chain(shares));
    }
    align(table)
}

fn top_unclassified(breakdown: &Breakdown) -> String {
    let functions: Vec<_> = breakdown
        .top_unclassified
        .iter()
        .map(|top| format!("{} {}", top.symbol, percent(top.share)))
        .collect();
    if functions.is_empty() {
        return String::new();
    }
    let options = textwrap::Options::new(usize::from(WIDTH));
    let options = options.initial_indent("  unclassified: ").subsequent_indent("    ");
    textwrap::fill(&functions.join(", "), options) + "\n"
}

fn counters_table(counters: &CountersReport) -> Table {
    let cgroup = counters.cgroup.as_ref();
    let mut names = vec!["", "machine", "counted in"];
    if cgroup.is_some() {
        names.extend(["cgroup", "counted in"]);
    }
    let mut table = table(&names);
    let cells = |count: Option<&Count>| {
        let value = count.and_then(|count| count.value).map(|value| value.to_string());
        let share = count.and_then(|count| count.running_share);
        let share = share.map(|share| format!("{} %", percent(share)));
        [value, share].map(|cell| cell.unwrap_or_else(|| UNKNOWN.into()))
    };
    // A cgroup has one more event.
    let events = cgroup.map_or(&counters.machine.total, |cgroup| &cgroup.total);
    for event in events.keys() {
        let mut row = vec![event.clone()];
        row.extend(cells(counters.machine.total.get(event)));
        if let Some(cgroup) = cgroup {
            row.extend(cells(cgroup.total.get(event)));
        }
        table.add_row(row);
    }
    align(table)
}

/// One line per reason.
fn unavailable(counters: &CountersReport) -> String {
    let mut by_reason: IndexMap<&str, Vec<&str>> = IndexMap::new();
    for (event, why) in &counters.unavailable {
        by_reason.entry(why).or_default().push(event);
    }
    let line = |(why, events): (&str, Vec<&str>)| {
        let options = textwrap::Options::new(usize::from(WIDTH));
        let options = options.initial_indent("  ").subsequent_indent("    ");
        textwrap::fill(&format!("{}: {why}", events.join(", ")), options) + "\n"
    };
    by_reason.into_iter().map(line).collect()
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

fn table(names: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH)
        .set_header(names);
    table
}

/// Aligns figures to the right.
fn align(mut table: Table) -> Table {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
