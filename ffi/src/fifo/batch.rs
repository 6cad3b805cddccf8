//! Many pushes, or questions, in one call. Everything is checked before the first.

use std::mem::MaybeUninit;

use windlass::{FifoIndex, Key, KeyHash, Tick};

use super::{code, value::Value, windlass_fifo};
use crate::{
    boundary::{guard, room, slice},
    handle::core,
    hash::windlass_hash,
    ids::{Fixed, Packed},
    status::{WINDLASS_E_NULL, WINDLASS_OK, windlass_status},
};

/// Puts n entries at the tail, in order, all at the time now. Keys and values are of any lengths, one
/// behind the other: key i is keys[offsets[i]] up to, but not with, keys[offsets[i + 1]]; value i the
/// same of values and value_offsets. So there are n + 1 offsets of each, none less than the one before
/// it, and none greater than the length. If value_offsets is NULL all values are empty.
///
/// results[i] becomes what windlass_fifo_push returns for entry i, which may be an error, and seqs[i]
/// its number, if it is none. Both have room for n; seqs may be NULL.
///
/// Errors; then nothing was put in: WINDLASS_E_OFFSETS, WINDLASS_E_NULL (fifo; keys or values, and
/// its length is not 0; offsets or results, and n is not 0), WINDLASS_E_RANGE (n; a length; a pointer
/// is not aligned).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_push_packed(
    fifo: *mut windlass_fifo,
    keys: *const u8,
    keys_len: usize,
    offsets: *const u32,
    n: usize,
    values: *const u8,
    values_len: usize,
    value_offsets: *const u32,
    now: u64,
    results: *mut i32,
    seqs: *mut u64,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let keys = unsafe { Packed::new(keys, keys_len, offsets, n) }.map(|keys| move |i: usize| keys.get(i));
    // SAFETY: the caller's promise.
    unsafe { push(fifo, keys, n, (values, values_len, value_offsets), now, results, seqs) }
}

/// The same for n keys that are numbers.
///
/// The rest as windlass_fifo_push_packed.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_push_u64s(
    fifo: *mut windlass_fifo,
    keys: *const u64,
    n: usize,
    values: *const u8,
    values_len: usize,
    value_offsets: *const u32,
    now: u64,
    results: *mut i32,
    seqs: *mut u64,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let keys = unsafe { slice(keys, n) }.map(|keys| move |i: usize| keys[i]);
    // SAFETY: the caller's promise.
    unsafe { push(fifo, keys, n, (values, values_len, value_offsets), now, results, seqs) }
}

/// The ranks of n keys that were pushed as hashes: ranks[i] becomes how many entries are before key i,
/// or -1 if it was never put in, or has been popped. ranks has room for n, and may not overlap with the
/// rest. A batch has the memory for 16 keys on its way at once, and so is faster than single calls.
///
/// Errors: WINDLASS_E_NULL (fifo; hashes or ranks, and n is not 0), WINDLASS_E_RANGE (n; a pointer is
/// not aligned).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_rank_hashes(
    fifo: *const windlass_fifo,
    hashes: *const windlass_hash,
    n: usize,
    ranks: *mut i64,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let keys = unsafe { slice(hashes, n) }.map(|hashes| |i: usize| KeyHash::from(hashes[i]));
    // SAFETY: the caller's promise.
    unsafe { rank(fifo, keys, n, ranks) }
}

/// The same for n keys that are numbers.
///
/// Errors: as windlass_fifo_rank_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_rank_u64s(
    fifo: *const windlass_fifo,
    keys: *const u64,
    n: usize,
    ranks: *mut i64,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let keys = unsafe { slice(keys, n) }.map(|keys| |i: usize| keys[i]);
    // SAFETY: the caller's promise.
    unsafe { rank(fifo, keys, n, ranks) }
}

/// The same for n keys of key_len bytes each, the next one stride bytes after the last. 1 <= key_len
/// <= stride. Of keys there must be (n - 1) * stride + key_len bytes.
///
/// Errors: WINDLASS_E_RANGE also if key_len or stride is wrong. The rest as windlass_fifo_rank_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_rank_fixed(
    fifo: *const windlass_fifo,
    keys: *const u8,
    key_len: usize,
    stride: usize,
    n: usize,
    ranks: *mut i64,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let keys = unsafe { Fixed::new(keys, key_len, stride, n) }.map(|keys| move |i: usize| keys.get(i));
    // SAFETY: the caller's promise.
    unsafe { rank(fifo, keys, n, ranks) }
}

