//! Snapshots of the hottest keys in bounded memory: what is restored has the same bounds.

use super::common::golden;
use proptest::prelude::*;
use std::{
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    thread,
    time::Duration,
};
use windlass::{
    Added, BoundedTopK, BoundedTopKBuilder, RestoreError, Seed, Tick, TopKey, TopSnapshot, Window,
};

const WALL: Duration = Duration::from_secs(1_700_000_000);

/// Windows of 40 in panes of 10; so little memory that keys displace others.
fn small() -> BoundedTopKBuilder {
    let builder = BoundedTopK::builder(Window::last_n(40), Window::last_n(10), 4).seed(Seed(5));
    builder.lateness(Window::last_n(5)).memory(10 << 10).key_bytes(8)
}

fn save(top: &BoundedTopK, now: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let summary = top.save_at(&mut bytes, Tick(now), WALL).expect("in memory");
    assert_eq!(summary.bytes, bytes.len() as u64);
    bytes
}

fn restore(builder: BoundedTopKBuilder, bytes: &[u8]) -> BoundedTopK {
    builder.restore(bytes, WALL).expect("a snapshot").structure
}

/// Keys of all kinds; the names of some do not fit.
fn add(top: &BoundedTopK, key: u64, n: u64, now: u64) -> Added {
    let now = Tick(now);
    match key % 8 {
        0..4 => top.add_at(key, n, now),
        4 => top.add_at(Seed(1).hash(key.to_le_bytes()), n, now),
        5 => top.add_at(format!("a key that is longer than others: {key}"), n, now),
        _ => top.add_at(format!("/{key}"), n, now),
    }
}

fn bounds(top: &BoundedTopK, key: u64, now: u64) -> (u64, u64) {
    let now = Tick(now);
    match key % 8 {
        0..4 => top.bounds_at(key, now),
        4 => top.bounds_at(Seed(1).hash(key.to_le_bytes()), now),
        5 => top.bounds_at(format!("a key that is longer than others: {key}"), now),
        _ => top.bounds_at(format!("/{key}"), now),
    }
}

type Said = (Vec<(TopKey, u64, u64, u64)>, bool, u64, u64);

fn said(list: TopSnapshot) -> Said {
    let rows = list.rows.into_iter().map(|row| (row.key, row.count, row.lower, row.upper)).collect();
    (rows, list.certified, list.total, list.tail)
}

