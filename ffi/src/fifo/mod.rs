//! `windlass_fifo`: how many are ahead.

// The header has them in this order.
pub mod config;

pub mod entry;

pub mod push;

pub mod ask;

pub mod pop;

pub mod remove;

pub mod batch;

pub mod stats;

pub mod snapshot;

#[cfg(test)]
mod tests;
mod value;

use windlass::{FifoIndex, PushRefused, Pushed};

use crate::{
    handle::{Handle, free, make},
    status::{WINDLASS_E_COLLISION, WINDLASS_E_FULL, windlass_error, windlass_status},
};
use config::windlass_fifo_config;
use value::Value;

/// The key was not there; it is the last entry now.
pub const WINDLASS_PUSHED_NEW: i32 = 0;
/// The key was there, and stays as it is.
pub const WINDLASS_PUSHED_PRESENT: i32 = 1;
/// The key was there, and is the last entry now, with the new value.
pub const WINDLASS_PUSHED_MOVED: i32 = 2;

/// There is no such entry.
pub const WINDLASS_ABSENT: i32 = 0;
/// There is one.
pub const WINDLASS_FOUND: i32 = 1;

/// A queue of keys with values that tells, for any key, how many are before it, in constant time; for
/// any number of threads. Made by windlass_fifo_new, freed by windlass_fifo_free.
///
/// Entries have numbers, in the order in which they come. A value is any bytes; it is copied in, and
/// copied out. Values of up to 22 bytes and keys of up to 21 lie in the entry itself.
pub struct windlass_fifo {
    // Not repr(C), which would show this field: the header has a forward declaration. Behind a pointer stands a `FifoIndex`.
    _opaque: [u8; 0],
}

impl Handle for windlass_fifo {
    type Core = FifoIndex<Value>;
}

/// What C gets for a push, and the number.
fn code(pushed: Result<Pushed, PushRefused>) -> Result<(i32, u64), windlass_status> {
    match pushed {
        Ok(Pushed::New(seq)) => Ok((WINDLASS_PUSHED_NEW, seq)),
        Ok(Pushed::Present(seq)) => Ok((WINDLASS_PUSHED_PRESENT, seq)),
        Ok(Pushed::Moved(seq)) => Ok((WINDLASS_PUSHED_MOVED, seq)),
        Err(PushRefused::Full) => Err(WINDLASS_E_FULL),
        Err(PushRefused::Collision) => Err(WINDLASS_E_COLLISION),
    }
}

/// Makes a windlass_fifo as config says, and stores it in out; free it with windlass_fifo_free.
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (config or out), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_ARG (a setting;
/// error names it), WINDLASS_E_NOMEM. Then out is left alone.
/// Threads: concurrent.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn windlass_fifo_new(
    config: *const windlass_fifo_config,
    out: *mut *mut windlass_fifo,
    error: *mut windlass_error,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let build = || unsafe { config::read(config) }?.build();
    // SAFETY: the caller's promise.
    unsafe { make(out, error, build) }
}

/// Frees it. NULL is allowed, and does nothing.
///
/// Threads: exclusive: no other call with this handle may be under way, or come after it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_free(fifo: *mut windlass_fifo) {
    // SAFETY: the caller's promise.
    unsafe { free(fifo) }
}
