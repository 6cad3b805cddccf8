//! Questions.

use windlass::{Entry, Key, KeyHash, Tick};

use super::{
    WINDLASS_ABSENT, WINDLASS_FOUND,
    entry::{Places, Room, give, windlass_fifo_entry, windlass_fifo_place},
    value::Value,
    windlass_fifo,
};
use crate::{
    boundary::{guard, put, slice},
    handle::core,
    hash::windlass_hash,
    status::windlass_status,
};

/// How many entries are before a key's: 0 for the one that is popped next.
///
/// Returns WINDLASS_FOUND, or WINDLASS_ABSENT: it was never put in, or has been popped; then rank is
/// left alone. Or an error: WINDLASS_E_NULL (fifo or rank; key, and len is not 0), WINDLASS_E_RANGE
/// (len).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_rank(
    fifo: *const windlass_fifo,
    key: *const u8,
    len: usize,
    rank: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise.
    let key = unsafe { slice(key, len) };
    // SAFETY: the caller's promise.
    unsafe { rank_of(fifo, key, rank) }
}

/// The same for a key that was pushed as a hash.
///
/// Returns as windlass_fifo_rank.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_rank_hash(
    fifo: *const windlass_fifo,
    hash: windlass_hash,
    rank: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { rank_of(fifo, Ok(KeyHash::from(hash)), rank) }
}

/// The same for a key that is a number.
///
/// Returns as windlass_fifo_rank.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_rank_u64(fifo: *const windlass_fifo, key: u64, rank: *mut u64) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { rank_of(fifo, Ok(key), rank) }
}

/// Where a key stands, and its value, in one look. value has room for value_room bytes; if it is NULL
/// only the length is told.
///
/// Returns WINDLASS_FOUND, or WINDLASS_ABSENT; then place is left alone. Or an error:
/// WINDLASS_E_TOO_SMALL (the value is longer than its room; place is filled and says how long),
/// WINDLASS_E_NULL (fifo or place; key, and len is not 0), WINDLASS_E_RANGE (a length).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_find(
    fifo: *const windlass_fifo,
    key: *const u8,
    len: usize,
    value: *mut u8,
    value_room: usize,
    place: *mut windlass_fifo_place,
) -> i32 {
    // SAFETY: the caller's promise.
    let key = unsafe { slice(key, len) };
    // SAFETY: the caller's promise.
    unsafe { find(fifo, key, value, value_room, place) }
}

/// The same for a key that was pushed as a hash.
///
/// Returns as windlass_fifo_find.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_find_hash(
    fifo: *const windlass_fifo,
    hash: windlass_hash,
    value: *mut u8,
    value_room: usize,
    place: *mut windlass_fifo_place,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { find(fifo, Ok(KeyHash::from(hash)), value, value_room, place) }
}

/// The same for a key that is a number.
///
/// Returns as windlass_fifo_find.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_find_u64(
    fifo: *const windlass_fifo,
    key: u64,
    value: *mut u8,
    value_room: usize,
    place: *mut windlass_fifo_place,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { find(fifo, Ok(key), value, value_room, place) }
}

/// How many entries there are. Or an error: WINDLASS_E_NULL.
///
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_len(fifo: *const windlass_fifo) -> i64 {
    // SAFETY: the caller's promise.
    guard(|| Ok::<_, windlass_status>(i64::try_from(unsafe { core(fifo) }?.len()).unwrap_or(i64::MAX)))
}

/// How many entries were put in before a time: for a key that waits in another queue since then, how
/// many of this one are before it.
///
/// Errors: WINDLASS_E_NULL.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_count_before(
    fifo: *const windlass_fifo,
    time: u64,
    count: *mut u64,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let before = unsafe { core(fifo) }?.count_before(Tick(time));
        // SAFETY: the caller's promise.
        unsafe { put(count, before) }
    })
}

