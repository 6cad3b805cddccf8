//! From structures.

use windlass::{Export, Tick};

use super::windlass_export;
use crate::{
    bounded_topk::windlass_bounded_topk,
    handle::{Handle, core, make},
    status::windlass_status,
    topk::windlass_topk,
};

/// What topk knows of the window at the time now, to be merged with what others know; free it with
/// windlass_export_free.
///
/// Errors: WINDLASS_E_NULL (topk or out). Then out is left alone.
/// Threads: concurrent.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn windlass_topk_export(
    topk: *const windlass_topk,
    now: u64,
    out: *mut *mut windlass_export,
) -> windlass_status {
    // SAFETY: the caller's promise.
    unsafe { export(topk, out, |topk| topk.export_at(Tick(now))) }
}

/// The same of the complete window at the time now.
///
/// Errors: as windlass_topk_export.
/// Threads: concurrent.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn windlass_topk_export_complete(
    topk: *const windlass_topk,
    now: u64,
    out: *mut *mut windlass_export,
) -> windlass_status {
    // SAFETY: the caller's promise.
    unsafe { export(topk, out, |topk| topk.export_complete_at(Tick(now))) }
}

/// The same of a windlass_bounded_topk.
///
/// Errors: as windlass_topk_export.
/// Threads: concurrent.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn windlass_bounded_topk_export(
    topk: *const windlass_bounded_topk,
    now: u64,
    out: *mut *mut windlass_export,
) -> windlass_status {
    // SAFETY: the caller's promise.
    unsafe { export(topk, out, |topk| topk.export_at(Tick(now))) }
}

/// The same of the complete window at the time now.
///
/// Errors: as windlass_topk_export.
/// Threads: concurrent.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn windlass_bounded_topk_export_complete(
    topk: *const windlass_bounded_topk,
    now: u64,
    out: *mut *mut windlass_export,
) -> windlass_status {
    // SAFETY: the caller's promise.
    unsafe { export(topk, out, |topk| topk.export_complete_at(Tick(now))) }
}

/// # Safety
/// `handle` as `core` has it, `out` as `make`.
unsafe fn export<H: Handle>(
    handle: *const H,
    out: *mut *mut windlass_export,
    from: impl FnOnce(&H::Core) -> Export,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let build = || Ok(from(unsafe { core(handle) }?));
    // SAFETY: the caller's promise.
    unsafe { make(out, std::ptr::null_mut(), build) }
}
