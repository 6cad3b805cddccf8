//! `windlass_topk`: the hottest keys of the window.

// The header has them in this order.
pub mod config;

pub mod single;

pub mod batch;

pub mod list;

pub mod stats;

pub mod upkeep;

pub mod snapshot;

#[cfg(test)]
mod tests;

use windlass::TopK;

use crate::{
    handle::{Handle, free, make},
    status::{windlass_error, windlass_status},
};
use config::windlass_topk_config;

/// It is in the total alone: the key has more than WINDLASS_TOPK_MAX_LEN bytes.
pub const WINDLASS_TOO_LONG: i32 = 3;

/// Bytes that a key of a windlass_topk may have.
pub const WINDLASS_TOPK_MAX_LEN: usize = 65527;

const _: () = assert!(WINDLASS_TOPK_MAX_LEN == TopK::MAX_LEN);

/// Keeps the hottest keys of the window, with their counts and whether the list is certified, for any
/// number of threads. Made by windlass_topk_new, freed by windlass_topk_free.
///
/// Panes and windows are those of windlass_counter. A list has the k hottest keys, the hottest first;
/// of equals the one with the lesser bytes.
pub struct windlass_topk {
    // Not repr(C), which would show this field: the header has a forward declaration. Behind a pointer stands a `TopK`.
    _opaque: [u8; 0],
}

impl Handle for windlass_topk {
    type Core = TopK;
}

/// Makes a windlass_topk as config says, and stores it in out; free it with windlass_topk_free. The
/// system is asked for the memory of its rows as they are needed; where it cannot be had, keys get
/// WINDLASS_NO_ROOM.
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (config or out), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_ARG (a setting;
/// error names it), WINDLASS_E_NOMEM. Then out is left alone.
/// Threads: concurrent.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn windlass_topk_new(
    config: *const windlass_topk_config,
    out: *mut *mut windlass_topk,
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
pub unsafe extern "C" fn windlass_topk_free(topk: *mut windlass_topk) {
    // SAFETY: the caller's promise.
    unsafe { free(topk) }
}
