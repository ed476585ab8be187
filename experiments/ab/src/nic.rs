//! A NIC of the measured machine, for the settings of arms.

/// A NIC and the CPUs near it.
#[derive(Debug, Clone)]
pub(crate) struct NearNic {
    /// Its name.
    pub(crate) name: String,
    /// CPUs local to it; empty if unknown.
    pub(crate) cpus: Vec<usize>,
}
