//! `scx_steer nic restore`.

use anyhow::{Context, Result, bail};
use steer_nic::{Entry, Live, Restored, Store, Verdict, restore};
use steer_policy::OnExit;

use super::args::RestoreArgs;
use super::back::{failures, put_back};
use super::{root, stops};

/// Puts everything back that the journal knows.
pub(crate) fn run(args: &RestoreArgs) -> Result<()> {
    if !args.dry_run {
        root::needed("nic restore")?;
    }
    let live = Live::open().context("opening a socket to ask drivers")?;
    let store = Store::open(&args.journal.folder)?;
    let _lock = if args.dry_run { None } else { Some(store.lock()?) };
    let restored = if args.after_daemon {
        let journal = super::journal(&store)?.unwrap_or_default();
        put_back(&live, &store, &journal, |held| held.daemon == Some(OnExit::Restore))?
    } else {
        let mut hook = stops::from_environment();
        vec![restore(&live, &store, None, args.dry_run, &mut hook.steps())?]
    };
    restored.iter().for_each(|restored| tell(restored, args.dry_run));
    match failures(&restored).as_slice() {
        [] => Ok(()),
        failures => {
            bail!("not put back: {}; the journal keeps it, so try again", failures.join("; "))
        }
    }
}

fn tell(restored: &Restored, dry: bool) {
    if restored.discarded > 0 {
        println!(
            "the journal was of an earlier boot: its {} settings ended with that, and it is \
             discarded",
            restored.discarded
        );
        return;
    }
    let mut back = 0;
    for (entry, verdict) in &restored.settings {
        let Entry { setting, original, ours, .. } = entry;
        match verdict {
            Verdict::Same => {}
            Verdict::Back => {
                back += 1;
                if let (true, Some(original)) = (dry, original) {
                    println!("{setting}: back to {original}");
                }
            }
            Verdict::Foreign(value) => {
                let set = ours.last().map_or(String::new(), |it| format!(", scx_steer set {it}"));
                println!(
                    "{setting}: is {value}{set}; another program changed it, so it stays. Find out \
                     with scx_steer nic status who does"
                );
            }
            Verdict::Absent => {}
            Verdict::Gone => println!("{setting}: its device left, and the setting with it"),
            Verdict::Elsewhere => {
                println!("{setting}: its device is in another network namespace; restore it there");
            }
        }
    }
    match (restored.settings.is_empty(), dry) {
        (true, _) => println!("nothing to put back"),
        (false, true) => println!("{back} settings would go back"),
        (false, false) => println!("{back} settings went back"),
    }
}
