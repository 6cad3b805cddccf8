//! Taking entries out by their keys, wherever they are. Only what fits is taken, as with pops.

use std::cell::Cell;

use windlass::{Key, KeyHash, Tick};

use super::{
    WINDLASS_ABSENT, WINDLASS_FOUND,
    entry::{Room, windlass_fifo_entry},
    value::Value,
    windlass_fifo,
};
use crate::{
    boundary::{guard, put, slice},
    handle::core,
    hash::windlass_hash,
    status::{WINDLASS_E_NULL, WINDLASS_E_TOO_SMALL, windlass_status},
};

/// Takes the entry of a key out, wherever it is. value has room for value_room bytes; if it is NULL it
/// is not wanted. Of the key, which the caller has, entry says nothing: key_len and key_kind are 0.
///
/// Returns WINDLASS_FOUND, or WINDLASS_ABSENT: it was never put in, or has been taken out; then entry
/// is left alone. Or an error, and nothing was taken out: WINDLASS_E_TOO_SMALL (the value is longer than
/// its room; entry says how long, its seq is UINT64_MAX), WINDLASS_E_NULL (fifo or entry; key, and len is
/// not 0), WINDLASS_E_RANGE (a length).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_remove(
    fifo: *mut windlass_fifo,
    key: *const u8,
    len: usize,
    value: *mut u8,
    value_room: usize,
    entry: *mut windlass_fifo_entry,
) -> i32 {
    // SAFETY: the caller's promise.
    let key = unsafe { slice(key, len) };
    // SAFETY: the caller's promise.
    unsafe { remove(fifo, key, value, value_room, entry) }
}

/// The same for a key that was pushed as a hash.
///
/// Returns as windlass_fifo_remove.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_remove_hash(
    fifo: *mut windlass_fifo,
    hash: windlass_hash,
    value: *mut u8,
    value_room: usize,
    entry: *mut windlass_fifo_entry,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { remove(fifo, Ok(KeyHash::from(hash)), value, value_room, entry) }
}

/// The same for a key that is a number.
///
/// Returns as windlass_fifo_remove.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_remove_u64(
    fifo: *mut windlass_fifo,
    key: u64,
    value: *mut u8,
    value_room: usize,
    entry: *mut windlass_fifo_entry,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { remove(fifo, Ok(key), value, value_room, entry) }
}

/// # Safety
/// `fifo` as `core` has it, `value` as `Room`, `entry` as `put`.
unsafe fn remove(
    fifo: *mut windlass_fifo,
    key: Result<impl Key, windlass_status>,
    value: *mut u8,
    value_room: usize,
    entry: *mut windlass_fifo_entry,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let fifo = unsafe { core(fifo) }?;
        // SAFETY: the caller's promise.
        let mut room = unsafe { Room::new(value, value_room) }?;
        if entry.is_null() {
            return Err(WINDLASS_E_NULL);
        }
        let too_long = Cell::new(None);
        let taken = fifo.remove_if(key?, |value, at| {
            let fits = room.fits(value.bytes());
            // (Whose number it is the caller would not know if another took it meanwhile.)
            too_long.set((!fits).then(|| told(u64::MAX, at, value)));
            fits
        });
        match (taken, too_long.take()) {
            (Some(taken), _) => {
                // SAFETY: the caller's promise.
                unsafe { put(entry, told(taken.seq, taken.pushed_at, &taken.value)) }?;
                room.copy(taken.value.bytes()).map(|()| WINDLASS_FOUND)
            }
            (None, Some(told)) => {
                // SAFETY: the caller's promise.
                unsafe { put(entry, told) }?;
                Err(WINDLASS_E_TOO_SMALL)
            }
            (None, None) => Ok(WINDLASS_ABSENT),
        }
    })
}

/// An entry whose key the caller has.
fn told(seq: u64, at: Tick, value: &Value) -> windlass_fifo_entry {
    let value_len = value.bytes().len() as u64;
    windlass_fifo_entry { seq, pushed_at: at.0, key_len: 0, value_len, key_kind: 0, reserved0: 0 }
}
