//! Ids that are told apart by their bytes: collisions made on purpose, lengths, kinds, memory, floods, threads.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use crate::common::Together;
use std::thread;
use windlass::{
    Claim, Dedup, DedupBuilder, Identity, Key, KeyHash, Namespaced, OnFull, Refresh, Refused, Seed, Tick,
    Verdict, Window,
};

const MIB: u64 = 1 << 20;
const FRESH: Result<Verdict, Refused> = Ok(Verdict::Fresh);

fn exact(window: u64) -> DedupBuilder {
    Dedup::builder(Window::last_n(window)).capacity(1000).seed(Seed(7)).identity(Identity::Bytes)
}

fn seen(at: u64) -> Result<Verdict, Refused> {
    Ok(Verdict::Duplicate { first_seen: Some(Tick(at)) })
}

/// A key whose hash somebody has brought about.
#[derive(Clone)]
struct Forged<K = String>(K, KeyHash);

impl<K: Key> Key for Forged<K> {
    fn key_hash(&self, _: Seed) -> KeyHash {
        self.1
    }

    fn with_bytes<R>(&self, f: impl FnOnce(u32, &[u8]) -> R) -> R {
        self.0.with_bytes(f)
    }
}

/// Ids of one hash fill a group to its last cell, die, and come back.
#[test]
fn one_hash_for_all() {
    let dedup = exact(100).build().expect("valid");
    let id = |i: u64| Forged(format!("id {i}"), KeyHash { hi: 0, lo: 5 });
    for round in 0..20 {
        let now = 1 + round * 100;
        // Every time others: what stands in the cells may have been theirs.
        let ids = || (round * 32..round * 32 + 64).map(id);
        assert!(ids().all(|id| dedup.observe_at(id, Tick(now)) == FRESH));
        assert!(ids().all(|id| dedup.observe_at(id, Tick(now + 99)) == seen(now)));
        assert_eq!(dedup.observe_at(id(1 << 40), Tick(now + 99)), Err(Refused::Full));
        assert!(!dedup.contains_at(id(1 << 40), Tick(now + 99)));
        assert_eq!(dedup.live_at(Tick(now + 99)), 64);
    }
    assert_eq!(dedup.stats().refused, 20);
}

/// `KeyHash`es that differ only where a cell does not keep them.
#[test]
fn hashes_that_differ_elsewhere() {
    let dedup = exact(100).build().expect("valid");
    let id = |i: u64| KeyHash { hi: i, lo: i << 3 };
    assert!((0..64).all(|i| dedup.observe_at(id(i), Tick(1)) == FRESH));
    assert!((0..64).all(|i| dedup.observe_at(id(i), Tick(2)) == seen(1)));
}

/// Hundreds in a few groups, by their tag one, while tables grow.
#[test]
fn few_groups_with_growth() {
    let dedup = exact(1000).capacity(1).max_memory(64 * MIB).build().expect("valid");
    // The group in a larger table is chosen by the tag's high bits: a few of these.
    let forged = |i: u64| Forged(format!("forged {i}"), KeyHash { hi: 0, lo: ((i % 32) << 59) | (i % 8) });
    for i in 0..512 {
        assert_eq!(dedup.observe_at(forged(i), Tick(1)), FRESH, "{i}");
        assert_eq!(dedup.observe_at(format!("honest {i}"), Tick(1)), FRESH);
        assert_eq!(dedup.observe_at(forged(i / 2), Tick(1)), seen(1));
    }
    assert!(dedup.stats().grown > 0);
    while dedup.maintain_at(Tick(1), 64) {}
    for i in 0..512 {
        assert_eq!(dedup.observe_at(forged(i), Tick(1000)), seen(1));
        assert!(dedup.forget_at(forged(i), Tick(1000)) && !dedup.contains_at(forged(i), Tick(1000)));
    }
    assert_eq!(dedup.live_at(Tick(1000)), 512);
}

#[test]
fn lengths() {
    let dedup = exact(100).build().expect("valid");
    let lens = [0, 1, 7, 8, 9, 4096, Dedup::MAX_LEN];
    for len in lens {
        assert_eq!(dedup.observe_at(vec![0; len], Tick(1)), FRESH, "{len}");
        assert_eq!(dedup.observe_at(vec![0; len], Tick(1)), seen(1), "{len}");
    }
    assert_eq!(Dedup::MAX_LEN, 65_535);
    let long = vec![0; Dedup::MAX_LEN + 1];
    assert_eq!(dedup.observe_at(&long, Tick(3)), Err(Refused::TooLong));
    assert_eq!(dedup.claim_at(&long, Tick(3), Window::last_n(5)), Err(Refused::TooLong));
    assert!(!dedup.contains_at(&long, Tick(3)) && !dedup.forget_at(&long, Tick(3)));
    let mut outcomes = Vec::new();
    dedup.observe_batch_at(&[long, vec![0; 9]], Tick(3), &mut outcomes);
    assert_eq!(outcomes, [Err(Refused::TooLong), seen(1)]);
    assert_eq!((dedup.stats().refused, dedup.live_at(Tick(3))), (0, lens.len() as u64));
}

