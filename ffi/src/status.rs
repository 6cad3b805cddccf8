//! Status codes, their texts, and the error detail.

use std::ffi::{CStr, c_char};

use windlass::{ConfigError, Refused};

use crate::{
    boundary::{self, Failure},
    sized::{self, Plain},
};

/// What a call returns that has no other result: WINDLASS_OK, or one of the WINDLASS_E_ codes, all
/// of which are below 0.
///
/// Codes are never renumbered or reused; later releases may add some. So take every negative number
/// for an error.
pub type windlass_status = i32;

/// Done.
pub const WINDLASS_OK: i32 = 0;
/// A pointer is NULL that may not be.
pub const WINDLASS_E_NULL: i32 = -1;
/// A setting has a value that is not allowed; the error detail names it.
pub const WINDLASS_E_ARG: i32 = -2;
/// A struct_size is none that this library can have been given: was the struct's init called?
pub const WINDLASS_E_STRUCT_SIZE: i32 = -3;
/// The system does not give the memory.
pub const WINDLASS_E_NOMEM: i32 = -4;
/// A length, a stride or a count is impossible.
pub const WINDLASS_E_RANGE: i32 = -5;
/// A bug in windlass. The handle may only be freed.
pub const WINDLASS_E_PANIC: i32 = -6;
/// There is no room for a new id. The event was not admitted, and nothing was changed.
pub const WINDLASS_E_FULL: i32 = -7;
/// The time lies further ahead of the newest one seen than max_jump. The event was not admitted,
/// and nothing was changed.
pub const WINDLASS_E_JUMP: i32 = -8;
/// The offsets of a packed batch go back, or beyond the bytes.
pub const WINDLASS_E_OFFSETS: i32 = -9;
/// The lease of a claim is 0, or longer than the window. Nothing was claimed or changed.
pub const WINDLASS_E_LEASE: i32 = -10;
/// With WINDLASS_IDENTITY_BYTES: the id is longer than WINDLASS_MAX_ID_LEN bytes. The event was not
/// admitted, and nothing was changed.
pub const WINDLASS_E_TOO_LONG: i32 = -11;
/// The ring has no node.
pub const WINDLASS_E_NO_NODE: i32 = -12;
/// An array of the caller's is too small for a list, a key, a value or an export. The windlass_top_list, place,
/// entry or length was written, which says how much it takes, and nothing else.
pub const WINDLASS_E_TOO_SMALL: i32 = -13;
/// Another key that is in the queue has the same hash. Nothing was changed.
pub const WINDLASS_E_COLLISION: i32 = -14;
/// Bytes are not what they are read as: something else, cut off, damaged, or of a later version. The error
/// detail says where.
pub const WINDLASS_E_FORMAT: i32 = -15;
/// What is to be merged does not go together; the error detail says what differs. Nothing was changed.
pub const WINDLASS_E_MISMATCH: i32 = -16;

/// A function of the caller's that was to write or read a snapshot has failed.
pub const WINDLASS_E_IO: i32 = -17;
/// Not a snapshot of this structure, of a later version, cut off, or damaged; the error detail says what
/// and where.
pub const WINDLASS_E_SNAPSHOT: i32 = -18;

/// What a status code means, in a few words of English: a static string, never NULL, for any
/// number.
///
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn windlass_status_text(status: windlass_status) -> *const c_char {
    text(status).as_ptr()
}

fn text(status: windlass_status) -> &'static CStr {
    match status {
        WINDLASS_OK => c"ok",
        WINDLASS_E_NULL => c"a pointer is NULL that may not be",
        WINDLASS_E_ARG => c"a setting has a value that is not allowed",
        WINDLASS_E_STRUCT_SIZE => c"a struct has a size that is not known: was its init called?",
        WINDLASS_E_NOMEM => c"the system does not give the memory",
        WINDLASS_E_RANGE => c"a length, a stride or a count is impossible",
        WINDLASS_E_PANIC => c"a bug in windlass: the handle may only be freed",
        WINDLASS_E_FULL => c"no room for a new id: the capacity is reached",
        WINDLASS_E_JUMP => c"the time lies too far ahead of the newest one seen",
        WINDLASS_E_OFFSETS => c"the offsets of a packed batch go back, or beyond the bytes",
        WINDLASS_E_LEASE => c"the lease is not 1 tick to the window",
        WINDLASS_E_TOO_LONG => c"an id is longer than 65535 bytes where its bytes are kept",
        WINDLASS_E_NO_NODE => c"the ring has no node",
        WINDLASS_E_TOO_SMALL => c"an array is too small for what it is to hold",
        WINDLASS_E_COLLISION => c"another key has the same hash",
        WINDLASS_E_FORMAT => c"bytes are not what they are read as",
        WINDLASS_E_MISMATCH => c"what is to be merged does not go together",
        WINDLASS_E_IO => c"a snapshot could not be written or read",
        WINDLASS_E_SNAPSHOT => c"not a snapshot of this structure, or damaged",
        1.. => c"not an error",
        _ => c"an error that this version of windlass does not know",
    }
}

/// What was wrong, in words. The caller owns it, begins it as WINDLASS_ERROR_INIT, and passes it
/// where a function takes one; NULL if it does not care. It is written when the call fails, and
/// else left alone.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct windlass_error {
    /// sizeof(windlass_error).
    pub struct_size: u32,
    /// The code that the call returned.
    pub code: windlass_status,
    /// Names what was wrong, its value, and what is allowed: UTF-8, ends with NUL, cut where it is
    /// too long.
    pub detail: [c_char; 248],
}

