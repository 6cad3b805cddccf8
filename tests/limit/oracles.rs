//! What other limiters' own tests and documents say, with the times of a fake clock: CELL (redis-cell), GOV (governor), GO
//! (golang.org/x/time/rate), RR (`redis_rate`), GUB (gubernator), RGCRA (the GCRA command of Redis), UBER (uber-go/ratelimit), NGX (nginx `limit_req`).
//!
//! Where windlass differs on purpose it is said. Throughout: the burst is the capacity (CELL, RGCRA, NGX: one less), a cost above it is
//! `Never`. Reservations, refunds and changes of quota are not there.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use std::{iter, time::Duration};
use windlass::{Admission, Algorithm, KeyedLimiter, Limiter, Quota, Seed, Tick};

/// That decide the same.
const BUCKETS: [Algorithm; 2] = [Algorithm::Gcra, Algorithm::TokenBucket];

fn ms(millis: u64) -> Tick {
    Tick::from_millis(millis).expect("in range")
}

fn per(millis: u64, permits: u64, burst: u64) -> Quota {
    Quota::new(permits, Duration::from_millis(millis)).burst(burst)
}

/// One limiter, and one client of many, that have to say the same.
struct Both {
    one: Limiter,
    many: KeyedLimiter,
}

impl Both {
    fn new(algorithm: Algorithm, quota: Quota) -> Both {
        let many = KeyedLimiter::builder(quota).algorithm(algorithm).clients(100).seed(Seed(7));
        // So that time may go back, as far as it does here.
        let many = many.lateness(Duration::from_secs(1));
        let one = Limiter::builder(quota).algorithm(algorithm).build().expect("valid");
        // Time begins.
        assert!(one.check_at(0, Tick(0)).is_allowed());
        let both = Both { one, many: many.build().expect("valid") };
        assert!(both.many.check_at("another", 0, Tick(0)).is_allowed());
        both
    }

    fn check(&self, millis: u64, cost: u64) -> Admission {
        let admission = self.one.check_at(cost, ms(millis));
        assert_eq!(self.many.check_at("client", cost, ms(millis)), admission, "{cost} at {millis}");
        admission
    }

    fn passes(&self, millis: u64, cost: u64) -> bool {
        self.check(millis, cost).is_allowed()
    }

    /// How things stand: what is left, and milliseconds until all is.
    fn left(&self, millis: u64) -> (u64, u64) {
        left(self.check(millis, 0))
    }
}

fn left(admission: Admission) -> (u64, u64) {
    let Admission::Allowed { remaining, reset_after, delay: Duration::ZERO } = admission else {
        panic!("{admission:?}")
    };
    (remaining, u64::try_from(reset_after.as_millis()).expect("in range"))
}

fn denied(retry_after_ms: u64) -> Admission {
    Admission::Denied { retry_after: Duration::from_millis(retry_after_ms) }
}

/// O1: `max_burst` 4 is a capacity of 5.
#[test]
fn cell() {
    for algorithm in BUCKETS {
        let both = Both::new(algorithm, per(1000, 1, 5));
        // Differs: CELL says limited, with a retry of -1.
        assert_eq!(both.check(0, 6), Admission::Never);
        assert_eq!(both.left(0), (5, 0));
        for taken in 1..=5 {
            assert_eq!(left(both.check(0, 1)), (5 - taken, taken * 1000));
        }
        assert_eq!(both.check(0, 1), denied(1000));
        assert_eq!(both.left(0), (0, 5000));
        for (millis, cost, remaining, reset) in [
            (3000, 1, 2, 3000),
            (3100, 1, 1, 3900),
            (4000, 1, 1, 4000),
            (8000, 1, 4, 1000),
            (9500, 1, 4, 1000),
            (9500, 0, 4, 1000),
            (9500, 2, 2, 3000),
        ] {
            assert_eq!(left(both.check(millis, cost)), (remaining, reset), "{cost} at {millis}");
        }
        assert_eq!(both.check(9500, 5), denied(3000));
        assert_eq!(both.left(9500), (2, 3000));
    }
}

