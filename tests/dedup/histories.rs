//! Histories of calls on one id, by a few threads: some order of these calls explains them.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst},
};

use super::threads::{Start, Watch, threads};
use crate::common::{
    Random,
    twin::{self, Claimed, Twin},
};
use windlass::{Claim, Dedup, KeyHash, Refresh, Tick, Ticket, Verdict, Window};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Observe(u64),
    Contains(u64),
    Forget(u64),
    /// At a tick, for so many.
    Claim(u64, u64),
    /// What the same thread has claimed.
    Commit,
    Abort,
    Reset,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Observed(Verdict),
    Is(bool),
    Claimed,
    InProgress(Tick),
    Done,
}

/// A call and when it began and ended, on a clock of its own that all threads share.
#[derive(Clone, Copy, Debug)]
struct Call {
    thread: usize,
    what: What,
    answer: Answer,
    began: u64,
    ended: u64,
}

/// Whether some order explains the calls on one id: each somewhere between its beginning and its end.
///
/// With `apart`, an observation's look at the time (which moves the horizon for all) may come before what it does to the
/// id, with other calls between; that matters where calls are late.
fn explained(calls: &[Call], twin: &Twin, apart: bool) -> bool {
    /// How far each call is: 0 not begun, 1 has seen the time, 2 done. And what each thread has claimed.
    fn search(
        calls: &[Call],
        states: &mut [u8],
        twin: &Twin,
        tickets: [Option<twin::Ticket>; TOGETHER],
        apart: bool,
    ) -> bool {
        let open = || (0..calls.len()).filter(|&i| states[i] < 2);
        let Some(first_end) = open().map(|i| calls[i].ended).min() else { return true };
        // Nothing begins before what has ended is done.
        for i in open().filter(|&i| calls[i].began < first_end).collect::<Vec<_>>() {
            let state = states[i];
            let (mut next, mut tickets) = (twin.clone(), tickets);
            let (call, id) = (calls[i], 0);
            let answer = match call.what {
                What::Observe(now) if apart && state == 0 => {
                    next.see(now);
                    states[i] = 1;
                    let found = search(calls, states, &next, tickets, apart);
                    states[i] = 0;
                    if found {
                        return true;
                    }
                    continue;
                }
                What::Observe(now) if apart => Answer::Observed(next.judge(id, now)),
                What::Observe(now) => Answer::Observed(next.observe(id, now)),
                What::Contains(now) => Answer::Is(next.contains(id, now)),
                What::Forget(now) => Answer::Is(next.forget(id, now)),
                What::Claim(now, lease) => match next.claim(id, now, lease) {
                    Claimed::Ours(ticket) => {
                        tickets[call.thread] = Some(ticket);
                        Answer::Claimed
                    }
                    Claimed::Duplicate(at) => Answer::Observed(Verdict::Duplicate { first_seen: Some(at) }),
                    Claimed::InProgress(until) => Answer::InProgress(until),
                },
                What::Commit => Answer::Is(tickets[call.thread].is_some_and(|ticket| next.commit(ticket))),
                What::Abort => Answer::Is(tickets[call.thread].is_some_and(|ticket| next.abort(ticket))),
                What::Reset => {
                    next.reset();
                    Answer::Done
                }
            };
            if answer == call.answer {
                states[i] = 2;
                if search(calls, states, &next, tickets, apart) {
                    return true;
                }
                states[i] = state;
            }
        }
        false
    }
    search(calls, &mut vec![0; calls.len()], twin, [None; TOGETHER], apart)
}

