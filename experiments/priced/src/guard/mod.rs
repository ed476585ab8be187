//! `steer-bench priced guard`: a short run of scx_steer against a record. A change that costs
//! throughput per core shows at once, and which figure it costs.

mod record;

use anyhow::{Result, ensure};
use steer_lab::SCX_STEER;

use crate::ab::{self, AbOptions};
use record::{Figures, Record};

/// What to do.
#[derive(Debug, Clone)]
pub struct GuardOptions {
    /// The comparison that makes the record.
    pub ab: AbOptions,
    /// Make a new record instead of comparing with it.
    pub record: bool,
}

/// Measures, compares and prints. If figures look worse, measures as many seeds again: a change of
/// any program moves each of them by chance.
///
/// # Errors
/// When a sample fails, when there is no record for this model, or when figures are worse than on
/// record. Names these.
pub fn run(options: &GuardOptions, command: &[String]) -> Result<()> {
    if options.record {
        let twice = AbOptions { seeds: 2 * options.ab.seeds, ..options.ab.clone() };
        return Record::new(&ab::run(&twice, command.to_vec())?)?.write();
    }
    let record = Record::read()?;
    let mut own = options.ab.clone();
    // The others do not depend on what is guarded, and vary more: the default's by a tenth.
    own.arms.retain(|arm| arm.name == SCX_STEER);
    let mut figures = Figures::default();
    let mut measure = |own: &AbOptions| {
        let result = ab::run_in(own, command.to_vec(), |it| record.check(it))?;
        figures.add(Figures::of(&result));
        let compared = record.compare(&figures);
        for it in &compared {
            println!("  {}", it.line);
        }
        Ok::<_, anyhow::Error>(compared)
    };
    let mut compared = measure(&own)?;
    if compared.iter().any(|it| it.below) {
        println!("That may be chance: as many seeds again.");
        own.first_seed += own.seeds;
        compared = measure(&own)?;
    }
    let worse: Vec<&str> =
        compared.iter().filter(|it| it.worse()).map(|it| it.line.as_str()).collect();
    ensure!(
        worse.is_empty(),
        "worse than on record: {}; if that is meant: steer-bench priced guard --record",
        worse.join("; ")
    );
    println!("no figure is worse than on record");
    Ok(())
}
