//! Many ids in one call. Everything is checked before the first is looked at.

use std::mem::MaybeUninit;

use windlass::{Key, KeyHash, RotatingBloom, Tick, Verdict};

use super::windlass_bloom;
use crate::{
    boundary::{guard, room, slice},
    handle::core,
    hash::windlass_hash,
    ids::{Fixed, Packed},
    status::windlass_status,
};

/// Puts n ids in, in order, by their hashes. A repeat within the batch was seen. A batch has the
/// memory for several ids on its way at once, and so is faster than single calls; 64 to 512 ids are
/// enough.
///
/// The time of id i is ticks[i], or now for all of them if ticks is NULL.
/// answers[i] becomes what windlass_bloom_insert would have returned for id i: 0 or 1. answers may be
/// NULL. It may not overlap with the rest.
///
/// Returns how many were not seen before (the answers that are 0), or an error; then nothing was changed and
/// no answer was written: WINDLASS_E_NULL (bloom; hashes, and n is not 0), WINDLASS_E_RANGE (n; a
/// pointer is not aligned).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_insert_hashes(
    bloom: *mut windlass_bloom,
    hashes: *const windlass_hash,
    n: usize,
    now: u64,
    ticks: *const u64,
    answers: *mut i8,
) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let hashes = unsafe { slice(hashes, n) }?;
        // SAFETY: the caller's promise.
        let batch = unsafe { Batch::new(bloom, n, now, ticks, answers) }?;
        Ok::<_, windlass_status>(batch.ask::<Insert, _>(|i| KeyHash::from(hashes[i])))
    })
}

/// The same for n ids that are numbers.
///
/// The rest as windlass_bloom_insert_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_insert_u64s(
    bloom: *mut windlass_bloom,
    ids: *const u64,
    n: usize,
    now: u64,
    ticks: *const u64,
    answers: *mut i8,
) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let ids = unsafe { slice(ids, n) }?;
        // SAFETY: the caller's promise.
        let batch = unsafe { Batch::new(bloom, n, now, ticks, answers) }?;
        Ok::<_, windlass_status>(batch.ask::<Insert, _>(|i| ids[i]))
    })
}

/// The same for n ids of id_len bytes each, the next one stride bytes after the last: a field of an
/// array of structs, for example. 1 <= id_len <= stride. Of ids there must be (n - 1) * stride +
/// id_len bytes.
///
/// Errors: WINDLASS_E_RANGE also if id_len or stride is wrong. The rest as
/// windlass_bloom_insert_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_insert_fixed(
    bloom: *mut windlass_bloom,
    ids: *const u8,
    id_len: usize,
    stride: usize,
    n: usize,
    now: u64,
    ticks: *const u64,
    answers: *mut i8,
) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let ids = unsafe { Fixed::new(ids, id_len, stride, n) }?;
        // SAFETY: the caller's promise.
        let batch = unsafe { Batch::new(bloom, n, now, ticks, answers) }?;
        Ok::<_, windlass_status>(batch.ask::<Insert, _>(|i| ids.get(i)))
    })
}

/// The same for n ids of any lengths, one behind the other: id i is bytes[offsets[i]] up to, but
/// not with, bytes[offsets[i + 1]]. So there are n + 1 offsets, none less than the one before it,
/// and none greater than bytes_len.
///
/// Errors: WINDLASS_E_OFFSETS if they are not so, WINDLASS_E_NULL also for bytes (bytes_len is not
/// 0) and offsets (n is not 0). The rest as windlass_bloom_insert_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_insert_packed(
    bloom: *mut windlass_bloom,
    bytes: *const u8,
    bytes_len: usize,
    offsets: *const u32,
    n: usize,
    now: u64,
    ticks: *const u64,
    answers: *mut i8,
) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let ids = unsafe { Packed::new(bytes, bytes_len, offsets, n) }?;
        // SAFETY: the caller's promise.
        let batch = unsafe { Batch::new(bloom, n, now, ticks, answers) }?;
        Ok::<_, windlass_status>(batch.ask::<Insert, _>(|i| ids.get(i)))
    })
}

/// Observes n events in order, by the hashes of their ids. A repeat within the batch is a duplicate. A batch has the
/// memory for several ids on its way at once, and so is faster than single calls; 64 to 512 ids are
/// enough.
///
/// The time of id i is ticks[i], or now for all of them if ticks is NULL.
/// answers[i] becomes what windlass_bloom_observe would have returned for id i: 0 or 1. answers may be
/// NULL. It may not overlap with the rest.
///
/// Returns how many were fresh (the answers that are 0), or an error; then nothing was changed and
/// no answer was written: WINDLASS_E_NULL (bloom; hashes, and n is not 0), WINDLASS_E_RANGE (n; a
/// pointer is not aligned).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_observe_hashes(
    bloom: *mut windlass_bloom,
    hashes: *const windlass_hash,
    n: usize,
    now: u64,
    ticks: *const u64,
    answers: *mut i8,
) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let hashes = unsafe { slice(hashes, n) }?;
        // SAFETY: the caller's promise.
        let batch = unsafe { Batch::new(bloom, n, now, ticks, answers) }?;
        Ok::<_, windlass_status>(batch.ask::<Observe, _>(|i| KeyHash::from(hashes[i])))
    })
}

