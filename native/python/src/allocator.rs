//! Settings of the allocator of the process.

use pyo3::prelude::*;

/// Blocks of this size and larger are returned to the system when they are freed.
#[cfg(target_env = "gnu")]
const LARGE: i32 = 1 << 20;

/// Have large blocks returned to the system when they are freed, and return whether the allocator can do so.
///
/// Once one was freed, glibc takes blocks up to that size from its heaps, of which each thread may have its own, and a
/// heap rarely shrinks: bodies of 20 MB, freed each time, took hundreds of megabytes.
#[pyfunction]
pub fn return_large_blocks() -> bool {
    set_threshold()
}

#[cfg(target_env = "gnu")]
#[allow(unsafe_code, reason = "the standard library does not set the allocator")]
fn set_threshold() -> bool {
    // Freed memory at the end of a heap is kept up to twice the threshold, as where glibc moves the threshold itself.
    let settings = [(libc::M_MMAP_THRESHOLD, LARGE), (libc::M_TRIM_THRESHOLD, 2 * LARGE)];
    // SAFETY: `mallopt` has a lock, and takes any value.
    settings.into_iter().all(|(name, value)| unsafe { libc::mallopt(name, value) } == 1)
}

#[cfg(not(target_env = "gnu"))]
const fn set_threshold() -> bool {
    false
}
