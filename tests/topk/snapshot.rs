//! Snapshots of the hottest keys: what is restored has the same lists, with the same certificates.

use super::common::golden;
use proptest::prelude::*;
use std::{
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    thread,
    time::Duration,
};
use windlass::{Added, RestoreError, Seed, Tick, TopK, TopKBuilder, TopRow, TopSnapshot, Window};

const WALL: Duration = Duration::from_secs(1_700_000_000);

fn save(top: &TopK, now: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let summary = top.save_at(&mut bytes, Tick(now), WALL).expect("in memory");
    assert_eq!(summary.bytes, bytes.len() as u64);
    bytes
}

fn restore(builder: TopKBuilder, bytes: &[u8]) -> TopK {
    builder.restore(bytes, WALL).expect("a snapshot").structure
}

/// The rest of a stream, from several places on: all lists are those of the original.
pub(crate) fn rest_of(builder: &TopKBuilder, stream: &[(Tick, &str)]) {
    let top = builder.clone().build().expect("valid");
    let cuts = [0, stream.len() / 5, stream.len() / 2, stream.len() - 1];
    let mut copies = Vec::new();
    for (i, &(now, key)) in stream.iter().enumerate() {
        if cuts.contains(&i) {
            let copy = restore(builder.clone(), &save(&top, now.0));
            assert_eq!(said(copy.top_at(now)), said(top.top_at(now)), "event {i}");
            copies.push(copy);
        }
        let added = top.add_at(key, 1, now);
        copies.iter().for_each(|copy| assert_eq!(copy.add_at(key, 1, now), added));
        if i % 1000 == 0 || i + 1 == stream.len() {
            let lists = |top: &TopK| (said(top.top_at(now)), said(top.top_complete_at(now)));
            let expected = lists(&top);
            copies.iter().for_each(|copy| assert_eq!(lists(copy), expected, "event {i}"));
        }
    }
    assert_eq!(copies.len(), cuts.len());
}

/// Keys of all kinds; one of 20 is too long.
fn add(top: &TopK, key: u64, n: u64, now: u64) -> Added {
    let now = Tick(now);
    match key % 20 {
        0..8 => top.add_at(key, n, now),
        8..12 => top.add_at(Seed(1).hash(key.to_le_bytes()), n, now),
        12 => top.add_at("x".repeat(TopK::MAX_LEN + 1), n, now),
        13 => top.add_at(format!("a key that is longer than others: {key}"), n, now),
        _ => top.add_at(format!("/{key}"), n, now),
    }
}

fn small(capacity: usize, grows: bool) -> TopKBuilder {
    let builder = TopK::builder(Window::last_n(30), Window::last_n(10), 4).seed(Seed(5)).capacity(capacity);
    let builder = builder.lateness(Window::last_n(5));
    if grows { builder.max_memory(1 << 26) } else { builder }
}

fn said(list: TopSnapshot) -> (Vec<TopRow>, bool, u64) {
    (list.rows, list.certified, list.total)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Wherever it is cut: with lists and upkeep, where keys are refused, and where counts have fallen.
    #[test]
    fn goes_on_as_the_original(
        before in prop::collection::vec((0..120_u64, 1..30_u64, -2..6_i64, 0..30_u8), 1..300),
        after in prop::collection::vec((0..120_u64, 1..30_u64, -2..6_i64, 0..30_u8), 1..300),
        capacity in 4..120_usize, grows in any::<bool>(),
    ) {
        let top = small(capacity, grows).build().expect("valid");
        let mut now = 1000_u64;
        let step = |top: &TopK, (key, n, what): (u64, u64, u8), now| {
            match what {
                0 => _ = top.refresh_at(Tick(now)),
                1 => _ = top.maintain_at(Tick(now), 1),
                _ => {}
            }
            add(top, key, n, now)
        };
        for (key, n, ahead, what) in before {
            now = now.saturating_add_signed(ahead);
            step(&top, (key, n, what), now);
        }
        let copy = restore(small(capacity, grows), &save(&top, now));
        prop_assert_eq!(said(copy.top_at(Tick(now))), said(top.top_at(Tick(now))));
        for (key, n, ahead, what) in after {
            now = now.saturating_add_signed(ahead);
            prop_assert_eq!(step(&copy, (key, n, what), now), step(&top, (key, n, what), now));
            if what > 20 {
                prop_assert_eq!(said(copy.top_at(Tick(now))), said(top.top_at(Tick(now))));
            }
        }
    }
}

/// Lets the others go on to their end, also when a test fails.
pub(crate) struct Free<'a>(pub(crate) &'a AtomicU64);

impl Drop for Free<'_> {
    fn drop(&mut self) {
        self.0.store(u64::MAX, SeqCst);
    }
}

