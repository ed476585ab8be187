//! The names of the network devices that exist, to notice cheaply that some came or went: reading
//! them costs microseconds, reading the whole machine anew costs many milliseconds.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::root::{self, Root};

/// The network devices of one moment. Two moments compare equal if none came, went, or was renamed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkDevices(BTreeMap<String, Option<u32>>);

impl NetworkDevices {
    /// The devices that exist now, in the caller's network namespace.
    ///
    /// # Errors
    /// The kernel's list cannot be read.
    pub fn now() -> Result<Self, Error> {
        let directory = Root::system().path("sys/class/net");
        let entry = |name: String| {
            let ifindex = root::number(&directory.join(&name).join("ifindex"))?;
            Ok((name, ifindex))
        };
        root::names(&directory)?.into_iter().map(entry).collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_exists_and_stays() {
        let first = NetworkDevices::now().unwrap();
        assert_eq!(first.0.get("lo"), Some(&Some(1)));
        assert_eq!(first, NetworkDevices::now().unwrap());
    }
}
