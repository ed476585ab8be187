//! Writes changes and takes them back.

mod absorb;
mod apply;
mod restore;
mod steps;

use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Fault};
use crate::journal::{Journal, Store};
use crate::kernel::Kernel;
use crate::order;
use crate::setting::{Setting, Value, What};

pub use absorb::absorb;
pub use apply::{Applied, apply};
pub use restore::{Restored, Verdict, restore};
pub use steps::{Steps, Stop};

/// How long a setting may take to read back: an interrupt moves when it next comes, and not while
/// the kernel cleans up after the move before.
const READ_BACK: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(20);

/// Writes a value and sees that it took.
fn put(
    kernel: &dyn Kernel,
    setting: &Setting,
    value: &Value,
    steps: &mut Steps<'_>,
) -> Result<(), Error> {
    steps.next(setting)?;
    let deadline = Instant::now() + READ_BACK;
    loop {
        let result = match kernel.set(setting, value) {
            Ok(()) => read_back(kernel, setting, value, deadline),
            Err(fault) => Err(fault),
        };
        match result {
            Err(fault) if fault.is_transient() && Instant::now() < deadline => thread::sleep(LOOK),
            result => return Ok(result?),
        }
    }
}

fn read_back(
    kernel: &dyn Kernel,
    setting: &Setting,
    value: &Value,
    deadline: Instant,
) -> Result<(), Fault> {
    loop {
        let now = kernel.get(setting)?;
        if now.as_ref() == Some(value) {
            return Ok(());
        }
        if kernel.is_model() || Instant::now() >= deadline {
            let reads = now.map_or("nothing".into(), |now| now.to_string());
            let source = std::io::Error::other(format!("it reads back as {reads}"));
            return Err(Fault::new(format!("set {setting} to {value}"), source));
        }
        thread::sleep(LOOK);
    }
}

/// A setting on its way back.
struct Way {
    setting: Setting,
    /// Its value when this was planned.
    from: Option<Value>,
    to: Value,
}

/// Puts settings back, in the right order, and goes on after a failure; gives the failures.
///
/// # Errors
/// It is stopped half-way (tests).
fn put_back(
    kernel: &dyn Kernel,
    store: &Store,
    journal: &mut Journal,
    mut ways: Vec<Way>,
    steps: &mut Steps<'_>,
) -> Result<Vec<(Setting, String)>, Error> {
    let mut failures = Vec::new();
    order::back(&mut ways, |way| (&way.setting, way.from.as_ref(), Some(&way.to)));
    let disturbed = ways.iter().filter(|way| way.setting.what == What::Channels);
    for device in disturbed.filter_map(|way| way.setting.device.as_ref()) {
        if !journal.unsettled.contains(device) {
            journal.unsettled.push(device.clone());
        }
    }
    if !journal.unsettled.is_empty() {
        steps.next_save()?;
        // On a full disk the settings still go back; only a kill in these milliseconds is not
        // provided for then.
        let _ = store.save(journal);
    }
    // A table may have to change before channels do, and some drivers make it anew with these.
    let tables = ways.iter().filter(|way| way.setting.what == What::RssTable);
    for Way { setting, to, .. } in ways.iter().chain(tables) {
        let present = match kernel.get(setting) {
            Ok(present) => present,
            Err(fault) => {
                failures.push((setting.clone(), fault.to_string()));
                continue;
            }
        };
        // what is not there (any more) needs nothing
        if present.is_none() || present.as_ref() == Some(to) {
            continue;
        }
        match put(kernel, setting, to, steps) {
            Ok(()) => {}
            Err(Error::Fault(fault)) => failures.push((setting.clone(), fault.to_string())),
            Err(stopped) => return Err(stopped),
        }
    }
    Ok(failures)
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