/// The same for n keys of any lengths, one behind the other: key i is bytes[offsets[i]] up to, but
/// not with, bytes[offsets[i + 1]]. So there are n + 1 offsets, none less than the one before it,
/// and none greater than bytes_len.
///
/// Errors: WINDLASS_E_OFFSETS if they are not so, WINDLASS_E_NULL also for bytes (bytes_len is not
/// 0) and offsets (n is not 0). The rest as windlass_fifo_rank_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_rank_packed(
    fifo: *const windlass_fifo,
    bytes: *const u8,
    bytes_len: usize,
    offsets: *const u32,
    n: usize,
    ranks: *mut i64,
) -> windlass_status {
    // SAFETY: the caller's promise.
    let keys = unsafe { Packed::new(bytes, bytes_len, offsets, n) }.map(|keys| move |i: usize| keys.get(i));
    // SAFETY: the caller's promise.
    unsafe { rank(fifo, keys, n, ranks) }
}

/// Keys at a time.
const CHUNK: usize = 512;

/// Checks all arguments, then asks.
///
/// # Safety
/// `fifo` as `core` has it, `ranks` as `room`, of `n`.
unsafe fn rank<K: Key>(
    fifo: *const windlass_fifo,
    keys: Result<impl Fn(usize) -> K, windlass_status>,
    n: usize,
    ranks: *mut i64,
) -> windlass_status {
    guard(|| {
        let key = keys?;
        // SAFETY: the caller's promise.
        let fifo = unsafe { core(fifo) }?;
        if ranks.is_null() && n > 0 {
            return Err(WINDLASS_E_NULL);
        }
        // SAFETY: the caller's promise.
        let ranks = unsafe { room(ranks, n) }?;
        let (mut keys, mut found) = (Vec::new(), Vec::new());
        for (chunk, ranks) in ranks.chunks_mut(CHUNK).enumerate() {
            keys.clear();
            keys.extend((chunk * CHUNK..).take(ranks.len()).map(&key));
            fifo.rank_batch(&keys, &mut found);
            for (to, rank) in ranks.iter_mut().zip(&found) {
                *to = MaybeUninit::new(rank.map_or(-1, |rank| i64::try_from(rank).unwrap_or(i64::MAX)));
            }
        }
        Ok(WINDLASS_OK)
    })
}

/// Checks all arguments, then puts in.
///
/// # Safety
/// `fifo` as `core` has it; the values' bytes and offsets as `Packed`, `results` and `seqs` as `room`, of `n`.
unsafe fn push<K: Key>(
    fifo: *mut windlass_fifo,
    keys: Result<impl Fn(usize) -> K, windlass_status>,
    n: usize,
    (values, values_len, value_offsets): (*const u8, usize, *const u32),
    now: u64,
    results: *mut i32,
    seqs: *mut u64,
) -> windlass_status {
    guard(|| {
        let key = keys?;
        // SAFETY: the caller's promise.
        let fifo: &FifoIndex<Value> = unsafe { core(fifo) }?;
        let values = match value_offsets.is_null() {
            true => None,
            // SAFETY: the caller's promise.
            false => Some(unsafe { Packed::new(values, values_len, value_offsets, n) }?),
        };
        if results.is_null() && n > 0 {
            return Err(WINDLASS_E_NULL);
        }
        // SAFETY: the caller's promise.
        let results = unsafe { room(results, n) }?;
        // SAFETY: the caller's promise.
        let seqs = unsafe { room(seqs, n) }?;
        let entry = |i: usize| (key(i), Value::new(values.as_ref().map_or(&[], |values| values.get(i))));
        let mut outcomes = Vec::new();
        for (chunk, results) in results.chunks_mut(CHUNK).enumerate() {
            let first = chunk * CHUNK;
            fifo.push_batch_at((first..first + results.len()).map(entry), Tick(now), &mut outcomes);
            for (i, (result, pushed)) in results.iter_mut().zip(&outcomes).enumerate() {
                let pushed = code(*pushed);
                *result = MaybeUninit::new(pushed.map_or_else(|error| error, |(code, _)| code));
                if let (Some(seq), Ok((_, number))) = (seqs.get_mut(first + i), pushed) {
                    *seq = MaybeUninit::new(number);
                }
            }
        }
        Ok(WINDLASS_OK)
    })
}
