//! Written, and restored.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute
#![allow(clippy::cast_possible_truncation)] // indices

use crate::common::{
    self, Random, Together,
    snapshot::{Parts, golden},
};
use proptest::prelude::*;
use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    thread,
    time::Duration,
};
use windlass::{
    Claim, Clock, Dedup, DedupBuilder, Identity, OnFull, Outcome, Refresh, Refused, RestoreError, Seed, Tick,
    Verdict, Window,
};

const MIB: u64 = 1 << 20;
const WALL: Duration = Duration::from_secs(1_700_000_000);

fn written(dedup: &Dedup, now: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    dedup.snapshot_at(&mut bytes, Tick(now), WALL).expect("memory");
    bytes
}

fn restored(builder: &DedupBuilder, bytes: &[u8]) -> Dedup {
    builder.clone().restore(bytes, WALL).unwrap_or_else(|error| panic!("{error}")).structure
}

fn refused(builder: &DedupBuilder, bytes: &[u8]) -> RestoreError {
    builder.clone().restore(bytes, WALL).expect_err("refused")
}

fn last_n(n: u64) -> DedupBuilder {
    Dedup::builder(Window::last_n(n)).capacity(1000).seed(Seed(7))
}

/// The rest of a real stream is judged by the restored one as by the first, wherever it is cut.
fn the_rest(file: &str, view: &str, window_ms: u64) {
    let Some(data) = common::data() else { return };
    let events = common::streams::read(&data, file, view);
    let events: Vec<(u64, &str)> = common::streams::ordered(&events, "raw");
    let nanos = |ms| Tick::from_millis(ms).expect("before 2554");
    for (identity, max_memory, refresh) in [
        (Identity::Hash, None, Refresh::Never),
        (Identity::Bytes, None, Refresh::OnDuplicate),
        (Identity::Hash, Some(64 * MIB), Refresh::OnDuplicate),
        (Identity::Bytes, Some(64 * MIB), Refresh::Never),
    ] {
        let builder = Dedup::builder(Duration::from_millis(window_ms)).identity(identity).refresh(refresh);
        let builder = builder.lateness(Duration::from_secs(60));
        let builder = match max_memory {
            None => builder.capacity(events.len()),
            Some(bytes) => builder.capacity(100).max_memory(bytes),
        };
        let whole = builder.clone().build().expect("valid");
        // The same seed, so that what is told apart by hash is told apart alike.
        let mut other = builder.clone().seed(whole.seed()).build().expect("valid");
        let (mut duplicates, mut restarts) = (0, 0);
        for (i, &(ms, id)) in events.iter().enumerate() {
            let expected = whole.observe_at(id, nanos(ms));
            assert_eq!(other.observe_at(id, nanos(ms)), expected, "{view}, {identity:?}: event {i}");
            duplicates += usize::from(expected.is_ok_and(|verdict| !verdict.is_fresh()));
            if i % (events.len() / 7) == 1000 {
                other = restored(&builder, &written(&other, 0));
                restarts += 1;
            }
        }
        assert!(duplicates > 0 && restarts >= 6, "{duplicates} duplicates, {restarts} restarts");
    }
}

#[test]
fn the_rest_of_zeek() {
    the_rest("zeek-dns-171520-172114.jsonl", "zeek-dns-arrival", 60_000);
}

#[test]
fn the_rest_of_mooncake() {
    the_rest("mooncake-conversation-00-30min.jsonl", "mooncake", 300_000);
}

