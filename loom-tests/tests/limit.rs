//! Rate limiters: totals under several threads, clients that expire while they are used. Protocol: `src/limit/{word,ring,logs,logs/kept}.rs`; the
//! table's own is that of the other models.
#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use crate::common::{EMPTY, bounded, bounded_by_two};
use loom::{sync::Arc, thread};
use std::time::Duration;
use windlass::{
    Algorithm, Limiter, Quota, Tick,
    model::{Clientele, Limiters, Newest, OneLimiter, Table, Twin, with},
};

/// The time of the tests, well after that of empty states.
const NOW: u64 = 1_000_000;
/// N permits in this, in microseconds.
const SECOND: u64 = 1_000_000;

/// Three threads ask at one time for one, two and one of three permits: they get what three callers in some order would.
fn one_total(algorithm: Algorithm) {
    bounded(20, move || {
        let limiter = Arc::new(OneLimiter::new(algorithm, 3, SECOND));
        let (a, b) = (limiter.clone(), limiter.clone());
        let a = thread::spawn(move || a.take(2, NOW));
        let b = thread::spawn(move || u64::from(b.take(1, NOW)));
        let ours = u64::from(limiter.take(1, NOW));
        let (a, b) = (2 * u64::from(a.join().unwrap()), b.join().unwrap());
        // Two, then one of the others; or these, and not the two.
        assert!(a + b + ours == 3 || (a, b + ours) == (0, 2), "granted {a} + {b} + {ours}");
        let left = 3 - (a + b + ours);
        let more = (0..3).filter(|_| limiter.take(1, NOW)).count() as u64;
        assert_eq!(more, left, "granted more than there was");
    });
}

#[test]
fn one_total_of_gcra() {
    one_total(Algorithm::Gcra);
}

#[test]
fn one_total_of_fixed_window() {
    one_total(Algorithm::FixedWindow);
}

#[test]
fn one_total_of_sliding_counter() {
    one_total(Algorithm::SlidingCounter);
}

#[test]
fn one_total_of_sliding_log() {
    one_total(Algorithm::SlidingLog);
}

#[test]
#[should_panic(expected = "granted")]
fn twin_stores_blindly() {
    with(Twin::StoreBlindly, || one_total(Algorithm::Gcra));
}

#[test]
#[should_panic(expected = "granted")]
fn twin_stores_a_stamp_blindly() {
    with(Twin::StoreBlindly, || one_total(Algorithm::SlidingLog));
}

/// Who forgets while others take: what is granted afterwards is what is left of a full bucket, by some order.
#[test]
fn forgetting() {
    for algorithm in [Algorithm::Gcra, Algorithm::FixedWindow, Algorithm::SlidingLog] {
        bounded(5, move || {
            let limiter = Arc::new(OneLimiter::new(algorithm, 2, SECOND));
            assert!(limiter.take(1, NOW));
            let (a, b) = (limiter.clone(), limiter.clone());
            let a = thread::spawn(move || a.forget(NOW));
            let b = thread::spawn(move || b.take(1, NOW));
            let (a, b) = (a.join().unwrap(), b.join().unwrap());
            assert!(a && b);
            let more = (0..3).filter(|_| limiter.take(1, NOW)).count();
            assert!(more == 1 || more == 2, "{more}");
        });
    }
}

/// One call takes two permits of a log and stalls; the others go on over a lap. (That the stalled one then fills in nothing loom does
/// not reach, see `bounded`: a test in `src/limit/ring.rs` does.)
fn a_stalled_call() {
    bounded(20, || {
        let limiter = Arc::new(OneLimiter::new(Algorithm::SlidingLog, 2, 10));
        let others = limiter.clone();
        let others = thread::spawn(move || [20, 25].map(|after| others.take(1, NOW + after)));
        let ours = limiter.take(2, NOW);
        let others = others.join().unwrap();
        // The stalled one may have come first, last, or too late for both.
        assert!(others == [true; 2] || ours, "{ours} {others:?}");
        if others == [true; 2] {
            // That of 25 is in the window until 35.
            let at_31 = (0..2).filter(|_| limiter.take(1, NOW + 31)).count();
            assert_eq!(at_31, 1, "beyond the limit");
        }
    });
}

#[test]
fn a_stalled_call_of_a_log() {
    a_stalled_call();
}

/// A snapshot of a log while another call is admitted, and one that takes the place of the first permit: that is in it, whole.
fn a_copy_of_a_log() {
    bounded(10, || {
        let limiter = Arc::new(OneLimiter::new(Algorithm::SlidingLog, 2, 10));
        assert!(limiter.take(1, NOW));
        let copied = limiter.clone();
        let copied = thread::spawn(move || {
            let copy = copied.copy();
            (0..2).filter(|_| copy.take(1, NOW + 9)).count()
        });
        assert_eq!([5, 12].map(|after| limiter.take(1, NOW + after)), [true; 2]);
        assert!(copied.join().unwrap() <= 1, "a permit is missing");
    });
}

#[test]
fn snapshot_of_a_log() {
    a_copy_of_a_log();
}

#[test]
#[should_panic(expected = "a permit is missing")]
fn twin_the_head_afterwards() {
    with(Twin::HeadAfterwards, a_copy_of_a_log);
}

