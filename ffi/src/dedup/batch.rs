//! Many events in one call. Everything is checked before the first is observed.

use std::mem::MaybeUninit;

use windlass::{Dedup, Key, KeyHash, Outcome, Tick};

use super::{WINDLASS_FRESH, code, windlass_dedup};
use crate::{
    boundary::{guard, room, slice},
    handle::core,
    hash::windlass_hash,
    ids::{Fixed, Packed},
    status::windlass_status,
};

/// Observes n events in order, by the hashes of their ids; a repeat within the batch is a duplicate
/// like any other. A batch has the memory for 16 events on its way at once, and so is faster than
/// single calls; 64 to 512 events are enough.
///
/// The time of event i is ticks[i], or now for all of them if ticks is NULL.
/// verdicts[i] becomes what the single call would have returned for event i: WINDLASS_FRESH,
/// WINDLASS_DUPLICATE, WINDLASS_E_FULL, WINDLASS_E_JUMP or WINDLASS_E_TOO_LONG, which all fit one
/// byte. verdicts may be NULL. It may not overlap with the rest.
///
/// Returns how many were fresh, or an error; then no event was observed and no verdict was written:
/// WINDLASS_E_NULL (dedup; hashes, and n is not 0), WINDLASS_E_RANGE (n; a pointer is not aligned).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_observe_hashes(
    dedup: *mut windlass_dedup,
    hashes: *const windlass_hash,
    n: usize,
    now: u64,
    ticks: *const u64,
    verdicts: *mut i8,
) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let hashes = unsafe { slice(hashes, n) }?;
        // SAFETY: the caller's promise.
        let batch = unsafe { Batch::new(dedup, n, now, ticks, verdicts) }?;
        Ok::<_, windlass_status>(batch.observe(|i| KeyHash::from(hashes[i])))
    })
}

/// The same for n ids that are numbers.
///
/// The rest as windlass_dedup_observe_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_observe_u64s(
    dedup: *mut windlass_dedup,
    ids: *const u64,
    n: usize,
    now: u64,
    ticks: *const u64,
    verdicts: *mut i8,
) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let ids = unsafe { slice(ids, n) }?;
        // SAFETY: the caller's promise.
        let batch = unsafe { Batch::new(dedup, n, now, ticks, verdicts) }?;
        Ok::<_, windlass_status>(batch.observe(|i| ids[i]))
    })
}

/// The same for n ids of id_len bytes each, the next one stride bytes after the last: a field of an
/// array of structs, for example. 1 <= id_len <= stride. Of ids there must be (n - 1) * stride +
/// id_len bytes.
///
/// Errors: WINDLASS_E_RANGE also if id_len or stride is wrong. The rest as
/// windlass_dedup_observe_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_observe_fixed(
    dedup: *mut windlass_dedup,
    ids: *const u8,
    id_len: usize,
    stride: usize,
    n: usize,
    now: u64,
    ticks: *const u64,
    verdicts: *mut i8,
) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let ids = unsafe { Fixed::new(ids, id_len, stride, n) }?;
        // SAFETY: the caller's promise.
        let batch = unsafe { Batch::new(dedup, n, now, ticks, verdicts) }?;
        Ok::<_, windlass_status>(batch.observe(|i| ids.get(i)))
    })
}

/// The same for n ids of any lengths, one behind the other: id i is bytes[offsets[i]] up to, but
/// not with, bytes[offsets[i + 1]]. So there are n + 1 offsets, none less than the one before it,
/// and none greater than bytes_len.
///
/// Errors: WINDLASS_E_OFFSETS if they are not so, WINDLASS_E_NULL also for bytes (bytes_len is not
/// 0) and offsets (n is not 0). The rest as windlass_dedup_observe_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_dedup_observe_packed(
    dedup: *mut windlass_dedup,
    bytes: *const u8,
    bytes_len: usize,
    offsets: *const u32,
    n: usize,
    now: u64,
    ticks: *const u64,
    verdicts: *mut i8,
) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let ids = unsafe { Packed::new(bytes, bytes_len, offsets, n) }?;
        // SAFETY: the caller's promise.
        let batch = unsafe { Batch::new(dedup, n, now, ticks, verdicts) }?;
        Ok::<_, windlass_status>(batch.observe(|i| ids.get(i)))
    })
}

/// A batch that has passed all checks.
struct Batch<'a> {
    dedup: &'a Dedup,
    n: usize,
    now: Tick,
    /// Of length `n`, or none at all: then `now` counts.
    ticks: Option<&'a [u64]>,
    verdicts: Verdicts<'a>,
}

impl<'a> Batch<'a> {
    /// # Safety
    /// `dedup` as `core` has it, `ticks` as `slice`, `verdicts` as `room`, of `n` each.
    unsafe fn new(
        dedup: *mut windlass_dedup,
        n: usize,
        now: u64,
        ticks: *const u64,
        verdicts: *mut i8,
    ) -> Result<Batch<'a>, windlass_status> {
        // SAFETY: the caller's promise.
        let dedup = unsafe { core(dedup) }?;
        // SAFETY: the caller's promise.
        let ticks = if ticks.is_null() { None } else { Some(unsafe { slice(ticks, n) }?) };
        // SAFETY: the caller's promise.
        let verdicts = Verdicts { room: unsafe { room(verdicts, n) }?.iter_mut(), fresh: 0 };
        Ok(Batch { dedup, n, now: Tick(now), ticks, verdicts })
    }

    /// Of the ids themselves, and not of their hashes: they may be told apart by their bytes. How many were fresh.
    #[inline(always)]
    fn observe<K: Key>(mut self, id: impl Fn(usize) -> K) -> i64 {
        let dedup = self.dedup;
        match self.ticks {
            None => dedup.observe_each(self.n, |i| (id(i), self.now), &mut self.verdicts),
            Some(ticks) => dedup.observe_each(self.n, |i| (id(i), Tick(ticks[i])), &mut self.verdicts),
        }
        self.verdicts.fresh
    }
}

/// Where the outcomes go: the caller's bytes, if it wants them, and the count of the fresh ones.
struct Verdicts<'a> {
    room: std::slice::IterMut<'a, MaybeUninit<i8>>,
    fresh: i64,
}

impl Extend<Outcome> for Verdicts<'_> {
    #[inline(always)]
    fn extend<I: IntoIterator<Item = Outcome>>(&mut self, outcomes: I) {
        for code in outcomes.into_iter().map(code) {
            self.fresh += i64::from(code == WINDLASS_FRESH);
            if let Some(verdict) = self.room.next() {
                #[allow(clippy::cast_possible_truncation)] // all codes fit: see the test
                verdict.write(code as i8);
            }
        }
    }
}