#[test]
fn kinds() {
    let dedup = exact(100).build().expect("valid");
    assert_eq!(dedup.observe_at("8 bytes!", Tick(1)), FRESH);
    assert_eq!(dedup.observe_at(String::from("8 bytes!"), Tick(2)), seen(1));
    assert_eq!(dedup.observe_at(*b"8 bytes!", Tick(2)), seen(1));
    assert_eq!(dedup.observe_at(b"8 bytes!".to_vec(), Tick(2)), seen(1));
    assert_eq!(dedup.observe_at(&b"8 bytes!"[..], Tick(2)), seen(1));
    let number = u64::from_le_bytes(*b"8 bytes!");
    assert_eq!(dedup.observe_at(number, Tick(3)), FRESH);
    assert_eq!(dedup.observe_at(number, Tick(4)), seen(3));
    // A hash is an id of its own.
    let hash = dedup.seed().hash("8 bytes!");
    assert_eq!(dedup.observe_at(hash, Tick(4)), FRESH);
    assert_eq!(dedup.live_at(Tick(4)), 3);
}

/// Ids of one tag, or of one hash, in several sources: told apart by the name and the id, wherever the border lies.
#[test]
fn namespaces() {
    let dedup = exact(100).build().expect("valid");
    let forged = |name: &'static str, id: &str| {
        // One hash for all of them.
        Forged(Namespaced(name, id.to_owned()), KeyHash { hi: 0, lo: 5 })
    };
    let ids = [("a", "bc"), ("ab", "c"), ("abc", ""), ("", "abc"), ("b", "bc"), ("a", "b")];
    for (name, id) in ids {
        assert_eq!(dedup.observe_at(forged(name, id), Tick(1)), FRESH, "{name} {id}");
    }
    for (name, id) in ids {
        assert_eq!(dedup.observe_at(forged(name, id), Tick(2)), seen(1), "{name} {id}");
    }
    // What a name and an id are kept as is not the same as an id: nor in a namespace of its own.
    let kept = b"\x01\0\0\0abc".to_vec();
    assert_eq!(dedup.observe_at(Forged(kept.clone(), KeyHash { hi: 0, lo: 5 }), Tick(3)), FRESH);
    let twice = Namespaced("x", Namespaced("a", "bc"));
    assert_eq!(dedup.observe_at(Forged(twice, KeyHash { hi: 0, lo: 5 }), Tick(3)), FRESH);
    let once = Namespaced("x", kept);
    assert_eq!(dedup.observe_at(Forged(once, KeyHash { hi: 0, lo: 5 }), Tick(3)), FRESH);
    assert_eq!(dedup.live_at(Tick(3)), ids.len() as u64 + 3);
}

/// .. in all calls, and of any length.
#[test]
fn namespaces_in_all_calls() {
    let dedup = exact(100).build().expect("valid");
    let (orders, refunds) = (Namespaced("orders", 4711_u64), Namespaced("refunds", 4711_u64));
    let Ok(Claim::Claimed(ticket)) = dedup.claim_at(orders, Tick(1), Window::last_n(10)) else { panic!() };
    let mut outcomes = Vec::new();
    dedup.observe_batch_at(&[orders, refunds, refunds], Tick(1), &mut outcomes);
    assert_eq!(outcomes, [seen(1), FRESH, seen(1)]);
    assert!(
        dedup.commit(ticket) && dedup.contains_at(orders, Tick(2)) && !dedup.contains_at(4711_u64, Tick(2))
    );
    assert!(dedup.forget_at(refunds, Tick(2)) && !dedup.contains_at(refunds, Tick(2)));
    assert_eq!(dedup.observe_at(orders, Tick(2)), seen(1));
    // The name and 4 bytes count.
    for len in [0, 251, 252, 253, 5000, Dedup::MAX_LEN - 5] {
        let id = vec![7; len];
        assert_eq!(dedup.observe_at(Namespaced("n", &id), Tick(4)), FRESH, "{len}");
        assert_eq!(dedup.observe_at(Namespaced("n", &id), Tick(4)), seen(4), "{len}");
        assert_eq!(dedup.observe_at(Namespaced("m", &id), Tick(4)), FRESH, "{len}");
    }
    let long = vec![7; Dedup::MAX_LEN - 4];
    assert_eq!(dedup.observe_at(Namespaced("n", &long), Tick(4)), Err(Refused::TooLong));
    assert_eq!(dedup.claim_at(Namespaced(&long, "12345"), Tick(4), Window::last_n(5)), Err(Refused::TooLong));
}

