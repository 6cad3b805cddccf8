//! `windlass_counter`: how often in the window.

// The header has them in this order.
pub mod config;

pub mod single;

pub mod batch;

pub mod stats;

pub mod upkeep;

pub mod snapshot;

#[cfg(test)]
mod tests;

use windlass::WindowedCounter;

use crate::{
    handle::{Handle, free, make},
    status::{windlass_error, windlass_status},
};
use config::windlass_counter_config;

/// It is in the key's count, and in the total.
pub const WINDLASS_COUNTED: i32 = 0;
/// It is in the total alone: there is no room for one more key.
pub const WINDLASS_NO_ROOM: i32 = 1;
/// It is not counted: its pane is kept no more.
pub const WINDLASS_LATE: i32 = 2;

/// Counts how often each key was seen in the window, exactly, for any number of threads. Made by
/// windlass_counter_new, freed by windlass_counter_free.
///
/// Time is cut into panes, multiples of the pane's length from 0 on. The window at a time is the pane
/// of that time and those before it that make up the window with it; the complete window those before
/// that pane, as many as make up the window.
pub struct windlass_counter {
    // Not repr(C), which would show this field: the header has a forward declaration. Behind a pointer stands a `WindowedCounter`.
    _opaque: [u8; 0],
}

impl Handle for windlass_counter {
    type Core = WindowedCounter;
}

/// Makes a windlass_counter as config says, and stores it in out; free it with
/// windlass_counter_free. The system is asked for the memory of its rows as they are needed; where it
/// cannot be had, keys get WINDLASS_NO_ROOM.
///
/// error may be NULL.
/// Errors: WINDLASS_E_NULL (config or out), WINDLASS_E_STRUCT_SIZE, WINDLASS_E_ARG (a setting;
/// error names it), WINDLASS_E_NOMEM. Then out is left alone.
/// Threads: concurrent.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn windlass_counter_new(
    config: *const windlass_counter_config,
    out: *mut *mut windlass_counter,
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
pub unsafe extern "C" fn windlass_counter_free(counter: *mut windlass_counter) {
    // SAFETY: the caller's promise.
    unsafe { free(counter) }
}
