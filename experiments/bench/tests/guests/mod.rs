//! Shared by tests that boot guests.

/// Kernels are shared with the other runs of this workspace: fetching one is no part of a test.
pub(crate) const KERNELS: &str = "../../target/lab/kernels";
/// So is the QEMU of the live tier.
pub(crate) const QEMU: (&str, &str) = ("STEER_LAB_QEMU", "../../target/lab/qemu");

/// Whether this test may boot guests; says so if not.
pub(crate) fn lab(test: &str) -> bool {
    let wanted = std::env::var_os("STEER_LAB").is_some_and(|value| value == "1");
    if !wanted {
        println!("skipped: {test} boots a guest; set STEER_LAB=1 and run as root");
    }
    wanted
}
