//! The functions, called as C calls them. (That memory is not to be had is tested in C: tests/c/no_memory.c.)

#![allow(clippy::multiple_unsafe_ops_per_block)] // one call after the other, of the same kind

mod growth;
mod identity;
mod sizes;

use std::ptr::{null, null_mut};

use windlass::{Refused, Seed, Tick, Verdict};

use super::{batch::*, claim::*, config::*, observe::*, stats::*, upkeep::*, *};
use crate::{
    hash::windlass_hash,
    sized::Plain,
    status::{
        WINDLASS_E_ARG, WINDLASS_E_FULL, WINDLASS_E_JUMP, WINDLASS_E_LEASE, WINDLASS_E_NULL,
        WINDLASS_E_OFFSETS, WINDLASS_E_RANGE, WINDLASS_E_STRUCT_SIZE, WINDLASS_OK,
    },
};

const CONFIG: u32 = windlass_dedup_config::DEFAULT.struct_size;
const STATS: u32 = windlass_dedup_stats::DEFAULT.struct_size;

/// A handle that frees itself.
struct Handle(*mut windlass_dedup);

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: from `made`, freed here alone.
        unsafe { windlass_dedup_free(self.0) };
    }
}

fn config(change: impl FnOnce(&mut windlass_dedup_config)) -> windlass_dedup_config {
    let mut config = windlass_dedup_config::DEFAULT;
    // SAFETY: a config of that size.
    assert_eq!(unsafe { windlass_dedup_config_init(&raw mut config, CONFIG) }, WINDLASS_OK);
    config.window = 100;
    config.capacity = 1000;
    config.seed = 7;
    change(&mut config);
    config
}

fn made(change: impl FnOnce(&mut windlass_dedup_config)) -> Handle {
    let mut handle = null_mut();
    // SAFETY: a valid config, a place for the handle.
    assert_eq!(unsafe { windlass_dedup_new(&config(change), &raw mut handle, null_mut()) }, WINDLASS_OK);
    Handle(handle)
}

/// What `windlass_dedup_new` says, and the detail. The handle stays NULL.
fn refused_with(change: impl FnOnce(&mut windlass_dedup_config)) -> (windlass_status, String) {
    let mut handle = null_mut();
    let mut error = windlass_error { struct_size: 256, code: WINDLASS_OK, detail: [0; 248] };
    let config = config(change);
    // SAFETY: a config, a place for the handle, an error.
    let status = unsafe { windlass_dedup_new(&raw const config, &raw mut handle, &raw mut error) };
    assert!(handle.is_null());
    assert_eq!(error.code, status);
    // SAFETY: the same.
    assert_eq!(unsafe { windlass_dedup_config_memory_bytes(&raw const config, null_mut()) } < 0, {
        // Settings that only `build` looks at do not change the memory.
        !["window", "lateness", "max_jump", "max_memory"]
            .iter()
            .any(|field| detail(&error).starts_with(field))
    });
    (status, detail(&error))
}

fn detail(error: &windlass_error) -> String {
    // SAFETY: ends with NUL.
    let text = unsafe { std::ffi::CStr::from_ptr(error.detail.as_ptr()) };
    text.to_str().expect("UTF-8").to_owned()
}

impl Handle {
    fn observe(&self, id: &[u8], now: u64) -> i32 {
        // SAFETY: a handle, and bytes of that length.
        unsafe { windlass_dedup_observe(self.0, id.as_ptr(), id.len(), now) }
    }

    fn stats(&self) -> windlass_dedup_stats {
        let mut stats = windlass_dedup_stats::DEFAULT;
        // SAFETY: a handle, and a place of that size.
        assert_eq!(unsafe { windlass_dedup_get_stats(self.0, &raw mut stats, STATS) }, WINDLASS_OK);
        stats
    }

    /// No event has been observed: there is not even a first tick.
    fn is_untouched(&self) -> bool {
        // SAFETY: a handle.
        let dedup = unsafe { crate::handle::core(self.0) }.expect("not NULL");
        dedup.live_at(Tick(0)) == 0 && self.stats().live == 0
    }
}

