//! How long does it take to read the hottest keys, while others add?
//!
//! What is timed: the list is fetched, and its counts are summed; a reading of the clock is in it. windlass makes its list anew every 100 ms of
//! the events' time, by the first of the threads that add.

use std::{
    hint::black_box,
    sync::{
        PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Instant,
};

use hdrhistogram::Histogram;
use windlass::Tick;

use super::{
    counter::{Contender, Event, K, Load, STEP},
    counters::{Dash, Exact, HeavyKeeper, MutexTextbook, SINGLE},
    request::Request,
};

const GROUP: &str = "topk_read";

/// What is demanded of the 99th percentile, in ns.
const AT_MOST: u64 = 1000;

/// Reads the list: the sum of its counts.
trait Reads: Contender {
    fn read(&self) -> u64;

    fn upkeep(&self, _now: u64) {}
}

impl Reads for Exact<SINGLE> {
    fn read(&self) -> u64 {
        self.inner().snapshot().rows.iter().map(|row| row.count).sum()
    }

    fn upkeep(&self, now: u64) {
        self.inner().maintain_at(Tick(now), 64);
    }
}

impl Reads for MutexTextbook {
    fn read(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).top().iter().map(|(_, count)| count).sum()
    }
}

impl Reads for HeavyKeeper {
    fn read(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).list().iter().map(|node| node.count).sum()
    }
}

impl Reads for Dash {
    /// A look at all keys.
    fn read(&self) -> u64 {
        let mut counts: Vec<u64> = self.0.iter().map(|entry| *entry.value()).collect();
        let at = K.min(counts.len()) - 1;
        counts.select_nth_unstable_by_key(at, |&count| std::cmp::Reverse(count));
        counts[..=at].iter().sum()
    }
}

pub(crate) fn run(load: &Load, events: &[Event], request: &Request) {
    let all: [(&str, Measure, u64); 4] = [
        (Exact::<SINGLE>::NAME, measure::<Exact<SINGLE>>, 1_000_000),
        (MutexTextbook::NAME, measure::<MutexTextbook>, 100_000),
        (HeavyKeeper::NAME, measure::<HeavyKeeper>, 20_000),
        (Dash::NAME, measure::<Dash>, 50),
    ];
    let wanted: Vec<_> = all.iter().filter(|(name, ..)| request.wants(GROUP, name)).collect();
    if wanted.is_empty() {
        return;
    }
    println!(
        "\n{GROUP}: the {K} hottest of {} keys, ns a read; a reading of the clock is in each\n",
        load.keys
    );
    println!(
        "| | threads that add | reads | p50 | p99 (windlass: at most {AT_MOST}) | p99.9 | longest, us | M adds/s |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    for (name, measure, reads) in wanted {
        for threads in [1, 2] {
            let (found, speed) =
                measure(load, events, threads, if request.quick { reads / 50 + 1 } else { *reads });
            let at = |quantile| found.value_at_quantile(quantile);
            println!(
                "| {name} | {threads} | {} | {} | {} | {} | {} | {speed:.1} |",
                found.len(),
                at(0.5),
                at(0.99),
                at(0.999),
                found.max() / 1000,
            );
        }
    }
}

type Measure = fn(&Load, &[Event], u64, u64) -> (Histogram<u64>, f64);

/// Reads so often, while so many threads add.
#[allow(clippy::cast_precision_loss)]
fn measure<C: Reads>(load: &Load, events: &[Event], threads: u64, reads: u64) -> (Histogram<u64>, f64) {
    let contender = C::new(load);
    contender.take(events, 0, &mut C::Scratch::default());
    contender.top(load.window() - 1);
    let (done, added, next) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(load.operations()));
    let mut found = Histogram::new_with_bounds(1, 100_000_000_000, 3).expect("valid");
    let begun = Instant::now();
    thread::scope(|scope| {
        for thread in 0..threads {
            let (contender, done, added, next) = (&contender, &done, &added, &next);
            scope.spawn(move || {
                let mut scratch = C::Scratch::default();
                while !done.load(Relaxed) {
                    // The next 512 events, whoever takes them.
                    let at = next.fetch_add(512, Relaxed);
                    let first = usize::try_from(at % (load.operations() - 512)).expect("in memory");
                    let part: &[Event] = &events[first..first + 512];
                    // From `start` on: so that the first of them comes at its time.
                    let counted = contender.take(part, (at * STEP).wrapping_sub(part[0].1), &mut scratch);
                    added.fetch_add(counted, Relaxed);
                    if thread == 0 {
                        contender.upkeep(at * STEP);
                    }
                }
            });
        }
        while added.load(Relaxed) == 0 {
            thread::yield_now();
        }
        let mut before = 0;
        for _ in 0..reads {
            let begun = Instant::now();
            let sum = black_box(contender.read());
            found.saturating_record(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
            assert!(sum > 0, "{}: an empty list", C::NAME);
            before = sum.max(before);
        }
        done.store(true, Relaxed);
        assert!(before <= next.load(Relaxed), "{}: more than came", C::NAME);
    });
    (found, added.load(Relaxed) as f64 / begun.elapsed().as_secs_f64() / 1e6)
}
