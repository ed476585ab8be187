//! Turns single values of hwloc into plain data.

use std::ffi::CStr;

use hwlocality::object::TopologyObject;

use crate::cpuset::CpuSet;

/// The online CPUs of an object.
pub(super) fn cpus_of(object: &TopologyObject, online: &CpuSet) -> CpuSet {
    // Ask CPU by CPU, because a set in a damaged file can be infinite.
    let Some(set) = object.cpuset() else { return CpuSet::new() };
    online.iter().filter(|&cpu| set.is_set(cpu as usize)).collect()
}

/// An OS number, if Linux can have it.
pub(super) fn small(number: usize) -> Option<u32> {
    u32::try_from(number).ok()
}

/// Text from hwloc. Bytes that are not UTF-8 are replaced.
pub(super) fn plain(text: &CStr) -> String {
    text.to_string_lossy().trim().to_owned()
}
