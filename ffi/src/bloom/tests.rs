//! The functions, called as C calls them. (How they answer is compared with Rust in tests/decisions.rs.)

#![allow(clippy::multiple_unsafe_ops_per_block)] // one call after the other, of the same kind

use std::ptr::{null, null_mut};

use super::{batch::*, config::*, panes::*, single::*, stats::*, upkeep::*, *};
use crate::{
    dedup::WINDLASS_DUPLICATE,
    hash::windlass_hash,
    sized::Plain,
    status::{
        WINDLASS_E_ARG, WINDLASS_E_FULL, WINDLASS_E_NULL, WINDLASS_E_RANGE, WINDLASS_E_STRUCT_SIZE,
        WINDLASS_OK,
    },
};

const CONFIG: u32 = windlass_bloom_config::DEFAULT.struct_size;
const STATS: u32 = windlass_bloom_stats::DEFAULT.struct_size;
const PLAN: u32 = windlass_bloom_plan::DEFAULT.struct_size;

/// A handle that frees itself.
struct Handle(*mut windlass_bloom);

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: from `made`, freed here alone.
        unsafe { windlass_bloom_free(self.0) };
    }
}

fn config(change: impl FnOnce(&mut windlass_bloom_config)) -> windlass_bloom_config {
    let mut config = windlass_bloom_config::DEFAULT;
    // SAFETY: a config of that size.
    assert_eq!(unsafe { windlass_bloom_config_init(&raw mut config, CONFIG) }, WINDLASS_OK);
    config.window = 800;
    config.expected_ids = 1000;
    config.seed = 7;
    change(&mut config);
    config
}

fn made(change: impl FnOnce(&mut windlass_bloom_config)) -> Handle {
    let mut handle = null_mut();
    // SAFETY: a valid config, a place for the handle.
    assert_eq!(unsafe { windlass_bloom_new(&config(change), &raw mut handle, null_mut()) }, WINDLASS_OK);
    Handle(handle)
}

fn plan(bloom: &Handle) -> windlass_bloom_plan {
    let mut plan = windlass_bloom_plan::DEFAULT;
    // SAFETY: a handle, and a place of that size.
    assert_eq!(unsafe { windlass_bloom_get_plan(bloom.0, &raw mut plan, PLAN) }, WINDLASS_OK);
    plan
}

/// What `windlass_bloom_new` says, and the detail. The handle stays NULL.
fn refused_with(change: impl FnOnce(&mut windlass_bloom_config)) -> (windlass_status, String) {
    let mut handle = null_mut();
    let mut error = windlass_error { struct_size: 256, code: WINDLASS_OK, detail: [0; 248] };
    // SAFETY: a config, a place for the handle, an error.
    let status = unsafe { windlass_bloom_new(&config(change), &raw mut handle, &raw mut error) };
    assert!(handle.is_null());
    // SAFETY: ends with NUL.
    let text = unsafe { std::ffi::CStr::from_ptr(error.detail.as_ptr()) };
    (status, text.to_str().expect("UTF-8").to_owned())
}

