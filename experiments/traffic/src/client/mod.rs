//! The driving side: opens the connections, warms up, measures, drains, and reports what it saw.

mod connect;
mod crew;
mod histogram;
mod long;
mod mark;
mod options;
mod phase;
mod progress;
mod report;
mod rpc;
mod talk;
mod tcp_info;
mod turns;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crew::Crew;
pub use histogram::decode_histogram;
pub use mark::StageReport;
pub use options::{ClientOptions, MOST_LONG, MOST_RATE, MOST_RPC};
pub use report::{ClientReport, LongReport, RpcReport};
use steer_ground::units::Seconds;
pub use talk::Protocol;

/// Drives the traffic and prints the result. The result is partial when a connection failed.
///
/// # Errors
/// When the server cannot be reached, or when any connection failed during the run.
pub fn run(options: ClientOptions) -> Result<()> {
    options.check()?;
    let begun = Instant::now();
    let crew = Crew::start(&options)?;
    let planned = options.connect_within.map_or(Duration::ZERO, Seconds::duration);
    let warm_up = planned.saturating_sub(begun.elapsed()) + options.warmup.duration();
    let report = crew.measure(&options, warm_up);
    if options.json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        print!("{report}");
    }
    match report.errors.as_slice() {
        [] => Ok(()),
        [only] => bail!("the run is incomplete: {only}"),
        [first, rest @ ..] => bail!("the run is incomplete: {first} (and {} more)", rest.len()),
    }
}
