//! `windlass_bloom`: approximate windowed membership.

// The header has them in this order.
pub mod config;

pub mod single;

pub mod batch;

pub mod stats;

pub mod panes;

pub mod upkeep;

pub mod snapshot;

#[cfg(test)]
mod tests;

use windlass::RotatingBloom;

use crate::{
    handle::{Handle, free, make},
    status::{windlass_error, windlass_status},
};
use config::windlass_bloom_config;

/// Remembers the ids of a window in fixed memory, for any number of threads: no id of the window is
/// ever missed, and of those that were not there a stated share is taken for seen. An id is
/// forgotten between window (and lateness) and the length of its panes after it was put in: with 8
/// panes 15 % after the window at most. Made by windlass_bloom_new, freed by windlass_bloom_free.
pub struct windlass_bloom {
    // Not repr(C), which would show this field: the header has a forward declaration. Behind a pointer stands a `RotatingBloom`.
    _opaque: [u8; 0],
}

impl Handle for windlass_bloom {
    type Core = RotatingBloom;
}

/// Makes a windlass_bloom as config says, and stores it in out; free it with windlass_bloom_free.
/// All of its memory is asked for here.
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (config or out), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_ARG (a setting;
/// error names it), WINDLASS_E_NOMEM. Then out is left alone.
/// Threads: concurrent.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn windlass_bloom_new(
    config: *const windlass_bloom_config,
    out: *mut *mut windlass_bloom,
    error: *mut windlass_error,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let build = || unsafe { config::read(config) }?.build();
    // SAFETY: the caller's promise.
    unsafe { make(out, error, build) }
}

/// Frees it. NULL is allowed, and does nothing.
///
/// Threads: exclusive: no other call with this handle may be under way, or come after it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_free(bloom: *mut windlass_bloom) {
    // SAFETY: the caller's promise.
    unsafe { free(bloom) }
}