/// The checker itself: it must be able to say no.
#[test]
fn histories_that_cannot_be() {
    let twin = Twin::new(10, 100, Refresh::Never);
    let fresh = Answer::Observed(Verdict::Fresh);
    let seen = |at| Answer::Observed(Verdict::Duplicate { first_seen: Some(Tick(at)) });
    let call = |what, answer, began, ended| Call { thread: 0, what, answer, began, ended };
    let check = |calls: &[Call], expected| {
        assert_eq!(explained(calls, &twin, false), expected, "{calls:?}");
        assert_eq!(explained(calls, &twin, true), expected, "{calls:?}");
    };
    let at = What::Observe;
    // One winner: which of them is open, that there is one is not.
    check(&[call(at(100), fresh, 0, 5), call(at(101), seen(100), 1, 4)], true);
    check(&[call(at(100), seen(101), 0, 5), call(at(101), fresh, 1, 4)], true);
    check(&[call(at(100), fresh, 0, 5), call(at(101), fresh, 1, 4)], false);
    check(&[call(at(100), seen(101), 0, 5), call(at(101), seen(100), 1, 4)], false);
    // One after the other.
    check(&[call(at(100), seen(101), 0, 1), call(at(101), fresh, 2, 3)], false);
    check(&[call(at(100), fresh, 0, 1), call(at(110), fresh, 2, 3)], true);
    check(&[call(at(100), fresh, 0, 1), call(at(109), fresh, 2, 3)], false);
    check(&[call(at(110), fresh, 0, 9), call(at(109), fresh, 2, 3)], false);
    // What was forgotten once can be fresh once more, if there is time.
    let forget = What::Forget(101);
    check(
        &[call(at(100), fresh, 0, 5), call(at(101), fresh, 0, 5), call(forget, Answer::Is(true), 0, 5)],
        true,
    );
    check(
        &[call(at(100), fresh, 0, 5), call(at(101), fresh, 0, 5), call(forget, Answer::Is(false), 0, 5)],
        false,
    );
    check(
        &[call(at(100), fresh, 0, 1), call(at(101), fresh, 2, 3), call(forget, Answer::Is(true), 4, 5)],
        false,
    );
    check(
        &[call(at(100), fresh, 0, 1), call(at(101), fresh, 2, 3), call(What::Reset, Answer::Done, 1, 5)],
        true,
    );
    check(&[call(at(100), fresh, 0, 1), call(What::Contains(102), Answer::Is(false), 2, 3)], false);
    check(&[call(at(100), fresh, 0, 3), call(What::Contains(102), Answer::Is(false), 2, 4)], true);
    check(
        &[
            call(at(100), fresh, 0, 9),
            call(What::Contains(100), Answer::Is(true), 1, 2),
            call(What::Contains(100), Answer::Is(false), 3, 4),
        ],
        false,
    );
}

/// The same for claims.
#[test]
fn histories_of_claims_that_cannot_be() {
    let twin = Twin::new(10, 100, Refresh::Never);
    let call = |thread, what, answer, began, ended| Call { thread, what, answer, began, ended };
    let claim = |thread, at, answer, began, ended| call(thread, What::Claim(at, 3), answer, began, ended);
    let (ours, yes, no) = (Answer::Claimed, Answer::Is(true), Answer::Is(false));
    let first = claim(0, 100, ours, 0, 1);
    let check = |rest: &[Call], expected| {
        let calls = [&[first], rest].concat();
        assert_eq!(explained(&calls, &twin, false), expected, "{calls:?}");
    };
    check(&[claim(1, 102, Answer::InProgress(Tick(103)), 2, 3)], true);
    check(&[claim(1, 102, ours, 2, 3)], false);
    check(&[claim(1, 102, ours, 0, 1)], false);
    check(&[claim(1, 103, ours, 2, 3)], true);
    // Of an owner and a taker one is right.
    for (committed, taken) in [(yes, ours), (no, Answer::InProgress(Tick(103)))] {
        check(&[call(0, What::Commit, committed, 2, 9), claim(1, 103, taken, 3, 5)], false);
    }
    check(&[call(0, What::Commit, no, 2, 9), claim(1, 103, ours, 3, 5)], true);
    check(&[call(0, What::Abort, yes, 2, 9), claim(1, 101, ours, 3, 5)], true);
    check(&[call(0, What::Abort, no, 2, 9), claim(1, 101, ours, 3, 5)], false);
}

