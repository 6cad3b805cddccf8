//! Taking entries out. Only what fits is taken: nothing is lost to a buffer that is too small.

use std::{cell::Cell, mem::MaybeUninit};

use windlass::{Entry, FifoIndex};

use super::{
    WINDLASS_ABSENT,
    entry::{Places, Room, described, give, windlass_fifo_entry},
    value::Value,
    windlass_fifo,
};
use crate::{
    boundary::{guard, put, room},
    handle::core,
    status::{WINDLASS_E_NULL, WINDLASS_E_TOO_SMALL, windlass_status},
};

/// Takes the oldest entry out. key has room for key_room bytes and value for value_room; what is NULL
/// is not wanted.
///
/// Returns WINDLASS_FOUND, or WINDLASS_ABSENT: there is none; then entry is left alone. Or an error,
/// and nothing was taken out: WINDLASS_E_TOO_SMALL (key or value is longer than its room; entry says
/// how long, its seq is UINT64_MAX), WINDLASS_E_NULL (fifo or entry), WINDLASS_E_RANGE (a length).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_pop(
    fifo: *mut windlass_fifo,
    key: *mut u8,
    key_room: usize,
    value: *mut u8,
    value_room: usize,
    entry: *mut windlass_fifo_entry,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { pop(fifo, u64::MAX, key, key_room, value, value_room, entry) }
}

/// Takes the oldest entry out if it was put in at the time until or before.
///
/// Returns as windlass_fifo_pop, WINDLASS_ABSENT also if the oldest came later.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_pop_until(
    fifo: *mut windlass_fifo,
    until: u64,
    key: *mut u8,
    key_room: usize,
    value: *mut u8,
    value_room: usize,
    entry: *mut windlass_fifo_entry,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { pop(fifo, until, key, key_room, value, value_room, entry) }
}

/// Takes up to n entries out, the oldest first, as long as their bytes fit: those of the keys go to
/// keys one behind the other, those of the values to values; what is NULL is not wanted. entries has
/// room for n, and says how long each is.
///
/// Returns how many were taken out. Or an error, and none was: WINDLASS_E_TOO_SMALL (already the first
/// does not fit; entries[0] says how long it is, its seq is UINT64_MAX), WINDLASS_E_NULL (fifo; entries, and n
/// is not 0), WINDLASS_E_RANGE (a length; entries is not aligned).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_pop_packed(
    fifo: *mut windlass_fifo,
    n: usize,
    keys: *mut u8,
    keys_room: usize,
    values: *mut u8,
    values_room: usize,
    entries: *mut windlass_fifo_entry,
) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let fifo = unsafe { core(fifo) }?;
        // SAFETY: the caller's promise.
        let key = unsafe { Room::new(keys, keys_room) }?;
        // SAFETY: the caller's promise.
        let value = unsafe { Room::new(values, values_room) }?;
        if entries.is_null() && n > 0 {
            return Err(WINDLASS_E_NULL);
        }
        // SAFETY: the caller's promise.
        let out = unsafe { room(entries, n) }?;
        let mut places = Places { key, value };
        for (i, out) in out.iter_mut().enumerate() {
            let (entry, described) = match take(fifo, u64::MAX, &places) {
                Taken::Nothing => return Ok(i as i64),
                Taken::TooLong(_) if i > 0 => return Ok(i as i64),
                Taken::TooLong(described) => (None, described),
                Taken::Entry(entry) => {
                    let described = described(entry.seq, &entry.key, &entry.value, entry.pushed_at);
                    (Some(entry), described)
                }
            };
            *out = MaybeUninit::new(described);
            places.copy(&entry.ok_or(WINDLASS_E_TOO_SMALL)?)?;
        }
        Ok(i64::try_from(n).unwrap_or(i64::MAX))
    })
}

enum Taken {
    Entry(Entry<Value>),
    /// It is still there.
    TooLong(windlass_fifo_entry),
    Nothing,
}

fn take(fifo: &FifoIndex<Value>, until: u64, places: &Places<'_>) -> Taken {
    let too_long = Cell::new(None);
    let taken = fifo.pop_if(|key, value, at| {
        let (due, fits) = (at.0 <= until, places.fits(key, value));
        // (Whose number it is the caller would not know if another took it meanwhile.)
        too_long.set((due && !fits).then(|| described(u64::MAX, key, value, at)));
        due && fits
    });
    match (taken, too_long.take()) {
        (Some(entry), _) => Taken::Entry(entry),
        (None, Some(described)) => Taken::TooLong(described),
        (None, None) => Taken::Nothing,
    }
}

/// # Safety
/// `fifo` as `core` has it, `key` and `value` as `Room`, `entry` as `put`.
unsafe fn pop(
    fifo: *mut windlass_fifo,
    until: u64,
    key: *mut u8,
    key_room: usize,
    value: *mut u8,
    value_room: usize,
    entry: *mut windlass_fifo_entry,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let fifo = unsafe { core(fifo) }?;
        // SAFETY: the caller's promise.
        let key = unsafe { Room::new(key, key_room) }?;
        // SAFETY: the caller's promise.
        let value = unsafe { Room::new(value, value_room) }?;
        if entry.is_null() {
            return Err(WINDLASS_E_NULL);
        }
        let mut places = Places { key, value };
        match take(fifo, until, &places) {
            Taken::Nothing => Ok(WINDLASS_ABSENT),
            // SAFETY: the caller's promise.
            Taken::Entry(taken) => unsafe { give(&taken, &mut places, entry) },
            Taken::TooLong(described) => {
                // SAFETY: the caller's promise.
                unsafe { put(entry, described) }?;
                Err::<i32, windlass_status>(WINDLASS_E_TOO_SMALL)
            }
        }
    })
}