#[test]
fn an_id_is_fresh_once_per_window() {
    let dedup = made(|_| {});
    assert_eq!(dedup.observe(b"a", 0), WINDLASS_FRESH);
    assert_eq!(dedup.observe(b"a", 99), WINDLASS_DUPLICATE);
    assert_eq!(dedup.observe(b"a", 100), WINDLASS_FRESH);
    assert_eq!(dedup.observe(b"", 100), WINDLASS_FRESH);
    // SAFETY: a handle; NULL with length 0.
    assert_eq!(unsafe { windlass_dedup_observe(dedup.0, null(), 0, 100) }, WINDLASS_DUPLICATE);
}

#[test]
fn the_three_kinds_of_ids() {
    let dedup = made(|_| {});
    let hash = windlass_hash::from(Seed(7).hash("a"));
    // SAFETY: a handle, and bytes of that length, in all of these.
    unsafe {
        assert_eq!(windlass_dedup_contains(dedup.0, b"a".as_ptr(), 1, 5), 0);
        assert_eq!(windlass_dedup_observe_hash(dedup.0, hash, 5), WINDLASS_FRESH);
        assert_eq!(windlass_dedup_contains(dedup.0, b"a".as_ptr(), 1, 5), 1);
        assert_eq!(windlass_dedup_contains_hash(dedup.0, hash, 5), 1);
        assert_eq!(windlass_dedup_observe(dedup.0, b"a".as_ptr(), 1, 5), WINDLASS_DUPLICATE);

        assert_eq!(windlass_dedup_contains_u64(dedup.0, 1, 5), 0);
        assert_eq!(windlass_dedup_observe_u64(dedup.0, 1, 5), WINDLASS_FRESH);
        assert_eq!(windlass_dedup_contains_u64(dedup.0, 1, 5), 1);
        let hash_of_1 = windlass_hash::from(Seed(7).hash(1_u64));
        assert_eq!(windlass_dedup_observe_hash(dedup.0, hash_of_1, 5), WINDLASS_DUPLICATE);

        assert_eq!(windlass_dedup_forget(dedup.0, b"a".as_ptr(), 1, 5), 1);
        assert_eq!(windlass_dedup_forget_hash(dedup.0, hash, 5), 0);
        assert_eq!(windlass_dedup_observe_hash(dedup.0, hash, 5), WINDLASS_FRESH);
        assert_eq!(windlass_dedup_forget_hash(dedup.0, hash, 5), 1);
        assert_eq!(windlass_dedup_forget_u64(dedup.0, 1, 5), 1);
        assert_eq!(windlass_dedup_forget_u64(dedup.0, 1, 5), 0);
    }
}

