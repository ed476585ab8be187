//! What several of these tests need.

/// Whether this is root; if not, says that `test` is skipped.
pub(crate) fn is_root(test: &str) -> bool {
    // SAFETY: no memory is touched.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        println!("SKIPPED {test}: needs root");
    }
    root
}