/// O2.
#[test]
fn cell_by_wire() {
    for algorithm in BUCKETS {
        // 15 30 60
        assert_eq!(left(Both::new(algorithm, per(60_000, 30, 16)).check(0, 1)), (15, 2000));
        // 0 1 2
        let both = Both::new(algorithm, per(2000, 1, 1));
        assert_eq!(left(both.check(0, 1)), (0, 2000));
        assert_eq!(both.check(0, 1), denied(2000));
        assert_eq!(left(both.check(2000, 1)), (0, 2000));
    }
}

/// O3.
#[test]
fn governor() {
    for algorithm in BUCKETS {
        let rows = |quota, rows: &[(u64, u64, bool)]| {
            let both = Both::new(algorithm, quota);
            for &(millis, cost, passes) in rows {
                assert_eq!(both.passes(millis, cost), passes, "{quota}: {cost} at {millis}");
            }
        };
        let (yes, no) = (true, false);
        rows(
            per(1000, 2, 2),
            &[(0, 1, yes), (1, 1, yes), (2, 1, no), (1002, 1, yes), (1003, 1, yes), (1004, 1, no)],
        );
        let five = |millis| iter::repeat_n((millis, 1, yes), 5).chain([(millis, 1, no)]);
        rows(per(1000, 5, 5), &five(0).chain(five(2000)).collect::<Vec<_>>());
        rows(
            per(1000, 4, 4),
            &[(0, 2, yes), (0, 2, yes), (1, 2, no), (1001, 2, yes), (1002, 2, yes), (1003, 2, no)],
        );
        let both = Both::new(algorithm, per(1000, 5, 5));
        for cost in [15, 7, 6] {
            assert_eq!(both.check(0, cost), Admission::Never);
        }
        assert!(both.passes(0, 5));
        let both = Both::new(algorithm, per(1000, 4, 4));
        for remaining in [3, 2, 1, 0] {
            assert_eq!(left(both.check(0, 1)).0, remaining);
        }
        assert_eq!(both.check(0, 1), denied(250));
        let both = Both::new(algorithm, per(90, 1, 2));
        for start in [0, 120_000] {
            assert_eq!(left(both.check(start, 1)).0, 1);
            assert_eq!(left(both.check(start, 1)).0, 0);
            assert!(!both.passes(start, 1));
        }
    }
}

/// O3, the sweep. Differs: GOV keeps a client until a second after it is as good as new, windlass until then.
#[test]
fn governor_sweep() {
    for algorithm in BUCKETS {
        let keyed = KeyedLimiter::builder(per(1000, 1, 1)).algorithm(algorithm).clients(100);
        let keyed = keyed.build().expect("valid");
        for millis in [0, 200, 800] {
            assert!(keyed.check_at(millis, 1, ms(millis)).is_allowed());
        }
        // (Time goes on in steps of half a millisecond.)
        for (millis, clients) in [(800, 3), (999, 3), (1001, 2), (1199, 2), (1201, 1), (1799, 1), (1801, 0)] {
            keyed.maintain_at(ms(millis), 1);
            assert_eq!(keyed.stats().clients, clients, "{millis}");
        }
    }
}

/// O4: 10/s, burst 3; steps of 100 ms.
#[test]
fn go() {
    for algorithm in BUCKETS {
        let both = Both::new(algorithm, per(1000, 10, 3));
        for (step, before, cost, passes) in [
            (0, 3, 2, true),
            (0, 1, 2, false),
            (0, 1, 1, true),
            (0, 0, 1, false),
            (1, 1, 4, false),
            (2, 2, 1, true),
            (3, 2, 1, true),
            (4, 2, 1, true),
            (4, 1, 1, true),
            (4, 0, 1, false),
            (9, 3, 3, true),
            (9, 0, 0, true),
        ] {
            assert_eq!(both.left(100 * step).0, before, "before {cost} at {step}");
            assert_eq!(both.passes(100 * step, cost), passes, "{cost} at {step}");
            if cost > 3 {
                assert_eq!(both.check(100 * step, cost), Admission::Never);
            }
        }
    }
}

