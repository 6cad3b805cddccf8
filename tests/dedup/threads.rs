//! Many threads, few cores: one winner for each id, through expiry, reset and a full table.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use std::{
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst},
    thread,
};

use crate::common::{Random, Together};
use windlass::{Claim, Dedup, Key, KeyHash, OnFull, Outcome, Refused, Seed, Tick, Ticket, Verdict, Window};

const THREADS: usize = 8;
const IDS: usize = 10_000;

/// Runs all threads to their ends; `run` is told which it is.
pub(super) fn threads<R: Send>(n: usize, run: impl Fn(usize) -> R + Sync) -> Vec<R> {
    thread::scope(|scope| {
        let run = &run;
        let all: Vec<_> = (0..n).map(|i| scope.spawn(move || run(i))).collect();
        all.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

/// Waits for all without giving the core away for long, so that the calls after it do meet.
pub(super) struct Start {
    pub(super) threads: usize,
    pub(super) here: AtomicUsize,
    pub(super) failed: AtomicBool,
}

impl Start {
    pub(super) fn wait(&self, round: usize) {
        self.here.fetch_add(1, SeqCst);
        let mut turns = 0;
        while self.here.load(SeqCst) < self.threads * (round + 1) && !self.failed.load(SeqCst) {
            turns += 1;
            if turns % 64 == 0 { thread::yield_now() } else { std::hint::spin_loop() }
        }
    }
}

/// Sets the flag if its thread panics, so that the others do not wait for it.
pub(super) struct Watch<'a>(pub(super) &'a AtomicBool);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, SeqCst);
        }
    }
}

/// The first call of all, and one that asks for its id by a clock that is more than a window ahead: it is not there, or is gone.
#[test]
fn asked_while_the_first_comes() {
    const ASKED: [fn(&Dedup) -> bool; 4] = [
        |dedup| dedup.contains_at(1_u64, Tick(115)),
        |dedup| dedup.first_seen_at(1_u64, Tick(115)).is_some(),
        |dedup| dedup.forget_at(1_u64, Tick(115)),
        |dedup| dedup.live_at(Tick(115)) > 0,
    ];
    for (turn, asked) in ASKED.iter().cycle().take(40).enumerate() {
        let start = Start { threads: 2, here: AtomicUsize::new(0), failed: AtomicBool::new(false) };
        let builder = || Dedup::builder(Window::last_n(10)).capacity(1);
        let all: Vec<Dedup> = (0..500).map(|_| builder().build().expect("valid")).collect();
        threads(2, |thread| {
            let _watch = Watch(&start.failed);
            for (round, dedup) in all.iter().enumerate() {
                start.wait(round);
                match thread {
                    0 => assert_eq!(dedup.observe_at(1_u64, Tick(100)), Ok(Verdict::Fresh)),
                    _ => assert!(!asked(dedup), "turn {turn}, round {round}"),
                }
            }
        });
    }
}

/// The numbers below `n`, in an order of the thread's own.
fn order(n: usize, seed: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    match seed % 4 {
        0 => {} // two that run side by side
        1 => order.reverse(),
        _ => Random(seed as u64).shuffle(&mut order),
    }
    order
}

/// Which ids were fresh.
fn offer<K: Key + Copy>(dedup: &Dedup, ids: &[K], order: &[usize], now: Tick, batch: usize) -> Vec<usize> {
    let fresh = |(&i, outcome): (&usize, Outcome)| match outcome {
        Ok(verdict) => verdict.is_fresh().then_some(i),
        Err(refused) => panic!("{refused}"),
    };
    if batch == 1 {
        let outcomes = order.iter().map(|&i| dedup.observe_at(ids[i], now));
        return order.iter().zip(outcomes).filter_map(fresh).collect();
    }
    let mut out = Vec::new();
    let mut found = Vec::new();
    for part in order.chunks(batch) {
        let keys: Vec<K> = part.iter().map(|&i| ids[i]).collect();
        dedup.observe_batch_at(&keys, now, &mut out);
        found.extend(part.iter().zip(out.iter().copied()).filter_map(fresh));
    }
    found
}

