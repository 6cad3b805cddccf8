//! Threads that call one key of a structure, many short rounds: each round's history is linearizable.

use super::{
    common::{Random, algorithms::ALGORITHMS},
    linear::{Spec, Timed, is_linearizable, overlaps},
};
use std::{
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst},
    thread,
    time::Duration,
};
use windlass::{
    Admission, Claim, Dedup, FifoIndex, Identity, KeyedLimiter, Limiter, OnPresent, Pushed, Quota, Tick,
    Window, WindowedCounter,
};

/// `WINDLASS_ROUNDS` times as many, in the long form.
fn rounds() -> usize {
    std::env::var("WINDLASS_ROUNDS").map_or(1, |rounds| rounds.parse().expect("a number"))
}

/// Where threads meet before each round: they spin, so that they leave at one moment. (Who has waited for long lets others have the processor.)
struct Gate {
    arrived: AtomicUsize,
    threads: usize,
}

impl Gate {
    fn pass(&self, round: usize) {
        self.arrived.fetch_add(1, SeqCst);
        let (mut looks, all) = (0_u64, self.threads * (round + 1));
        while self.arrived.load(SeqCst) < all {
            looks += 1;
            assert!(looks < 1 << 32, "another thread has failed");
            if looks.is_multiple_of(2000) { thread::yield_now() } else { std::hint::spin_loop() }
        }
    }
}

/// Rounds of so many threads. `call` makes the `n`-th call of a thread in a round, and tells it with its answer; `initial` is the state that a round begins with.
fn stress<S: Spec<Call: Send> + Sync>(
    what: &str,
    rounds: usize,
    threads: usize,
    calls: usize,
    initial: &S,
    call: impl Fn(usize, &mut Random, &mut Vec<S::Call>) + Sync,
) {
    let (gate, clock) = (Gate { arrived: AtomicUsize::new(0), threads }, AtomicU64::new(0));
    let (gate, clock, call) = (&gate, &clock, &call);
    let told: Vec<Vec<Vec<Timed<S::Call>>>> = thread::scope(|scope| {
        let run = move |thread: usize| {
            (0..rounds)
                .map(|round| {
                    let mut random = Random((round * 8 + thread) as u64);
                    let (mut calls_made, mut timed) = (Vec::with_capacity(calls), Vec::with_capacity(calls));
                    gate.pass(round);
                    // Until the others have seen it as well; and not always the same one first.
                    (0..50 + random.below(100)).for_each(|_| std::hint::spin_loop());
                    for _ in 0..calls {
                        let begun = clock.fetch_add(1, SeqCst);
                        call(round, &mut random, &mut calls_made);
                        let ended = clock.fetch_add(1, SeqCst);
                        timed.push((begun, ended));
                    }
                    let timed = calls_made.into_iter().zip(timed);
                    timed.map(|(call, (begun, ended))| Timed { call, begun, ended }).collect()
                })
                .collect()
        };
        let handles: Vec<_> = (0..threads).map(|thread| scope.spawn(move || run(thread))).collect();
        handles.into_iter().map(|handle| handle.join().expect("no thread has failed")).collect()
    });
    let mut met = 0;
    for round in 0..rounds {
        let mut history: Vec<_> = told.iter().flat_map(|thread| thread[round].clone()).collect();
        assert_eq!(history.len(), threads * calls, "one call at a time");
        history.sort_by_key(|timed| timed.begun);
        met += overlaps(&history);
        assert!(is_linearizable(initial, &history), "{what}, round {round}:\n{history:#?}");
    }
    eprintln!("{what}: {rounds} rounds, {met} pairs of calls overlapped");
}

/// An id, by its definition: all calls are at one time, far within the window.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Id {
    Absent,
    Admitted,
    /// By the ticket of this number.
    Claimed(u64),
    Committed(u64),
}

#[derive(Clone, Debug)]
enum IdCall {
    Observe { fresh: bool },
    Contains(bool),
    Forget(bool),
    Claim(Claimed),
    Commit(u64, bool),
    Abort(u64, bool),
}

