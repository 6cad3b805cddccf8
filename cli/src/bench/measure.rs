//! Threads at work, by the clock.

use std::{
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use super::subjects::{BATCH, Subject};
use crate::failure::Failure;

/// What came of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    /// Of a thread, on the average.
    pub(super) nanos: f64,
    /// Calls per second of all threads, while they are calling.
    pub(super) rate: f64,
    /// Answers that are not as they should be.
    pub(super) wrong: u64,
}

/// One thread's.
#[derive(Clone, Copy, Default)]
struct Own {
    calls: u64,
    /// Calls of the warming up.
    warm: u64,
    took: Duration,
    wrong: u64,
}

/// Only calls are timed: not what makes their arguments, and not what looks at their answers.
#[allow(clippy::cast_precision_loss)] // three digits are shown
pub(super) fn measure(subject: &dyn Subject, threads: usize, time: Duration) -> Result<Measured, Failure> {
    let (all_ready, warm) = (Barrier::new(threads), subject.warm().div_ceil(threads as u64));
    let (all_ready, failed) = (&all_ready, |_| Failure::Running("bench: a thread has failed".to_owned()));
    let own: Result<Vec<Own>, Failure> = thread::scope(|scope| {
        // (One that cannot be started is a panic, as everywhere in `thread::scope`: the others would wait for it.)
        let start = |thread| scope.spawn(move || work(subject, thread, warm, time, all_ready));
        let threads: Vec<_> = (0..threads).map(start).collect();
        threads.into_iter().map(|thread| thread.join().map_err(failed)).collect()
    });
    let own = own?;
    let sum = |figure: fn(&Own) -> u64| own.iter().map(figure).sum::<u64>();
    let took: Duration = own.iter().map(|own| own.took).sum();
    let rate = own.iter().map(|own| own.calls as f64 / own.took.as_secs_f64().max(1e-9)).sum();
    let wrong = sum(|own| own.wrong) + u64::from(!subject.is_right(sum(|own| own.calls + own.warm)));
    Ok(Measured { nanos: took.as_nanos() as f64 / sum(|own| own.calls) as f64, rate, wrong })
}

fn work(subject: &dyn Subject, thread: usize, warm: u64, time: Duration, all_ready: &Barrier) -> Own {
    let (mut worker, mut own) = (subject.worker(thread as u64), Own::default());
    while own.warm < warm {
        worker.prepare();
        worker.call();
        own.wrong += worker.check();
        own.warm += BATCH as u64;
    }
    all_ready.wait();
    let begun = Instant::now();
    while own.calls == 0 || begun.elapsed() < time {
        worker.prepare();
        let start = Instant::now();
        worker.call();
        own.took += start.elapsed();
        own.wrong += worker.check();
        own.calls += BATCH as u64;
    }
    own
}
