//! What settings are read from and written to: the running kernel, or a model of one in tests.

use std::collections::BTreeMap;

use crate::device::{Device, Presence};
use crate::error::Fault;
use crate::setting::{Setting, Value};

/// Reads and writes settings.
pub trait Kernel {
    /// The present value; `None` if there is no such setting now, such as of a queue that is not in
    /// use.
    ///
    /// # Errors
    /// It is there and cannot be read.
    fn get(&self, setting: &Setting) -> Result<Option<Value>, Fault>;

    /// Writes a value. Whether it took is for the caller to read back.
    ///
    /// # Errors
    /// The kernel or the driver refused.
    fn set(&self, setting: &Setting, value: &Value) -> Result<(), Fault>;

    /// Finds out whether a setting could be written, without writing.
    ///
    /// # Errors
    /// It could not.
    fn check(&self, setting: &Setting) -> Result<(), Fault>;

    /// Where a device is.
    fn presence(&self, device: &Device) -> Presence;

    /// The settings that a change of the device's channels may disturb, as they exist now.
    ///
    /// # Errors
    /// They cannot be listed.
    fn of_queues(&self, device: &Device) -> Result<Vec<Setting>, Fault>;

    /// For each online CPU a number that changes when it has been offline.
    fn births(&self) -> BTreeMap<u32, u64>;

    /// Whether values take at once, so that there is nothing to wait for.
    fn is_model(&self) -> bool {
        false
    }
}