#[test]
fn claims() {
    let dedup = made(|config| config.unit = WINDLASS_UNIT_EVENTS);
    let (d, nowhere) = (dedup.0, null_mut());
    let hash = windlass_hash::from(Seed(7).hash("a"));
    let (mut ours, mut theirs) = (windlass_ticket { words: [0; 4] }, windlass_ticket { words: [9; 4] });
    let mut when = 77;
    // SAFETY: a handle, bytes of that length, and places to write to, in all of these.
    unsafe {
        let claim = |now, ticket: &mut windlass_ticket, when| {
            windlass_dedup_claim(d, b"a".as_ptr(), 1, now, 10, ticket, when)
        };
        assert_eq!(
            (windlass_dedup_commit(d, &raw const ours), windlass_dedup_abort(d, &raw const ours)),
            (0, 0)
        );
        assert_eq!((claim(5, &mut ours, &mut when), when), (WINDLASS_FRESH, 77));
        assert_eq!((claim(14, &mut theirs, &mut when), when), (WINDLASS_IN_PROGRESS, 15));
        assert_eq!(windlass_dedup_claim_hash(d, hash, 14, 10, &mut theirs, nowhere), WINDLASS_IN_PROGRESS);
        assert_eq!((dedup.observe(b"a", 14), theirs.words), (WINDLASS_DUPLICATE, [9; 4]));
        assert_eq!(
            (windlass_dedup_commit(d, &raw const ours), windlass_dedup_commit(d, &raw const ours)),
            (1, 1)
        );
        assert_eq!(windlass_dedup_abort(d, &raw const ours), 0);
        assert_eq!((claim(104, &mut theirs, &mut when), when), (WINDLASS_DUPLICATE, 5));
        // The window runs from the claim; what is given up or runs out is free again.
        assert_eq!(claim(105, &mut ours, nowhere), WINDLASS_FRESH);
        assert_eq!(windlass_dedup_abort(d, &raw const ours), 1);
        assert_eq!(windlass_dedup_claim_hash(d, hash, 106, 10, &mut ours, nowhere), WINDLASS_FRESH);
        assert_eq!(claim(116, &mut theirs, nowhere), WINDLASS_FRESH);
        assert_eq!(
            (windlass_dedup_commit(d, &raw const ours), windlass_dedup_commit(d, &raw const theirs)),
            (0, 1)
        );

        assert_eq!(windlass_dedup_claim_u64(d, 1, 116, 100, &mut ours, nowhere), WINDLASS_FRESH);
        assert_eq!(windlass_dedup_forget_u64(d, 1, 116), 1);
        assert_eq!(
            (windlass_dedup_commit(d, &raw const ours), windlass_dedup_contains_u64(d, 1, 116)),
            (0, 0)
        );
    }
}

#[test]
fn batches_answer_like_single_calls() {
    let ids: Vec<String> = (0..1000).map(|i: u64| format!("id-{:03}", i * i % 331)).collect();
    let numbers: Vec<u64> = ids.iter().map(|id| id[3..].parse().expect("a number")).collect();
    let ticks: Vec<u64> = (0..1000).map(|i| i / 2 * 2).collect();
    let hashes: Vec<windlass_hash> = ids.iter().map(|id| Seed(7).hash(id).into()).collect();
    let fixed = ids.concat();
    let mut offsets = vec![0_u32];
    offsets.extend((1..=1000).map(|i| i * 6));
    for own_ticks in [true, false] {
        let single = made(|_| {});
        let tick = |i: usize| if own_ticks { ticks[i] } else { 3 };
        let expected: Vec<i32> =
            ids.iter().enumerate().map(|(i, id)| single.observe(id.as_bytes(), tick(i))).collect();
        let fresh = expected.iter().filter(|&&verdict| verdict == WINDLASS_FRESH).count();
        let ticks = if own_ticks { ticks.as_ptr() } else { null() };

        type Call<'a> = &'a dyn Fn(*mut windlass_dedup, *mut i8) -> i64;
        let (h, u, f, o) = (hashes.as_ptr(), numbers.as_ptr(), fixed.as_ptr(), offsets.as_ptr());
        // SAFETY: handles, and as many items as stated, in all of these.
        let calls: [Call<'_>; 4] = unsafe {
            [
                &|d, out| windlass_dedup_observe_hashes(d, h, 1000, 3, ticks, out),
                &|d, out| windlass_dedup_observe_u64s(d, u, 1000, 3, ticks, out),
                &|d, out| windlass_dedup_observe_fixed(d, f, 6, 6, 1000, 3, ticks, out),
                &|d, out| windlass_dedup_observe_packed(d, f, 6000, o, 1000, 3, ticks, out),
            ]
        };
        for call in calls {
            let mut verdicts = vec![i8::MIN; 1000];
            assert_eq!(call(made(|_| {}).0, verdicts.as_mut_ptr()), fresh as i64);
            assert_eq!(verdicts.iter().map(|&v| i32::from(v)).collect::<Vec<_>>(), expected);
            assert_eq!(call(made(|_| {}).0, null_mut()), fresh as i64);
        }
    }
}