/// Two of one hash are claimed by themselves.
#[test]
fn claims() {
    let dedup = exact(100).build().expect("valid");
    let id = |name: &str| Forged(name.to_owned(), KeyHash { hi: 0, lo: 5 });
    let claim = |name, now| dedup.claim_at(id(name), Tick(now), Window::last_n(10));
    let (Ok(Claim::Claimed(a)), Ok(Claim::Claimed(b))) = (claim("a", 1), claim("b", 1)) else { panic!() };
    assert_eq!(claim("a", 2), Ok(Claim::InProgress { until: Tick(11) }));
    assert!(dedup.commit(a) && dedup.commit(a) && !dedup.abort(a));
    assert!(dedup.abort(b) && !dedup.commit(b));
    assert_eq!(claim("a", 50), Ok(Claim::Duplicate { first_seen: Some(Tick(1)) }));
    let Ok(Claim::Claimed(late)) = claim("b", 50) else { panic!() };
    let Ok(Claim::Claimed(again)) = claim("b", 61) else { panic!() };
    assert!(!dedup.commit(late) && dedup.commit(again));
    // In another slice than the one it was claimed in.
    assert_eq!(dedup.observe_at(id("b"), Tick(160)), seen(61));
    assert_eq!(dedup.observe_at(id("a"), Tick(161)), FRESH);
    assert!(!dedup.commit(a) && !dedup.abort(again));
}

/// A lease has run out, and the id is claimed anew when a larger table lies above: the old ticket does not go by what lies below.
#[test]
fn a_late_ticket_over_a_growth() {
    let dedup = exact(1 << 30).max_memory(64 * MIB).build().expect("valid");
    let lease = Window::last_n(10);
    let Ok(Claim::Claimed(late)) = dedup.claim_at("id", Tick(1), lease) else { panic!("claimed") };
    let mut others = 0;
    while dedup.stats().tables == 1 {
        others += 1;
        assert_eq!(dedup.observe_at(format!("other {others}"), Tick(2)), FRESH);
    }
    let Ok(Claim::Claimed(ticket)) = dedup.claim_at("id", Tick(100), lease) else { panic!("claimed anew") };
    assert!(!dedup.commit(late) && !dedup.abort(late));
    assert_eq!(dedup.live_at(Tick(101)), others + 1);
    assert!(dedup.commit(ticket) && !dedup.commit(late));
    assert_eq!(dedup.observe_at("id", Tick(1000)), seen(100));
}

/// What is seen again and again is carried on, and what it leaves behind goes.
#[test]
fn refreshed_over_many_windows() {
    const IDS: u64 = 1000;
    let dedup = exact(IDS).refresh(Refresh::OnDuplicate).capacity(5000).build().expect("valid");
    let empty = dedup.memory_bytes();
    // (As soon as other tests of this process, which hold the epoch back, let it go on.)
    let comes_down_to = |most: u64, now: u64| {
        let there = (0..1_000_000).map(|_| {
            dedup.maintain_at(Tick(now), 64);
            thread::yield_now();
            dedup.memory_bytes() - empty
        });
        assert!(there.into_iter().any(|bytes| bytes <= most), "more than {most} bytes are in use at {now}");
    };
    for i in 0..100 * IDS {
        let id = format!("an id of {:>9}", i % (IDS / 2));
        let expected = if i < IDS / 2 { FRESH } else { seen(i + 1 - IDS / 2) };
        assert_eq!(dedup.observe_at(id, Tick(i + 1)), expected);
        // 32 bytes an id, in chunks; in up to 32 slices, and what waits for the epoch. All that was ever put in would be 3 MiB.
        if dedup.memory_bytes() - empty > MIB {
            comes_down_to(MIB, i + 1);
        }
    }
    comes_down_to(0, 1000 * IDS);
}

const LIMIT: u64 = 4 * MIB;

/// More unique ids than there is room for, of which `at` says when they come.
fn flood(on_full: OnFull, at: impl Fn(u64) -> u64) -> (Dedup, u64) {
    let dedup = exact(1_000_000).max_memory(LIMIT).on_full(on_full).build().expect("valid");
    let mut refused = 0;
    for i in 0..300_000_u64 {
        match dedup.observe_at(format!("unique id {i:>6}"), Tick(at(i))) {
            Ok(verdict) => assert_eq!(verdict, Verdict::Fresh),
            Err(why) => {
                assert_eq!(why, Refused::Full);
                refused += 1;
            }
        }
        assert!(dedup.memory_bytes() <= LIMIT);
    }
    (dedup, refused)
}

