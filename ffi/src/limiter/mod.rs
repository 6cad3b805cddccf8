//! `windlass_limiter`: rate limiters, one for each of many clients; `windlass_global_limiter`: one for all.

// The header has them in this order.
pub mod config;

pub mod admission;

pub mod check;

pub mod batch;

pub mod stats;

pub mod upkeep;

pub mod global;

#[cfg(test)]
mod tests;

use windlass::KeyedLimiter;

use crate::{
    boundary::guard,
    status::{WINDLASS_E_NULL, WINDLASS_OK, explained, windlass_error, windlass_status},
};
use config::windlass_limiter_config;

/// So many permits in so long for each of many clients, for any number of threads: together they
/// are granted what one would be. A client is a key, and takes memory only for as long as it makes
/// a difference. Made by windlass_limiter_new, freed by windlass_limiter_free.
pub struct windlass_limiter {
    // Not repr(C), which would show this field: the header has a forward declaration. Behind a pointer stands a `KeyedLimiter`.
    _opaque: [u8; 0],
}

/// # Safety
/// `handle` is NULL, or was made by `windlass_limiter_new` and is not freed while `'a` lasts.
#[inline(always)]
unsafe fn core<'a>(handle: *const windlass_limiter) -> Result<&'a KeyedLimiter, windlass_status> {
    // SAFETY: the caller's promise; all that C holds of it is shared.
    unsafe { handle.cast::<KeyedLimiter>().as_ref() }.ok_or(WINDLASS_E_NULL)
}

/// Makes a windlass_limiter as config says, and stores it in out; free it with
/// windlass_limiter_free. The memory of its table is asked for here; more only to grow (max_memory).
/// Where that cannot be had, clients that it does not know are answered as on_unknown says.
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (config or out), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_ARG (a setting;
/// error names it), WINDLASS_E_NOMEM. Then out is left alone.
/// Threads: concurrent.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn windlass_limiter_new(
    config: *const windlass_limiter_config,
    out: *mut *mut windlass_limiter,
    error: *mut windlass_error,
) -> windlass_status {
    let body = || {
        if out.is_null() {
            return Err(WINDLASS_E_NULL.into());
        }
        // SAFETY: the caller's promise.
        let limiter = unsafe { config::read(config) }?.keyed()?;
        // SAFETY: the caller's promise.
        unsafe { out.write(Box::into_raw(Box::new(limiter)).cast()) };
        Ok(WINDLASS_OK)
    };
    // SAFETY: the caller's promise.
    unsafe { explained(error, body) }
}

/// Frees it. NULL is allowed, and does nothing.
///
/// Threads: exclusive: no other call with this handle may be under way, or come after it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_free(limiter: *mut windlass_limiter) {
    let free = || {
        if !limiter.is_null() {
            // SAFETY: the caller's promise: made by `windlass_limiter_new`, freed once, not in use.
            drop(unsafe { Box::from_raw(limiter.cast::<KeyedLimiter>()) });
        }
        Ok::<_, windlass_status>(WINDLASS_OK)
    };
    let _: windlass_status = guard(free);
}
