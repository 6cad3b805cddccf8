//! The functions, called as C calls them.

#![allow(clippy::multiple_unsafe_ops_per_block)] // one call after the other, of the same kind

use std::ptr::{null, null_mut};

use windlass::{BoundedTopK, KeyHash, Seed, Tick, Window};

use super::{batch::*, config::*, list::*, single::*, stats::*, upkeep::*, *};
use crate::{
    counter::{WINDLASS_COUNTED, WINDLASS_LATE, batch::windlass_tally},
    dedup::config::WINDLASS_UNIT_EVENTS,
    hash::windlass_hash,
    lists::tests::{Got, as_c, got},
    sized::Plain,
    status::{
        WINDLASS_E_ARG, WINDLASS_E_JUMP, WINDLASS_E_NULL, WINDLASS_E_OFFSETS, WINDLASS_E_RANGE,
        WINDLASS_E_STRUCT_SIZE, WINDLASS_E_TOO_SMALL, WINDLASS_OK,
    },
    topk::list::{windlass_top_list, windlass_top_row},
};

/// A handle that frees itself.
struct Handle(*mut windlass_bounded_topk);

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: from `made`, freed here alone.
        unsafe { windlass_bounded_topk_free(self.0) };
    }
}

/// The 5 hottest, 4 panes of 10 events, in 256 KiB; 10 late, 1000 ahead.
fn config() -> windlass_bounded_topk_config {
    let mut config = windlass_bounded_topk_config::DEFAULT;
    // SAFETY: a config of that size.
    assert_eq!(unsafe { windlass_bounded_topk_config_init(&raw mut config, 120) }, WINDLASS_OK);
    (config.window, config.pane, config.lateness, config.max_jump) = (40, 10, 10, 1000);
    (config.k, config.memory, config.key_bytes) = (5, 256 << 10, 8);
    (config.seed, config.unit) = (7, WINDLASS_UNIT_EVENTS);
    config
}

fn made() -> (Handle, BoundedTopK) {
    let mut handle = null_mut();
    // SAFETY: a valid config, a place for the handle.
    assert_eq!(unsafe { windlass_bounded_topk_new(&config(), &raw mut handle, null_mut()) }, WINDLASS_OK);
    let events = Window::last_n;
    let ours = BoundedTopK::builder(events(40), events(10), 5).lateness(events(10)).max_jump(events(1000));
    (Handle(handle), ours.memory(256 << 10).key_bytes(8).seed(Seed(7)).build().expect("valid"))
}

/// Which list.
#[derive(Clone, Copy)]
enum Ask {
    Snapshot,
    Refresh(u64),
    Top(u64),
    Complete(u64),
}

/// .. into arrays for so many rows and bytes of keys.
fn list(c: &Handle, ask: Ask, room: (usize, usize)) -> Got {
    let c = c.0;
    // SAFETY: a live handle, a place for the head, arrays of these lengths.
    got(room, |l, r, k| unsafe {
        match ask {
            Ask::Snapshot => windlass_bounded_topk_snapshot(c, l, 64, r, room.0, k, room.1),
            Ask::Refresh(now) => windlass_bounded_topk_refresh(c, now, l, 64, r, room.0, k, room.1),
            Ask::Top(now) => windlass_bounded_topk_top(c, now, l, 64, r, room.0, k, room.1),
            Ask::Complete(now) => windlass_bounded_topk_top_complete(c, now, l, 64, r, room.0, k, room.1),
        }
    })
}

/// Three answers for a key, by its three forms.
fn bounds(c: &Handle, bytes: [u8; 2], hash: windlass_hash, number: u64, now: u64) -> [(u64, u64); 3] {
    let (c, mut all) = (c.0, [(0, 0); 3]);
    let [a, b, n] = &mut all;
    // SAFETY: a live handle, places to write to.
    unsafe {
        let ask = windlass_bounded_topk_bounds;
        assert_eq!(ask(c, bytes.as_ptr(), 2, now, &raw mut a.0, &raw mut a.1), WINDLASS_OK);
        let ask = windlass_bounded_topk_bounds_hash;
        assert_eq!(ask(c, hash, now, &raw mut b.0, &raw mut b.1), WINDLASS_OK);
        let ask = windlass_bounded_topk_bounds_u64;
        assert_eq!(ask(c, number, now, &raw mut n.0, &raw mut n.1), WINDLASS_OK);
    }
    all
}