/// The same for n ids that are numbers.
///
/// The rest as windlass_bloom_observe_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_observe_u64s(
    bloom: *mut windlass_bloom,
    ids: *const u64,
    n: usize,
    now: u64,
    ticks: *const u64,
    answers: *mut i8,
) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let ids = unsafe { slice(ids, n) }?;
        // SAFETY: the caller's promise.
        let batch = unsafe { Batch::new(bloom, n, now, ticks, answers) }?;
        Ok::<_, windlass_status>(batch.ask::<Observe, _>(|i| ids[i]))
    })
}

/// The same for n ids of id_len bytes each, the next one stride bytes after the last: a field of an
/// array of structs, for example. 1 <= id_len <= stride. Of ids there must be (n - 1) * stride +
/// id_len bytes.
///
/// Errors: WINDLASS_E_RANGE also if id_len or stride is wrong. The rest as
/// windlass_bloom_observe_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_observe_fixed(
    bloom: *mut windlass_bloom,
    ids: *const u8,
    id_len: usize,
    stride: usize,
    n: usize,
    now: u64,
    ticks: *const u64,
    answers: *mut i8,
) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let ids = unsafe { Fixed::new(ids, id_len, stride, n) }?;
        // SAFETY: the caller's promise.
        let batch = unsafe { Batch::new(bloom, n, now, ticks, answers) }?;
        Ok::<_, windlass_status>(batch.ask::<Observe, _>(|i| ids.get(i)))
    })
}

/// The same for n ids of any lengths, one behind the other: id i is bytes[offsets[i]] up to, but
/// not with, bytes[offsets[i + 1]]. So there are n + 1 offsets, none less than the one before it,
/// and none greater than bytes_len.
///
/// Errors: WINDLASS_E_OFFSETS if they are not so, WINDLASS_E_NULL also for bytes (bytes_len is not
/// 0) and offsets (n is not 0). The rest as windlass_bloom_observe_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_observe_packed(
    bloom: *mut windlass_bloom,
    bytes: *const u8,
    bytes_len: usize,
    offsets: *const u32,
    n: usize,
    now: u64,
    ticks: *const u64,
    answers: *mut i8,
) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let ids = unsafe { Packed::new(bytes, bytes_len, offsets, n) }?;
        // SAFETY: the caller's promise.
        let batch = unsafe { Batch::new(bloom, n, now, ticks, answers) }?;
        Ok::<_, windlass_status>(batch.ask::<Observe, _>(|i| ids.get(i)))
    })
}

/// Asks for n ids, by their hashes; changes nothing. A batch has the
/// memory for several ids on its way at once, and so is faster than single calls; 64 to 512 ids are
/// enough.
///
/// The time of id i is ticks[i], or now for all of them if ticks is NULL.
/// answers[i] becomes what windlass_bloom_contains would have returned for id i: 0 or 1. answers may be
/// NULL. It may not overlap with the rest.
///
/// Returns how many were not seen (the answers that are 0), or an error; then nothing was changed and
/// no answer was written: WINDLASS_E_NULL (bloom; hashes, and n is not 0), WINDLASS_E_RANGE (n; a
/// pointer is not aligned).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_contains_hashes(
    bloom: *const windlass_bloom,
    hashes: *const windlass_hash,
    n: usize,
    now: u64,
    ticks: *const u64,
    answers: *mut i8,
) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let hashes = unsafe { slice(hashes, n) }?;
        // SAFETY: the caller's promise.
        let batch = unsafe { Batch::new(bloom, n, now, ticks, answers) }?;
        Ok::<_, windlass_status>(batch.ask::<Contains, _>(|i| KeyHash::from(hashes[i])))
    })
}

/// The same for n ids that are numbers.
///
/// The rest as windlass_bloom_contains_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_contains_u64s(
    bloom: *const windlass_bloom,
    ids: *const u64,
    n: usize,
    now: u64,
    ticks: *const u64,
    answers: *mut i8,
) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let ids = unsafe { slice(ids, n) }?;
        // SAFETY: the caller's promise.
        let batch = unsafe { Batch::new(bloom, n, now, ticks, answers) }?;
        Ok::<_, windlass_status>(batch.ask::<Contains, _>(|i| ids[i]))
    })
}

/// The same for n ids of id_len bytes each, the next one stride bytes after the last: a field of an
/// array of structs, for example. 1 <= id_len <= stride. Of ids there must be (n - 1) * stride +
/// id_len bytes.
///
/// Errors: WINDLASS_E_RANGE also if id_len or stride is wrong. The rest as
/// windlass_bloom_contains_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_contains_fixed(
    bloom: *const windlass_bloom,
    ids: *const u8,
    id_len: usize,
    stride: usize,
    n: usize,
    now: u64,
    ticks: *const u64,
    answers: *mut i8,
) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let ids = unsafe { Fixed::new(ids, id_len, stride, n) }?;
        // SAFETY: the caller's promise.
        let batch = unsafe { Batch::new(bloom, n, now, ticks, answers) }?;
        Ok::<_, windlass_status>(batch.ask::<Contains, _>(|i| ids.get(i)))
    })
}

