//! The functions, called as C calls them.

#![allow(clippy::multiple_unsafe_ops_per_block)] // one call after the other, of the same kind

use std::ptr::{null, null_mut};

use windlass::{Seed, Tick, Window, WindowedCounter};

use super::{batch::*, config::*, single::*, stats::*, upkeep::*, *};
use crate::{
    dedup::config::WINDLASS_UNIT_EVENTS,
    hash::windlass_hash,
    sized::Plain,
    status::{
        WINDLASS_E_ARG, WINDLASS_E_JUMP, WINDLASS_E_NULL, WINDLASS_E_OFFSETS, WINDLASS_E_RANGE,
        WINDLASS_E_STRUCT_SIZE, WINDLASS_OK,
    },
};

/// A handle that frees itself.
struct Handle(*mut windlass_counter);

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: from `made`, freed here alone.
        unsafe { windlass_counter_free(self.0) };
    }
}

/// 4 panes of 10 events, for 100 keys; 10 late, 1000 ahead.
fn config() -> windlass_counter_config {
    let mut config = windlass_counter_config::DEFAULT;
    // SAFETY: a config of that size.
    assert_eq!(unsafe { windlass_counter_config_init(&raw mut config, 104) }, WINDLASS_OK);
    (config.window, config.pane, config.lateness, config.max_jump) = (40, 10, 10, 1000);
    (config.capacity, config.seed, config.unit) = (100, 7, WINDLASS_UNIT_EVENTS);
    config
}

fn made() -> (Handle, WindowedCounter) {
    let mut handle = null_mut();
    // SAFETY: a valid config, a place for the handle.
    assert_eq!(unsafe { windlass_counter_new(&config(), &raw mut handle, null_mut()) }, WINDLASS_OK);
    let events = Window::last_n;
    let ours = WindowedCounter::builder(events(40), events(10)).lateness(events(10)).max_jump(events(1000));
    (Handle(handle), ours.capacity(100).seed(Seed(7)).build().expect("valid"))
}

const N: usize = 200;

#[test]
fn counts_as_rust_does() {
    let (handle, ours) = made();
    let c = handle.0;
    let keys: Vec<[u8; 2]> = (0..N).map(|i| [u8::try_from(i % 13).expect("small"), b'k']).collect();
    let hashes: Vec<windlass_hash> = keys.iter().map(|key| Seed(7).hash(key).into()).collect();
    let numbers: Vec<u64> = (0..N as u64).map(|i| i % 7).collect();
    let times: Vec<u64> = (0..N as u64).map(|i| 1 + i % 3).collect();
    let ticks: Vec<u64> = (0..N as u64).map(|i| i / 2).collect();
    let offsets: Vec<u32> = (0..=N).map(|i| u32::try_from(2 * i).expect("few")).collect();
    let (bytes, mut tally) = (keys.concat(), windlass_tally::default());
    let all = windlass_tally { counted: N as u64, ..windlass_tally::default() };
    let (t, ends, out) = (times.as_ptr(), offsets.as_ptr(), &raw mut tally);
    let when = ticks.as_ptr();
    // SAFETY: a live handle, slices of these lengths.
    unsafe {
        assert_eq!(windlass_counter_add_hashes(c, hashes.as_ptr(), N, t, 0, when, out), WINDLASS_OK);
        assert_eq!(tally, all);
        assert_eq!(windlass_counter_add_u64s(c, numbers.as_ptr(), N, null(), 99, null(), out), WINDLASS_OK);
        assert_eq!(tally, all);
        assert_eq!(
            windlass_counter_add_fixed(c, bytes.as_ptr(), 2, 2, N, t, 99, null(), null_mut()),
            WINDLASS_OK
        );
        let status = windlass_counter_add_packed(c, bytes.as_ptr(), bytes.len(), ends, N, t, 0, when, out);
        assert_eq!((status, tally.counted + tally.late, tally.late > 0), (WINDLASS_OK, N as u64, true));
    }
    ours.add_each(N, |i| (&keys[i], times[i], Tick(ticks[i])));
    ours.add_each(N, |i| (numbers[i], 1, Tick(99)));
    ours.add_each(N, |i| (&keys[i], times[i], Tick(99)));
    ours.add_each(N, |i| (&keys[i], times[i], Tick(ticks[i])));
    for (key, &hash) in keys.iter().zip(&hashes).take(13) {
        let (mut a, mut b, mut complete) = (0, 0, 0);
        // SAFETY: a live handle, a slice, places to write to.
        unsafe {
            assert_eq!(windlass_counter_add(c, key.as_ptr(), 2, 5, 99), WINDLASS_COUNTED);
            assert_eq!(windlass_counter_add_hash(c, hash, 6, 98), WINDLASS_COUNTED);
            assert_eq!(windlass_counter_count(c, key.as_ptr(), 2, 99, &raw mut a), WINDLASS_OK);
            assert_eq!(windlass_counter_count_hash(c, hash, 99, &raw mut b), WINDLASS_OK);
            assert_eq!(
                windlass_counter_count_complete(c, key.as_ptr(), 2, 99, &raw mut complete),
                WINDLASS_OK
            );
        }
        assert_eq!((a, b), (ours.count_at(key, Tick(99)) + 11, a));
        assert_eq!(complete, ours.count_complete_at(key, Tick(99)));
    }
    let (mut count, mut counts, mut total, mut complete) = (0, vec![0; N], 0, 0);
    // SAFETY: a live handle, slices, places to write to.
    unsafe {
        assert_eq!(windlass_counter_add_u64(c, 3, 1, 97), WINDLASS_COUNTED);
        assert_eq!(windlass_counter_count_u64(c, 3, 99, &raw mut count), WINDLASS_OK);
        assert_eq!(
            windlass_counter_count_hashes(c, hashes.as_ptr(), N, 99, counts.as_mut_ptr()),
            WINDLASS_OK
        );
        assert_eq!(windlass_counter_total(c, 99, &raw mut total), WINDLASS_OK);
        assert_eq!(windlass_counter_total_complete(c, 99, &raw mut complete), WINDLASS_OK);
    }
    assert_eq!(count, ours.count_at(3, Tick(99)) + 1);
    assert!(keys.iter().zip(&counts).all(|(key, &count)| count == ours.count_at(key, Tick(99)) + 11));
    assert_eq!(total, ours.total_at(Tick(99)) + 13 * 11 + 1);
    assert_eq!(complete, ours.total_complete_at(Tick(99)));
}