const N: usize = 200;
const ROOM: (usize, usize) = (5, 100);

#[test]
fn lists_as_rust_does() {
    let (handle, ours) = made();
    let c = handle.0;
    let keys: Vec<[u8; 2]> = (0..N).map(|i| [u8::try_from(i % 13).expect("small"), b'k']).collect();
    let hashes: Vec<windlass_hash> =
        (0..N as u64).map(|i| windlass_hash { lo: 7 + i % 5, hi: (i % 5) << 60 }).collect();
    let numbers: Vec<u64> = (0..N as u64).map(|i| i % 7).collect();
    let times: Vec<u64> = (0..N as u64).map(|i| 1 + i % 3).collect();
    // Few panes: tables of those that have left come back when all threads are done with them.
    let ticks: Vec<u64> = (0..N as u64).map(|i| 60 + i / 5).collect();
    let old: Vec<u64> = (0..N as u64).map(|i| i / 2).collect();
    let offsets: Vec<u32> = (0..=N).map(|i| u32::try_from(2 * i).expect("few")).collect();
    let (bytes, mut tally) = (keys.concat(), windlass_tally::default());
    let all = windlass_tally { counted: N as u64, ..windlass_tally::default() };
    let (t, ends, out) = (times.as_ptr(), offsets.as_ptr(), &raw mut tally);
    let when = ticks.as_ptr();
    // SAFETY: a live handle, slices of these lengths.
    unsafe {
        assert_eq!(windlass_bounded_topk_add_hashes(c, hashes.as_ptr(), N, t, 0, when, out), WINDLASS_OK);
        assert_eq!(tally, all);
        let add = windlass_bounded_topk_add_u64s;
        assert_eq!(add(c, numbers.as_ptr(), N, null(), 99, null(), out), WINDLASS_OK);
        assert_eq!(tally, all);
        let add = windlass_bounded_topk_add_fixed;
        assert_eq!(add(c, bytes.as_ptr(), 2, 2, N, t, 99, null(), null_mut()), WINDLASS_OK);
        let add = windlass_bounded_topk_add_packed;
        assert_eq!(add(c, bytes.as_ptr(), bytes.len(), ends, N, t, 0, old.as_ptr(), out), WINDLASS_OK);
        assert_eq!((tally.counted + tally.late, tally.late > 0), (N as u64, true));
        assert_eq!(windlass_bounded_topk_add(c, [12, b'k'].as_ptr(), 2, 90, 98), WINDLASS_COUNTED);
        let hash = windlass_hash { lo: 11, hi: 4 << 60 };
        assert_eq!(windlass_bounded_topk_add_hash(c, hash, 80, 97), WINDLASS_COUNTED);
        assert_eq!(windlass_bounded_topk_add_u64(c, 6, 70, 96), WINDLASS_COUNTED);
    }
    ours.add_each(N, |i| (KeyHash::from(hashes[i]), times[i], Tick(ticks[i])));
    ours.add_each(N, |i| (numbers[i], 1, Tick(99)));
    ours.add_each(N, |i| (&keys[i], times[i], Tick(99)));
    ours.add_each(N, |i| (&keys[i], times[i], Tick(old[i])));
    ours.add_at([12, b'k'], 90, Tick(98));
    ours.add_at(KeyHash::from(windlass_hash { lo: 11, hi: 4 << 60 }), 80, Tick(97));
    ours.add_at(6_u64, 70, Tick(96));

    let refreshed = list(&handle, Ask::Refresh(99), ROOM);
    assert_eq!(refreshed, as_c(&ours.refresh_at(Tick(99))));
    assert_eq!((refreshed.list.certified, refreshed.rows.len()), (1, 5));
    let snapshot = |room| list(&handle, Ask::Snapshot, room);
    assert_eq!(snapshot(ROOM), refreshed);
    let short = Got { status: WINDLASS_E_TOO_SMALL, list: refreshed.list, rows: Vec::new() };
    assert_eq!(snapshot((4, 100)), short);
    assert_eq!(list(&handle, Ask::Top(105), ROOM), as_c(&ours.top_at(Tick(105))));
    assert_eq!(list(&handle, Ask::Complete(100), ROOM), as_c(&ours.top_complete_at(Tick(100))));
    assert_eq!(snapshot(ROOM), refreshed, "those were the caller's alone");
    // SAFETY: a live handle.
    assert_eq!(unsafe { windlass_bounded_topk_maintain_at(c, 120, 1 << 20) }, 0);
    // SAFETY: a live handle.
    assert_eq!(unsafe { windlass_bounded_topk_is_ready(c) }, 1);
    ours.maintain_at(Tick(120), 1 << 20);
    assert_eq!(snapshot(ROOM), as_c(&ours.snapshot()), "upkeep");

    let now = Tick(99);
    let ask = KeyHash::from(hashes[4]);
    let theirs = [ours.bounds_at(keys[0], now), ours.bounds_at(ask, now), ours.bounds_at(3_u64, now)];
    assert_eq!(bounds(&handle, keys[0], hashes[4], 3, 99), theirs);
    assert!(theirs.iter().all(|&(lower, upper)| 0 < lower && lower <= upper), "{theirs:?}");
    let mut total = 0;
    // SAFETY: a live handle, a place to write to.
    assert_eq!(unsafe { windlass_bounded_topk_total(c, 99, &raw mut total) }, WINDLASS_OK);
    assert_eq!(total, ours.total_at(now));
}

