//! How long calls take: a histogram whose buckets are side by side on a log-linear scale.

use super::{Page, Source, page::Points};
use crate::sync::{AtomicU64, Counter, Ordering::Relaxed, shard};
use std::{
    cell::Cell,
    fmt,
    num::NonZero,
    time::{Duration, Instant},
};

/// Buckets in an octave: their widths are a 32nd of what is in them, or less.
const STEPS: u64 = 32;
const STEP_BITS: u32 = STEPS.ilog2();

/// 0 to 31 one by one, and 59 octaves up to the last of all numbers.
const BUCKETS: usize = 60 << STEP_BITS;

/// Threads that record do not meet, up to this many.
const SHARDS: usize = 8;

/// How long calls take, recorded by those who ask for it: lock-free, in 120 KiB, whatever is recorded.
///
/// Durations of up to 64 ns are kept exactly, in ns; longer ones with a relative error of 1/32 (3.1 %) at most: [`Latencies::quantile`] is never
/// less than the true one, and never more than that above it. A record is two additions to cache lines that few threads share.
///
/// ```
/// use std::time::Duration;
/// use windlass::metrics::Latency;
///
/// let latency = Latency::new();
/// for micros in 1..=1000 {
///     latency.record(Duration::from_micros(micros));
/// }
/// let p99 = latency.read().quantile(0.99).expect("1000 were recorded");
/// assert!((990.0..990.0 * 33.0 / 32.0).contains(&(p99.as_secs_f64() * 1e6)));
/// ```
///
/// On a page ([`Registry`](super::Registry)) it is a histogram with a bucket for each octave from 64 ns to 34 s, from which Prometheus tells quantiles of
/// any time, of several instances together; and a summary: p50, p99 and p99.9 since it was made.
pub struct Latency {
    /// Relaxed: counts order nothing.
    buckets: Box<[AtomicU64]>,
    /// Nanoseconds. (They go round after 584 years.)
    sum: Counter,
    every: u64,
}

/// What a [`Latency`] has recorded up to some time.
#[derive(Clone, Debug)]
pub struct Latencies {
    counts: Box<[u64]>,
    count: u64,
    nanos: u64,
}

impl Default for Latency {
    fn default() -> Latency {
        Latency::new()
    }
}

impl Latency {
    /// Times every call.
    #[must_use]
    pub fn new() -> Latency {
        Latency::sampled(NonZero::<u32>::MIN)
    }

    /// Times one call in so many, chosen at random, and counts it as so many: the other calls cost a random number each, some ns.
    #[must_use]
    pub fn sampled(every: NonZero<u32>) -> Latency {
        let buckets = (0..SHARDS * BUCKETS).map(|_| AtomicU64::new(0)).collect();
        Latency { buckets, sum: Counter::default(), every: u64::from(every.get()) }
    }

    /// Calls, and records how long that took. (Reading the clock takes some 20 ns, twice.)
    #[inline]
    pub fn time<R>(&self, call: impl FnOnce() -> R) -> R {
        if self.every > 1 && !random().is_multiple_of(self.every) {
            return call();
        }
        let begun = Instant::now();
        let result = call();
        self.put(begun.elapsed(), self.every);
        result
    }

    /// Records one call that took so long.
    #[inline]
    pub fn record(&self, took: Duration) {
        self.put(took, 1);
    }

    fn put(&self, took: Duration, calls: u64) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.buckets[shard() % SHARDS * BUCKETS + bucket(nanos)].fetch_add(calls, Relaxed);
        self.sum.add(nanos.wrapping_mul(calls));
    }

    /// What has been recorded. (While others record: each record is in the counts or not yet; the sum may be ahead or behind.)
    #[must_use]
    pub fn read(&self) -> Latencies {
        let mut counts = vec![0_u64; BUCKETS];
        for shard in self.buckets.chunks_exact(BUCKETS) {
            for (all, own) in counts.iter_mut().zip(shard) {
                *all = all.wrapping_add(own.load(Relaxed));
            }
        }
        let count = counts.iter().fold(0, |sum: u64, n| sum.wrapping_add(*n));
        Latencies { counts: counts.into(), count, nanos: self.sum.sum() }
    }
}