/// How often each id was fresh.
fn times(found: &[Vec<usize>]) -> Vec<u32> {
    let mut times = vec![0; IDS];
    found.iter().flatten().for_each(|&i| times[i] += 1);
    times
}

/// Window after window: in each, every id that is offered is fresh for one thread.
struct OneWinner {
    capacity: usize,
    windows: usize,
    /// Of a thread: 1 for single calls.
    batch: fn(usize) -> usize,
    /// Whether a window has this id.
    offered: fn(usize, usize) -> bool,
    /// Between batches, as much upkeep as there is.
    upkeep: bool,
    /// .. until no more rows than this are wide, in the last of three windows.
    narrow: u64,
    /// Ids of long ago.
    before: fn() -> Vec<KeyHash>,
}

impl OneWinner {
    fn check<K: Key + Copy + Sync>(&self, ids: &[K]) -> Dedup {
        const WINDOW: u64 = 10_000;
        let dedup =
            Dedup::builder(Window::last_n(WINDOW)).lateness(Window::last_n(100)).capacity(self.capacity);
        let dedup = dedup.build().expect("valid");
        let bytes = dedup.memory_bytes();
        for id in (self.before)() {
            assert_eq!(dedup.observe_at(id, Tick(0)), Ok(Verdict::Fresh));
        }
        let together = Together::new(THREADS);
        let found = threads(THREADS, |thread| {
            let each = |window: usize| {
                let mut order = order(IDS, thread + 10 * window);
                order.retain(|&id| (self.offered)(window, id));
                together.wait();
                // Clocks differ, by up to the lateness. The last window's stamps end just before this one's begin, and those of
                // before long before, by any of the clocks.
                let now = Tick((window as u64 + 2) * (WINDOW + 100) + 13 * thread as u64);
                let mut found = Vec::new();
                for part in order.chunks(500) {
                    found.extend(offer(&dedup, ids, part, now, (self.batch)(thread)));
                    if self.upkeep {
                        dedup.maintain_at(now, usize::MAX);
                    }
                }
                together.wait();
                // After the second of the windows with few ids: next to no row need be wide.
                if self.narrow > 0 && window % 3 == 2 && thread == 0 {
                    make_narrow(&dedup, now, self.narrow);
                }
                together.wait();
                found
            };
            (0..self.windows).map(each).collect::<Vec<_>>()
        });
        for window in 0..self.windows {
            let found: Vec<Vec<usize>> = found.iter().map(|found| found[window].clone()).collect();
            for (id, times) in times(&found).into_iter().enumerate() {
                assert_eq!(times, u32::from((self.offered)(window, id)), "id {id} in window {window}");
            }
        }
        let stats = dedup.stats();
        assert_eq!((stats.refused, stats.evicted, stats.jumps, stats.late), (0, 0, 0, 0));
        assert_eq!(dedup.memory_bytes(), bytes);
        dedup
    }
}

/// Upkeep until few rows are wide. Other tests in this process hold it up with their pins.
fn make_narrow(dedup: &Dedup, now: Tick, most: u64) {
    for _ in 0..20_000 {
        if dedup.stats().overflown_buckets <= most {
            return;
        }
        dedup.maintain_at(now, usize::MAX);
        thread::yield_now();
    }
}

const ONE_WINNER: OneWinner = OneWinner {
    capacity: IDS,
    windows: 30,
    batch: |_| 1,
    offered: |_, _| true,
    upkeep: false,
    narrow: 0,
    before: Vec::new,
};

fn names() -> Vec<String> {
    (0..IDS).map(|i| format!("event {i}")).collect()
}

#[test]
fn one_winner_by_name() {
    let names = names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    ONE_WINNER.check(&names);
}