#[test]
fn what_is_not_counted_and_more_than_there_is_memory_for() {
    let (handle, _) = made();
    let c = handle.0;
    let mut stats = windlass_bounded_topk_stats::DEFAULT;
    let longer = vec![b'x'; crate::topk::WINDLASS_TOPK_MAX_LEN + 1];
    // SAFETY: a live handle, a place to write to.
    unsafe {
        assert_eq!(windlass_bounded_topk_add_u64(c, 1, 1, 500), WINDLASS_COUNTED);
        assert_eq!(windlass_bounded_topk_add_u64(c, 1, 1, 100), WINDLASS_LATE);
        assert_eq!(windlass_bounded_topk_add_u64(c, 1, 1, 50_000), WINDLASS_E_JUMP);
        let added = windlass_bounded_topk_add(c, longer.as_ptr(), longer.len(), 1, 500);
        assert_eq!(added, WINDLASS_COUNTED, "though it cannot be listed");
        for key in 0..20_000 {
            assert_eq!(windlass_bounded_topk_add_u64(c, key, 1, 500), WINDLASS_COUNTED);
        }
        assert_eq!(windlass_bounded_topk_get_stats(c, &raw mut stats, 80), WINDLASS_OK);
    }
    assert_eq!((stats.struct_size, stats.late, stats.jumps, stats.opened), (80, 1, 1, 1));
    assert!(
        stats.taken == stats.slots && stats.slots > 0 && stats.cells > 0 && stats.without == 0,
        "{stats:?}"
    );
    assert!(stats.memory_bytes > 0 && stats.memory_bytes <= 256 << 10, "{stats:?}");
    let all = list(&handle, Ask::Top(500), ROOM);
    assert_eq!((all.status, all.list.certified, all.list.total), (WINDLASS_OK, 0, 20_002));
    assert!(all.list.tail >= 1 && all.rows.iter().all(|row| row.2 <= row.1 && row.1 <= row.3), "{all:?}");
}

#[test]
fn settings_that_are_refused() {
    let with = |change: fn(&mut windlass_bounded_topk_config)| {
        let mut config = config();
        change(&mut config);
        let mut error = windlass_error { struct_size: 256, code: WINDLASS_OK, detail: [0; 248] };
        let mut handle = null_mut();
        // SAFETY: a config of its size, places to write to.
        let status = unsafe { windlass_bounded_topk_new(&config, &raw mut handle, &raw mut error) };
        assert!(handle.is_null());
        // SAFETY: ends with NUL.
        let detail = unsafe { std::ffi::CStr::from_ptr(error.detail.as_ptr()) };
        (status, detail.to_str().expect("UTF-8").to_owned())
    };
    let says = |change: fn(&mut windlass_bounded_topk_config), text: &str| {
        let (status, detail) = with(change);
        assert_eq!((status, detail.get(..text.len())), (WINDLASS_E_ARG, Some(text)), "{detail}");
    };
    says(|c| c.window = 0, "window: 0 events is out of range: 1 to ");
    says(|c| c.pane = 7, "pane: 7 events is out of range: a divisor of the window (");
    says(|c| c.k = 0, "k: 0 is out of range: 1 to 1048576");
    says(|c| c.memory = 100, "memory: 100 bytes is out of range: ");
    says(|c| c.memory = u64::MAX, "memory: 18446744073709551615 bytes is out of range: ");
    says(|c| c.key_bytes = 1 << 20, "key_bytes: 1048576 is out of range: 65527 at most");
    says(|c| c.max_jump = 0, "max_jump: 0 events is out of range: 1 to ");
    says(|c| c.flags = 2, "flags: 2 is out of range: 0, as none are known");
    says(|c| c.reserved[3] = 9, "reserved: 9 is out of range: 0");
    says(|c| c.unit = 5, "unit: 5 is out of range: WINDLASS_UNIT_NS (0) or WINDLASS_UNIT_EVENTS (1)");
    assert_eq!(with(|c| c.struct_size = 12).0, WINDLASS_E_STRUCT_SIZE);
}