#[test]
fn a_stride_skips_the_rest_of_each_struct() {
    let dedup = made(|_| {});
    let structs = b"aa--bb++aa**c";
    let mut verdicts = [9; 3];
    // SAFETY: three ids of 2 bytes, 4 apart, which is 10 of the 13 bytes.
    let fresh = unsafe {
        windlass_dedup_observe_fixed(dedup.0, structs.as_ptr(), 2, 4, 3, 0, null(), verdicts.as_mut_ptr())
    };
    assert_eq!((fresh, verdicts), (2, [0, 0, 1]));
}

#[test]
fn empty_batches() {
    let dedup = made(|_| {});
    // SAFETY: nothing is read where n is 0.
    unsafe {
        assert_eq!(windlass_dedup_observe_hashes(dedup.0, null(), 0, 0, null(), null_mut()), 0);
        assert_eq!(windlass_dedup_observe_u64s(dedup.0, null(), 0, 0, null(), null_mut()), 0);
        assert_eq!(windlass_dedup_observe_fixed(dedup.0, null(), 1, 1, 0, 0, null(), null_mut()), 0);
        assert_eq!(windlass_dedup_observe_packed(dedup.0, null(), 0, null(), 0, 0, null(), null_mut()), 0);
    }
    // Empty ids are ids.
    let offsets = [0, 0, 0];
    // SAFETY: three offsets for two ids.
    let fresh = unsafe {
        windlass_dedup_observe_packed(dedup.0, null(), 0, offsets.as_ptr(), 2, 0, null(), null_mut())
    };
    assert_eq!(fresh, 1);
}

#[test]
fn bad_batches_change_nothing() {
    let dedup = made(|_| {});
    let (d, bytes, items) = (dedup.0, b"abcdefgh".as_ptr(), [1_u64, 2, 3, 4].as_ptr());
    let hashes = [windlass_hash { lo: 1, hi: 1 }; 2];
    let odd = items.cast::<u8>().wrapping_add(1);
    let mut verdicts = [9_i8; 4];
    let out = verdicts.as_mut_ptr();
    let packed = |offsets: &[u32], n| {
        // SAFETY: refused, or as many as stated.
        unsafe { windlass_dedup_observe_packed(d, bytes, 8, offsets.as_ptr(), n, 0, null(), out) }
    };
    let fixed = |id_len, stride, n| {
        // SAFETY: refused.
        unsafe { windlass_dedup_observe_fixed(d, bytes, id_len, stride, n, 0, null(), out) }
    };
    // SAFETY: refused, all of them.
    unsafe {
        let null_handle = null_mut();
        let null = i64::from(WINDLASS_E_NULL);
        assert_eq!(windlass_dedup_observe_u64s(null_handle, items, 2, 0, std::ptr::null(), out), null);
        assert_eq!(windlass_dedup_observe_u64s(d, std::ptr::null(), 2, 0, std::ptr::null(), out), null);
        assert_eq!(windlass_dedup_observe_hashes(d, std::ptr::null(), 2, 0, std::ptr::null(), out), null);
        let p = std::ptr::null();
        assert_eq!(windlass_dedup_observe_hashes(null_handle, hashes.as_ptr(), 2, 0, p, out), null);
        assert_eq!(windlass_dedup_observe_fixed(d, std::ptr::null(), 1, 1, 2, 0, p, out), null);
        assert_eq!(windlass_dedup_observe_fixed(null_handle, bytes, 1, 1, 2, 0, p, out), null);
        assert_eq!(windlass_dedup_observe_packed(d, bytes, 8, std::ptr::null(), 2, 0, p, out), null);
        let offsets = [0, 1, 2].as_ptr();
        assert_eq!(windlass_dedup_observe_packed(d, std::ptr::null(), 8, offsets, 2, 0, p, out), null);
        assert_eq!(windlass_dedup_observe_packed(null_handle, bytes, 8, offsets, 2, 0, p, out), null);

        let range = i64::from(WINDLASS_E_RANGE);
        for n in [usize::MAX, usize::MAX / 8 + 1, isize::MAX as usize] {
            assert_eq!(windlass_dedup_observe_u64s(d, items, n, 0, p, out), range);
            assert_eq!(windlass_dedup_observe_hashes(d, hashes.as_ptr(), n, 0, p, out), range);
            assert_eq!(windlass_dedup_observe_packed(d, bytes, 8, offsets, n, 0, p, out), range);
            assert_eq!(windlass_dedup_observe_fixed(d, bytes, 8, 8, n, 0, p, out), range);
        }
        // Where C would crash as well: not aligned.
        assert_eq!(windlass_dedup_observe_u64s(d, odd.cast(), 2, 0, p, out), range);
        assert_eq!(windlass_dedup_observe_u64s(d, items, 2, 0, odd.cast(), out), range);
        assert_eq!(windlass_dedup_observe_packed(d, bytes, usize::MAX, offsets, 2, 0, p, out), range);
    }
    for (id_len, stride, n) in
        [(0, 0, 2), (0, 4, 2), (5, 4, 2), (5, 4, 0), (8, usize::MAX, 3), (2, usize::MAX, 2)]
    {
        assert_eq!(fixed(id_len, stride, n), WINDLASS_E_RANGE.into(), "{id_len}, {stride}, {n}");
    }
    for offsets in [[0, 2, 1], [3, 2, 4], [0, 1, 9], [9, 9, 9], [0, u32::MAX, 1]] {
        assert_eq!(packed(&offsets, 2), WINDLASS_E_OFFSETS.into(), "{offsets:?}");
    }
    assert_eq!(verdicts, [9; 4]);
    assert!(dedup.is_untouched());
}