/// The same for n ids of any lengths, one behind the other: id i is bytes[offsets[i]] up to, but
/// not with, bytes[offsets[i + 1]]. So there are n + 1 offsets, none less than the one before it,
/// and none greater than bytes_len.
///
/// Errors: WINDLASS_E_OFFSETS if they are not so, WINDLASS_E_NULL also for bytes (bytes_len is not
/// 0) and offsets (n is not 0). The rest as windlass_bloom_contains_hashes.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_bloom_contains_packed(
    bloom: *const windlass_bloom,
    bytes: *const u8,
    bytes_len: usize,
    offsets: *const u32,
    n: usize,
    now: u64,
    ticks: *const u64,
    answers: *mut i8,
) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let ids = unsafe { Packed::new(bytes, bytes_len, offsets, n) }?;
        // SAFETY: the caller's promise.
        let batch = unsafe { Batch::new(bloom, n, now, ticks, answers) }?;
        Ok::<_, windlass_status>(batch.ask::<Contains, _>(|i| ids.get(i)))
    })
}

/// What is asked with an id.
trait Ask {
    fn each<K: Key>(
        bloom: &RotatingBloom,
        n: usize,
        event: impl Fn(usize) -> (K, Tick),
        answers: &mut Answers<'_>,
    );
}

struct Insert;
struct Observe;
struct Contains;

impl Ask for Insert {
    #[inline(always)]
    fn each<K: Key>(
        bloom: &RotatingBloom,
        n: usize,
        event: impl Fn(usize) -> (K, Tick),
        answers: &mut Answers<'_>,
    ) {
        bloom.insert_each(n, event, answers);
    }
}

impl Ask for Observe {
    #[inline(always)]
    fn each<K: Key>(
        bloom: &RotatingBloom,
        n: usize,
        event: impl Fn(usize) -> (K, Tick),
        answers: &mut Answers<'_>,
    ) {
        bloom.observe_each(n, event, answers);
    }
}

impl Ask for Contains {
    #[inline(always)]
    fn each<K: Key>(
        bloom: &RotatingBloom,
        n: usize,
        event: impl Fn(usize) -> (K, Tick),
        answers: &mut Answers<'_>,
    ) {
        bloom.contains_each(n, event, answers);
    }
}

/// A batch that has passed all checks.
struct Batch<'a> {
    bloom: &'a RotatingBloom,
    n: usize,
    now: Tick,
    /// Of length `n`, or none at all: then `now` counts.
    ticks: Option<&'a [u64]>,
    answers: Answers<'a>,
}

impl<'a> Batch<'a> {
    /// # Safety
    /// `bloom` as `core` has it, `ticks` as `slice`, `answers` as `room`, of `n` each.
    unsafe fn new(
        bloom: *const windlass_bloom,
        n: usize,
        now: u64,
        ticks: *const u64,
        answers: *mut i8,
    ) -> Result<Batch<'a>, windlass_status> {
        // SAFETY: the caller's promise.
        let bloom = unsafe { core(bloom) }?;
        // SAFETY: the caller's promise.
        let ticks = if ticks.is_null() { None } else { Some(unsafe { slice(ticks, n) }?) };
        // SAFETY: the caller's promise.
        let answers = Answers { room: unsafe { room(answers, n) }?.iter_mut(), unseen: 0 };
        Ok(Batch { bloom, n, now: Tick(now), ticks, answers })
    }

    /// How many were not seen.
    #[inline(always)]
    fn ask<A: Ask, K: Key>(mut self, id: impl Fn(usize) -> K) -> i64 {
        match self.ticks {
            None => A::each(self.bloom, self.n, |i| (id(i), self.now), &mut self.answers),
            Some(ticks) => A::each(self.bloom, self.n, |i| (id(i), Tick(ticks[i])), &mut self.answers),
        }
        self.answers.unseen
    }
}

/// Where the answers go: the caller's bytes, if it wants them, and the count of those that are 0.
struct Answers<'a> {
    room: std::slice::IterMut<'a, MaybeUninit<i8>>,
    unseen: i64,
}

impl Extend<bool> for Answers<'_> {
    #[inline(always)]
    fn extend<I: IntoIterator<Item = bool>>(&mut self, answers: I) {
        for seen in answers {
            self.unseen += i64::from(!seen);
            if let Some(answer) = self.room.next() {
                answer.write(seen.into());
            }
        }
    }
}

impl Extend<Verdict> for Answers<'_> {
    #[inline(always)]
    fn extend<I: IntoIterator<Item = Verdict>>(&mut self, verdicts: I) {
        self.extend(verdicts.into_iter().map(|verdict| !verdict.is_fresh()));
    }
}