impl Latencies {
    /// How many calls.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How long all of them took together.
    #[must_use]
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(self.nanos)
    }

    /// What this share of the calls (0 to 1) took at most, up to a 32nd too much. `None`: there are none.
    #[must_use]
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // of a share
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let rank = ((share.clamp(0.0, 1.0) * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0_u64;
        let found = self.counts.iter().position(|n| {
            seen = seen.wrapping_add(*n);
            seen >= rank
        });
        found.map(|bucket| Duration::from_nanos(most(bucket)))
    }

    /// How many took 2^`octave` ns at most: exactly.
    fn within(&self, octave: u32) -> u64 {
        let end = ((octave + 1 - STEP_BITS) as usize) << STEP_BITS;
        self.counts[..end].iter().fold(0, |sum, n| sum.wrapping_add(*n))
    }
}

/// The bucket of a duration. Each is (lesser, [`most`]], so that powers of two end one.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // fewer than `BUCKETS`
fn bucket(nanos: u64) -> usize {
    let below = nanos.saturating_sub(1);
    if below < STEPS {
        return below as usize;
    }
    let shift = below.ilog2() - STEP_BITS;
    (u64::from(shift) * STEPS + (below >> shift)) as usize
}

/// The longest in a bucket.
fn most(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * STEPS {
        return bucket + 1;
    }
    let (shift, step) = (bucket / STEPS - 1, bucket % STEPS);
    u64::try_from(u128::from(STEPS + step + 1) << shift).unwrap_or(u64::MAX)
}

/// A thread's own random numbers (SplitMix64).
#[inline(always)]
fn random() -> u64 {
    thread_local! {
        static STATE: Cell<u64> = const { Cell::new(0) };
    }
    STATE.with(|state| {
        let x = state.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        state.set(x);
        crate::hash::mix(x)
    })
}

/// From 64 ns to 34 s.
const OCTAVES: std::ops::RangeInclusive<u32> = 6..=35;

impl Source for Latency {
    #[allow(clippy::cast_precision_loss)] // a power of two
    fn measure(&self, page: &mut Page) {
        let read = self.read();
        let (count, sum) = (read.count(), read.sum().as_secs_f64());
        let buckets = OCTAVES.map(|octave| ((1_u64 << octave) as f64 / 1e9, read.within(octave))).collect();
        page.spread("windlass_latency_seconds", "How long calls took.", count, sum, Points::Buckets(buckets));
        let quantile = |share| (share, read.quantile(share).map_or(f64::NAN, |most| most.as_secs_f64()));
        page.spread(
            "windlass_latency_quantile_seconds",
            "How long calls took, since the first of them: up to 3.1 % too much.",
            count,
            sum,
            Points::Quantiles([0.5, 0.99, 0.999].map(quantile).into()),
        );
    }
}

impl fmt::Debug for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let read = self.read();
        f.debug_struct("Latency")
            .field("every", &self.every)
            .field("count", &read.count())
            .field("p50", &read.quantile(0.5))
            .field("p99", &read.quantile(0.99))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buckets are one after the other, without a gap, and as narrow as is said.
    #[test]
    fn buckets() {
        assert_eq!([0, 1, 2, 32, 33, 64, 65].map(bucket), [0, 0, 1, 31, 32, 63, 64]);
        let mut before = 0;
        for i in 0..BUCKETS {
            let most = most(i);
            assert_eq!((bucket(before + 1), bucket(most)), (i, i));
            let width = most - before;
            assert!(width == 1 || width <= before / STEPS, "{i}: {before} to {most}");
            before = most;
        }
        assert_eq!(before, u64::MAX);
    }

    #[test]
    fn octaves() {
        let latency = Latency::new();
        for nanos in [0, 63, 64, 65, 128, 1 << 35, (1 << 35) + 1, u64::MAX] {
            latency.record(Duration::from_nanos(nanos));
        }
        let read = latency.read();
        assert_eq!([6, 7, 34, 35].map(|octave| read.within(octave)), [3, 5, 5, 6]);
        assert_eq!(read.count(), 8);
    }
}