#[test]
fn arguments_that_are_refused() {
    let (handle, _) = made();
    let (c, hash, ab) = (handle.0, windlass_hash { lo: 1, hi: 2 }, b"ab".as_ptr());
    let (mut one, mut made, mut tally) = (5, null_mut(), windlass_tally::default());
    let (mut head, mut row, mut byte) = (windlass_top_list::DEFAULT, windlass_top_row::default(), 0);
    // SAFETY: NULL where it is refused, else a live handle and places to write to.
    unsafe {
        let (one, tally) = (&raw mut one, &raw mut tally);
        assert_eq!(windlass_bounded_topk_config_init(null_mut(), 120), WINDLASS_E_NULL);
        assert_eq!(windlass_bounded_topk_new(null(), &raw mut made, null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_bounded_topk_new(&config(), null_mut(), null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_bounded_topk_add(null_mut(), ab, 2, 1, 0), WINDLASS_E_NULL);
        assert_eq!(windlass_bounded_topk_add(c, null(), 2, 1, 0), WINDLASS_E_NULL);
        assert_eq!(windlass_bounded_topk_add(c, ab, usize::MAX, 1, 0), WINDLASS_E_RANGE);
        assert_eq!(windlass_bounded_topk_bounds(c, null(), 2, 0, one, one), WINDLASS_E_NULL);
        assert_eq!(windlass_bounded_topk_bounds(c, ab, 2, 0, null_mut(), one), WINDLASS_E_NULL);
        assert_eq!(windlass_bounded_topk_bounds_hash(c, hash, 0, one, null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_bounded_topk_bounds_u64(null(), 1, 0, one, one), WINDLASS_E_NULL);
        assert_eq!(windlass_bounded_topk_total(null(), 0, one), WINDLASS_E_NULL);
        let add = windlass_bounded_topk_add_hashes;
        assert_eq!(add(c, null(), 1, null(), 0, null(), tally), WINDLASS_E_NULL);
        let add = windlass_bounded_topk_add_fixed;
        assert_eq!(add(c, ab, 2, 1, 1, null(), 0, null(), tally), WINDLASS_E_RANGE);
        let (add, wrong) = (windlass_bounded_topk_add_packed, [0, 3].as_ptr());
        assert_eq!(add(c, ab, 2, wrong, 1, null(), 0, null(), tally), WINDLASS_E_OFFSETS);
        assert_eq!(windlass_bounded_topk_get_stats(c, null_mut(), 80), WINDLASS_E_NULL);
        assert_eq!(windlass_bounded_topk_maintain_at(null_mut(), 0, 1), WINDLASS_E_NULL);
        assert_eq!(windlass_bounded_topk_is_ready(null()), WINDLASS_E_NULL);
        let (l, r, k) = (&raw mut head, &raw mut row, &raw mut byte);
        assert_eq!(windlass_bounded_topk_snapshot(null(), l, 64, r, 1, k, 1), WINDLASS_E_NULL);
        assert_eq!(windlass_bounded_topk_refresh(c, 5, l, 63, r, 1, k, 1), WINDLASS_E_STRUCT_SIZE);
        assert_eq!(windlass_bounded_topk_top(c, 5, l, 64, r, usize::MAX, k, 1), WINDLASS_E_RANGE);
        windlass_bounded_topk_free(null_mut());
    }
    assert_eq!((one, tally, made.is_null()), (5, windlass_tally::default(), true), "left alone");
    assert_eq!((head.end, row, byte), (0, windlass_top_row::default(), 0), "left alone");
}
