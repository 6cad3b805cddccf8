//! `windlass_limitset`: several limits in one decision.

pub mod config;

pub mod check;

pub mod hold;

pub mod live;

pub mod snapshot;

pub mod stats;

use windlass::LimitSet;

use crate::{
    boundary::slice,
    handle::{Handle, free, make},
    status::{windlass_error, windlass_status},
};
use config::{windlass_limit_rule, windlass_limitset_config};

/// Several limits in one decision, for any number of threads: by all of them, or by none. Limits are
/// for each client or for all, and have different algorithms. Made by windlass_limitset_new, freed by
/// windlass_limitset_free.
///
/// No limit admits more than its algorithm allows. A refused call leaves nothing charged; while it is
/// under way others see what it has been charged so far, and can be refused for that: never by a
/// limit that has room for all calls under way together.
pub struct windlass_limitset {
    // Not repr(C), which would show this field: the header has a forward declaration. Behind a pointer stands a `LimitSet`.
    _opaque: [u8; 0],
}

impl Handle for windlass_limitset {
    type Core = LimitSet;
}

/// Makes a windlass_limitset of n limits, in their order, and stores it in out; free it with
/// windlass_limitset_free. What limits points to is copied.
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (config, out, limits, or a name), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_ARG (a setting;
/// error names it: no limits, more than 8, two of one name, a name that is not UTF-8, a quota or an algorithm that a
/// set cannot have), WINDLASS_E_NOMEM. Then out is left alone.
/// Threads: concurrent.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn windlass_limitset_new(
    config: *const windlass_limitset_config,
    limits: *const windlass_limit_rule,
    n: usize,
    out: *mut *mut windlass_limitset,
    error: *mut windlass_error,
) -> windlass_status {
    let build = || {
        // SAFETY: the caller's promise.
        let limits = unsafe { slice(limits, n) }?;
        // SAFETY: the caller's promise.
        Ok(unsafe { config::builder(config, limits) }?.build()?)
    };
    // SAFETY: the caller's promise.
    unsafe { make(out, error, build) }
}

/// Frees it. NULL is allowed, and does nothing.
///
/// Threads: exclusive: no other call with this handle may be under way, or come after it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limitset_free(set: *mut windlass_limitset) {
    // SAFETY: the caller's promise.
    unsafe { free(set) }
}
