//! `steer-bench priced guard`: a short run of scx_steer against a record. A change that costs
//! throughput per core shows at once, and which figure it costs.

mod record;

use anyhow::{Result, ensure};
use steer_lab::SCX_STEER;

use crate::ab::{self, AbOptions};
use record::{CONTROL, Compared, Figures, Record};

/// A kind of traffic.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its name in the record and in messages.
    pub name: &'static str,
    /// The comparison that makes the record.
    pub ab: AbOptions,
    /// The command that makes it.
    pub command: Vec<String>,
}

/// What to do.
#[derive(Debug, Clone)]
pub struct GuardOptions {
    /// What is guarded.
    pub cases: Vec<Case>,
    /// Make a new record instead of comparing with it.
    pub record: bool,
}

/// Measures, compares and prints. If figures of a case look worse, measures as many seeds again, and
/// pinning by hand: a change of any program moves each seed by chance, and sometimes all seeds, of
/// pinned threads too.
///
/// # Errors
/// When a sample fails, when there is no record for this model, or when figures are worse than on
/// record. Names these.
pub fn run(options: &GuardOptions) -> Result<()> {
    if options.record {
        return record(&options.cases);
    }
    let record = Record::read()?;
    let mut worse = Vec::new();
    for case in &options.cases {
        let compared = case.compare(&record)?;
        let of_case = compared.into_iter().filter(Compared::worse);
        worse.extend(of_case.map(|it| format!("{}: {}", case.name, it.line)));
    }
    ensure!(
        worse.is_empty(),
        "worse than on record: {}; if that is meant: steer-bench priced guard --record",
        worse.join("; ")
    );
    println!("no figure is worse than on record");
    Ok(())
}

/// Measures twice as many seeds and guests, so that there are figures for those of a second look.
fn record(cases: &[Case]) -> Result<()> {
    let mut record = Record::default();
    for case in cases {
        let (seeds, boots) = (2 * case.ab.seeds, 2 * case.ab.boots);
        let twice = AbOptions { seeds, boots, ..case.ab.clone() };
        record.add(case.name, &ab::run(&twice, case.command.clone())?)?;
    }
    record.write()
}

impl Case {
    fn compare(&self, record: &Record) -> Result<Vec<Compared>> {
        let mut figures = Figures::default();
        self.measure(SCX_STEER, false, record, &mut figures)?;
        let compared = self.say(record, &figures);
        if !compared.iter().any(|it| it.below) {
            return Ok(compared);
        }
        println!("That may be chance: as many seeds again, and pinning by hand.");
        for (arm, again) in [(SCX_STEER, true), (CONTROL, false), (CONTROL, true)] {
            self.measure(arm, again, record, &mut figures)?;
        }
        Ok(self.say(record, &figures))
    }

    /// Measures one arm; `again` with further seeds.
    fn measure(
        &self,
        arm: &str,
        again: bool,
        record: &Record,
        figures: &mut Figures,
    ) -> Result<()> {
        let mut own = self.ab.clone();
        own.arms.retain(|it| it.name == arm);
        own.out = own.out.join(arm);
        if again {
            own.first_seed += own.seeds;
            own.out = own.out.join("again");
        }
        let result = ab::run_in(&own, self.command.clone(), |it| record.check(it))?;
        figures.add(Figures::of(&result));
        Ok(())
    }

    fn say(&self, record: &Record, figures: &Figures) -> Vec<Compared> {
        let compared = record.compare(self.name, figures);
        println!("{}:", self.name);
        for it in &compared {
            println!("  {}", it.line);
        }
        compared
    }
}
