//! `steer-bench priced guard`: a short comparison of schedulers against a record. A change that
//! costs throughput per core shows at once, and which figure it costs.

mod record;

use anyhow::{Result, ensure};

use crate::ab::{self, AbOptions};
use record::{Figures, Record};

/// Seeds that are measured at first.
const FEW: u32 = 2;
/// Seeds on record. If the first ones look worse, all of them decide: any change to any program
/// moves the figures of a single seed by about a percent.
const ALL: u32 = 5;

/// What to do.
#[derive(Debug, Clone)]
pub struct GuardOptions {
    /// The comparison. Its seeds are the guard's own.
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
    let measure = |first_seed, seeds| {
        let ab = AbOptions { first_seed, seeds, ..options.ab.clone() };
        ab::run(&ab, command.clone())
    };
    if options.record {
        return Record::new(&measure(0, ALL)?)?.write();
    }
    let record = Record::read()?;
    let result = measure(0, FEW)?;
    record.check_model(&result)?;
    let mut figures = Figures::of(&result);
    if !record.losses(&figures).is_empty() {
        println!("Some figures look worse than on record. Measuring more seeds.");
        figures.append(Figures::of(&measure(FEW, ALL - FEW)?));
    }
    for line in record.lines(&figures) {
        println!("  {line}");
    }
    let losses = record.losses(&figures);
    ensure!(
        losses.is_empty(),
        "worse than on record: {}; if that is meant: steer-bench priced guard --record",
        losses.join("; ")
    );
    println!("no figure is worse than on record");
    Ok(())
}
