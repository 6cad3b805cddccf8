//! Latencies against a sorted list of all that was recorded.

use crate::common::Together;
use proptest::prelude::*;
use std::{num::NonZero, time::Duration};
use windlass::metrics::Latency;

fn nanos(n: u64) -> Duration {
    Duration::from_nanos(n)
}

proptest! {
    /// A quantile is never too small, and too large by a 32nd at most; up to 64 ns it is exact.
    #[test]
    fn quantiles(
        exponents in prop::collection::vec(0.0..43.0_f64, 1..200),
        share in prop_oneof![Just(0.0), Just(0.5), Just(0.99), Just(0.999), Just(1.0), 0.0..1.0_f64],
    ) {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let mut all: Vec<u64> = exponents.iter().map(|e| e.exp2() as u64).collect();
        let latency = Latency::new();
        all.iter().for_each(|&n| latency.record(nanos(n)));
        all.sort_unstable();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let rank = ((share * all.len() as f64).ceil() as usize).clamp(1, all.len());
        let exact = all[rank - 1];
        let read = latency.read();
        prop_assert_eq!((read.count(), read.sum()), (all.len() as u64, nanos(all.iter().sum())));
        let told = u64::try_from(read.quantile(share).expect("some").as_nanos()).expect("small");
        prop_assert!((exact..=exact + exact / 32 + 1).contains(&told), "{} for {}", told, exact);
        prop_assert!(exact > 64 || told == exact.max(1), "{} for {}", told, exact);
    }
}

#[test]
fn none() {
    let read = Latency::new().read();
    assert_eq!((read.count(), read.quantile(0.5)), (0, None));
}

#[test]
fn every_thread_counts() {
    const CALLS: u64 = 20_000;
    let (latency, together) = (Latency::new(), Together::new(4));
    std::thread::scope(|scope| {
        for thread in 1..=4 {
            let (latency, together) = (&latency, &together);
            scope.spawn(move || {
                together.wait();
                (0..CALLS).for_each(|_| latency.record(nanos(10 * thread)));
            });
        }
    });
    let read = latency.read();
    assert_eq!((read.count(), read.sum()), (4 * CALLS, nanos(CALLS * 100)));
    assert_eq!([0.25, 0.26, 0.75, 1.0].map(|q| read.quantile(q)), [10, 20, 30, 40].map(|n| Some(nanos(n))));
}

/// What is timed is called once, and its answer given back. Of a sample each counts for those that were left out.
#[test]
fn timing() {
    let latency = Latency::new();
    let mut called = 0;
    assert_eq!(
        latency.time(|| {
            called += 1;
            called
        }),
        1
    );
    assert_eq!((called, latency.read().count()), (1, 1));

    let sampled = Latency::sampled(NonZero::new(16).expect("not 0"));
    let other = Latency::sampled(NonZero::new(2).expect("not 0"));
    for _ in 0..16_000 {
        // In turn: what one takes must not depend on what the other does.
        sampled.time(|| called += 1);
        other.time(|| called += 1);
    }
    assert_eq!(called, 32_001);
    let [count, others] = [sampled.read().count(), other.read().count()];
    assert!(count.is_multiple_of(16) && others.is_multiple_of(2));
    // Seven standard deviations.
    assert!((12_600..19_400).contains(&count) && (15_100..16_900).contains(&others), "{count} {others}");
}
