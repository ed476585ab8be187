//! `scx_steer nic plan`.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::json;
use steer_nic::{Change, Live, NicPlan, NicState, Refusal, Writer, plan, undo, writers};
use steer_policy::PolicySet;
use steer_topology::Machine;

use super::args::{PlanArgs, Wanted};
use super::{status, table};

/// Prints the plans as text or JSON.
pub(crate) fn run(args: &PlanArgs) -> Result<()> {
    let live = Live::open().context("opening a socket to ask drivers")?;
    let planned = plans(&live, &args.wanted, &args.wanted.policies()?)?;
    let others = writers(Path::new("/"));
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report(&planned, &others))?);
    }
    let mut refused = Vec::new();
    for planned in planned {
        match planned {
            Ok(plan) if !args.json => println!("{}", describe(&plan)),
            Ok(_) => {}
            Err(refusal) => refused.push(refusal.to_string()),
        }
    }
    if !args.json {
        others.iter().for_each(|writer| println!("{}", status::name_writer(writer)));
    }
    match refused.is_empty() {
        true => Ok(()),
        false => bail!("{}", refused.join("\nscx_steer: ")),
    }
}

/// A plan, or why there is none, for each interface that is wanted.
pub(super) fn plans(
    live: &Live,
    wanted: &Wanted,
    policies: &PolicySet,
) -> Result<Vec<Result<NicPlan, Refusal>>> {
    let machine = Machine::live()?;
    let states = status::states(live, &machine, &wanted.interfaces)?;
    if states.is_empty() {
        bail!("there is no network interface with a device behind it; name one to plan it anyway");
    }
    let host = live.host()?;
    let plan = |state: &NicState| {
        let options = wanted.options(policies, &state.device.name);
        plan(&machine, state, &host, wanted.mode, &options)
    };
    Ok(states.iter().map(plan).collect())
}

fn report(planned: &[Result<NicPlan, Refusal>], others: &[Writer]) -> serde_json::Value {
    let plans: Vec<&NicPlan> = planned.iter().flatten().collect();
    let refused: Vec<serde_json::Value> = planned
        .iter()
        .filter_map(|planned| planned.as_ref().err())
        .map(|it| json!({ "device": it.device, "mode": it.mode, "why": it.why }))
        .collect();
    json!({ "plans": plans, "refused": refused, "writers": others })
}

/// The changes as a table, then as shell lines.
fn describe(plan: &NicPlan) -> String {
    let NicPlan { device, mode, changes, notes } = plan;
    let mut lines = vec![match changes.len() {
        0 => format!("{device}, mode {mode}: nothing to change"),
        1 => format!("{device}, mode {mode}: 1 change"),
        many => format!("{device}, mode {mode}: {many} changes"),
    }];
    lines.extend(notes.iter().map(|note| format!("  note: {note}")));
    if changes.is_empty() {
        return lines.join("\n") + "\n";
    }
    let row = |change: &Change| {
        let old = change.old.as_ref().map_or("not in use".into(), ToString::to_string);
        vec![change.setting.what.to_string(), old, change.new.to_string(), change.why.clone()]
    };
    let rows: Vec<Vec<String>> = changes.iter().map(row).collect();
    let cells = table::lines(&["SETTING", "FROM", "TO", "WHY"], &rows);
    lines.extend(cells.into_iter().map(|line| format!("  {line}")));
    lines.push("\n  # do it".into());
    lines.extend(changes.iter().map(|change| format!("  {}", change.shell)));
    lines.push("\n  # undo it".into());
    lines.extend(undo(changes).into_iter().map(|line| format!("  {line}")));
    lines.join("\n") + "\n"
}
