//! `windlass_export`: what one of several structures tells, to be merged with what others tell.

pub mod make;

pub mod bytes;

pub mod rows;

#[cfg(test)]
pub(crate) mod tests;

use windlass::Export;

use crate::handle::{Handle, free};

/// What one structure knows of the hottest keys of a window, for a windlass_aggregator: ten times as many
/// keys as its lists have. Made by the _export functions of windlass_topk and windlass_bounded_topk, or from
/// bytes; freed by windlass_export_free. But for windlass_export_truncate it never changes.
pub struct windlass_export {
    // Not repr(C), which would show this field: the header has a forward declaration. Behind a pointer stands an `Export`.
    _opaque: [u8; 0],
}

impl Handle for windlass_export {
    type Core = Export;
}

/// Frees it. NULL is allowed, and does nothing.
///
/// Threads: exclusive: no other call with this handle may be under way, or come after it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_export_free(export: *mut windlass_export) {
    // SAFETY: the caller's promise.
    unsafe { free(export) }
}