/// O4, a clock that goes back. Differs: Go moves its own time back and so mints a token; a clock that goes back never does here.
#[test]
fn go_backwards() {
    for algorithm in BUCKETS {
        let both = Both::new(algorithm, per(1000, 10, 3));
        let passed = [1, 0, 0, 0, 0, 1, 1, 1, 2].map(|step| both.passes(100 * step, 1));
        let go = [true, true, true, false, false, true, false, false, true];
        let ours = [true, true, false, false, false, true, false, false, true];
        assert_eq!(passed, ours);
        assert_eq!(
            go.iter().filter(|&&passed| passed).count(),
            1 + ours.iter().filter(|&&passed| passed).count()
        );
    }
}

/// O4: 100/s offered 500/s for 5 s; and a rate next to nothing.
#[test]
fn go_long_run() {
    for algorithm in BUCKETS {
        let both = Both::new(algorithm, per(1000, 100, 100));
        let granted = (0..2500).filter(|call| both.passes(call * 2, 1)).count();
        // As many as there are before the last call, at 4.998 s: 100 + 499.
        assert_eq!(granted, 599);
        // Differs: 1e-10/s is refused; the least is one in 366 days.
        let least = Quota::new(1, Duration::from_secs(366 * 86_400));
        assert!(Limiter::builder(Quota::new(1, Duration::from_secs(10_000_000_000))).build().is_err());
        let one = Both::new(algorithm, least);
        assert_eq!((0..1000).filter(|day| one.passes(day * 86_400, 1)).count(), 1);
    }
}

/// O5: 10/s.
#[test]
fn redis_rate() {
    for algorithm in BUCKETS {
        let both = Both::new(algorithm, per(1000, 10, 10));
        assert_eq!(left(both.check(0, 1)), (9, 100));
        assert_eq!(left(both.check(0, 2)), (7, 300));
        assert_eq!(left(both.check(0, 7)), (0, 1000));
        let both = Both::new(algorithm, per(1000, 10, 10));
        assert_eq!(left(both.check(0, 1)), (9, 100));
        assert_eq!(left(both.check(0, 2)), (7, 300));
        assert_eq!(both.left(0).0, 7);
        // No "at most": who asks for all that is left has looked first.
        assert_eq!(both.check(0, 10), denied(300));
        assert_eq!(left(both.check(0, 7)), (0, 1000));
        assert_eq!(both.check(0, 1), denied(100));
        // Differs: there it is a retry after 99 s.
        assert_eq!(both.check(0, 1000), Admission::Never);
    }
}

/// O6, windows.
#[test]
fn gubernator_window() {
    for algorithm in [Algorithm::FixedWindow, Algorithm::SlidingCounter, Algorithm::SlidingLog] {
        let both = Both::new(algorithm, Quota::new(2000, Duration::from_secs(60)));
        for (cost, passes, remaining) in [
            (1000, true, 1000),
            (1500, false, 1000),
            (500, true, 500),
            (400, true, 100),
            (100, true, 0),
            (1, false, 0),
        ] {
            assert_eq!(both.passes(0, cost), passes, "{algorithm:?}: {cost}");
            assert_eq!(both.left(0).0, remaining, "{algorithm:?}: after {cost}");
        }
    }
}

