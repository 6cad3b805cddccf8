//! From machine to machine.

use windlass::Export;

use super::windlass_export;
use crate::{
    boundary::{Failure, guard, room, slice},
    handle::{core, make},
    status::{
        WINDLASS_E_FORMAT, WINDLASS_E_NULL, WINDLASS_E_TOO_SMALL, WINDLASS_OK, windlass_error,
        windlass_status,
    },
};

/// Writes an export as bytes that windlass_export_from_bytes reads, on any machine. bytes has room for so many;
/// it may be NULL if that is 0. len gets how many there are.
///
/// Errors: WINDLASS_E_TOO_SMALL (bytes): then len alone is written, and says how much room it takes.
/// WINDLASS_E_NULL (export, len; bytes, and room is not 0), WINDLASS_E_RANGE (room).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_export_to_bytes(
    export: *const windlass_export,
    bytes: *mut u8,
    room: usize,
    len: *mut usize,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let export = unsafe { core(export) }?;
        if len.is_null() || (bytes.is_null() && room > 0) {
            return Err(WINDLASS_E_NULL);
        }
        // SAFETY: the caller's promise.
        let place = unsafe { self::room(bytes, room) }?;
        let written = export.to_bytes();
        // SAFETY: the caller's promise.
        unsafe { len.write(written.len()) };
        let place = place.get_mut(..written.len()).ok_or(WINDLASS_E_TOO_SMALL)?;
        for (to, &byte) in place.iter_mut().zip(&written) {
            to.write(byte);
        }
        Ok(WINDLASS_OK)
    })
}

/// Makes an export from bytes that windlass_export_to_bytes has written, and stores it in out; free it with
/// windlass_export_free. The bytes may come from anywhere: memory is asked for in proportion to their number,
/// and no more.
///
/// error may be NULL.
/// Errors: WINDLASS_E_FORMAT (they are something else, cut off, damaged, of a later version, or say what
/// cannot be; error tells where), WINDLASS_E_NULL (out; bytes, and len is not 0), WINDLASS_E_RANGE (len),
/// WINDLASS_E_STRUCT_SIZE (of error). Then out is left alone.
/// Threads: concurrent.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn windlass_export_from_bytes(
    bytes: *const u8,
    len: usize,
    out: *mut *mut windlass_export,
    error: *mut windlass_error,
) -> windlass_status {
    let build = || {
        // SAFETY: the caller's promise.
        let bytes = unsafe { slice(bytes, len) }?;
        Export::from_bytes(bytes)
            .map_err(|error| Failure { status: WINDLASS_E_FORMAT, detail: Some(error.to_string()) })
    };
    // SAFETY: the caller's promise.
    unsafe { make(out, error, build) }
}