#[test]
fn bad_single_calls_change_nothing() {
    let dedup = made(|_| {});
    let (d, none, id) = (dedup.0, null_mut(), b"a".as_ptr());
    let hash = windlass_hash { lo: 1, hi: 1 };
    let mut ticket = windlass_ticket { words: [9; 4] };
    // SAFETY: refused, all of them.
    unsafe {
        for status in [
            windlass_dedup_observe(none, id, 1, 0),
            windlass_dedup_observe(d, null(), 1, 0),
            windlass_dedup_observe_hash(none, hash, 0),
            windlass_dedup_observe_u64(none, 1, 0),
            windlass_dedup_contains(none, id, 1, 0),
            windlass_dedup_contains(d, null(), 1, 0),
            windlass_dedup_contains_hash(none, hash, 0),
            windlass_dedup_contains_u64(none, 1, 0),
            windlass_dedup_forget(none, id, 1, 0),
            windlass_dedup_forget(d, null(), 1, 0),
            windlass_dedup_forget_hash(none, hash, 0),
            windlass_dedup_forget_u64(none, 1, 0),
            windlass_dedup_claim(none, id, 1, 0, 1, &mut ticket, null_mut()),
            windlass_dedup_claim(d, null(), 1, 0, 1, &mut ticket, null_mut()),
            windlass_dedup_claim(d, id, 1, 0, 1, null_mut(), null_mut()),
            windlass_dedup_claim_hash(none, hash, 0, 1, &mut ticket, null_mut()),
            windlass_dedup_claim_hash(d, hash, 0, 1, null_mut(), null_mut()),
            windlass_dedup_claim_u64(none, 1, 0, 1, &mut ticket, null_mut()),
            windlass_dedup_claim_u64(d, 1, 0, 1, null_mut(), null_mut()),
            windlass_dedup_commit(none, &raw const ticket),
            windlass_dedup_commit(d, null()),
            windlass_dedup_abort(none, &raw const ticket),
            windlass_dedup_abort(d, null()),
            windlass_dedup_reset(none),
            windlass_dedup_maintain(none, 0, 1),
            windlass_dedup_seed(none, &mut 0),
            windlass_dedup_seed(d, null_mut()),
            windlass_dedup_get_stats(none, &mut dedup.stats(), STATS),
            windlass_dedup_get_stats(d, null_mut(), STATS),
        ] {
            assert_eq!(status, WINDLASS_E_NULL);
        }
        assert_eq!(windlass_dedup_memory_bytes(none), WINDLASS_E_NULL.into());
        assert_eq!(windlass_dedup_observe(d, id, usize::MAX, 0), WINDLASS_E_RANGE);
        for lease in [0, 101, u64::MAX] {
            let mut when = 9;
            let claim = windlass_dedup_claim(d, id, 1, 0, lease, &mut ticket, &mut when);
            assert_eq!((claim, when), (WINDLASS_E_LEASE, 9));
        }
        assert_eq!(windlass_dedup_claim(d, id, usize::MAX, 0, 1, &mut ticket, null_mut()), WINDLASS_E_RANGE);
        windlass_dedup_free(none);
    }
    assert_eq!(ticket.words, [9; 4]);
    assert!(dedup.is_untouched());
}