/// O6, the leaky bucket: 10 in 30 s. Differs: reset is exact; GUB's is 3 s for each whole hit that has not leaked.
#[test]
fn gubernator_leaky() {
    const OVER: u64 = u64::MAX;
    let rows = |burst, rows: &[(u64, u64, u64)]| {
        for algorithm in BUCKETS {
            let both = Both::new(algorithm, per(30_000, 10, burst));
            for &(millis, cost, remaining) in rows {
                let admission = both.check(millis, cost);
                match remaining {
                    OVER => assert!(!admission.is_allowed(), "{cost} at {millis}"),
                    _ => assert_eq!(left(admission).0, remaining, "{cost} at {millis}"),
                }
            }
        }
    };
    rows(
        10,
        &[
            (0, 1, 9),
            (1000, 1, 8),
            (2000, 1, 7),
            (3500, 0, 8),
            (6500, 0, 9),
            (6500, 9, 0),
            (6500, 1, OVER),
            (9500, 0, 1),
            (69_500, 0, 10),
            (129_500, 10, 0),
            (158_500, 9, 0),
            (161_500, 1, 0),
        ],
    );
    rows(
        20,
        &[
            (0, 1, 19),
            (1000, 1, 18),
            (2000, 1, 17),
            (3500, 0, 18),
            (6500, 0, 19),
            (6500, 19, 0),
            (6500, 1, OVER),
            (9500, 0, 1),
            (69_500, 0, 20),
        ],
    );
    for algorithm in BUCKETS {
        let both = Both::new(algorithm, per(30_000, 10, 10));
        assert_eq!(left(both.check(0, 1)), (9, 3000));
        assert_eq!(left(both.check(1000, 1)), (8, 5000), "6000 there");
    }
}

/// O7: a burst of 5 is a capacity of 6.
#[test]
fn redis_gcra() {
    for algorithm in BUCKETS {
        let minute = || Both::new(algorithm, per(60_000, 1, 6));
        let both = minute();
        assert_eq!(
            (0..7).map(|_| both.passes(0, 1)).collect::<Vec<_>>(),
            [true, true, true, true, true, true, false]
        );
        assert_eq!(left(minute().check(0, 3)), (3, 180_000));
        let both = Both::new(algorithm, per(60_000, 1, 1));
        assert!(both.passes(0, 1) && !both.passes(0, 1));
        // 10,000/s: the client must still be there.
        let both = Both::new(algorithm, per(1000, 10_000, 2));
        assert!(both.passes(0, 1));
        assert_eq!(both.many.stats().clients, 1);
        let both = minute();
        assert!(both.passes(0, 1) && both.passes(0, 1) && both.passes(0, 1));
        assert_eq!(both.left(0), (3, 180_000));
        // Overflows there, errors here too.
        let day = 86_400_000;
        assert_eq!(Both::new(algorithm, per(day, 1, 1)).check(0, 200_000_000), Admission::Never);
        for quota in
            [per(day, 1, 200_000_001), Quota::new(1, Duration::from_secs(2_147_483_647)).burst(2_147_483_647)]
        {
            assert!(Limiter::builder(quota).algorithm(algorithm).build().is_err(), "{quota}");
        }
    }
}

/// When each of `callers` goes on, before `end`: they wait as they are told and come again.
fn goes_on(quota: Quota, callers: usize, end: u64) -> Vec<u64> {
    let queue = Limiter::builder(quota).algorithm(Algorithm::LeakyQueue).build().expect("valid");
    let (mut waiting, mut all) = (vec![0; callers], Vec::new());
    loop {
        let next = waiting.iter_mut().min().expect("a caller");
        if *next >= end {
            return all;
        }
        match queue.check_at(1, Tick(*next)) {
            Admission::Allowed { delay, .. } => {
                *next += u64::try_from(delay.as_nanos()).expect("in range");
                all.push(*next);
            }
            Admission::Denied { retry_after } => {
                *next += u64::try_from(retry_after.as_nanos()).expect("in range");
            }
            Admission::Never => panic!("one is not too many"),
        }
    }
}

