//! How large the process is.

use std::fs;

/// Resident bytes, after free ones have been given back. `None`: the system does not tell.
#[allow(unsafe_code)] // asks the allocator
pub(crate) fn bytes() -> Option<u64> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it gives back what is not in use.
    unsafe {
        libc::malloc_trim(0)
    };
    let pages: u64 = fs::read_to_string("/proc/self/statm").ok()?.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}