/// All that can be asked.
fn all(top: &BoundedTopK, now: u64) -> (Said, Said, Vec<(u64, u64)>, u64) {
    let keys = (0..300).map(|key| bounds(top, key, now)).collect();
    (said(top.top_at(Tick(now))), said(top.top_complete_at(Tick(now))), keys, top.total_at(Tick(now)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Wherever it is cut.
    #[test]
    fn goes_on_as_the_original(
        before in prop::collection::vec((0..300_u64, 1..30_u64, -2..6_i64), 1..400),
        after in prop::collection::vec((0..300_u64, 1..30_u64, -2..6_i64), 1..200),
    ) {
        // (So that all names fit: which do not depends on those that were there before.)
        let builder = || small().key_bytes(60).memory(20 << 10);
        let (top, mut counted) = (builder().build().expect("valid"), Vec::new());
        let mut now = 1000_u64;
        for (key, n, ahead) in before {
            now = now.saturating_add_signed(ahead);
            if add(&top, key, n, now) == Added::Counted {
                counted.push((key, n, now / 10));
            }
        }
        let copy = restore(builder(), &save(&top, now));
        prop_assert_eq!(all(&copy, now), all(&top, now));
        for (i, (key, n, ahead)) in after.into_iter().enumerate() {
            now = now.saturating_add_signed(ahead);
            let added = add(&top, key, n, now);
            prop_assert_eq!(add(&copy, key, n, now), added);
            if added == Added::Counted {
                counted.push((key, n, now / 10));
            }
            if i % 40 == 0 {
                same(&copy, &top, &counted, now)?;
            }
        }
        same(&copy, &top, &counted, now)?;
    }
}

/// That both say the same. Tables that come back late, since other tests hold the epoch back, leave panes without: then what they say is
/// true.
fn same(
    copy: &BoundedTopK,
    top: &BoundedTopK,
    counted: &[(u64, u64, u64)],
    now: u64,
) -> Result<(), TestCaseError> {
    if copy.stats().without == 0 && top.stats().without == 0 {
        prop_assert_eq!(all(copy, now), all(top, now));
    }
    let pane = now / 10;
    for key in 0..300 {
        let of = |&&(other, _, at): &&(u64, u64, u64)| other == key && at <= pane && at + 4 > pane;
        let truth: u64 = counted.iter().filter(of).map(|(_, n, _)| n).sum();
        let (lower, upper) = bounds(copy, key, now);
        prop_assert!(lower <= truth && truth <= upper, "{}: {} to {}, {}", key, lower, upper, truth);
    }
    Ok(())
}

/// While others add, and displace: bounds hold, of what had been counted before and what was by the end.
#[test]
fn beside_others() {
    let builder = || {
        let builder = BoundedTopK::builder(Window::last_n(8_000), Window::last_n(2_000), 5).seed(Seed(5));
        builder.lateness(Window::last_n(2_000)).memory(12 << 10).key_bytes(0)
    };
    const ALL: u64 = 60_000;
    let key_of = |tick: u64| {
        if tick.is_multiple_of(2) { tick.trailing_zeros().into() } else { 100 + tick * 7 % 200 }
    };
    let top = builder().build().expect("valid");
    let (most, reached) = (AtomicU64::new(1_000), [const { AtomicU64::new(0) }; 2]);
    thread::scope(|scope| {
        for thread in 0..2 {
            let (top, most, reached) = (&top, &most, &reached);
            scope.spawn(move || {
                for tick in 0..ALL {
                    while tick >= most.load(SeqCst) || reached[1 - thread].load(SeqCst) + 500 < tick {
                        thread::yield_now();
                    }
                    top.add_at(key_of(tick), 1, Tick(tick));
                    reached[thread].store(tick + 1, SeqCst);
                }
                reached[thread].store(u64::MAX / 2, SeqCst);
            });
        }
        let free = super::snapshot::Free(&most);
        for round in 1..=20 {
            let before = reached.iter().map(|at| at.load(SeqCst)).min().expect("two").min(ALL);
            most.fetch_add(ALL / 20, SeqCst);
            let bytes = save(&top, before);
            let after = reached.iter().map(|at| at.load(SeqCst)).max().expect("two").min(ALL) + 1;
            let copy = restore(builder(), &bytes);
            let start = copy.top_at(Tick(after)).start.0;
            for key in (1..17).chain(100..300) {
                let of = |end: u64| 2 * (start..end).filter(|&tick| key_of(tick) == key).count() as u64;
                let (low, high) = (of(before), of(after));
                let (lower, upper) = copy.bounds_at(key, Tick(after));
                assert!(lower <= high && low <= upper, "{round}, {key}: {lower} to {upper}, {low} to {high}");
            }
        }
        drop(free);
    });
}

#[test]
fn damaged_or_of_other_settings() {
    let top = small().build().expect("valid");
    (0..400).for_each(|key| _ = add(&top, key % 90, 1, 1000 + key % 17));
    let whole = save(&top, 1020);
    for at in (0..whole.len()).step_by(17) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        assert!(small().restore(&bytes[..], WALL).is_err(), "byte {at}");
        let error = small().restore(&whole[..at], WALL).expect_err("cut");
        assert!(matches!(error, RestoreError::Truncated { .. }), "{at}: {error}");
    }
    let setting = |builder: BoundedTopKBuilder| match builder.restore(&whole[..], WALL).expect_err("another")
    {
        RestoreError::Setting { name, .. } => name.to_string(),
        other => panic!("{other}"),
    };
    assert_eq!(setting(small().lateness(Window::last_n(6))), "lateness");
    assert_eq!(setting(small().memory(40 << 10)), "slots");
    assert_eq!(setting(small().seed(Seed(6))), "seed");
    assert!(matches!(small().memory(1).restore(&whole[..], WALL), Err(RestoreError::Config(_))));
}

/// Time goes on meanwhile: what is behind the window then is gone.
#[test]
fn time_goes_on() {
    let second = Duration::from_secs(1);
    let builder = || BoundedTopK::builder(60 * second, 10 * second, 4);
    let top = builder().build().expect("valid");
    let at = |secs: u64| Tick(secs * 1_000_000_000);
    top.add_at("old", 5, at(3));
    top.add_at("new", 7, at(55));
    let mut bytes = Vec::new();
    top.save_at(&mut bytes, at(58), WALL).expect("in memory");
    let restored = builder().restore(&bytes[..], WALL + 20 * second).expect("a snapshot");
    assert_eq!((restored.resumed, restored.elapsed), (at(78), 20 * second));
    let bounds = |key: &str| restored.structure.bounds_at(key, at(78));
    assert_eq!((bounds("old"), bounds("new")), ((0, 0), (7, 7)));
}

/// As it was written by each version: they are read for ever.
#[test]
fn golden_files() {
    let top = small().build().expect("valid");
    (1000..1300).for_each(|now| _ = add(&top, now * 7 % 90, now % 5 + 1, now / 5));
    let bytes = golden("bounded-topk-v1.wls", || save(&top, 260));
    assert_eq!(all(&restore(small(), &bytes), 260), all(&top, 260));
}