/// The time that passes between is the system's; nothing is stamped anew.
#[test]
fn ages_go_on_by_the_clock_of_the_system() {
    let second = 1_000_000_000;
    let builder = Dedup::builder(Duration::from_secs(60)).capacity(100);
    let dedup = builder.clone().build().expect("valid");
    assert_eq!(dedup.observe_at("a", Tick(5 * second)), Ok(Verdict::Fresh));
    let bytes = written(&dedup, 10 * second);
    for (wall, resumed) in [
        (WALL, 10),
        (WALL + Duration::from_secs(54), 64),
        (WALL + Duration::from_secs(55), 65),
        // The system's clock was set back meanwhile: as if no time had passed.
        (WALL - Duration::from_secs(3600), 10),
    ] {
        let (clock, hand) = Clock::manual(Tick(0));
        let restored = builder.clone().clock(clock).restore(&bytes[..], wall).expect("restored");
        assert_eq!(restored.resumed, Tick(resumed * second));
        assert_eq!(restored.elapsed, wall.saturating_sub(WALL));
        // A clock that was given is the caller's affair.
        hand.set(restored.resumed);
        let fresh = resumed >= 65;
        let verdict =
            if fresh { Verdict::Fresh } else { Verdict::Duplicate { first_seen: Some(Tick(5 * second)) } };
        assert_eq!(restored.structure.observe("a"), Ok(verdict), "{resumed}");
    }
    // Its own clock begins there.
    let hour = Duration::from_secs(3600);
    let dedup = builder.clone().restore(&bytes[..], WALL + hour).expect("restored").structure;
    assert_eq!(dedup.observe("b"), Ok(Verdict::Fresh));
    let Ok(Verdict::Duplicate { first_seen: Some(at) }) = dedup.observe("b") else { panic!("seen") };
    assert!((Tick(3610 * second)..Tick(3700 * second)).contains(&at), "{at}");
}

/// Numbers of events go on where they were, whatever time it is.
#[test]
fn events_are_counted_on() {
    let builder = last_n(5);
    let dedup = builder.clone().build().expect("valid");
    for id in 0..4_u64 {
        assert_eq!(dedup.observe(id), Ok(Verdict::Fresh));
    }
    let mut bytes = Vec::new();
    dedup.snapshot(&mut bytes).expect("memory");
    let restored = builder.restore(&bytes[..], WALL * 2).expect("restored");
    assert_eq!(restored.resumed, Tick(4));
    let ask = [1, 0, 0, 1, 2_u64].map(|id| restored.structure.observe(id).expect("room").is_fresh());
    assert_eq!(ask, [false, true, false, true, true]);
}

/// Claims are held, and committed by the tickets that they were made with, where ids are hashes.
#[test]
fn claims_and_tickets() {
    for identity in [Identity::Hash, Identity::Bytes] {
        let builder = last_n(1 << 20).identity(identity);
        let dedup = builder.clone().build().expect("valid");
        let claim = |id: &str| match dedup.claim_at(id, Tick(100), Window::last_n(50)) {
            Ok(Claim::Claimed(ticket)) => ticket,
            other => panic!("{other:?}"),
        };
        let (kept, given_up, committed) = (claim("kept"), claim("given up"), claim("committed"));
        assert!(dedup.abort(given_up) && dedup.commit(committed));
        let dedup = restored(&builder, &written(&dedup, 100));
        let ask = |id: &str, now| dedup.claim_at(id, Tick(now), Window::last_n(50));
        assert_eq!(ask("kept", 149), Ok(Claim::InProgress { until: Tick(150) }));
        assert_eq!(ask("committed", 150), Ok(Claim::Duplicate { first_seen: Some(Tick(100)) }));
        assert!(matches!(ask("given up", 120), Ok(Claim::Claimed(_))));
        assert!(!dedup.abort(given_up));
        let known = identity == Identity::Hash;
        assert_eq!((dedup.commit(kept), dedup.commit(committed)), (known, known), "{identity:?}");
        let expected = if known {
            Claim::Duplicate { first_seen: Some(Tick(100)) }
        } else {
            Claim::InProgress { until: Tick(150) }
        };
        assert_eq!(ask("kept", 149), Ok(expected));
    }
}

