//! A keyed limiter refuses wild times, from the second call on.

#![allow(clippy::expect_used)] // clippy knows tests only by their attribute

use std::time::Duration;
use windlass::{Admission, Algorithm, KeyedLimiter, Quota, Tick};

#[test]
fn the_second_call_already() {
    for algorithm in [
        Algorithm::Gcra,
        Algorithm::TokenBucket,
        Algorithm::LeakyQueue,
        Algorithm::FixedWindow,
        Algorithm::SlidingCounter,
    ] {
        let minute = Duration::from_secs(60);
        let limiter = KeyedLimiter::builder(Quota::new(2, minute)).algorithm(algorithm).max_jump(minute * 60);
        let limiter = limiter.clients(1000).build().expect("valid");
        let first = Tick(1000);
        assert!(limiter.check_at(1_u64, 2, first).is_allowed());
        let wild = Tick(4_000_000_000_000);
        let denied = Admission::Denied { retry_after: minute / 2 };
        assert_eq!(limiter.check_at(1_u64, 1, wild), denied, "{algorithm:?}");
        limiter.maintain_at(wild, 1);
        assert_eq!((limiter.stats().jumps, limiter.stats().late), (1, 0), "{algorithm:?}");
        assert!(!limiter.check_at(1_u64, 1, first).is_allowed(), "{algorithm:?}");
    }
}