#[test]
fn wrong_settings() {
    let says = |change: fn(&mut windlass_bloom_config), detail: &str| {
        let (status, text) = refused_with(change);
        assert_eq!(status, WINDLASS_E_ARG, "{text}");
        assert!(text.starts_with(detail), "{text}");
    };
    says(|c| c.window = 0, "window: 0 ns is out of range: 1 to 144115188075855872 ns");
    says(|c| c.lateness = 1 << 57, "lateness: ");
    says(|c| c.max_jump = 0, "max_jump: 0 ns");
    says(|c| c.expected_ids = u64::MAX, "expected_ids: 18446744073709551615 is out of range: 1 to ");
    says(|c| c.expected_ids = 1 << 48, "expected_ids: ");
    for error in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
        let (status, text) = refused_with(|c| c.error = error);
        assert_eq!((status, text.starts_with("error: ")), (WINDLASS_E_ARG, true), "{text}");
    }
    says(|c| c.panes = 1, "panes: 1 is out of range: 2 to 1024");
    says(|c| (c.panes, c.pane) = (4, 100), "panes: ");
    says(|c| c.pane = 801 << 57, "pane: ");
    says(|c| c.bits = 1, "bits: 1 is out of range: at least ");
    says(|c| c.probes = 33, "probes: 33 is out of range");
    says(|c| c.layout = 10, "layout: 10 is out of range: a WINDLASS_LAYOUT_ (0 to 9)");
    says(|c| c.layout = u32::MAX, "layout: 4294967295");
    says(|c| c.rotation = 3, "rotation: 3 is out of range: a WINDLASS_ROTATION_ (0 to 2)");
    says(|c| c.unit = 2, "unit: 2 is out of range: WINDLASS_UNIT_NS (0) or WINDLASS_UNIT_EVENTS (1)");
    says(|c| c.flags = 1, "flags: 1 is out of range: 0");
    says(|c| c.reserved0 = 1, "reserved: 1 is out of range: 0");
    says(|c| c.reserved[3] = 5, "reserved: 5 is out of range: 0");
    for size in [0, 127, 4097, u32::MAX] {
        assert_eq!(refused_with(|c| c.struct_size = size).0, WINDLASS_E_STRUCT_SIZE);
    }
}

#[test]
fn settings_arrive() {
    for layout in 1..=9 {
        let bloom = made(|c| c.layout = layout);
        let plan = plan(&bloom);
        assert_eq!((plan.layout, plan.panes, plan.guaranteed, plan.struct_size), (layout, 8, 800, PLAN));
        // SAFETY: a handle.
        unsafe {
            assert_eq!(windlass_bloom_observe_u64(bloom.0, 1, 5), 0);
            assert_eq!(windlass_bloom_observe_u64(bloom.0, 1, 800), 1);
        }
    }
    let bits = made(|c| (c.bits, c.probes, c.panes) = (1 << 20, 3, 4));
    let found = plan(&bits);
    assert_eq!((found.panes, found.probes), (4, 3));
    assert!(found.bits <= 1 << 20 && found.bits > 1 << 19 && found.bytes * 8 == found.bits);
    let aligned = made(|c| (c.pane, c.lateness) = (100, 50));
    assert_eq!((plan(&aligned).pane, plan(&aligned).panes, plan(&aligned).guaranteed), (100, 10, 850));
    // Nothing is said about their number: a million, or the window's events.
    assert_eq!(plan(&made(|c| c.expected_ids = 0)).expected_ids, 1_000_000);
    assert_eq!(plan(&made(|c| (c.expected_ids, c.unit) = (0, 1))).expected_ids, 800);
    let exact = plan(&made(|c| c.error = 1e-6));
    assert!(exact.expected_error <= 1e-6 && exact.bytes > plan(&made(|_| {})).bytes);
    // Calls alone do not move it on.
    let scheduled = made(|c| c.rotation = WINDLASS_ROTATION_SCHEDULED);
    // SAFETY: a handle, in all of these.
    unsafe {
        assert_eq!(windlass_bloom_insert_u64(scheduled.0, 1, 1), 0);
        assert_eq!(windlass_bloom_insert_u64(scheduled.0, 2, 700), 0);
        assert_eq!(windlass_bloom_insert_u64(scheduled.0, 1, 1400), 1);
        assert_eq!(windlass_bloom_advance_to(scheduled.0, 9000), WINDLASS_OK);
        assert_eq!(windlass_bloom_contains_u64(scheduled.0, 1, 9000), 0);
    }
    let jumpy = made(|c| c.max_jump = 1000);
    let mut stats = windlass_bloom_stats::DEFAULT;
    // SAFETY: a handle, and a place of that size.
    unsafe {
        windlass_bloom_insert_u64(jumpy.0, 1, 1);
        windlass_bloom_insert_u64(jumpy.0, 2, 1 << 50);
        assert_eq!(windlass_bloom_contains_u64(jumpy.0, 1, 2), 1);
        assert_eq!(windlass_bloom_get_stats(jumpy.0, &raw mut stats, STATS, null_mut(), 0), WINDLASS_OK);
    }
    assert!(stats.jumps > 0);
}

