//! Quotas that change while calls are under way. Protocol: `src/limit/{change,course,single,overrides}.rs`.
#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use crate::common::bounded;
use loom::{sync::Arc, thread};
use windlass::{
    Algorithm, Inherit,
    model::{Changing, Overridden, Own, Twin, with},
};

/// The time of the tests, well after that of empty states.
const NOW: u64 = 1_000_000;

/// By 1 in 10 us all is back after 10, but two cannot be taken at once; by 2 in 40 us half of the one is back then, and there is no room for two. Only
/// by the pace of the first and the burst of the second two would be there.
fn one_quota_or_the_other() {
    bounded(3, || {
        let limiter = Arc::new(Changing::new(Algorithm::Gcra, 1, 10));
        limiter.set(1, 10, Inherit::AsIs, NOW);
        assert!(limiter.take(1, NOW));
        let other = limiter.clone();
        let other = thread::spawn(move || other.take(2, NOW + 10));
        limiter.set(2, 40, Inherit::AsIs, NOW);
        assert!(!other.join().unwrap(), "by a mixture of both");
        assert!(!limiter.take(2, NOW + 10) && limiter.take(1, NOW + 10));
    });
}

#[test]
fn by_one_quota_or_by_the_other() {
    one_quota_or_the_other();
}

#[test]
#[should_panic(expected = "by a mixture of both")]
fn twin_mixes_quotas() {
    with(Twin::MixQuotas, one_quota_or_the_other);
}

/// Two take what they can while the quota becomes another: together no more than the larger, and what was taken counts in the end.
fn charges(algorithm: Algorithm, from: u64, to: u64) {
    bounded(10, move || {
        let limiter = Arc::new(Changing::new(algorithm, 3, 1_000_000));
        limiter.set(from, 1_000_000, Inherit::AsIs, NOW);
        let takers = [limiter.clone(), limiter.clone()];
        let takers = takers.map(|taker| thread::spawn(move || u64::from(taker.take(1, NOW))));
        limiter.set(to, 1_000_000, Inherit::AsIs, NOW);
        let taken = takers.map(|taker| taker.join().unwrap()).iter().sum::<u64>();
        assert!((from.min(to)..=from.max(to)).contains(&taken), "{taken} taken");
        assert_eq!(limiter.room(NOW), to.saturating_sub(taken), "what was taken counts");
        limiter.set(3, 1_000_000, Inherit::AsIs, NOW);
        assert_eq!(limiter.room(NOW), 3 - taken, "what was taken counts");
    });
}

#[test]
fn what_was_taken_counts() {
    for algorithm in [Algorithm::Gcra, Algorithm::FixedWindow, Algorithm::SlidingLog] {
        charges(algorithm, 1, 2);
        charges(algorithm, 2, 1);
    }
}

#[test]
#[should_panic(expected = "taken")]
fn twin_stores_blindly() {
    with(Twin::StoreBlindly, || charges(Algorithm::Gcra, 1, 2));
}

/// Two set quotas of their own for two clients, and the call of one of these comes between: both are there in the end, and what was taken by one counts.
fn two_of_their_own() {
    bounded(5, || {
        let own = Arc::new(Own::default());
        let other = own.clone();
        let other = thread::spawn(move || (other.set(1, 1, 10), other.take(2, NOW)));
        assert!(own.set(2, 1, 10));
        let (first, before) = other.join().unwrap();
        assert!(first);
        assert_eq!(own.take(1, NOW), Some(true), "a quota was lost");
        assert_eq!(own.take(2, NOW), Some(before != Some(true)), "a quota was lost");
    });
}

#[test]
fn quotas_of_two_clients() {
    two_of_their_own();
}

#[test]
#[should_panic(expected = "a quota was lost")]
fn twin_publishes_what_is_stale() {
    with(Twin::PublishStale, two_of_their_own);
}

/// One client gets a quota of its own by two, and loses it by a third: one has set it, and what is taken is no more than it has.
#[test]
fn one_client_by_two() {
    bounded(10, || {
        let own = Arc::new(Own::default());
        let (a, b) = (own.clone(), own.clone());
        let a = thread::spawn(move || a.set(1, 1, 10));
        let b = thread::spawn(move || b.clear(1));
        let ours = own.set(1, 1, 10);
        let (a, cleared) = (a.join().unwrap(), b.join().unwrap());
        assert!(a || ours);
        assert!(!(a && ours) || cleared, "set twice");
        assert_eq!(own.take(1, NOW).is_some(), !cleared || (a && ours));
    });
}

/// A client gets a quota of its own while its calls go on: some go to the table yet. By each quota it gets no more than that has, and what it had used before
/// counts by both.
fn its_own_meanwhile() {
    bounded(20, || {
        let limiter = Arc::new(Overridden::new(3, 1_000_000));
        assert_eq!(limiter.take(1, NOW), (false, true));
        let other = limiter.clone();
        let other = thread::spawn(move || other.set(1, 2, 1_000_000, NOW));
        let answers = [0; 3].map(|_| limiter.take(1, NOW));
        other.join().unwrap();
        assert!(answers.is_sorted_by_key(|answer| answer.0), "back to the quota of all");
        let admitted = |own| answers.iter().filter(|&&answer| answer == (own, true)).count();
        assert!(admitted(false) <= 2, "beyond the quota of all");
        assert!(admitted(true) <= 1, "beyond its own quota");
        let (is_own, more) = limiter.take(1, NOW);
        assert!(is_own && !(more && admitted(true) == 1), "beyond its own quota");
    });
}

#[test]
fn its_own_quota_while_it_calls() {
    its_own_meanwhile();
}

#[test]
#[should_panic(expected = "beyond its own quota")]
fn twin_charged_later() {
    with(Twin::ChargeLater, its_own_meanwhile);
}