/// Each setting that says what the ids mean; what does not may differ.
#[test]
fn other_settings() {
    let dedup = last_n(1000).build().expect("valid");
    for id in 0..1000_u64 {
        dedup.observe(id).expect("room");
    }
    let bytes = written(&dedup, 1000);
    let differs = |builder: DedupBuilder| match refused(&builder, &bytes) {
        RestoreError::Setting { name, snapshot, builder } => format!("{name}: {snapshot}, {builder}"),
        other => panic!("{other}"),
    };
    assert_eq!(differs(Dedup::builder(Window::last_n(999))), "window: 1000 events, 999 events");
    assert_eq!(differs(Dedup::builder(Duration::from_nanos(1000))), "window: 1000 events, 1000 ns");
    assert_eq!(differs(last_n(1000).lateness(Window::last_n(1))), "lateness: 0 events, 1 events");
    assert_eq!(differs(last_n(1000).identity(Identity::Bytes)), "identity: hash, bytes");
    assert_eq!(differs(last_n(1000).refresh(Refresh::OnDuplicate)), "refresh: never, on duplicate");
    assert_eq!(differs(last_n(1000).seed(Seed(8))), "seed: (its own), another");
    assert_eq!(differs(last_n(1000).capacity(2000)), "capacity: 1001 keys, 2002 keys");
    let own = Dedup::builder(Window::last_n(1000)).capacity(1000).on_full(OnFull::EvictOldest);
    let same = restored(&own.max_jump(Window::last_n(7)), &bytes);
    assert_eq!(same.seed(), Seed(7));
    assert_eq!(same.observe(999_u64).map(Verdict::is_fresh), Ok(false));
}

/// A table that has grown is as large again, or as there is room for; without leave to grow it is refused.
#[test]
fn sizes() {
    for identity in [Identity::Hash, Identity::Bytes] {
        let small = last_n(1 << 30).capacity(10).identity(identity);
        let builder = small.clone().max_memory(64 * MIB);
        let dedup = builder.clone().build().expect("valid");
        for id in 0..20_000_u64 {
            assert_eq!(dedup.observe(id), Ok(Verdict::Fresh));
        }
        assert!(dedup.stats().grown > 5);
        let bytes = written(&dedup, 20_000);
        let same = |dedup: Dedup| {
            let known = (0..20_000_u64).filter(|&id| {
                let first_seen = Some(Tick(id));
                dedup.observe_at(id, Tick(20_001)) == Ok(Verdict::Duplicate { first_seen })
            });
            (known.count(), dedup)
        };
        let (known, again) = same(restored(&builder, &bytes));
        assert_eq!((known, again.stats().grown), (20_000, 0), "{identity:?}");
        // (Large enough for what lived in all of its tables.)
        assert!(again.stats().capacity >= dedup.stats().capacity);
        // .. and goes on to grow, and shrinks when they have gone.
        for id in 20_000..60_000_u64 {
            assert_eq!(again.observe(id), Ok(Verdict::Fresh));
        }
        assert!(again.stats().grown > 0);

        assert!(matches!(refused(&small, &bytes), RestoreError::Setting { name, .. } if name == "capacity"));
        let tight = small.clone().max_memory(MIB / 4);
        assert!(
            matches!(refused(&tight, &bytes), RestoreError::Full { entries: 1..20_000, memory } if memory <= MIB / 4)
        );
        // Those that there is no room for are the oldest of their group; or those for whose bytes there is none.
        let (known, least) = same(restored(&tight.clone().on_full(OnFull::EvictOldest), &bytes));
        let stats = least.stats();
        assert!(known > 500 && known as u64 + stats.evicted >= 20_000, "{identity:?}: {known}, {stats:?}");
        assert!(stats.memory_bytes <= MIB / 4);
        let newest = (19_900..20_000_u64).filter(|id| least.contains_at(id, Tick(20_001)));
        assert!(identity == Identity::Bytes || newest.count() == 100, "{identity:?}");
    }
    // A smaller table to begin with than the one that it was: of the snapshot's parts.
    let dedup = last_n(100).capacity(50_000).max_memory(64 * MIB).build().expect("valid");
    let bytes = written(&dedup, 0);
    let tiny = last_n(100).capacity(1).max_memory(MIB);
    assert!(
        matches!(refused(&tiny, &bytes), RestoreError::Memory { needed, limit } if needed > limit && limit == MIB)
    );
}

