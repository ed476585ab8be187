//! `scx_steer nic watch`: keeps in force what `nic apply` has set.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use log::warn;
use steer_nic::{Error, Held, Live, Store};
use steer_topology::DeviceNews;

use super::args::WatchArgs;
use super::keeper::Keeper;
use super::root;
use crate::signals;

/// How long a signal or news waits at most.
const NAP: Duration = Duration::from_millis(100);

/// Watches until a signal.
pub(crate) fn run(args: &WatchArgs) -> Result<()> {
    root::needed("nic watch")?;
    let live = Live::open().context("opening a socket to ask drivers")?;
    let news = DeviceNews::listen().context("listening to changes of network interfaces")?;
    let store = Store::open(&args.journal.folder)?;
    let shutdown = signals::on_shutdown()?;
    let mut keeper = Keeper::default();
    let (mut said, every) = (None, Duration::from(args.every));
    while !shutdown.raised() {
        let looked = Instant::now();
        match look(&live, &store, &mut keeper) {
            Ok(()) => said = None,
            Err(error) => {
                let complaint = format!("{error:#}");
                if said.as_ref() != Some(&complaint) {
                    warn!("{complaint}");
                    said = Some(complaint);
                }
            }
        }
        let mut heard = false;
        while !shutdown.raised() && !heard && looked.elapsed() < every {
            thread::sleep(NAP);
            heard = news.heard()?;
        }
    }
    Ok(())
}

/// Looks at every device whose mode a command has set. A daemon looks after its own.
fn look(live: &Live, store: &Store, keeper: &mut Keeper) -> Result<()> {
    let _lock = match store.lock() {
        // whoever changes settings now is not to be disturbed
        Err(Error::Busy { .. }) => return Ok(()),
        lock => lock?,
    };
    let Some(journal) = super::journal(store)? else { return Ok(()) };
    let of_command = |held: &&Held| held.daemon.is_none();
    journal.modes.iter().filter(of_command).try_for_each(|held| keeper.look(live, store, held))
}