#[test]
fn one_winner_in_batches() {
    let ids: Vec<u64> = (0..IDS as u64).collect();
    OneWinner { batch: |_| 100, ..ONE_WINNER }.check(&ids);
}

/// Every second thread in batches, of sizes that differ.
#[test]
fn one_winner_in_both() {
    let ids: Vec<u64> = (0..IDS as u64).map(|id| id << 40).collect();
    let batch = |thread| [1, 32, 1, 33, 1, 1000, 1, 7][thread];
    OneWinner { batch, capacity: 3 * IDS, upkeep: true, ..ONE_WINNER }.check(&ids);
}

/// In all groups that are full.
const OVERFLOWING: u64 = IDS as u64 / 24;

/// For each group 20 ids of its first bucket and 4 of the second, which makes more than the 16 cells of the pair.
fn crowded() -> Vec<KeyHash> {
    (0..IDS).map(|i| KeyHash { hi: group(i / 24), lo: (i as u64) << 3 | u64::from(i % 24 >= 20) }).collect()
}

/// 8 ids for each bucket.
fn full() -> Vec<KeyHash> {
    (0..64 * GROUPS).map(|i| KeyHash { hi: group(i / 64), lo: (IDS + i) as u64 * 8 + i as u64 % 8 }).collect()
}

const GROUPS: usize = IDS.div_ceil(24);

/// What chooses this of so many groups.
fn group(i: usize) -> u64 {
    let hi = (((i as u128) << 64) + (1 << 60)) / GROUPS as u128;
    u64::try_from(hi).expect("a place")
}

/// As many ids as give so many groups.
fn capacity(groups: usize) -> usize {
    groups * 77 / 3
}

#[test]
fn one_winner_in_groups_that_overflow() {
    let ids = crowded();
    let batch = |thread| if thread < 4 { 1 } else { 40 };
    let dedup = OneWinner { capacity: capacity(GROUPS), batch, ..ONE_WINNER }.check(&ids);
    let stats = dedup.stats();
    assert_eq!(stats.buckets, 8 * GROUPS as u64);
    assert!(stats.overflown_buckets >= OVERFLOWING && stats.overflows >= OVERFLOWING, "{stats:?}");
}

/// In two windows of three there are few ids, and others: rows become narrow again while some call still looks further, and wide
/// anew.
#[test]
fn one_winner_while_rows_become_wide_and_narrow() {
    let ids = crowded();
    let batch = |thread| if thread < 4 { 1 } else { 40 };
    let offered = |window, id| (window % 3 == 0) == (id % 24 % 20 >= 3);
    let dedup = OneWinner {
        capacity: capacity(GROUPS),
        batch,
        offered,
        upkeep: true,
        narrow: 250,
        before: full,
        ..ONE_WINNER
    }
    .check(&ids);
    let stats = dedup.stats();
    println!("{stats:?}");
    assert!(stats.overflows > 2 * OVERFLOWING, "they overflowed several times: {stats:?}");
}

/// Time goes on with every id, and no thread is far ahead of the others: entries die and their cells are taken over all the
/// while, by callers that know different horizons.
fn one_winner_as_time_moves(
    threads_: usize,
    window: u64,
    lateness: u64,
    ids: u64,
    hash: impl Fn(u64) -> KeyHash + Sync,
) {
    let ahead = lateness + window / 2;
    let builder = Dedup::builder(Window::last_n(window)).lateness(Window::last_n(lateness));
    let dedup = builder.capacity(1).build().expect("valid");
    let progress: Vec<AtomicU64> = (0..threads_).map(|_| AtomicU64::new(0)).collect();
    let slowest = || progress.iter().map(|at| at.load(SeqCst)).min().unwrap_or(0);
    let failed = AtomicBool::new(false);
    let found = threads(threads_, |thread| {
        let _watch = Watch(&failed);
        let mut found = Vec::new();
        let mut turns = 0;
        for id in 0..ids {
            while id > slowest() + ahead && !failed.load(SeqCst) {
                turns += 1;
                if turns % 16 == 0 { thread::yield_now() } else { std::hint::spin_loop() }
            }
            match dedup.observe_at(hash(id), Tick(id)) {
                Ok(Verdict::Fresh) => found.push(id),
                Ok(_) => {}
                Err(refused) => panic!("{refused}: {dedup:?}"),
            }
            if id % 64 == thread as u64 {
                dedup.maintain_at(Tick(id), 1);
            }
            progress[thread].store(id + 1, SeqCst);
        }
        found
    });
    let mut found: Vec<u64> = found.into_iter().flatten().collect();
    found.sort_unstable();
    assert_eq!(found.len() as u64, ids, "fresh in all");
    assert!(found.into_iter().eq(0..ids), "each once");
}

