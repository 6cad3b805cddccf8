//! What C holds: a pointer to something that it cannot look into.

use crate::{
    boundary::{Failure, guard},
    status::{WINDLASS_E_NULL, WINDLASS_OK, explained, windlass_error, windlass_status},
};

/// What C calls it, and what stands behind the pointer.
pub(crate) trait Handle {
    type Core;
}

/// # Safety
/// `handle` is NULL, or was made by `make` and is not freed while `'a` lasts.
#[inline(always)]
pub(crate) unsafe fn core<'a, H: Handle>(handle: *const H) -> Result<&'a H::Core, windlass_status> {
    // SAFETY: the caller's promise; who changes it (`core_mut`) is alone with it.
    unsafe { handle.cast::<H::Core>().as_ref() }.ok_or(WINDLASS_E_NULL)
}

/// # Safety
/// `handle` is NULL, or was made by `make`, is not freed while `'a` lasts, and no other call uses it meanwhile.
pub(crate) unsafe fn core_mut<'a, H: Handle>(handle: *mut H) -> Result<&'a mut H::Core, windlass_status> {
    // SAFETY: the caller's promise.
    unsafe { handle.cast::<H::Core>().as_mut() }.ok_or(WINDLASS_E_NULL)
}

/// # Safety
/// `error` as `explained` has it; `out` is NULL or may be written to.
pub(crate) unsafe fn make<H: Handle>(
    out: *mut *mut H,
    error: *mut windlass_error,
    build: impl FnOnce() -> Result<H::Core, Failure>,
) -> windlass_status {
    let body = || {
        if out.is_null() {
            return Err(WINDLASS_E_NULL.into());
        }
        let made = build()?;
        // SAFETY: the caller's promise.
        unsafe { out.write(Box::into_raw(Box::new(made)).cast()) };
        Ok(WINDLASS_OK)
    };
    // SAFETY: the caller's promise.
    unsafe { explained(error, body) }
}

/// # Safety
/// `handle` is NULL, or was made by `make`, is freed once and not in use.
pub(crate) unsafe fn free<H: Handle>(handle: *mut H) {
    let free = || {
        if !handle.is_null() {
            // SAFETY: the caller's promise.
            drop(unsafe { Box::from_raw(handle.cast::<H::Core>()) });
        }
        Ok::<_, windlass_status>(WINDLASS_OK)
    };
    let _: windlass_status = guard(free);
}
