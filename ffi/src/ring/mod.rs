//! `windlass_ring`: which node owns a key.

// The header has them in this order.
pub mod config;

pub mod change;

pub mod route;

pub mod batch;

pub mod stats;

pub mod snapshot;

#[cfg(test)]
mod tests;

use windlass::HashRing;

use crate::{
    boundary::Failure,
    handle::{Handle, free, make},
    status::{windlass_error, windlass_status},
};
use config::windlass_ring_config;

/// A consistent-hash ring with weighted virtual nodes, for any number of threads: who routes never
/// waits for who changes it. Made by windlass_ring_new, freed by windlass_ring_free. docs/ring.md
/// says to which node a key belongs, the same in every language.
pub struct windlass_ring {
    // Not repr(C), which would show this field: the header has a forward declaration. Behind a pointer stands a `HashRing`.
    _opaque: [u8; 0],
}

impl Handle for windlass_ring {
    type Core = HashRing;
}

/// Makes a windlass_ring without nodes as config says, and stores it in out; free it with
/// windlass_ring_free.
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (config or out), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_ARG (a setting;
/// error names it). Then out is left alone.
/// Threads: concurrent.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn windlass_ring_new(
    config: *const windlass_ring_config,
    out: *mut *mut windlass_ring,
    error: *mut windlass_error,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let build = || unsafe { config::read(config) }?.build().map_err(Failure::from);
    // SAFETY: the caller's promise.
    unsafe { make(out, error, build) }
}

/// Frees it. NULL is allowed, and does nothing.
///
/// Threads: exclusive: no other call with this handle may be under way, or come after it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_ring_free(ring: *mut windlass_ring) {
    // SAFETY: the caller's promise.
    unsafe { free(ring) }
}