/// All in one bucket: 12 to 18 ids are live, it overflows now and then.
#[test]
fn one_winner_as_time_moves_in_one_bucket() {
    for threads in [2, 3, THREADS] {
        one_winner_as_time_moves(threads, 8, 4, 40_000, |id| KeyHash { hi: 0, lo: id });
    }
}

/// 8 cells suffice most of the time.
#[test]
fn one_winner_as_time_moves_in_few_cells() {
    for threads in [2, 3, THREADS] {
        one_winner_as_time_moves(threads, 4, 2, 40_000, |id| KeyHash { hi: 0, lo: id });
    }
}

#[test]
fn one_winner_as_time_moves_in_a_group() {
    for threads in [2, 3, THREADS] {
        one_winner_as_time_moves(threads, 40, 20, 40_000, |id| Seed(5).hash(id));
    }
}

/// By upkeep alone; other tests in this process hold it up with their pins.
fn memory_comes_back(dedup: &Dedup, now: Tick, bytes: u64) {
    for _ in 0..1_000_000 {
        if dedup.memory_bytes() == bytes {
            return;
        }
        dedup.maintain_at(now, 1);
        thread::yield_now();
    }
    panic!("{} bytes in use, not {bytes}", dedup.memory_bytes());
}

/// A reset between two phases: each id is fresh once before it and once after it.
#[test]
fn reset_between() {
    let dedup = Dedup::builder(Window::last_n(1000)).capacity(IDS).build().expect("valid");
    let bytes = dedup.memory_bytes();
    let together = Together::new(THREADS);
    let found = threads(THREADS, |thread| {
        let ids: Vec<u64> = (0..IDS as u64).collect();
        let phase = |phase: usize| {
            let order = order(IDS, thread + 10 * phase);
            together.wait();
            if thread == phase % THREADS {
                dedup.reset().expect("memory");
            }
            together.wait();
            offer(&dedup, &ids, &order, Tick(5), if thread < 4 { 1 } else { 64 })
        };
        (0..20).map(phase).collect::<Vec<_>>()
    });
    for phase in 0..20 {
        let found: Vec<Vec<usize>> = found.iter().map(|found| found[phase].clone()).collect();
        assert!(times(&found).iter().all(|&times| times == 1), "phase {phase}");
    }
    memory_comes_back(&dedup, Tick(5), bytes);
    assert_eq!(dedup.live_at(Tick(5)), IDS as u64);
}