#[test]
fn refused_events() {
    // One group of 64 cells, for ids that all go into one bucket of it.
    let dedup = made(|config| (config.capacity, config.max_jump) = (1, 1000));
    let mut last = WINDLASS_FRESH;
    for lo in (0..100).map(|i| i << 32) {
        // SAFETY: a handle.
        last = unsafe { windlass_dedup_observe_hash(dedup.0, windlass_hash { lo, hi: 0 }, 1) };
        if last != WINDLASS_FRESH {
            break;
        }
    }
    assert_eq!(last, WINDLASS_E_FULL);
    assert_eq!(dedup.stats().refused, 1);
    assert_eq!(dedup.observe(b"a", 1_000_000), WINDLASS_E_JUMP);
    let hashes = [0, 99_u64 << 32].map(|lo| windlass_hash { lo, hi: 0 });
    let mut verdicts = [9; 2];
    let out = verdicts.as_mut_ptr();
    // SAFETY: two of each.
    let fresh = unsafe {
        windlass_dedup_observe_hashes(dedup.0, hashes.as_ptr(), 2, 0, [1, 1_000_000].as_ptr(), out)
    };
    assert_eq!((fresh, verdicts.map(i32::from)), (0, [WINDLASS_DUPLICATE, WINDLASS_E_JUMP]));
    assert_eq!(dedup.stats().jumps, 2);
    assert_eq!(code(Err(Refused::Full)), WINDLASS_E_FULL);
    assert_eq!(code(Ok(Verdict::Duplicate { first_seen: None })), WINDLASS_DUPLICATE);
}

#[test]
fn bad_settings_are_named() {
    let says = |change: fn(&mut windlass_dedup_config), status, detail: &str| {
        let (found, text) = refused_with(change);
        assert_eq!(found, status, "{text}");
        assert!(text.starts_with(detail), "{text}");
    };
    let arg = WINDLASS_E_ARG;
    says(|c| c.window = 0, arg, "window: 0 ns is out of range: 1 to 144115188075855872 ns");
    says(|c| (c.window, c.unit) = (0, 1), arg, "window: 0 events is out of range");
    says(|c| c.window = u64::MAX, arg, "window: 18446744073709551615 ns");
    says(|c| c.lateness = 1 << 57, arg, "lateness: ");
    says(|c| c.max_jump = 0, arg, "max_jump: 0 ns");
    says(|c| c.capacity = 0, arg, "capacity: 0 is out of range: 1 to ");
    says(|c| c.capacity = u64::MAX, arg, "capacity: 18446744073709551615 is out of range");
    says(|c| c.flags = 1, arg, "flags: 1 is out of range: 0");
    says(|c| c.unit = 2, arg, "unit: 2 is out of range: WINDLASS_UNIT_NS (0) or WINDLASS_UNIT_EVENTS (1)");
    says(|c| c.refresh = 2, arg, "refresh: 2 is out of range: WINDLASS_REFRESH_NEVER (0)");
    says(|c| c.on_full = u32::MAX, arg, "on_full: 4294967295 is out of range: WINDLASS_ON_FULL_REJECT (0)");
    says(|c| c.reserved0 = 1, arg, "reserved: 1 is out of range: 0");
    says(|c| c.reserved[3] = 5, arg, "reserved: 5 is out of range: 0");
    says(|c| c.reserved1 = 6, arg, "reserved: 6 is out of range: 0");
    says(|c| c.identity = 2, arg, "identity: 2 is out of range: WINDLASS_IDENTITY_HASH (0) or WINDLASS_");
    says(|c| c.max_memory = 1, arg, "max_memory: 1 bytes is out of range: ");
    for size in [0, 4, 95, 4097, u32::MAX] {
        let (status, text) = refused_with(|c| c.struct_size = size);
        assert_eq!(status, WINDLASS_E_STRUCT_SIZE, "{text}");
    }
}

