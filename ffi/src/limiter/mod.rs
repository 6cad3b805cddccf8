//! `windlass_limiter`: rate limiters, one for each of many clients; `windlass_global_limiter`: one for all.

// The header has them in this order.
pub mod config;

pub mod admission;

pub mod check;

pub mod batch;

pub mod stats;

pub mod upkeep;

pub mod global;

pub mod live;

pub mod snapshot;

#[cfg(test)]
mod tests;

use windlass::{Admission, KeyedLimiter};

use crate::{
    boundary::guard,
    handle::{Handle, core, free, make},
    status::{windlass_error, windlass_status},
};
use admission::{answer, windlass_admission};
use config::windlass_limiter_config;

/// So many permits in so long for each of many clients, for any number of threads: together they
/// are granted what one would be. A client is a key, and takes memory only for as long as it makes
/// a difference. Made by windlass_limiter_new, freed by windlass_limiter_free.
pub struct windlass_limiter {
    // Not repr(C), which would show this field: the header has a forward declaration. Behind a pointer stands a `KeyedLimiter`.
    _opaque: [u8; 0],
}

impl Handle for windlass_limiter {
    type Core = KeyedLimiter;
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
    // SAFETY: the caller's promise.
    let build = || unsafe { config::read(config) }?.keyed();
    // SAFETY: the caller's promise.
    unsafe { make(out, error, build) }
}

/// Frees it. NULL is allowed, and does nothing.
///
/// Threads: exclusive: no other call with this handle may be under way, or come after it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_free(limiter: *mut windlass_limiter) {
    // SAFETY: the caller's promise.
    unsafe { free(limiter) }
}

/// Asks for an admission, if limiter and key are what they should be.
///
/// # Safety
/// `limiter` as `core` has it, `admission` as `answer`.
#[inline(always)]
unsafe fn ask<H: Handle, K>(
    limiter: *const H,
    key: Result<K, windlass_status>,
    admission: *mut windlass_admission,
    call: impl FnOnce(&H::Core, K) -> Admission,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let limiter = unsafe { core(limiter) }?;
        // SAFETY: the caller's promise.
        Ok::<_, windlass_status>(unsafe { answer(call(limiter, key?), admission) })
    })
}

/// The same for what has been taken: whether there was something.
///
/// # Safety
/// As `core`.
#[inline(always)]
unsafe fn forget<H: Handle, K>(
    limiter: *const H,
    key: Result<K, windlass_status>,
    call: impl FnOnce(&H::Core, K) -> bool,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let limiter = unsafe { core(limiter) }?;
        Ok::<_, windlass_status>(call(limiter, key?).into())
    })
}