/// Late calls: what one has seen of the time can be known to another before the first has done its work.
#[test]
fn histories_in_two_steps() {
    let mut twin = Twin::new(10, 0, Refresh::Never);
    twin.see(50);
    let call = |now, answer, began, ended| Call { thread: 0, what: What::Observe(now), answer, began, ended };
    let seen = Answer::Observed(Verdict::Duplicate { first_seen: Some(Tick(100)) });
    // The second, at 60, counts as coming at 100, for the first has moved the horizon; but the id is the second's.
    let calls = [call(100, seen, 0, 9), call(60, Answer::Observed(Verdict::Fresh), 1, 2)];
    assert!(explained(&calls, &twin, true));
    assert!(!explained(&calls, &twin, false));
}

/// Threads of a history.
const TOGETHER: usize = 3;

struct Histories {
    window: u64,
    lateness: u64,
    refresh: Refresh,
    /// Ids, all of one bucket: with more than 8 of them it overflows in every second round, with more than 16 its pair does.
    ids: u64,
    /// What is called for an id. Ticks are offsets from the round's time.
    what: fn(&mut Random) -> What,
    /// A reset in every round.
    resets: bool,
    apart: bool,
}

impl Histories {
    /// Three threads, two calls each on every id; the next round's ids take over the cells of this one's.
    fn check(&self, rounds: usize) {
        let builder = Dedup::builder(Window::last_n(self.window)).lateness(Window::last_n(self.lateness));
        let dedup = builder.capacity(1).refresh(self.refresh).build().expect("valid");
        let start = Start { threads: TOGETHER, here: AtomicUsize::new(0), failed: AtomicBool::new(false) };
        let time = AtomicU64::new(0);
        let calls = threads(TOGETHER, |thread| {
            let _watch = Watch(&start.failed);
            let mut random = Random(thread as u64);
            let mut calls: Vec<Vec<(u64, Call)>> = Vec::with_capacity(rounds);
            for round in 0..rounds {
                let mut plan: Vec<(u64, What)> = Vec::new();
                let overflow = round % 2 == 0;
                for id in 0..if overflow { self.ids } else { self.ids.min(6) } {
                    plan.extend([(id, (self.what)(&mut random)), (id, (self.what)(&mut random))]);
                }
                // Sometimes all go through the ids side by side, sometimes not.
                if round % 3 == 0 {
                    random.shuffle(&mut plan);
                }
                if self.resets && thread == round % TOGETHER {
                    let at = usize::try_from(random.below(plan.len() as u64)).expect("an index");
                    plan.insert(at, (u64::MAX, What::Reset));
                }
                let (mut done, mut tickets) = (Vec::with_capacity(plan.len()), HashMap::new());
                start.wait(round);
                for (id, what) in plan {
                    if !matches!(what, What::Commit | What::Abort) || tickets.contains_key(&id) {
                        let call = |tickets| self.call(&dedup, round as u64, id, what, &time, tickets);
                        done.push((id, Call { thread, ..call(&mut tickets) }));
                    }
                    // Narrows the row again, once all of the round before have passed.
                    if !overflow && self.ids > 1 {
                        dedup.maintain_at(Tick(self.base(round as u64)), 1);
                    }
                }
                calls.push(done);
            }
            calls
        });
        for round in 0..rounds {
            let mut of: HashMap<u64, Vec<Call>> = HashMap::new();
            for (id, call) in calls.iter().flat_map(|calls| &calls[round]) {
                of.entry(*id).or_default().push(*call);
            }
            let resets = of.remove(&u64::MAX).unwrap_or_default();
            let mut twin = Twin::new(self.window, self.lateness, self.refresh);
            twin.see(1 << 20);
            if round > 0 {
                // The newest tick so far lies far behind, and so does every id.
                twin.see(self.base(round as u64 - 1));
            }
            for (id, mut calls) in of {
                calls.extend(&resets);
                assert!(
                    explained(&calls, &twin, self.apart),
                    "round {round}, id {id}: no order explains {calls:#?}"
                );
            }
        }
        assert_eq!(dedup.stats().refused, 0);
    }

