//! A NIC of the measured machine, as far as arms set something for it.

/// A NIC and the CPUs near it.
#[derive(Debug, Clone)]
pub(crate) struct NearNic {
    /// Its name.
    pub(crate) name: String,
    /// CPUs local to it; none where that is unknown.
    pub(crate) cpus: Vec<usize>,
}
