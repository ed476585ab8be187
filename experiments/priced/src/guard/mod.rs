//! `steer-bench priced guard`: a short run of scx_steer against a record. A change that costs
//! throughput per core shows at once, and which figure it costs.

mod record;

use anyhow::{Result, ensure};
use steer_lab::SCX_STEER;

use crate::ab::{self, AbOptions};
use record::Record;

/// What to do.
#[derive(Debug, Clone)]
pub struct GuardOptions {
    /// The comparison that makes the record.
    pub ab: AbOptions,
    /// Make a new record instead of comparing with it.
    pub record: bool,
}

/// Measures, compares and prints.
///
/// # Errors
/// When a sample fails, when there is no record for this model, or when figures are worse than on
/// record. Names these.
pub fn run(options: &GuardOptions, command: Vec<String>) -> Result<()> {
    if options.record {
        return Record::new(&ab::run(&options.ab, command)?)?.write();
    }
    let record = Record::read()?;
    let mut own = options.ab.clone();
    // The others do not depend on what is guarded, and vary more: the default's by a tenth.
    own.arms.retain(|arm| arm.name == SCX_STEER);
    let result = ab::run(&own, command)?;
    let compared = record.compare(&result)?;
    for it in &compared {
        println!("  {}", it.line);
    }
    let worse: Vec<&str> =
        compared.iter().filter(|it| it.worse).map(|it| it.line.as_str()).collect();
    ensure!(
        worse.is_empty(),
        "worse than on record: {}; if that is meant: steer-bench priced guard --record",
        worse.join("; ")
    );
    println!("no figure is worse than on record");
    Ok(())
}