#[derive(Clone, Debug, PartialEq)]
enum Claimed {
    Ours(u64),
    Duplicate,
    InProgress,
}

impl Spec for Id {
    type Call = IdCall;

    fn after(&self, call: &IdCall) -> Option<Id> {
        let there = *self != Id::Absent;
        let same = Some(self.clone());
        match *call {
            IdCall::Observe { fresh: true } => (!there).then_some(Id::Admitted),
            IdCall::Observe { fresh: false } => same.filter(|_| there),
            IdCall::Contains(found) => same.filter(|_| found == there),
            IdCall::Forget(true) => there.then_some(Id::Absent),
            IdCall::Forget(false) => same.filter(|_| !there),
            IdCall::Claim(Claimed::Ours(ticket)) => (!there).then_some(Id::Claimed(ticket)),
            IdCall::Claim(Claimed::Duplicate) => {
                same.filter(|id| matches!(id, Id::Admitted | Id::Committed(_)))
            }
            IdCall::Claim(Claimed::InProgress) => same.filter(|id| matches!(id, Id::Claimed(_))),
            IdCall::Commit(ticket, true) => {
                [Id::Claimed(ticket), Id::Committed(ticket)].contains(self).then_some(Id::Committed(ticket))
            }
            IdCall::Commit(ticket, false) => {
                same.filter(|id| ![Id::Claimed(ticket), Id::Committed(ticket)].contains(id))
            }
            IdCall::Abort(ticket, true) => (*self == Id::Claimed(ticket)).then_some(Id::Absent),
            IdCall::Abort(ticket, false) => same.filter(|id| *id != Id::Claimed(ticket)),
        }
    }
}

/// Tickets are the claiming thread's own; it settles its last one.
fn ids(identity: Identity, grows: bool, threads: usize, calls: usize) {
    let rounds = 3000 * rounds();
    let window = Window::last_n(1 << 30);
    let builder = Dedup::builder(window).identity(identity);
    let builder = match grows {
        // From small on, so that keys move between tables meanwhile.
        true => builder.capacity(10).max_memory(64 << 20),
        false => builder.capacity(2 * rounds),
    };
    let dedup = builder.build().expect("valid");
    let numbers = AtomicU64::new(0);
    thread_local! {
        static TICKET: std::cell::Cell<Option<(usize, u64, windlass::Ticket)>> = const { std::cell::Cell::new(None) };
    }
    stress(&format!("ids, {identity:?}"), rounds, threads, calls, &Id::Absent, |round, random, calls| {
        let (key, now) = (format!("id {round}"), Tick(1000));
        let ticket = TICKET.get().filter(|ticket| ticket.0 == round);
        let call = match (random.below(8), ticket) {
            (0 | 1, _) => IdCall::Observe { fresh: dedup.observe_at(&key, now).expect("room").is_fresh() },
            (2, _) => IdCall::Contains(dedup.contains_at(&key, now)),
            (3, _) => IdCall::Forget(dedup.forget_at(&key, now)),
            (4, Some((_, number, ticket))) => IdCall::Abort(number, dedup.abort(ticket)),
            (5 | 6, Some((_, number, ticket))) => IdCall::Commit(number, dedup.commit(ticket)),
            _ => IdCall::Claim(match dedup.claim_at(&key, now, window).expect("room") {
                Claim::Claimed(ticket) => {
                    let number = numbers.fetch_add(1, SeqCst);
                    TICKET.set(Some((round, number, ticket)));
                    Claimed::Ours(number)
                }
                Claim::Duplicate { .. } => Claimed::Duplicate,
                Claim::InProgress { .. } => Claimed::InProgress,
                other => panic!("{other:?}"),
            }),
        };
        calls.push(call);
    });
}

#[test]
fn ids_by_hash() {
    ids(Identity::Hash, false, 2, 6);
    ids(Identity::Hash, true, 3, 4);
}

#[test]
fn ids_by_bytes() {
    ids(Identity::Bytes, false, 3, 4);
    ids(Identity::Bytes, true, 2, 6);
}