/// Long ids, and many of them: more than a frame, or a stretch, holds.
#[test]
fn long_ids() {
    let builder = last_n(1 << 20).identity(Identity::Bytes);
    let dedup = builder.clone().build().expect("valid");
    let mut random = Random(1);
    let ids: Vec<Vec<u8>> = (0..300_usize).map(|i| vec![i as u8; random.below(65_536) as usize]).collect();
    let first = |dedup: &Dedup, now| -> Vec<Outcome> {
        ids.iter().map(|id| dedup.observe_at(id, Tick(now))).collect()
    };
    let before = first(&dedup, 10);
    assert!(before.contains(&Ok(Verdict::Fresh)));
    let again = restored(&builder, &written(&dedup, 10));
    assert_eq!(first(&again, 11), first(&dedup, 11));
    assert_eq!(again.live_at(Tick(11)), dedup.live_at(Tick(11)));
}

/// Threads admit ids, through growth and expiry, while snapshots are written: what was admitted before one began is in it, unless its window is over; nothing is in it
/// that was never admitted.
#[test]
fn while_writers_go_on() {
    const THREADS: usize = 3;
    const EACH: u64 = 10_000;
    const WINDOW: u64 = 8_000;
    const MOST: usize = 20;
    for (identity, max_memory) in
        [(Identity::Hash, None), (Identity::Hash, Some(64 * MIB)), (Identity::Bytes, Some(64 * MIB))]
    {
        // The last 8,000 of the ticks are kept, of which each id takes one.
        let builder = Dedup::builder(Window::last_n(WINDOW)).identity(identity).seed(Seed(7));
        let builder = match max_memory {
            None => builder.capacity(16_000),
            Some(bytes) => builder.capacity(10).max_memory(bytes),
        };
        let dedup = builder.clone().build().expect("valid");
        let (next, done) = (AtomicU64::new(0), AtomicBool::new(false));
        // Of each thread the last of its ids that it has been answered.
        let answered: Vec<AtomicU64> = (0..THREADS).map(|_| AtomicU64::new(0)).collect();
        let (admitted, begin): (Vec<AtomicU64>, _) = (
            (0..THREADS as u64 * EACH).map(|_| AtomicU64::new(u64::MAX)).collect(),
            Together::new(THREADS + 1),
        );
        let snapshots = thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS as u64)
                .map(|thread| {
                    let (dedup, next, admitted, answered, begin) =
                        (&dedup, &next, &admitted, &answered, &begin);
                    scope.spawn(move || {
                        begin.wait();
                        for i in 0..EACH {
                            let (id, now) = (thread * EACH + i, next.fetch_add(1, SeqCst));
                            admitted[id as usize].store(now, SeqCst);
                            assert_eq!(dedup.observe_at(id, Tick(now)), Ok(Verdict::Fresh));
                            answered[thread as usize].store(i + 1, SeqCst);
                        }
                    })
                })
                .collect();
            let done = &done;
            let writer = scope.spawn(|| {
                begin.wait();
                let mut snapshots = Vec::new();
                while snapshots.len() < 3 || !done.load(SeqCst) && snapshots.len() < MOST {
                    let before: Vec<u64> = answered.iter().map(|n| n.load(SeqCst)).collect();
                    let bytes = written(&dedup, 0);
                    snapshots.push((before, bytes, next.load(SeqCst)));
                }
                snapshots
            });
            threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
            done.store(true, SeqCst);
            writer.join().expect("no panic")
        });
        for (before, bytes, end) in snapshots {
            let again = restored(&builder, &bytes);
            for (thread, &answered) in before.iter().enumerate() {
                for i in 0..EACH {
                    let id = thread as u64 * EACH + i;
                    let at = admitted[id as usize].load(SeqCst);
                    // (To ask leaves nothing behind.)
                    let seen = again.contains_at(id, Tick(0)).then(|| match again.observe_at(id, Tick(0)) {
                        Ok(Verdict::Duplicate { first_seen: Some(Tick(seen)) }) => seen,
                        other => panic!("{other:?}"),
                    });
                    // (A thread that is overtaken by a window counts as late.)
                    assert!(seen.is_none_or(|seen| (at..=end).contains(&seen)), "{id}: {seen:?}, not {at}");
                    // Its window was not over when the snapshot was done.
                    assert!(
                        seen.is_some() || i >= answered || at + WINDOW <= end,
                        "{id} of {at} is missing at {end}"
                    );
                }
            }
        }
    }
}

