//! Many events, or questions, in one call. Everything is checked before the first.

use std::mem::MaybeUninit;

use windlass::{KeyHash, Tally, Tick};

use super::windlass_counter;
use crate::{
    adds,
    boundary::{guard, room, slice},
    handle::core,
    hash::windlass_hash,
    ids::{Fixed, Packed},
    status::{WINDLASS_E_NULL, WINDLASS_OK, windlass_status},
};

/// What became of the events of a batch. This struct does not grow.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct windlass_tally {
    /// Counted, in the keys' counts and in the total.
    pub counted: u64,
    /// In the total alone: there was no room for their keys.
    pub no_room: u64,
    /// Not counted: their panes are kept no more.
    pub late: u64,
    /// Not counted: their times were further ahead than max_jump.
    pub jumps: u64,
}

impl From<Tally> for windlass_tally {
    fn from(tally: Tally) -> windlass_tally {
        windlass_tally {
            counted: tally.counted,
            no_room: tally.refused,
            late: tally.late,
            jumps: tally.jumps,
        }
    }
}

/// Counts n events, by the hashes of their keys. A batch has the memory for 16 events on its way at
/// once, and so is faster than single calls; 64 to 512 events are enough.
///
/// Event i counts times[i] times, or once if times is NULL. Its time is ticks[i], or now for all of
/// them if ticks is NULL. tally may be NULL.
///
/// Errors; then nothing was counted: WINDLASS_E_NULL (counter; hashes, and n is not 0),
/// WINDLASS_E_RANGE (n; a pointer is not aligned).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_counter_add_hashes(
    counter: *mut windlass_counter,
    hashes: *const windlass_hash,
    n: usize,
    times: *const u64,
    now: u64,
    ticks: *const u64,
    tally: *mut windlass_tally,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let keys = unsafe { slice(hashes, n) }.map(|hashes| |i: usize| KeyHash::from(hashes[i]));
    // SAFETY: the caller's promise.
    unsafe { adds::batch(counter, keys, n, times, now, ticks, tally) }
}

/// The same for n keys that are numbers.
///
/// The rest as windlass_counter_add_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_counter_add_u64s(
    counter: *mut windlass_counter,
    keys: *const u64,
    n: usize,
    times: *const u64,
    now: u64,
    ticks: *const u64,
    tally: *mut windlass_tally,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let keys = unsafe { slice(keys, n) }.map(|keys| |i: usize| keys[i]);
    // SAFETY: the caller's promise.
    unsafe { adds::batch(counter, keys, n, times, now, ticks, tally) }
}

/// The same for n keys of key_len bytes each, the next one stride bytes after the last: a field of an
/// array of structs, for example. 1 <= key_len <= stride. Of keys there must be (n - 1) * stride +
/// key_len bytes.
///
/// Errors: WINDLASS_E_RANGE also if key_len or stride is wrong. The rest as
/// windlass_counter_add_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_counter_add_fixed(
    counter: *mut windlass_counter,
    keys: *const u8,
    key_len: usize,
    stride: usize,
    n: usize,
    times: *const u64,
    now: u64,
    ticks: *const u64,
    tally: *mut windlass_tally,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let keys = unsafe { Fixed::new(keys, key_len, stride, n) }.map(|keys| move |i: usize| keys.get(i));
    // SAFETY: the caller's promise.
    unsafe { adds::batch(counter, keys, n, times, now, ticks, tally) }
}

/// The same for n keys of any lengths, one behind the other: key i is bytes[offsets[i]] up to, but
/// not with, bytes[offsets[i + 1]]. So there are n + 1 offsets, none less than the one before it,
/// and none greater than bytes_len.
///
/// Errors: WINDLASS_E_OFFSETS if they are not so, WINDLASS_E_NULL also for bytes (bytes_len is not
/// 0) and offsets (n is not 0). The rest as windlass_counter_add_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_counter_add_packed(
    counter: *mut windlass_counter,
    bytes: *const u8,
    bytes_len: usize,
    offsets: *const u32,
    n: usize,
    times: *const u64,
    now: u64,
    ticks: *const u64,
    tally: *mut windlass_tally,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let keys = unsafe { Packed::new(bytes, bytes_len, offsets, n) }.map(|keys| move |i: usize| keys.get(i));
    // SAFETY: the caller's promise.
    unsafe { adds::batch(counter, keys, n, times, now, ticks, tally) }
}

/// How often each of n keys was seen in the window at the time now, by their hashes. counts has room
/// for n, and may not overlap with hashes.
///
/// Errors: WINDLASS_E_NULL (counter; hashes or counts, and n is not 0), WINDLASS_E_RANGE (n; a pointer
/// is not aligned).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_counter_count_hashes(
    counter: *const windlass_counter,
    hashes: *const windlass_hash,
    n: usize,
    now: u64,
    counts: *mut u64,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let counter = unsafe { core(counter) }?;
        // SAFETY: the caller's promise.
        let hashes = unsafe { slice(hashes, n) }?;
        if counts.is_null() && n > 0 {
            return Err(WINDLASS_E_NULL);
        }
        // SAFETY: the caller's promise.
        let counts = unsafe { room(counts, n) }?;
        let mut found = Vec::new();
        let mut keys = Vec::new();
        for (hashes, counts) in hashes.chunks(CHUNK).zip(counts.chunks_mut(CHUNK)) {
            keys.clear();
            keys.extend(hashes.iter().map(|&hash| KeyHash::from(hash)));
            counter.count_batch_at(&keys, Tick(now), &mut found);
            counts.iter_mut().zip(&found).for_each(|(to, &count)| *to = MaybeUninit::new(count));
        }
        Ok(WINDLASS_OK)
    })
}

/// Questions that are asked at a time.
const CHUNK: usize = 512;