/// The entry that has rank others before it. key has room for key_room bytes and value for value_room;
/// what is NULL is not wanted.
///
/// Returns WINDLASS_FOUND, or WINDLASS_ABSENT; then entry is left alone. Or an error:
/// WINDLASS_E_TOO_SMALL (key or value is longer than its room; entry is filled and says how long),
/// WINDLASS_E_NULL (fifo or entry), WINDLASS_E_RANGE (a length).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_at_rank(
    fifo: *const windlass_fifo,
    rank: u64,
    key: *mut u8,
    key_room: usize,
    value: *mut u8,
    value_room: usize,
    entry: *mut windlass_fifo_entry,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { look(fifo, key, key_room, value, value_room, entry, |fifo| fifo.at_rank(rank)) }
}

/// The first entry from the number seq on. So all are gone through from 0 on, the next time with the
/// number after that of the entry.
///
/// Returns as windlass_fifo_at_rank.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_next(
    fifo: *const windlass_fifo,
    seq: u64,
    key: *mut u8,
    key_room: usize,
    value: *mut u8,
    value_room: usize,
    entry: *mut windlass_fifo_entry,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { look(fifo, key, key_room, value, value_room, entry, |fifo| fifo.iter_from(seq).next()) }
}

/// The oldest entry, which stays.
///
/// Returns as windlass_fifo_at_rank.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_peek(
    fifo: *const windlass_fifo,
    key: *mut u8,
    key_room: usize,
    value: *mut u8,
    value_room: usize,
    entry: *mut windlass_fifo_entry,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { look(fifo, key, key_room, value, value_room, entry, windlass::FifoIndex::peek) }
}

/// # Safety
/// `fifo` as `core` has it, `rank` as `put`.
#[inline(always)]
unsafe fn rank_of(fifo: *const windlass_fifo, key: Result<impl Key, windlass_status>, rank: *mut u64) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let fifo = unsafe { core(fifo) }?;
        if rank.is_null() {
            return Err(crate::status::WINDLASS_E_NULL);
        }
        Ok(match fifo.rank(key?) {
            Some(before) => {
                // SAFETY: the caller's promise.
                unsafe { put(rank, before) }?;
                WINDLASS_FOUND
            }
            None => WINDLASS_ABSENT,
        })
    })
}

/// # Safety
/// `fifo` as `core` has it, `value` as `Room`, `place` as `put`.
#[inline(always)]
unsafe fn find(
    fifo: *const windlass_fifo,
    key: Result<impl Key, windlass_status>,
    value: *mut u8,
    value_room: usize,
    place: *mut windlass_fifo_place,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let fifo = unsafe { core(fifo) }?;
        // SAFETY: the caller's promise.
        let mut room = unsafe { Room::new(value, value_room) }?;
        if place.is_null() {
            return Err(crate::status::WINDLASS_E_NULL);
        }
        let Some(found) = fifo.find(key?) else { return Ok(WINDLASS_ABSENT) };
        let bytes = found.value.bytes();
        let told = windlass_fifo_place {
            seq: found.seq,
            rank: found.rank,
            pushed_at: found.pushed_at.0,
            value_len: bytes.len() as u64,
        };
        // SAFETY: the caller's promise.
        unsafe { put(place, told) }?;
        room.copy(bytes).map(|()| WINDLASS_FOUND)
    })
}

/// # Safety
/// `fifo` as `core` has it, `key` and `value` as `Room`, `entry` as `put`.
unsafe fn look(
    fifo: *const windlass_fifo,
    key: *mut u8,
    key_room: usize,
    value: *mut u8,
    value_room: usize,
    entry: *mut windlass_fifo_entry,
    question: impl FnOnce(&windlass::FifoIndex<Value>) -> Option<Entry<Value>>,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let fifo = unsafe { core(fifo) }?;
        // SAFETY: the caller's promise.
        let key = unsafe { Room::new(key, key_room) }?;
        // SAFETY: the caller's promise.
        let value = unsafe { Room::new(value, value_room) }?;
        if entry.is_null() {
            return Err(crate::status::WINDLASS_E_NULL);
        }
        let Some(found) = question(fifo) else { return Ok(WINDLASS_ABSENT) };
        // SAFETY: the caller's promise.
        unsafe { give(&found, &mut Places { key, value }, entry) }
    })
}