/// A client: permits taken, of so many. All calls are at one time, so none comes back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Taken {
    permits: u64,
    of: u64,
}

#[derive(Clone, Debug)]
struct Check {
    cost: u64,
    /// What is left, if it was allowed.
    left: Option<u64>,
}

impl Spec for Taken {
    type Call = Check;

    fn after(&self, call: &Check) -> Option<Taken> {
        let permits = self.permits + call.cost;
        match call.left {
            Some(left) => (permits + left == self.of).then_some(Taken { permits, ..*self }),
            None => (permits > self.of).then_some(self.clone()),
        }
    }
}

fn check(cost: u64, admission: Admission) -> Check {
    let left = match admission {
        Admission::Allowed { remaining, .. } => Some(remaining),
        Admission::Denied { .. } => None,
        Admission::Never => panic!("{cost} is not too much"),
    };
    Check { cost, left }
}

/// The first tick of a window.
const NOW: Tick = Tick(3_600_000_000_000);

#[test]
fn clients() {
    let (rounds, quota) = (1000 * rounds(), Quota::new(7, Duration::from_secs(3600)));
    for algorithm in ALGORITHMS {
        let limiter = KeyedLimiter::builder(quota).algorithm(algorithm).clients(2 * rounds).build();
        let limiter = limiter.expect("valid");
        let initial = Taken { permits: 0, of: 7 };
        stress(&format!("clients, {algorithm:?}"), rounds, 3, 4, &initial, |round, random, calls| {
            let cost = 1 + random.below(3);
            calls.push(check(cost, limiter.check_at(round as u64, cost, NOW)));
        });
    }
}

#[test]
fn one_for_all() {
    let (rounds, quota) = (1000 * rounds(), Quota::new(7, Duration::from_secs(3600)));
    for algorithm in ALGORITHMS {
        let build = || Limiter::builder(quota).algorithm(algorithm).build().expect("valid");
        let limiters: Vec<Limiter> = (0..rounds).map(|_| build()).collect();
        let initial = Taken { permits: 0, of: 7 };
        stress(&format!("one for all, {algorithm:?}"), rounds, 2, 6, &initial, |round, random, calls| {
            let cost = 1 + random.below(3);
            calls.push(check(cost, limiters[round].check_at(cost, NOW)));
        });
    }
}

/// A queue by its definition: key and number, the oldest first; and the next number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Queue {
    entries: Vec<u64>,
    moves: bool,
}

#[derive(Clone, Debug)]
enum QueueCall {
    /// Whether it was there.
    Push(u64, bool),
    Pop(Option<u64>),
    Peek(Option<u64>),
    Get(u64, bool),
}

impl Spec for Queue {
    type Call = QueueCall;

    fn after(&self, call: &QueueCall) -> Option<Queue> {
        let mut after = self.clone();
        let place = |key: u64| self.entries.iter().position(|entry| *entry == key);
        let same = match *call {
            QueueCall::Push(key, there) => {
                let at = place(key);
                if let Some(at) = at.filter(|_| self.moves) {
                    after.entries.remove(at);
                }
                if at.is_none() || self.moves {
                    after.entries.push(key);
                }
                there == at.is_some()
            }
            QueueCall::Pop(key) => {
                let same = key == self.entries.first().copied();
                if same && key.is_some() {
                    after.entries.remove(0);
                }
                same
            }
            QueueCall::Peek(key) => key == self.entries.first().copied(),
            QueueCall::Get(key, there) => there == place(key).is_some(),
        };
        same.then_some(after)
    }
}

