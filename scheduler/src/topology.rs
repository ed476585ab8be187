//! `scx_steer topology`.

use anyhow::Result;
use steer_topology::{Machine, tree};

use crate::cli::TopologyArgs;

/// Prints the machine as a tree or as JSON.
pub(crate) fn run(args: &TopologyArgs) -> Result<()> {
    let machine = match &args.xml {
        Some(path) => Machine::from_xml(path)?,
        None => Machine::live()?,
    };
    if args.json {
        println!("{}", serde_json::to_string_pretty(&machine)?);
    } else {
        println!("{}", tree(&machine));
    }
    Ok(())
}