/// While others add: what is certified is right, of what had been counted before and what was by the end.
#[test]
fn beside_others() {
    let builder = || {
        let builder = TopK::builder(Window::last_n(12_000), Window::last_n(1_000), 5).seed(Seed(5));
        builder.capacity(3_000).lateness(Window::last_n(2_000))
    };
    let top = builder().build().expect("valid");
    // Of the tick's digits a power law.
    let key_of = |tick: u64| {
        if tick.is_multiple_of(2) { tick.trailing_zeros().into() } else { 100 + tick * 7 % 1_000 }
    };
    let (most, reached) = (AtomicU64::new(3_000), [const { AtomicU64::new(0) }; 2]);
    thread::scope(|scope| {
        for thread in 0..2 {
            let (top, most, reached) = (&top, &most, &reached);
            scope.spawn(move || {
                for tick in 0..43_000 {
                    while tick >= most.load(SeqCst) || reached[1 - thread].load(SeqCst) + 1_000 < tick {
                        thread::yield_now();
                    }
                    let key = key_of(tick);
                    let added = if key < 50 {
                        top.add_at(key, 1, Tick(tick))
                    } else {
                        top.add_at(format!("/{key}"), 1, Tick(tick))
                    };
                    assert_eq!(added, Added::Counted);
                    reached[thread].store(tick + 1, SeqCst);
                    if tick % 500 == 0 {
                        top.refresh_at(Tick(tick));
                    }
                }
                reached[thread].store(u64::MAX / 2, SeqCst);
            });
        }
        let _free = Free(&most);
        for round in 1..=20 {
            let before = reached.iter().map(|at| at.load(SeqCst)).min().expect("two");
            most.fetch_add(2_000, SeqCst);
            let bytes = save(&top, before);
            let after = reached.iter().map(|at| at.load(SeqCst)).max().expect("two").min(43_000) + 1;
            let copy = restore(builder(), &bytes);
            let list = copy.top_at(Tick(after));
            assert!(list.certified, "round {round}");
            let start = list.start.0;
            let of = |key: u64, end: u64| 2 * (start..end).filter(|&tick| key_of(tick) == key).count() as u64;
            for row in &list.rows {
                let text = row.key.to_string();
                let key: u64 = text.trim_start_matches('/').parse().expect("as they were made");
                let (low, high) = (of(key, before), of(key, after));
                assert!((low..=high).contains(&row.count), "{}: {}, {low} to {high}", row.key, row.count);
            }
            // The first are those that had been before, if nothing that came meanwhile brings the next past them.
            if (1..=3).all(|key| of(key, before) > of(key + 1, after)) {
                let keys: Vec<_> = list.rows.iter().take(3).map(|row| row.key.number()).collect();
                assert_eq!(keys, [Some(1), Some(2), Some(3)], "round {round}");
            }
            // Every key has one row: it is listed once.
            let all = builder_of_all(&bytes).top_at(Tick(after));
            let mut keys: Vec<_> = all.rows.iter().map(|row| row.key.clone()).collect();
            let rows = keys.len();
            keys.sort();
            keys.dedup();
            assert_eq!(keys.len(), rows, "round {round}");
        }
    });
}

/// The length of lists may differ: one of all keys.
fn builder_of_all(bytes: &[u8]) -> TopK {
    let builder = TopK::builder(Window::last_n(12_000), Window::last_n(1_000), 1_500);
    restore(builder.capacity(3_000).lateness(Window::last_n(2_000)), bytes)
}

#[test]
fn damaged_or_of_other_settings() {
    let top = small(60, false).build().expect("valid");
    (0..50).for_each(|key| _ = add(&top, key, 1, 1000 + key % 7));
    let whole = save(&top, 1010);
    for at in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        assert!(small(60, false).restore(&bytes[..], WALL).is_err(), "byte {at}");
        let error = small(60, false).restore(&whole[..at], WALL).expect_err("cut");
        assert!(matches!(error, RestoreError::Truncated { .. }), "{at}: {error}");
    }
    let setting = |builder: TopKBuilder| match builder.restore(&whole[..], WALL).expect_err("another") {
        RestoreError::Setting { name, .. } => name,
        other => panic!("{other}"),
    };
    assert_eq!(setting(small(60, false).lateness(Window::last_n(6))), "lateness");
    assert_eq!(setting(small(61, false)), "capacity, as rows");
    assert_eq!(setting(small(60, false).seed(Seed(6))), "seed");
    let error =
        TopK::builder(Window::last_n(30), Window::last_n(10), 0).lateness(Window::last_n(5)).capacity(60);
    assert!(matches!(error.restore(&whole[..], WALL), Err(RestoreError::Config(_))));
}

/// As it was written by each version: they are read for ever.
#[test]
fn golden_files() {
    let top = small(40, false).build().expect("valid");
    for now in 1000..1100 {
        add(&top, now * 7 % 90, now % 5 + 1, now);
        if now % 20 == 0 {
            top.refresh_at(Tick(now));
        }
    }
    let bytes = golden("topk-v1.wls", || save(&top, 1100));
    let copy = restore(small(40, false), &bytes);
    assert_eq!(said(copy.top_at(Tick(1099))), said(top.top_at(Tick(1099))));
    for key in 0..90 {
        assert_eq!(copy.count_at(key, Tick(1099)), top.count_at(key, Tick(1099)));
    }
}
