//! What stands between C and the core: panics end here, and pointers become references here.

use std::{
    any::Any,
    mem::MaybeUninit,
    panic::{AssertUnwindSafe, catch_unwind},
};

use crate::status::{WINDLASS_E_NULL, WINDLASS_E_PANIC, WINDLASS_E_RANGE, windlass_status};

/// A call that did nothing: the code, and more in words if there is more to say.
pub(crate) struct Failure {
    pub(crate) status: windlass_status,
    pub(crate) detail: Option<String>,
}

/// The body of every exported function that could conceivably panic.
#[inline(always)]
pub(crate) fn guard<T, E>(body: impl FnOnce() -> Result<T, E>) -> T
where
    T: From<windlass_status>,
    E: From<windlass_status> + Into<Failure>,
{
    caught(body).unwrap_or_else(|failure| T::from(failure.into().status))
}

/// A panic as a failure. What was half done is not looked at again: after it a handle may only be
/// freed.
#[inline(always)]
pub(crate) fn caught<T, E: From<windlass_status>>(body: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let_go(panic);
        Err(E::from(WINDLASS_E_PANIC))
    })
}

/// What is thrown may panic again when it is dropped.
#[cold]
#[inline(never)]
fn let_go(thrown: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(thrown))) {
        std::mem::forget(again);
    }
}

/// # Safety
/// `at` is NULL, or points to `len` items that nobody writes while `'a` lasts.
#[inline(always)]
pub(crate) unsafe fn slice<'a, T>(at: *const T, len: usize) -> Result<&'a [T], windlass_status> {
    if len == 0 {
        return Ok(&[]);
    }
    check(at, len)?;
    // SAFETY: the caller's promise; not NULL, aligned, not more bytes than a slice may have.
    Ok(unsafe { std::slice::from_raw_parts(at, len) })
}

/// Of length `len`, or none at all.
///
/// # Safety
/// As `slice`.
pub(crate) unsafe fn optional<'a, T>(at: *const T, len: usize) -> Result<Option<&'a [T]>, windlass_status> {
    // SAFETY: the caller's promise.
    if at.is_null() { Ok(None) } else { unsafe { slice(at, len) }.map(Some) }
}

/// Where to write `len` items; nothing if `at` is NULL.
///
/// # Safety
/// `at` is NULL, or points to room for `len` items that nobody else uses while `'a` lasts.
pub(crate) unsafe fn room<'a, T>(
    at: *mut T,
    len: usize,
) -> Result<&'a mut [MaybeUninit<T>], windlass_status> {
    if at.is_null() || len == 0 {
        return Ok(&mut []);
    }
    check(at, len)?;
    // SAFETY: the caller's promise; as above, and the items need not have a value yet.
    Ok(unsafe { std::slice::from_raw_parts_mut(at.cast(), len) })
}

#[inline(always)]
fn check<T>(at: *const T, len: usize) -> Result<(), windlass_status> {
    if at.is_null() {
        return Err(WINDLASS_E_NULL);
    }
    if len > isize::MAX as usize / size_of::<T>() || !at.is_aligned() {
        return Err(WINDLASS_E_RANGE);
    }
    Ok(())
}

/// # Safety
/// `out` is NULL or may be written to.
#[inline(always)]
pub(crate) unsafe fn put<T>(out: *mut T, value: T) -> Result<windlass_status, windlass_status> {
    if out.is_null() {
        return Err(WINDLASS_E_NULL);
    }
    // SAFETY: the caller's promise.
    unsafe { out.write(value) };
    Ok(crate::status::WINDLASS_OK)
}