// SAFETY: integers only, `struct_size` first.
unsafe impl Plain for windlass_error {
    const FIRST_SIZE: usize = 256;
    const DEFAULT: Self = windlass_error { struct_size: 256, code: WINDLASS_OK, detail: [0; 248] };
}

/// Runs `body`, and writes down what was wrong if it fails.
///
/// # Safety
/// `error` is NULL, or points to a `windlass_error` that nobody else uses now, with its size set.
pub(crate) unsafe fn explained<T: From<windlass_status>>(
    error: *mut windlass_error,
    body: impl FnOnce() -> Result<T, Failure>,
) -> T {
    boundary::guard(|| {
        let mut size = 0;
        if !error.is_null() {
            // SAFETY: the caller's promise. Only the size: the rest need not have a value yet.
            size = unsafe { error.cast::<u32>().read_unaligned() };
            sized::check::<windlass_error>(size)?;
        }
        // Caught here as well, so that a panic is written down like any other failure.
        boundary::caught(body).inspect_err(|failure| {
            if !error.is_null() {
                let written =
                    windlass_error { struct_size: size, code: failure.status, detail: detail(failure) };
                // SAFETY: the caller's promise; it has at least that size.
                unsafe { error.write_unaligned(written) };
            }
        })
    })
}

fn detail(failure: &Failure) -> [c_char; 248] {
    let text = failure.detail.as_deref().unwrap_or_else(|| text(failure.status).to_str().unwrap_or_default());
    let mut detail = [0; 248];
    // Cut where a character ends, before the last NUL.
    let end =
        (0..detail.len().min(text.len() + 1)).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    for (to, from) in detail.iter_mut().zip(text[..end].bytes()) {
        *to = c_char::from_ne_bytes([from]);
    }
    detail
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Failure {
        Failure { status: WINDLASS_E_ARG, detail: Some(error.to_string()) }
    }
}

impl From<windlass_status> for Failure {
    fn from(status: windlass_status) -> Failure {
        Failure { status, detail: None }
    }
}

/// The code of a refused event.
pub(crate) fn refused(why: Refused) -> windlass_status {
    match why {
        Refused::Full => WINDLASS_E_FULL,
        Refused::Jump => WINDLASS_E_JUMP,
        Refused::Lease => WINDLASS_E_LEASE,
        Refused::TooLong => WINDLASS_E_TOO_LONG,
        // What the core adds to them gets a code here.
        _ => WINDLASS_E_ARG,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [windlass_status; 16] = [
        WINDLASS_E_NULL,
        WINDLASS_E_ARG,
        WINDLASS_E_STRUCT_SIZE,
        WINDLASS_E_NOMEM,
        WINDLASS_E_RANGE,
        WINDLASS_E_PANIC,
        WINDLASS_E_FULL,
        WINDLASS_E_JUMP,
        WINDLASS_E_OFFSETS,
        WINDLASS_E_LEASE,
        WINDLASS_E_TOO_LONG,
        WINDLASS_E_NO_NODE,
        WINDLASS_E_TOO_SMALL,
        WINDLASS_E_COLLISION,
        WINDLASS_E_FORMAT,
        WINDLASS_E_MISMATCH,
        WINDLASS_E_IO,
        WINDLASS_E_SNAPSHOT,
    ];

    fn fresh() -> windlass_error {
        windlass_error { struct_size: 256, code: 1, detail: [1; 248] }
    }

    fn fail(error: &mut windlass_error, failure: Failure) -> windlass_status {
        // SAFETY: a valid struct.
        unsafe { explained(error, || Err(failure)) }
    }

    fn read(error: &windlass_error) -> String {
        // SAFETY: what is written ends with NUL.
        unsafe { CStr::from_ptr(error.detail.as_ptr()) }.to_str().expect("UTF-8").to_owned()
    }

    #[test]
    fn every_code_has_its_own_text_and_fits_a_byte() {
        let texts: std::collections::HashSet<_> = ALL.iter().map(|&status| text(status)).collect();
        assert_eq!(texts.len(), ALL.len());
        assert!(ALL.iter().all(|&status| (-128..0).contains(&status)));
        for number in [1, 7, i32::MAX, -128, i32::MIN] {
            assert!(!texts.contains(text(number)));
        }
    }

    #[test]
    fn a_detail_is_cut_where_a_character_ends() {
        let mut error = fresh();
        let detail = Some("ü".repeat(200));
        assert_eq!(fail(&mut error, Failure { status: WINDLASS_E_ARG, detail }), WINDLASS_E_ARG);
        assert_eq!(read(&error), "ü".repeat(123));
        assert_eq!(error.code, WINDLASS_E_ARG);

        let mut error = fresh();
        fail(&mut error, WINDLASS_E_NULL.into());
        assert_eq!(read(&error), text(WINDLASS_E_NULL).to_str().expect("ASCII"));
    }

    #[test]
    fn a_panic_becomes_a_code() {
        let mut error = fresh();
        // SAFETY: a valid struct.
        let status: windlass_status = unsafe { explained(&raw mut error, || panic!("expected by a test")) };
        assert_eq!(status, WINDLASS_E_PANIC);
        assert_eq!(error.code, WINDLASS_E_PANIC);
        let status: i64 = boundary::guard::<_, windlass_status>(|| panic!("expected by a test"));
        assert_eq!(status, i64::from(WINDLASS_E_PANIC));
    }

    #[test]
    fn an_error_of_another_size() {
        for size in [0, 255, 4097, u32::MAX] {
            let mut error = windlass_error { struct_size: size, ..fresh() };
            assert_eq!(fail(&mut error, WINDLASS_E_NULL.into()), WINDLASS_E_STRUCT_SIZE);
            assert_eq!((error.struct_size, error.code), (size, 1), "not written");
        }
    }
}