/// Whoever writes to a pipe that is full holds nothing that others need.
#[test]
fn an_output_that_fails_or_stalls() {
    struct Watched<'a>(&'a Dedup, u64);
    impl std::io::Write for Watched<'_> {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            // Meanwhile there is as much to do as ever.
            for _ in 0..1000 {
                self.1 += 1;
                assert_eq!(self.0.observe_at(self.1, Tick(self.1)), Ok(Verdict::Fresh));
            }
            if self.1 > 100_000 { Err(std::io::Error::other("closed")) } else { Ok(bytes.len().min(700)) }
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let dedup = last_n(20_000).capacity(100).max_memory(64 * MIB).build().expect("valid");
    let error = dedup.snapshot_at(Watched(&dedup, 0), Tick(0), WALL).map(|_| ());
    assert!(error.is_ok() || error.is_err_and(|error| error.to_string() == "closed"));
    let error = dedup.snapshot_at(Watched(&dedup, 100_000), Tick(0), WALL).expect_err("closed");
    assert_eq!(error.to_string(), "closed");
    assert_eq!(dedup.observe_at(u64::MAX, Tick(101_001)), Ok(Verdict::Fresh));
}

/// Checksums that are right, and a content that no table has.
#[test]
fn contents_that_cannot_be() {
    let builder = last_n(1000);
    let dedup = builder.clone().build().expect("valid");
    dedup.observe_at("a", Tick(5)).expect("room");
    let parts = Parts::of(&written(&dedup, 5));
    let problem = |parts: Parts| refused(&builder, &parts.bytes()).to_string();
    assert!(restored(&builder, &parts.bytes()).contains_at("a", Tick(5)));
    // Parts and size; part of a run, key, state; horizon.
    assert!(problem(parts.clone().set(0x100, 0, 0)).contains("not one of a table"));
    assert!(problem(parts.clone().set(0x100, 0, u64::MAX)).contains("capacity"));
    assert!(problem(parts.clone().set(0x100, 8, 0)).contains("not one of a table"));
    assert!(problem(parts.clone().set(0x101, 0, 1000)).contains("part: there are not so many"));
    assert!(problem(parts.clone().set(0x101, 20, 0)).contains("state: 0"));
    assert!(problem(parts.clone().set(0x101, 20, u64::MAX)).contains("are possible"));
    assert!(problem(parts.clone().set(0x101, 8, 2)).contains("the section ends before it"));
    assert!(problem(parts.clone().set(0x102, 0, u64::MAX)).contains("is the most"));
    assert!(problem(parts.clone().set(u32::MAX, 8, 2)).contains("2 were written, and there are 1"));
    let varied = last_n(1000).max_memory(MIB);
    let huge = parts.clone().set(0x100, 8, u64::MAX).bytes();
    assert!(restored(&varied, &huge).memory_bytes() <= MIB);
    let huge = parts.set(0x100, 0, u64::MAX).bytes();
    assert!(matches!(refused(&varied, &huge), RestoreError::Memory { limit: MIB, .. }));
}

