//! `windlass_bounded_topk`: the hottest keys of the window, in memory that is given.

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

use windlass::BoundedTopK;

use crate::{
    handle::{Handle, free, make},
    status::{windlass_error, windlass_status},
};
use config::windlass_bounded_topk_config;

/// Keeps the hottest keys of the window in memory that is given, whatever the keys are, with counts
/// between bounds that always hold, for any number of threads. Made by windlass_bounded_topk_new, freed by
/// windlass_bounded_topk_free.
///
/// Panes and windows are those of windlass_counter; lists are as those of windlass_topk. A row's count is a
/// guess between its bounds. A list is certified if it is exact: as long as the different keys of each pane
/// have found a place, and seldom later.
pub struct windlass_bounded_topk {
    // Not repr(C), which would show this field: the header has a forward declaration. Behind a pointer stands a
    // `BoundedTopK`.
    _opaque: [u8; 0],
}

impl Handle for windlass_bounded_topk {
    type Core = BoundedTopK;
}

/// Makes a windlass_bounded_topk as config says, and stores it in out; free it with
/// windlass_bounded_topk_free. The tables of a pane are asked for when it begins; where they cannot be had,
/// its adds are known as a sum alone.
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (config or out), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_ARG (a setting;
/// error names it: of too little memory also the least that would do), WINDLASS_E_NOMEM. Then out is left
/// alone.
/// Threads: concurrent.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn windlass_bounded_topk_new(
    config: *const windlass_bounded_topk_config,
    out: *mut *mut windlass_bounded_topk,
    error: *mut windlass_error,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let build = || unsafe { config::build(config) };
    // SAFETY: the caller's promise.
    unsafe { make(out, error, build) }
}

/// Frees it. NULL is allowed, and does nothing.
///
/// Threads: exclusive: no other call with this handle may be under way, or come after it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bounded_topk_free(topk: *mut windlass_bounded_topk) {
    // SAFETY: the caller's promise.
    unsafe { free(topk) }
}