/// A reset while all threads are at it: each id is fresh once or twice. Then one more at rest, and it is once again.
#[test]
fn reset_in_the_middle() {
    for round in 0..15 {
        let dedup = Dedup::builder(Window::last_n(1000)).capacity(IDS).build().expect("valid");
        let ids: Vec<u64> = (0..IDS as u64).collect();
        let offered = AtomicUsize::new(0);
        let all = |seed: usize, resets: bool| {
            threads(THREADS, |thread| {
                let order = order(IDS, thread + seed);
                let mut found = Vec::new();
                for (i, part) in order.chunks(100).enumerate() {
                    // The first to come to the middle of all that is offered.
                    let at_reset = offered.fetch_add(part.len(), SeqCst) == THREADS * IDS / 2;
                    if resets && at_reset {
                        dedup.reset().expect("memory");
                    }
                    found.extend(offer(&dedup, &ids, part, Tick(5), if i % 2 == 0 { 1 } else { 100 }));
                }
                found
            })
        };
        let mut found = all(round, true);
        assert!(times(&found).iter().all(|&times| times == 1 || times == 2), "fresh once or twice");
        // Ids that nobody offered after the reset are not there; the others are.
        let live = dedup.live_at(Tick(5));
        let again = all(round + 1, false);
        assert_eq!(again.iter().map(Vec::len).sum::<usize>() as u64, IDS as u64 - live);
        found.extend(again);
        let times_in_all = times(&found);
        assert!(times_in_all.iter().all(|&times| times == 1 || times == 2), "fresh once or twice");
        assert!(times_in_all.contains(&2), "the reset forgot something");
        assert_eq!(dedup.live_at(Tick(5)), IDS as u64);
        assert!(all(round + 2, false).iter().all(Vec::is_empty), "all are known");
        dedup.reset().expect("memory");
        assert_eq!(dedup.live_at(Tick(5)), 0);
        assert!(times(&all(round + 3, false)).iter().all(|&times| times == 1), "fresh once again");
        dedup.maintain_at(Tick(5), 1);
    }
}

/// Resets one after the other, and looks at the table, while others work.
#[test]
fn many_resets() {
    let dedup = Dedup::builder(Window::last_n(1000)).capacity(1000).build().expect("valid");
    let bytes = dedup.memory_bytes();
    let working = AtomicUsize::new(THREADS - 2);
    let resets = AtomicU64::new(0);
    let ids: Vec<u64> = (0..500).collect();
    let fresh: usize = threads(THREADS, |thread| {
        if thread < 2 {
            while working.load(SeqCst) > 0 {
                if thread == 0 {
                    resets.fetch_add(1, SeqCst);
                    dedup.reset().expect("memory");
                } else {
                    assert!(dedup.live_at(Tick(5)) <= 500);
                    assert!(dedup.memory_bytes() >= bytes);
                    dedup.maintain_at(Tick(5), 1);
                }
                thread::yield_now();
            }
            return 0;
        }
        let rounds = 0..200;
        let found = rounds
            .map(|round| offer(&dedup, &ids, &order(500, thread + round), Tick(5), 1 + thread % 2 * 49));
        let found = found.map(|found| found.len()).sum();
        working.fetch_sub(1, SeqCst);
        found
    })
    .into_iter()
    .sum();
    let resets = usize::try_from(resets.into_inner()).expect("not so many");
    assert!((500..=500 * (resets + 1)).contains(&fresh), "{fresh} fresh, {resets} resets");
    memory_comes_back(&dedup, Tick(5), bytes);
    assert_eq!(dedup.stats().refused, 0);
}

/// What a thread was told.
#[derive(Default)]
struct Told {
    fresh: Vec<u64>,
    duplicates: u64,
    refused: u64,
}

