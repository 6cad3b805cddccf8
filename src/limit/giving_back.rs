//! Tests: what is given back is as if it had not been taken, and never more.
#![allow(clippy::expect_used)] // clippy knows tests only by their attribute

use super::{admission::Answer, algorithm::Algorithm, algorithm::Rule, meter::Charge, meter::Meter};
use crate::{limit::quota::Quota, table::Decision};
use proptest::prelude::*;
use std::time::Duration;

const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 86_400 * SECOND;
/// Well after that of empty states.
const START: u64 = 1000 * SECOND;

fn decided<R>(decision: Decision<R>, state: &mut Option<u64>) -> R {
    match decision {
        Decision::Keep(answer) => answer,
        Decision::Publish(next, answer) => {
            assert!(state.is_none_or(|before| next > before), "a state has to rise: {state:?}, {next}");
            *state = Some(next);
            answer
        }
    }
}

/// What can be taken at a time.
fn room(meter: &impl Meter, state: Option<u64>, at: u64) -> u64 {
    let mut state = state;
    let taken = decided(Meter::peek(meter, at, 0)(state, 0), &mut state);
    match meter.answer(taken, at, 0) {
        Answer::Allowed { remaining, .. } => remaining,
        Answer::Denied { .. } => unreachable!("of cost 0"),
    }
}

/// `None`: refused.
fn take(meter: &impl Meter, state: &mut Option<u64>, at: u64, cost: u64) -> Option<Charge> {
    let taken = decided(meter.take(at, cost)(*state, 0), state);
    let allowed = matches!(meter.answer(taken, at, cost), Answer::Allowed { .. });
    allowed.then(|| meter.charge(taken, cost))
}

/// One that was charged, and how much of it others gave back up to then.
struct Open {
    charge: Charge,
    /// Which of those that were kept.
    index: usize,
    others: u64,
}

#[derive(Clone, Debug)]
enum Step {
    Take(u64),
    /// Which one of those that are open, and how many permits stay taken.
    Back(usize, u64),
    Wait(u64),
}

/// Calls and what comes back of them, against the same calls that had taken less from the beginning.
fn as_if_never(meter: &impl Meter, steps: &[Step], at_once: bool, exact: bool) {
    let (mut at, mut state, mut given) = (START, None, 0);
    let mut kept: Vec<(u64, u64)> = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    for step in steps {
        match *step {
            Step::Take(cost) => {
                let cost = 1 + cost % meter.burst();
                if let Some(charge) = take(meter, &mut state, at, cost) {
                    open.push(Open { charge, index: kept.len(), others: given });
                    kept.push((at, cost));
                }
            }
            Step::Back(which, stays) if !open.is_empty() => {
                let Open { charge, index, others } = open.swap_remove(which % open.len());
                let cost = kept[index].1;
                let permits = cost - stays % (cost + 1);
                let since = given - others;
                let done = decided(meter.give_back(charge, permits, || at, || since)(state, 0), &mut state);
                assert!(done, "room for what is given back");
                given += meter.given(permits);
                kept[index].1 -= permits;
            }
            Step::Back(..) => {}
            Step::Wait(nanos) => {
                at += nanos;
                if at_once {
                    open.clear();
                }
            }
        }
        let mut without = None;
        for &(at, cost) in &kept {
            if cost > 0 {
                assert!(take(meter, &mut without, at, cost).is_some(), "more than the limit was taken");
            }
        }
        for after in [0, SECOND / 7, SECOND, 3 * SECOND, 11 * SECOND] {
            let (real, ideal) = (room(meter, state, at + after), room(meter, without, at + after));
            assert!(real <= ideal, "given back too much: {real} of {ideal} at +{after}");
            assert!(real == ideal || !exact, "given back too little: {real} of {ideal} at +{after}");
        }
    }
}

/// `at_once`: what comes back does so at the time at which it was taken, and whole. What is taken of a window always comes back whole.
fn with_each_rule(permits: u64, per: u64, steps: &[Step], at_once: bool) {
    let quota = Quota::new(permits, Duration::from_nanos(per));
    for algorithm in [Algorithm::Gcra, Algorithm::FixedWindow, Algorithm::SlidingCounter] {
        match algorithm.rule_of_set(quota) {
            Ok(Rule::Tat(meter)) => as_if_never(&meter, steps, at_once, at_once),
            Ok(Rule::Fixed(meter)) => as_if_never(&meter, steps, false, true),
            Ok(Rule::Sliding(meter)) => as_if_never(&meter, steps, false, true),
            Ok(Rule::Log(_)) => unreachable!(),
            Err(error) => assert!(algorithm == Algorithm::SlidingCounter && permits > 65_535, "{error}"),
        }
    }
}

fn step(waits: u64) -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => any::<u64>().prop_map(Step::Take),
        1 => Just(Step::Take(0)),
        3 => (any::<usize>(), prop_oneof![Just(0), any::<u64>()]).prop_map(|(i, n)| Step::Back(i, n)),
        2 => (0..waits).prop_map(Step::Wait),
    ]
}

fn quotas() -> impl Strategy<Value = (u64, u64)> {
    prop_oneof![Just((3, 10 * SECOND)), Just((7, 10 * SECOND)), Just((1000, 10 * SECOND)), Just((2, SECOND))]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whenever it comes back: no more than if it had never been taken.
    #[test]
    fn never_too_much((permits, per) in quotas(), steps in prop::collection::vec(step(3 * SECOND), 1..40)) {
        with_each_rule(permits, per, &steps, false);
    }

    /// What comes back at the time at which it was taken comes back whole.
    #[test]
    fn at_once_all((permits, per) in quotas(), steps in prop::collection::vec(step(3 * SECOND), 1..40)) {
        with_each_rule(permits, per, &steps, true);
    }
}

/// What is charged beyond the limit has to be worked off, and can be given back as well.
#[test]
fn debt() {
    let Ok(Rule::Tat(meter)) = Algorithm::Gcra.rule_of_set(Quota::new(10, Duration::from_secs(10))) else {
        unreachable!()
    };
    let mut state = None;
    assert!(take(&meter, &mut state, START, 10).is_some());
    assert_eq!(decided(meter.charge_more(START, 25)(state, 0), &mut state), 25);
    assert_eq!(room(&meter, state, START + 25 * SECOND), 0);
    assert_eq!(room(&meter, state, START + 26 * SECOND), 1);
    // No further than so.
    assert_eq!(decided(meter.charge_more(START, 1000)(state, 0), &mut state), 125);
    assert_eq!(room(&meter, state, START + 150 * SECOND), 0);
    assert_eq!(room(&meter, state, START + 151 * SECOND), 1);
}

/// As often as it is said, without any time going by.
#[test]
fn how_often() {
    for (permits, per, least) in [
        (100, 60 * SECOND, 1000),
        (3, 1_000_000, 100),
        (1_000_000, 60 * SECOND, 100),
        (7, 10 * SECOND, 100),
        (8_000_001, 800 * SECOND, 7),
        (70_001, SECOND, 7),
        (1_000_000, 366 * DAY, 100),
        (1, 10 * DAY, 100),
        (1, 366 * DAY, 3),
    ] {
        let steps: Vec<Step> = (0..least).flat_map(|_| [Step::Take(0), Step::Back(0, 0)]).collect();
        with_each_rule(permits, per, &steps, true);
    }
}