#[test]
fn a_flood_is_refused() {
    let (dedup, refused) = flood(OnFull::Reject, |i| 1 + i);
    let stats = dedup.stats();
    assert_eq!((stats.refused, stats.evicted), (refused, 0));
    assert_eq!(dedup.live_at(Tick(300_000)), 300_000 - refused);
    assert!((20_000..200_000).contains(&(300_000 - refused)), "{stats:?}");
}

#[test]
fn a_flood_drives_out_the_oldest() {
    // (Three windows.)
    let now = |i| 1 + 10 * i;
    let (dedup, refused) = flood(OnFull::EvictOldest, now);
    let stats = dedup.stats();
    assert_eq!(stats.refused, refused);
    assert!(stats.evicted > 0 && refused < 3000, "{stats:?}");
    let last = now(299_999);
    let there = |i: u64| dedup.contains_at(format!("unique id {i:>6}"), Tick(last));
    // (Most go by the cell: in a full group the oldest.)
    let young = (295_000..300_000).filter(|&i| there(i)).count() as u64;
    assert!(young + refused >= 5000, "{young} of the youngest 5000; {stats:?}");
    assert_eq!(dedup.live_at(Tick(last)), (200_000..300_000).filter(|&i| there(i)).count() as u64);
}

/// By the cell or with its slice, each id that is dropped counts once: none has passed the window here. By several threads, which
/// bring the same ids.
#[test]
fn what_is_dropped_counts_once() {
    const IDS: u64 = 200_000;
    const STEP: u64 = 100;
    for (threads, capacity) in [(1, 20_000), (1, 80_000), (2, 50_000)] {
        let dedup = exact(4_000_000).capacity(capacity).max_memory(LIMIT).on_full(OnFull::EvictOldest);
        let dedup = dedup.build().expect("valid");
        let at = |i: u64| Tick(1 + 10 * i);
        let bring = |fresh: &mut u64| {
            for i in 0..IDS {
                // (One that is late would find its slice gone.)
                let now = at(i - i % STEP);
                *fresh += u64::from(dedup.observe_at(format!("unique id {i:>6}"), now) == Ok(Verdict::Fresh));
            }
        };
        let fresh: u64 = thread::scope(|scope| {
            let bring = || {
                let mut fresh = 0;
                bring(&mut fresh);
                fresh
            };
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(bring)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
        });
        let live = dedup.live_at(at(IDS));
        let stats = dedup.stats();
        assert!(live < fresh, "{stats:?}");
        assert_eq!(stats.evicted, fresh - live, "{threads} threads, {fresh} fresh, {live} live; {stats:?}");
    }
}

/// All at one tick: the young are not driven out, others are refused.
#[test]
fn a_flood_of_the_young() {
    let (dedup, refused) = flood(OnFull::EvictOldest, |_| 1);
    let stats = dedup.stats();
    assert_eq!((stats.refused, stats.evicted), (refused, 0));
    assert_eq!(dedup.live_at(Tick(1)), 300_000 - refused);
    assert!(300_000 - refused > 20_000, "{stats:?}");
}

/// Four threads bring the same ids in several windows, in a table that grows: one winner for each id and window.
#[test]
fn one_winner() {
    const IDS: u64 = 5000;
    const WINDOWS: u64 = 4;
    let dedup = exact(1000).capacity(1).max_memory(256 * MIB).build().expect("valid");
    let together = Together::new(4);
    let wins: Vec<(u64, u64)> = thread::scope(|scope| {
        let (dedup, together) = (&dedup, &together);
        let bring = |thread: u64| {
            let (mut fresh, mut outcomes) = (Vec::new(), Vec::new());
            for window in 0..WINDOWS {
                let now = Tick(1 + window * 1000);
                together.wait();
                for part in 0..IDS / 100 {
                    let at = |i: u64| part * 100 + (i + thread * 25) % 100;
                    // (Two and two have one tag.)
                    let id = |i: u64| {
                        let hash = Seed(1).hash(i / 2);
                        Forged(format!("the same id {i}"), hash)
                    };
                    let batch: Vec<_> = (0..100).map(|i| id(at(i))).collect();
                    dedup.observe_batch_at(&batch, now, &mut outcomes);
                    let won = (0..100).zip(&outcomes).filter(|(_, outcome)| **outcome == FRESH);
                    fresh.extend(won.map(|(i, _)| (window, at(i))));
                }
            }
            fresh
        };
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(move || bring(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    let mut wins = wins;
    wins.sort_unstable();
    let expected = (0..WINDOWS).flat_map(|window| (0..IDS).map(move |id| (window, id)));
    assert!(wins.iter().copied().eq(expected), "{} winners", wins.len());
    let stats = dedup.stats();
    assert!(stats.grown > 0 && stats.refused == 0, "{stats:?}");
}