impl Told {
    fn add(&mut self, id: u64, outcome: Outcome) {
        match outcome {
            Ok(Verdict::Fresh) => self.fresh.push(id),
            Ok(_) => self.duplicates += 1,
            Err(Refused::Full) => self.refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
}

fn sum(told: &[Told]) -> (u64, u64, u64) {
    told.iter().fold((0, 0, 0), |(fresh, duplicates, refused), told| {
        (fresh + told.fresh.len() as u64, duplicates + told.duplicates, refused + told.refused)
    })
}

#[test]
fn full_and_reject() {
    const OFFERED: usize = 2000;
    for round in 0..20 {
        let dedup =
            Dedup::builder(Window::last_n(1 << 30)).capacity(1).seed(Seed(round)).build().expect("valid");
        let bytes = dedup.memory_bytes();
        let told = threads(THREADS, |thread| {
            let mut told = Told::default();
            let mut out = Vec::new();
            for part in order(OFFERED, thread).chunks(50) {
                let ids: Vec<u64> = part.iter().map(|&id| id as u64).collect();
                if thread % 2 == 0 {
                    ids.iter().for_each(|&id| told.add(id, dedup.observe_at(id, Tick(thread as u64))));
                } else {
                    dedup.observe_batch_at(&ids, Tick(thread as u64), &mut out);
                    ids.iter().zip(&out).for_each(|(&id, &outcome)| told.add(id, outcome));
                }
            }
            told
        });
        let (fresh, duplicates, refused) = sum(&told);
        assert_eq!(fresh + duplicates + refused, (THREADS * OFFERED) as u64);
        let mut known: Vec<u64> = told.iter().flat_map(|told| &told.fresh).copied().collect();
        known.sort_unstable();
        assert!(known.is_sorted_by(|a, b| a < b), "nobody is fresh twice");
        // A group has 16 * 8 + 23 places, and more than it was built for find room.
        assert!((61..=151).contains(&fresh), "{fresh}");
        assert_eq!(dedup.live_at(Tick(9)), fresh);
        for id in 0..OFFERED as u64 {
            assert_eq!(dedup.contains_at(id, Tick(9)), known.binary_search(&id).is_ok());
        }
        let stats = dedup.stats();
        assert_eq!((stats.refused, stats.evicted, stats.live), (refused, 0, fresh));
        assert_eq!(dedup.memory_bytes(), bytes);
    }
}

/// New ids take the places of old ones, and no place is lost or counted twice.
#[test]
fn full_and_evict_oldest() {
    const OFFERED: u64 = 40_000;
    for round in 0..4 {
        // None expires: what is not there any more was evicted.
        let builder = Dedup::builder(Window::last_n(1 << 40)).lateness(Window::last_n(1 << 32)).capacity(1);
        let dedup = builder.seed(Seed(round)).on_full(OnFull::EvictOldest).build().expect("valid");
        let bytes = dedup.memory_bytes();
        let clock = AtomicU64::new(0);
        let told = threads(THREADS, |thread| {
            let mut told = Told::default();
            let mut random = Random(thread as u64);
            let mut out = Vec::new();
            for i in 0..OFFERED / THREADS as u64 {
                // Far enough on for what was just admitted to be old soon; offered by more than one.
                let tick = clock.fetch_add(1, SeqCst);
                let now = Tick(tick << 24);
                let id = (tick + random.below(20)) / 4;
                if i % 2 == 0 {
                    told.add(id, dedup.observe_at(id, now));
                } else {
                    dedup.observe_batch_at(&[id], now, &mut out);
                    told.add(id, out[0]);
                }
            }
            told
        });
        let (fresh, duplicates, refused) = sum(&told);
        assert_eq!(fresh + duplicates + refused, OFFERED);
        assert!(duplicates > 0 && fresh > 151, "{fresh} fresh, {duplicates} duplicates");
        let stats = dedup.stats();
        let live = dedup.live_at(Tick(OFFERED << 24));
        assert!((16..=151).contains(&live), "{live}");
        assert_eq!((stats.refused, stats.live), (refused, live));
        assert_eq!(stats.evicted, fresh - live, "each fresh id is still there, or was evicted");
        assert_eq!(dedup.memory_bytes(), bytes);
    }
}

/// Round after round all claim all ids. Of those that get one some die and some give it up; in later rounds, when the leases
/// have run out, others do. In the end each id was committed by one thread, and none twice.
#[test]
fn claims_that_fail_and_claims_that_are_left() {
    const ROUNDS: usize = 8;
    const LEASE: u64 = 1000;
    let ids = crowded();
    let builder = Dedup::builder(Window::last_n(1 << 20)).capacity(capacity(GROUPS));
    let dedup = builder.build().expect("valid");
    let together = Together::new(THREADS);
    let rounds = threads(THREADS, |thread| {
        let mut random = Random(thread as u64);
        let round = |round: usize| {
            let order = order(IDS, thread + 10 * round);
            let mut tickets: Vec<(usize, Ticket, bool)> = Vec::new();
            let mut given_up = Vec::new();
            together.wait();
            // Clocks differ by less than a lease.
            let now = Tick(round as u64 * 3 * LEASE + 13 * thread as u64);
            for &id in &order {
                match dedup.claim_at(ids[id], now, Window::last_n(LEASE)) {
                    Ok(Claim::Claimed(ticket)) => {
                        match random.below(4) {
                            0 if round < ROUNDS - 1 => tickets.push((id, ticket, false)), // it dies
                            1 if round < ROUNDS - 1 => {
                                assert!(dedup.abort(ticket), "nobody can have taken it");
                                assert!(!dedup.commit(ticket));
                                given_up.push(id);
                            }
                            _ => tickets.push((id, ticket, dedup.commit(ticket))),
                        }
                    }
                    Ok(Claim::Duplicate { first_seen }) => assert!(first_seen.is_some()),
                    Ok(Claim::InProgress { until }) => assert!(until > now),
                    other => panic!("{other:?}"),
                }
            }
            together.wait();
            (tickets, given_up)
        };
        (0..ROUNDS).map(round).collect::<Vec<_>>()
    });
    let (mut committed, mut left) = (vec![0; IDS], 0);
    for round in 0..ROUNDS {
        let mut holders = vec![0; IDS];
        for (id, ticket, done) in rounds.iter().flat_map(|rounds| &rounds[round].0) {
            holders[*id] += 1;
            committed[*id] += u32::from(*done);
            left += u32::from(!done);
            // Also after all the rest it is true for those who were told so, and for nobody else.
            assert_eq!(dedup.commit(*ticket), *done, "id {id} in round {round}");
        }
        assert!(holders.iter().all(|&holders| holders <= 1), "round {round}: who did not give it up kept it");
    }
    assert!(committed.iter().all(|&times| times == 1));
    assert!(left > 1000, "{left} were left");
    assert_eq!(dedup.live_at(Tick(ROUNDS as u64 * 3 * LEASE)), IDS as u64);
}

/// A lease has run out, and three meet: its owner comes to commit, others claim the id or observe it.
#[test]
fn one_owner_when_a_lease_runs_out() {
    const ROUNDS: usize = 20_000;
    let dedup = Dedup::builder(Window::last_n(1 << 20)).capacity(ROUNDS).build().expect("valid");
    let start = Start { threads: 3, here: AtomicUsize::new(0), failed: AtomicBool::new(false) };
    let base = |round: usize| round as u64 * 20;
    let claim = |round: usize, now| match dedup.claim_at(round as u64, Tick(now), Window::last_n(10)) {
        Ok(Claim::Claimed(ticket)) => Some(ticket),
        Ok(_) => None,
        Err(refused) => panic!("{refused}"),
    };
    let told = threads(3, |thread| {
        let _watch = Watch(&start.failed);
        let mut told = Vec::with_capacity(ROUNDS);
        for round in 0..ROUNDS {
            let first = if thread == 0 { claim(round, base(round)) } else { None };
            start.wait(round);
            told.push(match thread {
                0 => first.is_some_and(|ticket| dedup.commit(ticket)),
                1 => claim(round, base(round) + 10).is_some_and(|ticket| dedup.commit(ticket)),
                _ => dedup.observe_at(round as u64, Tick(base(round) + 11)) == Ok(Verdict::Fresh),
            });
        }
        told
    });
    for round in 0..ROUNDS {
        let owners: Vec<bool> = told.iter().map(|told| told[round]).collect();
        assert_eq!(owners.iter().filter(|&&owns| owns).count(), 1, "round {round}: {owners:?}");
    }
}