#[test]
fn what_is_not_counted() {
    let (handle, _) = made();
    let mut stats = windlass_counter_stats::DEFAULT;
    // SAFETY: a live handle, a place to write to.
    unsafe {
        assert_eq!(windlass_counter_add_u64(handle.0, 1, 1, 500), WINDLASS_COUNTED);
        assert_eq!(windlass_counter_add_u64(handle.0, 1, 1, 100), WINDLASS_LATE);
        assert_eq!(windlass_counter_add_u64(handle.0, 1, 1, 50_000), WINDLASS_E_JUMP);
        for key in 0..5_000 {
            let added = windlass_counter_add_u64(handle.0, key, 1, 500);
            assert!(added == WINDLASS_COUNTED || added == WINDLASS_NO_ROOM);
        }
        assert_eq!(windlass_counter_get_stats(handle.0, &raw mut stats, 104), WINDLASS_OK);
        assert_eq!(windlass_counter_maintain_at(handle.0, 2_000, 1 << 20), 0);
    }
    assert_eq!((stats.struct_size, stats.late, stats.jumps, stats.generations), (104, 1, 1, 1));
    assert!(stats.no_room > 4_000 && stats.rows >= 100, "{stats:?}");
}

#[test]
fn settings_that_are_refused() {
    let with = |change: fn(&mut windlass_counter_config)| {
        let mut config = config();
        change(&mut config);
        let mut error = windlass_error { struct_size: 256, code: WINDLASS_OK, detail: [0; 248] };
        let mut handle = null_mut();
        // SAFETY: a config of its size, places to write to.
        let (status, bytes) = unsafe {
            let status = windlass_counter_new(&config, &raw mut handle, &raw mut error);
            (status, windlass_counter_config_memory_bytes(&config, null_mut()))
        };
        assert!(handle.is_null() && bytes == status.into());
        // SAFETY: ends with NUL.
        let detail = unsafe { std::ffi::CStr::from_ptr(error.detail.as_ptr()) };
        (status, detail.to_str().expect("UTF-8").to_owned())
    };
    let says = |change: fn(&mut windlass_counter_config), text: &str| {
        let (status, detail) = with(change);
        assert_eq!((status, detail.get(..text.len())), (WINDLASS_E_ARG, Some(text)), "{detail}");
    };
    says(|c| c.window = 0, "window: 0 events is out of range: 1 to ");
    says(|c| c.pane = 0, "pane: 0 events is out of range: 1 to ");
    says(|c| c.pane = 7, "pane: 7 events is out of range: a divisor of the window (");
    says(|c| c.capacity = 0, "capacity: 0 is out of range: 1 to ");
    says(|c| c.max_jump = 0, "max_jump: 0 events is out of range: 1 to ");
    says(|c| c.flags = 2, "flags: 2 is out of range: 0, as none are known");
    says(|c| c.reserved[3] = 9, "reserved: 9 is out of range: 0");
    says(|c| c.unit = 5, "unit: 5 is out of range: WINDLASS_UNIT_NS (0) or WINDLASS_UNIT_EVENTS (1)");
    assert_eq!(with(|c| c.struct_size = 12).0, WINDLASS_E_STRUCT_SIZE);
    // SAFETY: a config of its size.
    assert!(unsafe { windlass_counter_config_memory_bytes(&config(), null_mut()) } > 100 * 64);
}

