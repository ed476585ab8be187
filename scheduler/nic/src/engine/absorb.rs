//! What a driver or the kernel did by itself is not another program's.

use crate::device::Device;
use crate::error::Error;
use crate::journal::{Found, Owner, Store};
use crate::kernel::Kernel;
use crate::setting::Setting;

/// Notes that the present values of a device's queues are no one's choice: its driver set them anew,
/// as the link came up or channels or CPUs changed. Those of `except` stay another program's. The
/// caller holds the [lock](Store::lock) and has seen such an event.
///
/// # Errors
/// The journal or the settings cannot be read, or it cannot be written.
pub fn absorb(
    kernel: &dyn Kernel,
    store: &Store,
    device: &Device,
    except: &[Setting],
) -> Result<(), Error> {
    let Found::Journal(mut journal) = store.load()? else { return Ok(()) };
    let (births, mut made) = (kernel.births(), Vec::new());
    let of_device = journal.entries.iter().filter(|it| it.setting.device.as_ref() == Some(device));
    for entry in of_device.filter(|entry| !except.contains(&entry.setting)) {
        if let Some(value) = kernel.get(&entry.setting)?
            && journal.owner(entry, &value, &births) == Owner::Foreign
        {
            made.push((entry.setting.clone(), value));
        }
    }
    for (setting, value) in made {
        journal.note(&setting, None).add_ours(value);
    }
    store.save(&journal)
}
