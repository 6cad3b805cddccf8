//! Tables that grow and shrink: the same decisions, memory within its limit, and back when the load falls.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use crate::common::{Running, Together, twin::Twin};
use proptest::prelude::*;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};
use windlass::{
    Clock, Dedup, Identity, KeyHash, Maintainer, OnFull, Outcome, Refresh, Refused, Seed, Tick, Verdict,
    Window,
};

const MIB: u64 = 1 << 20;

/// One that begins small.
fn growing(window: u64, max_memory: u64) -> windlass::DedupBuilder {
    Dedup::builder(Window::last_n(window)).capacity(10).max_memory(max_memory).seed(Seed(7))
}

#[derive(Clone, Debug)]
enum Op {
    /// So many ids from here on, a tick after one another or all at once.
    Observe {
        first: u64,
        n: u64,
        together: bool,
        batch: bool,
    },
    Contains(u64),
    Forget(u64),
    Live,
    /// So many ticks go by.
    Wait(u64),
    Maintain(usize),
    Reset,
    /// Written, and restored.
    Restart,
}

const IDS: u64 = 20_000;
const WINDOW: u64 = 3000;

fn op() -> impl Strategy<Value = Op> {
    let observe = (0..IDS, prop_oneof![1..50_u64, 1..2000_u64], any::<bool>(), any::<bool>());
    prop_oneof![
        8 => observe.prop_map(|(first, n, together, batch)| Op::Observe { first, n, together, batch }),
        2 => (0..IDS).prop_map(Op::Contains),
        2 => (0..IDS).prop_map(Op::Forget),
        1 => Just(Op::Live),
        2 => (0..2 * WINDOW).prop_map(Op::Wait),
        2 => prop_oneof![1..40_usize, Just(usize::MAX)].prop_map(Op::Maintain),
        1 => Just(Op::Reset),
        1 => Just(Op::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn same_decisions(
        ops in prop::collection::vec(op(), 1..60),
        refresh in prop_oneof![Just(Refresh::Never), Just(Refresh::OnDuplicate)],
        lateness in prop_oneof![Just(0), 1..WINDOW],
        identity in prop_oneof![Just(Identity::Hash), Just(Identity::Bytes)],
    ) {
        let builder = growing(WINDOW, 64 * MIB).lateness(Window::last_n(lateness)).refresh(refresh).identity(identity);
        let mut dedup = builder.clone().build().expect("valid");
        let mut twin = Twin::new(WINDOW, lateness, refresh);
        let mut now = 1;
        for op in ops {
            match op {
                Op::Observe { first, n, together, batch } => {
                    let ids: Vec<u64> = (first..first + n).map(|id| id % IDS).collect();
                    let step = u64::from(!together);
                    let events: Vec<(u64, Tick)> =
                        (0..).zip(&ids).map(|(i, &id)| (id, Tick(now + i * step))).collect();
                    let mut outcomes = Vec::new();
                    if batch {
                        dedup.observe_events(&events, &mut outcomes);
                    } else {
                        outcomes.extend(events.iter().map(|&(id, at)| dedup.observe_at(id, at)));
                    }
                    for (&(id, at), outcome) in events.iter().zip(outcomes) {
                        prop_assert_eq!(outcome, Ok(twin.observe(id, at.0)), "id {} at {}", id, at);
                    }
                    now += n * step;
                }
                Op::Contains(id) => prop_assert_eq!(dedup.contains_at(id, Tick(now)), twin.contains(id, now)),
                Op::Forget(id) => prop_assert_eq!(dedup.forget_at(id, Tick(now)), twin.forget(id, now)),
                Op::Live => prop_assert_eq!(dedup.live_at(Tick(now)), twin.live(now)),
                Op::Wait(ticks) => now += ticks,
                Op::Maintain(budget) => {
                    dedup.maintain_at(Tick(now), budget);
                    if twin.seen() {
                        twin.see(now);
                    }
                }
                Op::Reset => {
                    dedup.reset().expect("memory");
                    twin.reset();
                }
                Op::Restart => {
                    let mut bytes = Vec::new();
                    dedup.snapshot_at(&mut bytes, Tick(now), Duration::ZERO).expect("memory");
                    dedup = builder.clone().restore(&bytes[..], Duration::ZERO).expect("as it was written").structure;
                }
            }
        }
        prop_assert_eq!(dedup.live_at(Tick(now)), twin.live(now));
        let stats = dedup.stats();
        prop_assert_eq!((stats.refused, stats.evicted, stats.jumps), (0, 0, 0));
    }
}

/// Upkeep until nothing is left to do and the memory is no more than this. Other tests in this process hold it up with their pins.
fn settle(dedup: &Dedup, now: Tick, bytes: u64) {
    for _ in 0..1_000_000 {
        if !dedup.maintain_at(now, 64) && dedup.memory_bytes() <= bytes {
            return;
        }
        thread::yield_now();
    }
    panic!("{} bytes in use, not {bytes}: {dedup:?}", dedup.memory_bytes());
}

/// From a thousand live ids to as many as `most` and back, by two writers that know what each answer must be.
fn there_and_back(most: u64, upkeep: bool) {
    const LEAST: u64 = 1000;
    const WINDOW: u64 = 1 << 20;
    let dedup = growing(WINDOW, 1 << 32).capacity(1000).build().expect("valid");
    let bytes = dedup.memory_bytes();
    let (running, together) = (Running::new(), Together::new(2));
    let newest = AtomicU64::new(0);
    thread::scope(|scope| {
        let _stop = running.until_here();
        if upkeep {
            scope.spawn(|| {
                while running.goes_on() {
                    dedup.maintain_at(Tick(newest.load(SeqCst)), 64);
                    thread::yield_now();
                }
            });
        }
        let writers = [0, 1].map(|writer: u64| {
            let (dedup, together, newest) = (&dedup, &together, &newest);
            scope.spawn(move || {
                let (mut id, mut wrong) = (0, Vec::new());
                // A quarter of a window at a time: both are at the same tick.
                let rates =
                    [LEAST, LEAST, most / 4, most, most, most, most, most / 2, LEAST, LEAST, LEAST, LEAST];
                for (quarter, rate) in rates.into_iter().enumerate() {
                    for _ in 0..4 {
                        let now = Tick((quarter as u64 + 1) * (WINDOW / 4));
                        if writer == 0 {
                            newest.store(now.0, SeqCst);
                        }
                        together.wait();
                        for i in 0..rate / 32 {
                            let name = |id: u64| id << 1 | writer;
                            let first = dedup.observe_at(name(id), now);
                            // One that is known, of this tick.
                            let known = id - i / 2;
                            let again = dedup.observe_at(name(known), now);
                            let expected = Ok(Verdict::Duplicate { first_seen: Some(now) });
                            if (first, again) != (Ok(Verdict::Fresh), expected) {
                                wrong.push((id, now, first, known, again));
                            }
                            id += 1;
                        }
                        together.wait();
                    }
                }
                wrong
            })
        });
        let wrong = writers.map(|writer| writer.join().expect("no panic"));
        assert_eq!(wrong.map(|wrong| wrong.first().copied()), [None, None]);
    });
    let stats = dedup.stats();
    assert!(stats.grown > 3, "{stats:?}");
    assert_eq!((stats.refused, stats.evicted, stats.late), (0, 0, 0));
    settle(&dedup, Tick(12 * (WINDOW / 4) + WINDOW), bytes);
    let stats = dedup.stats();
    assert_eq!((stats.tables, stats.live), (1, 0));
    assert!(stats.shrunk > 0);
}

#[test]
fn there_and_back_by_calls_alone() {
    there_and_back(200_000, false);
}

#[test]
fn there_and_back_with_upkeep() {
    there_and_back(200_000, true);
}

/// All threads bring the same ids while the table grows from next to nothing: one is told "fresh".
#[test]
fn one_winner() {
    for round in 0..10 {
        let dedup = growing(1000, 1 << 30).capacity(1).build().expect("valid");
        let threads = 4;
        let ids = 20_000_u64;
        let fresh: Vec<Vec<u64>> = thread::scope(|scope| {
            let handles: Vec<_> = (0..threads)
                .map(|thread: u64| {
                    let dedup = &dedup;
                    scope.spawn(move || {
                        let mut outcomes: Vec<Outcome> = Vec::new();
                        let mut fresh = Vec::new();
                        for part in 0..ids / 100 {
                            // The same stretch at the same time, each from another place in it.
                            let at = |i: u64| part * 100 + (i + thread * 25 + round) % 100;
                            let batch: Vec<u64> = (0..100).map(at).collect();
                            if thread.is_multiple_of(2) {
                                dedup.observe_batch_at(&batch, Tick(5), &mut outcomes);
                            } else {
                                outcomes.clear();
                                outcomes.extend(batch.iter().map(|&id| dedup.observe_at(id, Tick(5))));
                            }
                            let won = outcomes.iter().zip(&batch);
                            fresh.extend(won.filter(|(o, _)| **o == Ok(Verdict::Fresh)).map(|(_, &id)| id));
                            if part % 50 == thread {
                                dedup.maintain_at(Tick(5), 10);
                            }
                        }
                        fresh
                    })
                })
                .collect();
            handles.into_iter().map(|handle| handle.join().expect("no panic")).collect()
        });
        let mut fresh: Vec<u64> = fresh.into_iter().flatten().collect();
        fresh.sort_unstable();
        assert!(fresh.iter().copied().eq(0..ids), "round {round}: {} winners", fresh.len());
        assert_eq!(dedup.live_at(Tick(5)), ids);
    }
}

/// What comes of more unique ids than there is room for.
struct Flood {
    dedup: Dedup,
    ids: u64,
    refused: u64,
}

/// At least 300,000 ids, and as many more as it takes until four ninths of the limit are in use. (Memory of old tables comes back when no call holds
/// it up any more, those of other tests in this process included.)
fn flood(on_full: OnFull) -> Flood {
    const LIMIT: u64 = 4 * MIB;
    let dedup = growing(1_000_000, LIMIT).on_full(on_full).build().expect("valid");
    let (mut ids, mut refused) = (0, 0);
    while ids < 300_000 || dedup.memory_bytes() < LIMIT / 9 * 4 {
        assert!(ids < 900_000, "{dedup:?}");
        match dedup.observe_at(ids, Tick(ids)) {
            Ok(verdict) => assert_eq!(verdict, Verdict::Fresh),
            Err(why) => {
                assert_eq!(why, Refused::Full);
                refused += 1;
            }
        }
        if ids % 64 == 0 {
            assert!(dedup.memory_bytes() <= LIMIT);
        }
        ids += 1;
    }
    settle(&dedup, Tick(ids), LIMIT);
    Flood { dedup, ids, refused }
}

#[test]
fn a_flood_is_refused() {
    let Flood { dedup, ids, refused } = flood(OnFull::Reject);
    let stats = dedup.stats();
    assert_eq!((stats.refused, stats.evicted), (refused, 0));
    assert_eq!(dedup.live_at(Tick(ids)), ids - refused);
    // 40 bytes an id is what it is meant for, not where it ends.
    assert!(stats.live > stats.capacity, "{stats:?}");
}

#[test]
fn a_flood_drives_out_the_oldest() {
    let Flood { dedup, ids, refused } = flood(OnFull::EvictOldest);
    let stats = dedup.stats();
    assert_eq!((stats.refused, refused), (0, 0));
    // (One that was driven out of a new table may still have stood in the old one, and come up again.)
    let live = dedup.live_at(Tick(ids));
    assert!((ids - stats.evicted..ids + 200 - stats.evicted).contains(&live), "{live}, {stats:?}");
    let young = (ids - 10_000..ids).filter(|&id| dedup.contains_at(id, Tick(ids))).count();
    assert_eq!(young, 10_000, "the youngest are there");
}

/// Ids that have been made to meet in one group do not make the table grow: no size would help.
#[test]
fn collisions_do_not_make_it_grow() {
    let dedup = growing(1000, 64 * MIB).capacity(1000).build().expect("valid");
    let refused = (0..1000).filter(|&i| dedup.observe_at(KeyHash { hi: 0, lo: i }, Tick(5)).is_err()).count();
    assert_eq!(refused, 1000 - 64);
    assert_eq!(dedup.stats().grown, 0);
}

/// With a maintainer and nobody else: the memory is back a window after the load has fallen.
#[test]
fn a_maintainer_gives_memory_back() {
    let (clock, hand) = Clock::manual(Tick(1));
    let dedup = Arc::new(growing(1000, 64 * MIB).clock(clock).build().expect("valid"));
    let bytes = dedup.memory_bytes();
    let maintainer = Maintainer::start(Duration::from_millis(1)).expect("a thread");
    maintainer.add(&dedup);
    for id in 0..50_000_u64 {
        assert_eq!(dedup.observe(id), Ok(Verdict::Fresh));
    }
    assert!(dedup.memory_bytes() > 1000 * bytes);
    hand.advance(1000);
    for _ in 0..100_000_000_u64 {
        if dedup.memory_bytes() == bytes {
            break;
        }
        thread::yield_now();
    }
    assert_eq!((dedup.memory_bytes(), dedup.stats().tables), (bytes, 1));
    // One that is dropped is forgotten; the thread ends with the maintainer.
    drop(dedup);
    drop(maintainer);
}

/// One without a limit keeps its size, however crowded.
#[test]
fn a_fixed_one_stays() {
    let dedup = Dedup::builder(Window::last_n(1000)).capacity(1000).build().expect("valid");
    let bytes = dedup.memory_bytes();
    for id in 0..1300_u64 {
        assert_eq!(dedup.observe_at(id, Tick(5)), Ok(Verdict::Fresh));
        dedup.maintain_at(Tick(5), 100);
    }
    assert_eq!((dedup.memory_bytes(), dedup.stats().grown), (bytes, 0));
}

/// Who only looks after a structure does not say where its time begins.
#[test]
fn upkeep_does_not_fix_the_origin() {
    let dedup = growing(1000, 64 * MIB).build().expect("valid");
    dedup.maintain_at(Tick(5), 1);
    dedup.maintain_at(Tick(1 << 62), 1);
    assert_eq!(dedup.observe_at(1_u64, Tick(1 << 62)), Ok(Verdict::Fresh));
    assert_eq!(dedup.observe_at(1_u64, Tick((1 << 62) + 999)).map(Verdict::is_fresh), Ok(false));
}

#[test]
fn limits() {
    let build = |bytes| growing(10, bytes).build().map(|dedup| dedup.memory_bytes());
    let least = growing(10, 0).memory_bytes().expect("valid");
    assert_eq!(build(least), Ok(least));
    let error = build(least - 1).expect_err("too small");
    assert_eq!(
        error.to_string(),
        format!("max_memory: {} bytes is out of range: {least} bytes or more, for the capacity", least - 1)
    );
}
