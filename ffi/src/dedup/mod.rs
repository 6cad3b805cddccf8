//! `windlass_dedup`: exact windowed deduplication.

// The header has them in this order.
pub mod config;

pub mod observe;

pub mod batch;

pub mod claim;

pub mod stats;

pub mod upkeep;

pub mod snapshot;

#[cfg(test)]
mod tests;

use windlass::{Dedup, Outcome, Verdict};

use crate::{
    handle::{Handle, free, make},
    status::{refused, windlass_error, windlass_status},
};
use config::windlass_dedup_config;

/// The id was not admitted within the window before; now it is.
pub const WINDLASS_FRESH: i32 = 0;
/// The id was admitted within the window before: the event is a duplicate.
pub const WINDLASS_DUPLICATE: i32 = 1;
/// The id is claimed by another, who has not committed it yet. Only claims are told this; to
/// observations such an id is a duplicate.
pub const WINDLASS_IN_PROGRESS: i32 = 2;

/// Admits each id once per window, exactly, for any number of threads: of all calls that bring one
/// id, one per window gets WINDLASS_FRESH. Made by windlass_dedup_new, freed by
/// windlass_dedup_free.
pub struct windlass_dedup {
    // Not repr(C), which would show this field: the header has a forward declaration. Behind a pointer stands a `Dedup`.
    _opaque: [u8; 0],
}

impl Handle for windlass_dedup {
    type Core = Dedup;
}

/// What C gets for an outcome: the verdict, or the code of why there is none.
#[inline(always)]
fn code(outcome: Outcome) -> i32 {
    match outcome {
        Ok(Verdict::Fresh) => WINDLASS_FRESH,
        Ok(_) => WINDLASS_DUPLICATE,
        Err(why) => refused(why),
    }
}

/// Makes a windlass_dedup as config says, and stores it in out; free it with windlass_dedup_free.
/// The memory of its table is asked for here; more only by windlass_dedup_reset, to grow
/// (max_memory), and for the bytes of ids (identity). Where it cannot be had for these two, new ids
/// get WINDLASS_E_FULL.
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (config or out), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_ARG (a setting;
/// error names it), WINDLASS_E_NOMEM. Then out is left alone.
/// Threads: concurrent.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn windlass_dedup_new(
    config: *const windlass_dedup_config,
    out: *mut *mut windlass_dedup,
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
pub unsafe extern "C" fn windlass_dedup_free(dedup: *mut windlass_dedup) {
    // SAFETY: the caller's promise.
    unsafe { free(dedup) }
}
