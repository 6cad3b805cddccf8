//! `windlass_global_limiter`: one quota for all. A handle of its own: it is one word, and several times as fast as a table.

use windlass::{Limiter, Tick};

use super::{
    admission::windlass_admission,
    ask,
    config::{self, windlass_limiter_config},
    forget,
};
use crate::{
    handle::{Handle, free, make},
    status::{windlass_error, windlass_status},
};

/// So many permits in so long for whoever asks, for any number of threads: one word. Made by
/// windlass_global_limiter_new, freed by windlass_global_limiter_free.
pub struct windlass_global_limiter {
    // Not repr(C), which would show this field: the header has a forward declaration. Behind a pointer stands a `Limiter`.
    _opaque: [u8; 0],
}

impl Handle for windlass_global_limiter {
    type Core = Limiter;
}

/// Makes a windlass_global_limiter as config says, and stores it in out; free it with
/// windlass_global_limiter_free. Of config the quota and the algorithm count. It has no lateness and
/// no bound on jumps: to set one is an error. What is about clients has no effect.
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (config or out), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_ARG (a setting;
/// error names it). Then out is left alone.
/// Threads: concurrent.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn windlass_global_limiter_new(
    config: *const windlass_limiter_config,
    out: *mut *mut windlass_global_limiter,
    error: *mut windlass_error,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let build = || unsafe { config::read(config) }?.global();
    // SAFETY: the caller's promise.
    unsafe { make(out, error, build) }
}

/// Frees it. NULL is allowed, and does nothing.
///
/// Threads: exclusive: no other call with this handle may be under way, or come after it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_global_limiter_free(limiter: *mut windlass_global_limiter) {
    // SAFETY: the caller's promise.
    unsafe { free(limiter) }
}

/// Takes cost permits at the time now, or none. Of cost 0 it tells how things stand.
///
/// Returns WINDLASS_ALLOWED, WINDLASS_DENIED or WINDLASS_NEVER, and says more in admission, which may
/// be NULL; or an error: WINDLASS_E_NULL (limiter).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_global_limiter_check(
    limiter: *mut windlass_global_limiter,
    cost: u64,
    now: u64,
    admission: *mut windlass_admission,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { ask(limiter, Ok(()), admission, |limiter, ()| limiter.check_at(cost, Tick(now))) }
}

/// What windlass_global_limiter_check would answer. Nothing is taken.
///
/// Returns as windlass_global_limiter_check.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_global_limiter_peek(
    limiter: *const windlass_global_limiter,
    cost: u64,
    now: u64,
    admission: *mut windlass_admission,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { ask(limiter, Ok(()), admission, |limiter, ()| limiter.peek_at(cost, Tick(now))) }
}

/// Gives back all that was taken.
///
/// Returns 1 (there was something), 0 (there was not; or this was done too often, as in
/// windlass_limiter_forget), or an error: WINDLASS_E_NULL (limiter).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_global_limiter_forget(
    limiter: *mut windlass_global_limiter,
    now: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { forget(limiter, Ok(()), |limiter, ()| limiter.forget_at(Tick(now))) }
}