/// A client's state runs out while three callers whose clocks differ use it; another client's takes its cell.
fn expiry(limiters: fn() -> Limiters) {
    bounded(50, move || {
        let limiters = Arc::new(limiters());
        let table = Arc::new(Table::<1, 2>::new([[EMPTY; 2]], 0));
        assert_eq!(limiters.take(&table, 1, NOW), Ok(true));
        let other = |client, at| {
            let (limiters, table) = (limiters.clone(), table.clone());
            thread::spawn(move || limiters.take(&table, client, at))
        };
        // One permit in 10: that of 1 counts at 1, or later; those of 12 and 13 exclude each other.
        let (stalled, a) = (other(1, NOW + 1), other(1, NOW + 12));
        let ours = limiters.take(&table, 1, NOW + 13);
        let (stalled, a) = (stalled.join().unwrap(), a.join().unwrap());
        let granted = [stalled, a, ours].into_iter().filter(|granted| *granted == Ok(true)).count();
        assert_eq!(granted, 1, "granted {stalled:?} {a:?} {ours:?}");
        assert_eq!(limiters.take(&table, 1, NOW + 13), Ok(false));
    });
}

#[test]
fn expiry_of_gcra() {
    expiry(|| Limiters::new(Algorithm::Gcra, 1, 10));
}

/// A client's log runs out, but for what one call is about to put into it.
fn expiry_of_a_log() {
    bounded_by_two(20, || {
        // Ages are in units of 4.1 microseconds: the first permit's is over after 14.1.
        let limiters = Arc::new(Limiters::of_logs(1, 10, 3, 12));
        let table = Arc::new(Table::<1, 2>::new([[EMPTY; 2]], 0));
        assert_eq!(limiters.take(&table, 1, NOW), Ok(true));
        let (limiters2, table2) = (limiters.clone(), table.clone());
        let other = thread::spawn(move || limiters2.take(&table2, 1, NOW + 15));
        let ours = limiters.take(&table, 1, NOW + 10);
        let other = other.join().unwrap();
        // They exclude each other.
        assert_eq!(
            [ours, other].into_iter().filter(|granted| *granted == Ok(true)).count(),
            1,
            "granted {ours:?} {other:?}"
        );
        assert_eq!(limiters.take(&table, 1, NOW + 15), Ok(false));
    });
}

#[test]
fn expiry_of_logs() {
    expiry_of_a_log();
}

#[test]
#[should_panic]
fn twin_goes_by_its_own_time() {
    with(Twin::OwnTime, || expiry(|| Limiters::new(Algorithm::Gcra, 1, 10)));
}

#[test]
#[should_panic(expected = "granted")]
fn twin_puts_the_stamp_in_first() {
    with(Twin::StampFirst, expiry_of_a_log);
}

/// Two move time on at once, one of them further, while a third looks on.
fn time_goes_on() {
    bounded(10, || {
        let newest = Arc::new(Newest::new());
        let (a, b) = (newest.clone(), newest.clone());
        let a = thread::spawn(move || a.raise(2));
        let b = thread::spawn(move || (b.get(), b.get()));
        newest.raise(9);
        a.join().unwrap();
        let (first, second) = b.join().unwrap();
        assert!(first <= second && newest.get() == 9, "time went back: {first}, {second}, {}", newest.get());
    });
}

#[test]
fn newest_time_stays() {
    time_goes_on();
}

#[test]
#[should_panic(expected = "time went back")]
fn twin_sets_time_blindly() {
    with(Twin::TimeBlindly, time_goes_on);
}

/// The first call of all, and one that asks when the permit is back: by either order there is one.
fn asking_before_the_first() {
    bounded(5, || {
        let limiter = Arc::new(Limiter::builder(Quota::new(1, Duration::from_micros(10))).build().unwrap());
        let asks = limiter.clone();
        let asks = thread::spawn(move || asks.peek_at(1, Tick(NOW + 10_000)));
        assert!(limiter.check_at(1, Tick(NOW)).is_allowed());
        assert!(asks.join().unwrap().is_allowed(), "by no time");
    });
}

#[test]
fn asks_before_the_first() {
    asking_before_the_first();
}

#[test]
#[should_panic(expected = "by no time")]
fn twin_asks_by_no_time() {
    with(Twin::AsksBeforeTime, asking_before_the_first);
}

/// A client's log runs out while a snapshot is read, and another client gets its ring: that one's permits are not charged to the first.
fn a_ring_changes_hands() {
    bounded(50, || {
        // Two in 10, one ring; ages are in units of 4.1 microseconds.
        let clients = Arc::new(Clientele::new(2, 10, 1, 12));
        assert_eq!(clients.take(1, NOW), Ok(true));
        let copied = clients.clone();
        let copied = thread::spawn(move || copied.copy());
        clients.come_to(NOW + 40);
        assert_eq!([1, 2].map(|_| clients.take(2, NOW + 40)), [Ok(true); 2]);
        let copy = copied.join().unwrap();
        assert_ne!(copy.take(1, NOW + 9), Ok(false), "charged to another client");
        // What there was before a snapshot is in it.
        assert_eq!(clients.copy().take(2, NOW + 41), Ok(false), "a permit is missing");
    });
}

#[test]
fn snapshot_of_rings() {
    a_ring_changes_hands();
}

#[test]
#[should_panic(expected = "charged to another client")]
fn twin_the_horizon_before_the_rings() {
    with(Twin::HorizonBeforeRings, a_ring_changes_hands);
}