#[test]
fn arguments_that_are_refused() {
    let (handle, _) = made();
    let (c, hash, ab) = (handle.0, windlass_hash { lo: 1, hi: 2 }, b"ab".as_ptr());
    let (mut count, mut made, mut tally) = (5, null_mut(), windlass_tally::default());
    // SAFETY: NULL where it is refused, else a live handle and places to write to.
    unsafe {
        let (count, tally) = (&raw mut count, &raw mut tally);
        assert_eq!(windlass_counter_config_init(null_mut(), 104), WINDLASS_E_NULL);
        assert_eq!(windlass_counter_new(null(), &raw mut made, null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_counter_new(&config(), null_mut(), null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_counter_add(null_mut(), ab, 2, 1, 0), WINDLASS_E_NULL);
        assert_eq!(windlass_counter_add(c, null(), 2, 1, 0), WINDLASS_E_NULL);
        assert_eq!(windlass_counter_add(c, ab, usize::MAX, 1, 0), WINDLASS_E_RANGE);
        assert_eq!(windlass_counter_add_hash(null_mut(), hash, 1, 0), WINDLASS_E_NULL);
        assert_eq!(windlass_counter_add_u64(null_mut(), 1, 1, 0), WINDLASS_E_NULL);
        assert_eq!(windlass_counter_count(c, null(), 2, 0, count), WINDLASS_E_NULL);
        assert_eq!(windlass_counter_count(c, ab, 2, 0, null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_counter_count_complete(null(), ab, 2, 0, count), WINDLASS_E_NULL);
        assert_eq!(windlass_counter_count_hash(null(), hash, 0, count), WINDLASS_E_NULL);
        assert_eq!(windlass_counter_count_u64(c, 1, 0, null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_counter_total(null(), 0, count), WINDLASS_E_NULL);
        assert_eq!(windlass_counter_total_complete(c, 0, null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_counter_add_hashes(c, null(), 1, null(), 0, null(), tally), WINDLASS_E_NULL);
        assert_eq!(windlass_counter_add_u64s(null_mut(), &1, 1, null(), 0, null(), tally), WINDLASS_E_NULL);
        assert_eq!(windlass_counter_add_fixed(c, ab, 2, 1, 1, null(), 0, null(), tally), WINDLASS_E_RANGE);
        let wrong = [0, 3].as_ptr();
        let status = windlass_counter_add_packed(c, ab, 2, wrong, 1, null(), 0, null(), tally);
        assert_eq!(status, WINDLASS_E_OFFSETS);
        assert_eq!(windlass_counter_count_hashes(c, &hash, 1, 0, null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_counter_count_hashes(c, null(), 0, 0, null_mut()), WINDLASS_OK);
        assert_eq!(windlass_counter_get_stats(c, null_mut(), 104), WINDLASS_E_NULL);
        assert_eq!(windlass_counter_maintain_at(null_mut(), 0, 1), WINDLASS_E_NULL);
        windlass_counter_free(null_mut());
    }
    assert_eq!((count, tally, made.is_null()), (5, windlass_tally::default(), true), "left alone");
}