/// O8. (A queue has no slack: who comes late gets nothing for it.)
#[test]
fn uber() {
    const SECOND: u64 = 1_000_000_000;
    let by = |all: &[u64], end: u64| all.iter().filter(|&&at| at < end).count();
    let all = goes_on(per(1000, 100, 100), 4, 4 * SECOND);
    for seconds in 1..=3 {
        assert_eq!(by(&all, seconds * SECOND), usize::try_from(100 * seconds).expect("few"));
    }
    let all = goes_on(per(60_000, 7, 7), 1, 200 * SECOND);
    for (seconds, done) in [(1, 1), (60, 8), (120, 15)] {
        assert_eq!(by(&all, seconds * SECOND + 1), done, "{seconds} s");
    }
    let queue = Limiter::builder(per(1000, 1, 10)).algorithm(Algorithm::LeakyQueue).build().expect("valid");
    let delay = |at| match queue.check_at(1, Tick(at)) {
        Admission::Allowed { delay, .. } => delay.as_secs(),
        other => panic!("{other:?}"),
    };
    assert_eq!(delay(1), 0);
    // At 2, 3, 4, 5 s: three are done by 3 s, five by 10.
    assert_eq!([(); 4].map(|()| delay(2 * SECOND)), [0, 1, 2, 3]);
}

/// O9: 1 r/s, burst 5, nodelay. A burst of 5 is a capacity of 6.
#[test]
fn nginx() {
    for algorithm in BUCKETS {
        let both = Both::new(algorithm, per(1000, 1, 6));
        assert_eq!(
            (0..7).map(|_| both.passes(0, 1)).collect::<Vec<_>>(),
            [true, true, true, true, true, true, false]
        );
    }
}

/// O10: 42 in the last window, 18 in this one, 15 s of 60 over: the estimate is 49.5 of 50. Differs: there the next one passes, as 49.5 is below
/// 50; here it does not, as it would make 50.5.
#[test]
fn cloudflare() {
    let both = Both::new(Algorithm::SlidingCounter, Quota::new(50, Duration::from_secs(60)));
    assert!(both.passes(30_000, 42));
    assert!(both.passes(75_000, 18));
    assert_eq!(both.left(75_000).0, 0);
    // When the last one counts 31: after 60 * (1 - 31/42) s.
    let nanos = (60_000_000_000 - 60_000_000_000_u64 * 31 / 42) - 15_000_000_000;
    assert_eq!(both.check(75_000, 1), Admission::Denied { retry_after: Duration::from_nanos(nanos) });
}

/// O10: 5 in second 0, 4 in second 1. What is left is rounded down.
#[test]
fn pingora() {
    let both = Both::new(Algorithm::SlidingCounter, Quota::new(10, Duration::from_secs(1)));
    assert!(both.passes(500, 5) && both.passes(1500, 4));
    for (millis, estimate) in [(1750, 5.25_f64), (2000, 4.0), (2500, 2.0), (3000, 0.0)] {
        let (remaining, _) = both.left(millis);
        assert!(
            (10.0 - estimate).floor().total_cmp(&f64::from(u32::try_from(remaining).expect("few"))).is_eq()
        );
    }
    assert_eq!(both.left(3000), (10, 0));
}

/// The row of bounds: 100 at the end of a window, and all there is from then on, are 199 in a span of one; and after a full window the
/// next one passes at 0.6 s of 60.
#[test]
fn sliding_counter_at_its_worst() {
    let both = Both::new(Algorithm::SlidingCounter, Quota::new(100, Duration::from_secs(60)));
    assert!(both.passes(59_999, 100));
    assert_eq!(both.check(60_000, 1), denied(600));
    let granted = (60_000..119_999).filter(|&millis| both.passes(millis, 1)).count();
    assert_eq!(100 + granted, 199);
}

/// The bounds of the others: what is got in a minute, both its ends with it.
#[test]
fn others_at_their_worst() {
    // (A log's span has no beginning: what came there is over at its end.)
    for algorithm in [Algorithm::Gcra, Algorithm::TokenBucket, Algorithm::FixedWindow, Algorithm::SlidingLog]
    {
        let both = Both::new(algorithm, Quota::new(10, Duration::from_secs(60)));
        let granted = |millis: u64| (0..11).filter(|_| both.passes(59_999 + millis, 1)).count();
        let (before, last) = ((0..60_000).map(granted).sum::<usize>(), granted(60_000));
        let expected = match algorithm {
            Algorithm::SlidingLog => (10, 10),
            Algorithm::FixedWindow => (20, 0),
            _ => (19, 1),
        };
        assert_eq!((before, last), expected, "{algorithm:?}");
    }
}