    fn base(&self, round: u64) -> u64 {
        (1 << 20) + round * 10 * (self.window + self.lateness)
    }

    fn call(
        &self,
        dedup: &Dedup,
        round: u64,
        id: u64,
        what: What,
        time: &AtomicU64,
        tickets: &mut HashMap<u64, Ticket>,
    ) -> Call {
        let base = self.base(round);
        let hash = KeyHash { hi: 0, lo: (round * self.ids).wrapping_add(id) << 3 };
        let began = time.fetch_add(1, SeqCst);
        let (what, answer) = match what {
            What::Observe(at) => {
                let outcome = dedup.observe_at(hash, Tick(base + at));
                (What::Observe(base + at), Answer::Observed(outcome.expect("there is room")))
            }
            What::Contains(at) => {
                (What::Contains(base + at), Answer::Is(dedup.contains_at(hash, Tick(base + at))))
            }
            What::Forget(at) => (What::Forget(base + at), Answer::Is(dedup.forget_at(hash, Tick(base + at)))),
            What::Claim(at, lease) => {
                let answer = match dedup.claim_at(hash, Tick(base + at), Window::last_n(lease)) {
                    Ok(Claim::Claimed(ticket)) => {
                        tickets.insert(id, ticket);
                        Answer::Claimed
                    }
                    Ok(Claim::Duplicate { first_seen }) => {
                        Answer::Observed(Verdict::Duplicate { first_seen })
                    }
                    Ok(Claim::InProgress { until }) => Answer::InProgress(until),
                    other => panic!("{other:?}"),
                };
                (What::Claim(base + at, lease), answer)
            }
            What::Commit => (what, Answer::Is(dedup.commit(tickets[&id]))),
            What::Abort => (what, Answer::Is(dedup.abort(tickets[&id]))),
            What::Reset => {
                dedup.reset().expect("memory");
                (What::Reset, Answer::Done)
            }
        };
        Call { thread: 0, what, answer, began, ended: time.fetch_add(1, SeqCst) }
    }
}

fn mostly_observe(random: &mut Random) -> What {
    // Three windows of 10.
    let at = random.below(30);
    match random.below(8) {
        0 | 1 => What::Forget(at),
        2 => What::Contains(at),
        _ => What::Observe(at),
    }
}

fn mostly_claim(random: &mut Random) -> What {
    let at = random.below(30);
    match random.below(12) {
        0..4 => What::Claim(at, 1 + random.below(10)),
        4..7 => What::Commit,
        7..9 => What::Abort,
        9 => What::Forget(at),
        _ => What::Observe(at),
    }
}

/// Of 20 ids, none of whose calls is late.
fn histories_of(what: fn(&mut Random) -> What) -> Histories {
    Histories {
        window: 10,
        lateness: 40,
        refresh: Refresh::Never,
        ids: 20,
        what,
        resets: false,
        apart: false,
    }
}

/// Claims by several: who has a ticket, whose it was before, and when it ran out.
#[test]
fn histories_of_claims() {
    let histories = histories_of(mostly_claim);
    histories.check(2000);
    Histories { refresh: Refresh::OnDuplicate, ..histories }.check(1000);
}

/// No call is later than the lateness: each is judged by its own time.
#[test]
fn histories() {
    let histories = histories_of(mostly_observe);
    histories.check(2000);
    Histories { refresh: Refresh::OnDuplicate, ..histories }.check(2000);
}

/// The same with a reset in every round.
#[test]
fn histories_with_resets() {
    Histories { resets: true, ..histories_of(mostly_observe) }.check(1500);
}

/// Calls that are later than the lateness, at clocks that differ by windows. One id: time is common to all.
#[test]
fn histories_of_late_calls() {
    Histories { lateness: 0, ids: 1, apart: true, ..histories_of(mostly_observe) }.check(30_000);
}