fn some(builder: &DedupBuilder) -> Vec<u8> {
    let dedup = builder.clone().build().expect("valid");
    for i in 0..300_u64 {
        let _ = dedup.observe_at(format!("id-{}", i % 200), Tick(i));
        if i % 50 == 0 {
            let _ = dedup.claim_at(i, Tick(i), Window::last_n(20));
        }
    }
    written(&dedup, 300)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the content says: it is refused, or there is a structure that does what it is asked.
    #[test]
    fn any_content_at_all(
        identity in prop_oneof![Just(Identity::Hash), Just(Identity::Bytes)],
        grows: bool,
        by_events: bool,
        flips in prop::collection::vec((any::<usize>(), any::<usize>(), 1..=255_u8), 1..6),
    ) {
        let window = if by_events { Window::last_n(1000) } else { Window::time(Duration::from_nanos(1000)) };
        let builder = Dedup::builder(window).capacity(500).seed(Seed(7)).identity(identity);
        let builder = if grows { builder.max_memory(MIB) } else { builder };
        let mut parts = Parts::of(&some(&last_n(1000).capacity(500).identity(identity)));
        for (frame, at, by) in flips {
            parts.flip(frame, at, by);
        }
        if let Ok(restored) = builder.restore(&parts.bytes()[..], WALL) {
            let dedup = restored.structure;
            for now in [0, 300, 1300, u64::MAX / 2, u64::MAX] {
                for id in 0..20_u64 {
                    let _ = (dedup.observe_at(format!("id-{id}"), Tick(now)), dedup.observe_at(id, Tick(now)));
                    let _ = (dedup.claim_at(id + 50, Tick(now), Window::last_n(7)), dedup.forget_at(id, Tick(now)));
                }
                dedup.maintain_at(Tick(now), 100);
            }
            let _ = (dedup.live_at(Tick(0)), dedup.stats());
            prop_assert!(!grows || dedup.memory_bytes() <= MIB);
            let again = written(&dedup, 0);
            prop_assert!(!again.is_empty());
        }
    }
}

/// Files of each version of the format, restored by all later ones.
#[test]
fn golden_files() {
    for (name, identity) in [("dedup-v1-hash.wls", Identity::Hash), ("dedup-v1-bytes.wls", Identity::Bytes)] {
        let builder = || last_n(1000).capacity(100).identity(identity);
        let bytes = golden(name, || {
            let dedup = builder().build().expect("valid");
            for i in 0..100_u64 {
                let _ = dedup.observe_at(format!("id-{i}"), Tick(10 + i));
            }
            let Ok(Claim::Claimed(_)) = dedup.claim_at(7_u64, Tick(200), Window::last_n(31)) else {
                panic!("claimed")
            };
            assert!(dedup.forget_at("id-99", Tick(200)));
            written(&dedup, 200)
        });
        let restored = builder().restore(&bytes[..], WALL + Duration::from_secs(1)).expect("for ever");
        assert_eq!((restored.resumed, restored.entries), (Tick(200), 101));
        let dedup = restored.structure;
        for i in 0..99_u64 {
            let first_seen = Some(Tick(10 + i));
            assert_eq!(dedup.observe_at(format!("id-{i}"), Tick(210)), Ok(Verdict::Duplicate { first_seen }));
        }
        assert_eq!(
            dedup.claim_at(7_u64, Tick(210), Window::last_n(31)),
            Ok(Claim::InProgress { until: Tick(231) })
        );
        assert_eq!(dedup.observe_at("id-99", Tick(210)), Ok(Verdict::Fresh));
        assert_eq!(dedup.observe_at("id-0", Tick(1010)), Ok(Verdict::Fresh));
        let full = (0..)
            .map(|i: u64| dedup.observe_at(i, Tick(1010)))
            .find(|outcome| *outcome == Err(Refused::Full));
        assert!(full.is_some(), "its capacity is as it was");
    }
}
