//! What a result is about, in a title and a line.

use steer_result::AbResult;
use steer_traffic::long::Direction;

/// The main arm, and the arms that it is compared with.
pub(super) fn title(result: &AbResult) -> String {
    let others = result.others();
    if others.is_empty() {
        return format!("{}, compared with nothing", result.main_arm);
    }
    format!("{} against {}", result.main_arm, others.join(" and "))
}

/// Machine, traffic and number of rounds in one line, without what is unknown.
pub(super) fn subtitle(result: &AbResult) -> String {
    let (machine, work) = (&result.environment, &result.workload);
    let long = match work.long_direction {
        Direction::In => "long flows",
        Direction::Out => "outgoing long flows",
    };
    let to = match work.rpc_tool.as_str() {
        "" | "builtin" => String::new(),
        tool => format!(" to {tool}"),
    };
    let after =
        work.rpc_work.as_ref().map_or_else(String::new, |work| format!(", {work} of work each"));
    let parts = [
        machine.arm_version.clone(),
        machine.kernel.as_ref().map(|kernel| format!("Linux {kernel}")),
        machine.shape.as_ref().map(|shape| format!("{shape} CPUs")),
        Some(format!("{} {long} at {}", work.long_flows, work.long_rate)),
        Some(format!("{} RPC connections of {}{to}{after}", work.rpc_connections, work.rpc_size)),
        (!work.stages.is_empty()).then(|| format!("load shifts in {} stages", work.stages.len())),
        Some(format!("{} interleaved rounds", result.pairs)),
        machine.started.clone(),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}