#[test]
fn insert_refreshes_and_observe_does_not() {
    let (a, b) = (made(|_| {}), made(|_| {}));
    let id = b"order-4711";
    // SAFETY: handles, and bytes of that length.
    let ask = |now| unsafe {
        let (i, o) = (id.as_ptr(), id.len());
        (windlass_bloom_insert(a.0, i, o, now), windlass_bloom_observe(b.0, i, o, now))
    };
    assert_eq!([ask(0), ask(700), ask(1400)], [(0, 0), (1, 1), (1, 0)]);
    let hash = windlass_hash::from(windlass::Seed(7).hash("order-4711"));
    // SAFETY: handles.
    unsafe {
        assert_eq!(windlass_bloom_contains_hash(a.0, hash, 1400), 1);
        assert_eq!(windlass_bloom_observe_hash(b.0, hash, 1400), WINDLASS_DUPLICATE);
        assert_eq!(windlass_bloom_insert_hash(a.0, hash, 1400), 1);
    }
}

#[test]
fn batches_without_ids_times_or_answers() {
    let bloom = made(|_| {});
    let ids = [1_u64, 2, 1, 3];
    // SAFETY: a handle; nothing is read where n is 0; as many items as stated.
    unsafe {
        let b = bloom.0;
        assert_eq!(windlass_bloom_insert_hashes(b, null(), 0, 0, null(), null_mut()), 0);
        assert_eq!(windlass_bloom_observe_packed(b, null(), 0, null(), 0, 0, null(), null_mut()), 0);
        assert_eq!(windlass_bloom_contains_fixed(b, null(), 1, 1, 0, 0, null(), null_mut()), 0);
        assert_eq!(windlass_bloom_contains_u64s(b, ids.as_ptr(), 4, 5, null(), null_mut()), 4);
        assert_eq!(windlass_bloom_observe_u64s(b, ids.as_ptr(), 4, 5, null(), null_mut()), 3);
        let (ticks, mut answers) = ([5_u64, 6, 7, 8], [9_i8; 4]);
        assert_eq!(
            windlass_bloom_insert_u64s(b, ids.as_ptr(), 4, 0, ticks.as_ptr(), answers.as_mut_ptr()),
            0
        );
        assert_eq!(answers, [1; 4]);
    }
}

