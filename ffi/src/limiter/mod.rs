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

use windlass::{Admission, KeyedLimiter};

use crate::{
    boundary::{Failure, guard},
    status::{WINDLASS_E_NULL, WINDLASS_OK, explained, windlass_error, windlass_status},
};
use admission::{answer, windlass_admission};
use config::{Settings, windlass_limiter_config};

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
    unsafe { make(config, out, error, |settings| settings.keyed()) }
}

/// Frees it. NULL is allowed, and does nothing.
///
/// Threads: exclusive: no other call with this handle may be under way, or come after it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_limiter_free(limiter: *mut windlass_limiter) {
    // SAFETY: the caller's promise.
    unsafe { free(limiter) }
}

/// What C calls a limiter, and what stands behind the pointer.
trait Handle {
    type Core;
}

/// # Safety
/// `handle` is NULL, or was made by `make` and is not freed while `'a` lasts.
#[inline(always)]
unsafe fn core<'a, H: Handle>(handle: *const H) -> Result<&'a H::Core, windlass_status> {
    // SAFETY: the caller's promise; all that C holds of it is shared.
    unsafe { handle.cast::<H::Core>().as_ref() }.ok_or(WINDLASS_E_NULL)
}

/// # Safety
/// `config` and `error` as their types have it; `out` is NULL or may be written to.
unsafe fn make<H: Handle>(
    config: *const windlass_limiter_config,
    out: *mut *mut H,
    error: *mut windlass_error,
    build: impl FnOnce(Settings) -> Result<H::Core, Failure>,
) -> windlass_status {
    let body = || {
        if out.is_null() {
            return Err(WINDLASS_E_NULL.into());
        }
        // SAFETY: the caller's promise.
        let limiter = build(unsafe { config::read(config) }?)?;
        // SAFETY: the caller's promise.
        unsafe { out.write(Box::into_raw(Box::new(limiter)).cast()) };
        Ok(WINDLASS_OK)
    };
    // SAFETY: the caller's promise.
    unsafe { explained(error, body) }
}

/// # Safety
/// `handle` is NULL, or was made by `make`, is freed once and not in use.
unsafe fn free<H: Handle>(handle: *mut H) {
    let free = || {
        if !handle.is_null() {
            // SAFETY: the caller's promise.
            drop(unsafe { Box::from_raw(handle.cast::<H::Core>()) });
        }
        Ok::<_, windlass_status>(WINDLASS_OK)
    };
    let _: windlass_status = guard(free);
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
