//! Cgroups that come and go, as the kernel side tells of them.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use libbpf_rs::{MapCore, RingBuffer, RingBufferBuilder};

use crate::intf;

/// A cgroup that appeared, and got its parent's policy for a start, or vanished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupEvent {
    /// Its id, the inode number of its directory.
    pub id: u64,
    /// Whether it vanished.
    pub gone: bool,
    /// Its path below the mount, without the leading slash. `None` if it is too long or no UTF-8.
    pub path: Option<String>,
}

/// Events on their way from the kernel.
pub(crate) struct CgroupEvents {
    ring: RingBuffer<'static>,
    came: Arc<Mutex<Vec<CgroupEvent>>>,
    lost: u64,
}

impl CgroupEvents {
    pub(crate) fn from(map: &impl MapCore) -> Result<Self> {
        let came = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&came);
        let mut builder = RingBufferBuilder::new();
        builder.add(map, move |bytes| {
            seen.lock().unwrap_or_else(PoisonError::into_inner).extend(parse(bytes));
            0
        })?;
        Ok(Self { ring: builder.build()?, came, lost: 0 })
    }

    /// Events since the last call, and whether some were lost. `lost` reads the kernel side's count
    /// of lost events.
    pub(crate) fn take(&mut self, lost: impl FnOnce() -> u64) -> Result<(Vec<CgroupEvent>, bool)> {
        self.ring.consume().context("reading events of cgroups")?;
        let mut came = self.came.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = lost();
        let more_lost = std::mem::replace(&mut self.lost, lost) != lost;
        Ok((std::mem::take(&mut came), more_lost))
    }
}

/// A `cgroup_event` of intf.h.
fn parse(bytes: &[u8]) -> Option<CgroupEvent> {
    // SAFETY: long enough (checked), and any bit pattern of the integers in it is valid; `gone` is
    // a u8 in C.
    let event: intf::cgroup_event = (bytes.len() >= size_of::<intf::cgroup_event>())
        .then(|| unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) })?;
    let path = event.path.map(|byte| byte as u8);
    let end = path.iter().position(|byte| *byte == 0)?;
    // the kernel cuts longer paths
    let whole = end > 0 && end + 1 < path.len();
    let path = whole.then(|| str::from_utf8(&path[..end]).ok()).flatten();
    Some(CgroupEvent {
        id: event.id,
        gone: event.gone != 0,
        path: path.map(|path| path.trim_start_matches('/').to_owned()),
    })
}
