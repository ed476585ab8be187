//! What the scheduler in force knows of a thread, read from outside it.

use std::os::fd::{AsRawFd, OwnedFd};

use anyhow::{Context, Result};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, query::MapInfoIter};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::intf::task_ctx;

/// `PIDFD_THREAD` (include/uapi/linux/pidfd.h): `O_EXCL`; since kernel 6.9.
const PIDFD_THREAD: PidfdFlags = PidfdFlags::from_bits_retain(0o200);

/// The threads' storage of the scheduler in force.
pub struct Threads(MapHandle);

impl Threads {
    /// Finds it; `None` while no scx_steer is in force.
    ///
    /// # Errors
    /// The process may not look at BPF maps.
    pub fn find() -> Result<Option<Self>> {
        let is_it = |map: &libbpf_rs::query::MapInfo| {
            map.ty == MapType::TaskStorage
                && map.name == "tasks"
                && map.value_size as usize == size_of::<task_ctx>()
        };
        let Some(map) = MapInfoIter::default().find(is_it) else { return Ok(None) };
        let map = MapHandle::from_map_id(map.id).context("opening the scheduler's map")?;
        Ok(Some(Self(map)))
    }

    /// The storage of an object that this process has loaded.
    #[cfg(feature = "testing")]
    pub(crate) fn of(map: &impl MapCore) -> Result<Self> {
        let info = map.info().context("asking for the map's id")?;
        Ok(Self(MapHandle::from_map_id(info.info.id).context("opening the map")?))
    }

    /// What is known of the thread `tid`; `None` if it has ended.
    ///
    /// # Errors
    /// The kernel refused to read the map.
    pub fn read(&self, tid: u32) -> Result<Option<task_ctx>> {
        let pid = i32::try_from(tid).ok().and_then(Pid::from_raw).context("not a thread id")?;
        let Ok(thread) = open(pid) else { return Ok(None) };
        let found = self.0.lookup(&thread.as_raw_fd().to_ne_bytes(), MapFlags::ANY)?;
        let Some(bytes) = found.filter(|bytes| bytes.len() >= size_of::<task_ctx>()) else {
            return Ok(None);
        };
        // SAFETY: long enough (checked); its bytes come from the struct's one writer, BPF, whose
        // bools are 0 or 1.
        Ok(Some(unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) }))
    }
}

/// A descriptor of a thread; its storage is found by it.
pub(crate) fn open(thread: Pid) -> rustix::io::Result<OwnedFd> {
    pidfd_open(thread, PIDFD_THREAD)
}
