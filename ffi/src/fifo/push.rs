//! One entry at a time.

use windlass::{Key, KeyHash, Tick};

use super::{code, value::Value, windlass_fifo};
use crate::{
    boundary::{guard, put, slice},
    handle::core,
    hash::windlass_hash,
    status::windlass_status,
};

/// Puts an entry at the tail: a key of len bytes (0 or more), and a value of value_len bytes, at the
/// time now. What happens to a key that is there the settings say.
///
/// Returns WINDLASS_PUSHED_NEW, WINDLASS_PUSHED_PRESENT or WINDLASS_PUSHED_MOVED, and stores the
/// number of the key's entry in seq, which may be NULL. Or an error, and nothing was changed:
/// WINDLASS_E_FULL, WINDLASS_E_COLLISION, WINDLASS_E_NULL (fifo; key or value, and its length is not
/// 0), WINDLASS_E_RANGE (a length).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_push(
    fifo: *mut windlass_fifo,
    key: *const u8,
    len: usize,
    value: *const u8,
    value_len: usize,
    now: u64,
    seq: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise.
    let key = unsafe { slice(key, len) };
    // SAFETY: the caller's promise.
    unsafe { push(fifo, key, value, value_len, now, seq) }
}

/// The same for a key whose hash is known, by windlass_hash_bytes for example, with the seed of fifo
/// or of a namespace. It is another key than the bytes that were hashed.
///
/// Returns as windlass_fifo_push.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_push_hash(
    fifo: *mut windlass_fifo,
    hash: windlass_hash,
    value: *const u8,
    value_len: usize,
    now: u64,
    seq: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { push(fifo, Ok(KeyHash::from(hash)), value, value_len, now, seq) }
}

/// The same for a key that is a number.
///
/// Returns as windlass_fifo_push.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_fifo_push_u64(
    fifo: *mut windlass_fifo,
    key: u64,
    value: *const u8,
    value_len: usize,
    now: u64,
    seq: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { push(fifo, Ok(key), value, value_len, now, seq) }
}

/// # Safety
/// `fifo` as `core` has it, `value` as `slice`, `seq` is NULL or may be written to.
#[inline(always)]
unsafe fn push(
    fifo: *mut windlass_fifo,
    key: Result<impl Key, windlass_status>,
    value: *const u8,
    value_len: usize,
    now: u64,
    seq: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's promise.
        let fifo = unsafe { core(fifo) }?;
        // SAFETY: the caller's promise.
        let value = Value::new(unsafe { slice(value, value_len) }?);
        let (code, number) = code(fifo.push_at(key?, value, Tick(now)))?;
        if !seq.is_null() {
            // SAFETY: the caller's promise.
            unsafe { put(seq, number) }?;
        }
        Ok::<_, i32>(code)
    })
}