#[test]
fn settings_arrive() {
    let evicting = made(|config| (config.capacity, config.on_full) = (1, WINDLASS_ON_FULL_EVICT_OLDEST));
    for i in 0..200 {
        // SAFETY: a handle.
        assert_eq!(unsafe { windlass_dedup_observe_u64(evicting.0, i, 1 + i / 3) }, WINDLASS_FRESH);
    }
    assert!(evicting.stats().evicted > 0);

    let refreshing = made(|config| config.refresh = WINDLASS_REFRESH_ON_DUPLICATE);
    assert_eq!(refreshing.observe(b"a", 0), WINDLASS_FRESH);
    assert_eq!(refreshing.observe(b"a", 60), WINDLASS_DUPLICATE);
    assert_eq!(refreshing.observe(b"a", 120), WINDLASS_DUPLICATE);

    let late = made(|config| config.lateness = 50);
    assert_eq!(late.observe(b"a", 100), WINDLASS_FRESH);
    assert_eq!(late.observe(b"b", 250), WINDLASS_FRESH);
    assert_eq!(late.observe(b"a", 200), WINDLASS_FRESH);
    assert_eq!(late.observe(b"c", 20), WINDLASS_FRESH);
    assert_eq!(late.stats().late, 1);

    let (mut seed, mut other) = (0, 0);
    // SAFETY: a handle, and a place for the seed.
    assert_eq!(unsafe { windlass_dedup_seed(late.0, &raw mut seed) }, WINDLASS_OK);
    assert_eq!(seed, 7);
    // Drawn anew by every init.
    for to in [&mut seed, &mut other] {
        let mut config = windlass_dedup_config::DEFAULT;
        // SAFETY: a config of that size.
        assert_eq!(unsafe { windlass_dedup_config_init(&raw mut config, CONFIG) }, WINDLASS_OK);
        *to = config.seed;
    }
    assert_ne!(seed, other);
}

#[test]
fn memory_and_figures() {
    let config = config(|config| config.capacity = 100_000);
    let dedup = made(|config| config.capacity = 100_000);
    // SAFETY: a config, a handle.
    unsafe {
        let before = windlass_dedup_config_memory_bytes(&raw const config, null_mut());
        assert_eq!(before, windlass_dedup_memory_bytes(dedup.0));
        assert!((3_000_000..5_000_000).contains(&before), "{before}");
    }
    let stats = dedup.stats();
    assert_eq!((stats.struct_size, stats.live, stats.tables), (STATS, 0, 1));
    // Whole groups, so a little more.
    assert!((100_000..101_000).contains(&stats.capacity), "{stats:?}");
    assert!(stats.memory_bytes > 0 && stats.buckets > 0);
    let small = made(|_| {});
    small.observe(b"a", 0);
    assert_eq!(small.stats().live, 1);

    // SAFETY: a handle.
    unsafe {
        assert_eq!(windlass_dedup_reset(small.0), WINDLASS_OK);
        assert!(windlass_dedup_maintain(small.0, 50, 16) >= 0);
    }
    assert_eq!(small.observe(b"a", 50), WINDLASS_FRESH);
}