/// Of one key. (Of several they are not linearizable, and do not say so: entries go by their numbers, which a push takes before its key is there.)
#[test]
fn queues() {
    let rounds = 1500 * rounds();
    for (on_present, threads, calls) in [
        (OnPresent::Keep, 2, 6),
        (OnPresent::Keep, 3, 4),
        (OnPresent::MoveToTail, 2, 6),
        (OnPresent::MoveToTail, 3, 4),
    ] {
        let build =
            || FifoIndex::builder().capacity(64).on_present(on_present).build::<u64>().expect("valid");
        let queues: Vec<FifoIndex<u64>> = (0..rounds).map(|_| build()).collect();
        let initial = Queue { moves: on_present == OnPresent::MoveToTail, ..Queue::default() };
        let what = format!("queues, {on_present:?}");
        stress(&what, rounds, threads, calls, &initial, |round, random, calls| {
            let (queue, key) = (&queues[round], 7);
            calls.push(match random.below(7) {
                0..3 => {
                    let pushed = queue.push_at(key, key, Tick(0)).expect("room");
                    QueueCall::Push(key, !matches!(pushed, Pushed::New(_)))
                }
                3 | 4 => QueueCall::Pop(queue.pop().map(|entry| entry.value)),
                5 => QueueCall::Get(key, queue.get(key).is_some()),
                _ => QueueCall::Peek(queue.peek().map(|entry| entry.value)),
            });
        });
    }
}

/// What was counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Counted(u64);

#[derive(Clone, Debug)]
enum Count {
    Add(u64),
    Ask(u64),
}

impl Spec for Counted {
    type Call = Count;

    fn after(&self, call: &Count) -> Option<Counted> {
        match *call {
            Count::Add(n) => Some(Counted(self.0 + n)),
            Count::Ask(n) => (n == self.0).then(|| self.clone()),
        }
    }
}

#[test]
fn counts() {
    let rounds = 4000 * rounds();
    for (grows, threads, calls) in [(false, 3, 4), (true, 2, 6)] {
        let builder = WindowedCounter::builder(Window::last_n(30), Window::last_n(10));
        let builder =
            if grows { builder.capacity(10).max_memory(64 << 20) } else { builder.capacity(2 * rounds) };
        let counter = builder.build().expect("valid");
        stress("counts", rounds, threads, calls, &Counted(0), |round, random, calls| {
            let (key, now) = (round as u64, Tick(5));
            calls.push(match random.below(2) {
                0 => {
                    // (Different numbers, so that sums tell which were there.)
                    let n = 1 << random.below(20);
                    assert!(counter.add_at(key, n, now) == windlass::Added::Counted);
                    Count::Add(n)
                }
                _ => Count::Ask(counter.count_at(key, now)),
            });
        });
    }
}

/// The definitions have room for nothing else: histories that no structure may have.
#[test]
fn definitions() {
    let timed = |call, at| Timed { call, begun: at, ended: at + 1 };
    let twice = [IdCall::Observe { fresh: true }, IdCall::Observe { fresh: true }];
    let [a, b] = twice.map(|call| timed(call, 0));
    assert!(!is_linearizable(&Id::Absent, &[a, b]), "two are fresh at one time");
    let settled = [IdCall::Claim(Claimed::Ours(1)), IdCall::Forget(true), IdCall::Commit(1, true)];
    let settled: Vec<_> = settled.into_iter().zip([0, 2, 4]).map(|(call, at)| timed(call, at)).collect();
    assert!(!is_linearizable(&Id::Absent, &settled), "what was forgotten cannot be committed");
    assert!(is_linearizable(&Id::Absent, &settled[..2]));
    let over = [Check { cost: 4, left: Some(3) }, Check { cost: 4, left: Some(3) }];
    let over: Vec<_> = over.into_iter().map(|call| Timed { call, begun: 0, ended: 1 }).collect();
    assert!(!is_linearizable(&Taken { permits: 0, of: 7 }, &over), "more than the quota");
    let torn = [QueueCall::Push(1, false), QueueCall::Pop(Some(1)), QueueCall::Pop(Some(1))];
    let torn: Vec<_> = torn.into_iter().map(|call| Timed { call, begun: 0, ended: 1 }).collect();
    assert!(!is_linearizable(&Queue::default(), &torn), "popped twice");
    let lost = [Count::Add(1), Count::Add(2), Count::Ask(2)];
    let lost: Vec<_> =
        lost.into_iter().zip([0, 0, 2]).map(|(call, at)| Timed { call, begun: at, ended: at + 1 }).collect();
    assert!(!is_linearizable(&Counted(0), &lost), "an add is lost");
}