#[test]
fn what_cannot_be_changes_nothing() {
    let bloom = made(|_| {});
    let (b, none, id) = (bloom.0, null_mut(), b"a".as_ptr());
    let hash = windlass_hash { lo: 1, hi: 1 };
    let (mut stats, mut plan) = (windlass_bloom_stats::DEFAULT, windlass_bloom_plan::DEFAULT);
    let (mut ids, mut seed) = (9.0, 9);
    // SAFETY: refused, all of them.
    unsafe {
        for status in [
            windlass_bloom_insert(none, id, 1, 0),
            windlass_bloom_insert(b, null(), 1, 0),
            windlass_bloom_insert_hash(none, hash, 0),
            windlass_bloom_insert_u64(none, 1, 0),
            windlass_bloom_observe(none, id, 1, 0),
            windlass_bloom_observe(b, null(), 1, 0),
            windlass_bloom_observe_hash(none, hash, 0),
            windlass_bloom_observe_u64(none, 1, 0),
            windlass_bloom_contains(none, id, 1, 0),
            windlass_bloom_contains(b, null(), 1, 0),
            windlass_bloom_contains_hash(none, hash, 0),
            windlass_bloom_contains_u64(none, 1, 0),
            windlass_bloom_get_stats(none, &raw mut stats, STATS, null_mut(), 0),
            windlass_bloom_get_stats(b, null_mut(), STATS, null_mut(), 0),
            windlass_bloom_get_stats(b, &raw mut stats, STATS, null_mut(), 1),
            windlass_bloom_get_plan(none, &raw mut plan, PLAN),
            windlass_bloom_get_plan(b, null_mut(), PLAN),
            windlass_bloom_config_plan(null(), &raw mut plan, PLAN, null_mut()),
            windlass_bloom_config_init(null_mut(), CONFIG),
            windlass_bloom_new(null(), &mut null_mut(), null_mut()),
            windlass_bloom_new(&config(|_| {}), null_mut(), null_mut()),
            windlass_bloom_distinct_at(none, 0, &raw mut ids, null_mut()),
            windlass_bloom_distinct_at(b, 0, null_mut(), null_mut()),
            windlass_bloom_union(none, b, null_mut()),
            windlass_bloom_union(b, null(), null_mut()),
            windlass_bloom_maintain_at(none, 0, 1),
            windlass_bloom_advance_to(none, 0),
            windlass_bloom_seed(none, &raw mut seed),
            windlass_bloom_seed(b, null_mut()),
        ] {
            assert_eq!(status, WINDLASS_E_NULL);
        }
        assert_eq!(windlass_bloom_memory_bytes(none), i64::from(WINDLASS_E_NULL));
        assert_eq!(windlass_bloom_panes_at_u64(none, 1, 0, null_mut(), 0), i64::from(WINDLASS_E_NULL));
        assert_eq!(windlass_bloom_panes_at_u64(b, 1, 0, null_mut(), 1), i64::from(WINDLASS_E_NULL));
        assert_eq!(windlass_bloom_panes_at_hash(none, hash, 0, null_mut(), 0), i64::from(WINDLASS_E_NULL));
        assert_eq!(windlass_bloom_panes_at(b, null(), 1, 0, null_mut(), 0), i64::from(WINDLASS_E_NULL));
        assert_eq!(windlass_bloom_insert(b, id, usize::MAX, 0), WINDLASS_E_RANGE);
        assert_eq!(windlass_bloom_get_plan(b, &raw mut plan, 8), WINDLASS_E_STRUCT_SIZE);
        assert_eq!(windlass_bloom_get_stats(b, &raw mut stats, 8, null_mut(), 0), WINDLASS_E_STRUCT_SIZE);
        let (n, p) = (null_mut(), null());
        for status in [
            windlass_bloom_insert_u64s(none, p, 0, 0, p, n),
            windlass_bloom_observe_u64s(b, p, 2, 0, p, n),
            windlass_bloom_contains_hashes(b, null(), 2, 0, p, n),
            windlass_bloom_contains_fixed(b, null(), 1, 1, 2, 0, p, n),
            windlass_bloom_insert_packed(b, id, 1, null(), 2, 0, p, n),
        ] {
            assert_eq!(status, i64::from(WINDLASS_E_NULL));
        }
    }
    assert_eq!((stats, plan), (windlass_bloom_stats::DEFAULT, windlass_bloom_plan::DEFAULT));
    assert_eq!((ids, seed), (9.0, 9));
    // SAFETY: a handle.
    assert_eq!(unsafe { windlass_bloom_contains(b, id, 1, 0) }, 0);
}

#[test]
fn more_than_can_be_counted() {
    let mut ids = 9.0;
    let seeded = made(|c| c.layout = WINDLASS_LAYOUT_SEEDED_ARRAYS);
    let small = made(|c| c.bits = 8 * 256);
    // SAFETY: handles, and a place for a number.
    unsafe {
        assert_eq!(windlass_bloom_distinct_at(seeded.0, 0, &raw mut ids, null_mut()), WINDLASS_E_ARG);
        assert_eq!(windlass_bloom_union(seeded.0, seeded.0, null_mut()), WINDLASS_E_ARG);
        for id in 0..100_000 {
            windlass_bloom_insert_u64(small.0, id, 1);
        }
        assert_eq!(windlass_bloom_distinct_at(small.0, 1, &raw mut ids, null_mut()), WINDLASS_E_FULL);
    }
    assert_eq!(ids, 9.0);
}
