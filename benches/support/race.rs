//! The timed part: threads take alternate chunks of the events, all begin together, and none runs away.

use std::{
    panic,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

/// What a thread takes at a time, and what a batch is.
const CHUNK: usize = 512;

/// Offers the events to whoever takes them and counts; returns the time from the first thread's start to the last one's end, and the
/// sum of the counts. Creating the threads is not timed. Each thread keeps an `S` from one chunk to the next.
///
/// No thread takes an event more than `drift` behind one that another has taken: the faster waits. Both have the same
/// number of chunks, so the waiting costs no time that the slower one would not take anyway.
pub(crate) fn run<E: Sync, S: Default>(
    events: &[E],
    threads: usize,
    drift: u64,
    take: impl Fn(&[E], &mut S) -> u64 + Sync,
) -> (Duration, u64) {
    let pace = Pace::new(threads, drift);
    let laps: Vec<Lap> = thread::scope(|scope| {
        let runners: Vec<_> = (0..threads)
            .map(|thread| {
                let (pace, take) = (&pace, &take);
                scope.spawn(move || lap(take, events, thread, threads, pace))
            })
            .collect();
        runners
            .into_iter()
            .map(|runner| runner.join().unwrap_or_else(|why| panic::resume_unwind(why)))
            .collect()
    });
    let began = laps.iter().map(|lap| lap.began).min();
    let ended = laps.iter().map(|lap| lap.ended).max();
    let elapsed = began.zip(ended).map_or(Duration::ZERO, |(began, ended)| ended - began);
    (elapsed, laps.iter().map(|lap| lap.counted).sum())
}

struct Lap {
    began: Instant,
    ended: Instant,
    counted: u64,
}

fn lap<E, S: Default>(
    take: impl Fn(&[E], &mut S) -> u64,
    events: &[E],
    thread: usize,
    threads: usize,
    pace: &Pace,
) -> Lap {
    let mut scratch = S::default();
    let mut counted = 0;
    let mut runner = pace.start(thread);
    let began = Instant::now();
    for (number, chunk) in events.chunks(CHUNK).enumerate().skip(thread).step_by(threads) {
        runner.take(number);
        counted += take(chunk, &mut scratch);
    }
    let ended = Instant::now();
    Lap { began, ended, counted }
}

/// Where the threads are.
struct Pace {
    /// The chunk that each thread is working on.
    at: Box<[Padded]>,
    waiting: AtomicUsize,
    /// How many chunks a thread may be ahead.
    lead: usize,
}

#[repr(align(128))]
struct Padded(AtomicUsize);

impl Pace {
    fn new(threads: usize, drift: u64) -> Pace {
        let lead = usize::try_from(drift).unwrap_or(usize::MAX) / CHUNK;
        assert!(lead >= 2, "the window is too small for chunks of {CHUNK} events");
        let at = (0..threads).map(|thread| Padded(AtomicUsize::new(thread))).collect();
        Pace { at, waiting: AtomicUsize::new(threads), lead: lead - 1 }
    }

    /// Waits until every thread is here.
    fn start(&self, thread: usize) -> Runner<'_> {
        self.waiting.fetch_sub(1, Ordering::AcqRel);
        while self.waiting.load(Ordering::Acquire) > 0 {
            thread::yield_now();
        }
        Runner { pace: self, thread, others_from: 0 }
    }
}

struct Runner<'a> {
    pace: &'a Pace,
    thread: usize,
    /// All others have reached this chunk, when last looked at: in the common case nothing shared is read.
    others_from: usize,
}

impl Runner<'_> {
    /// Goes on to the chunk with this number, as soon as the others are near enough.
    fn take(&mut self, number: usize) {
        // Release, paired with the Acquire below: who sees the new place sees the chunks before it as done.
        self.pace.at[self.thread].0.store(number, Ordering::Release);
        while self.others_from.saturating_add(self.pace.lead) < number {
            self.others_from = self.slowest_other();
            if self.others_from.saturating_add(self.pace.lead) < number {
                thread::yield_now();
            }
        }
    }

    fn slowest_other(&self) -> usize {
        let others = self.pace.at.iter().enumerate().filter(|(thread, _)| *thread != self.thread);
        others.map(|(_, at)| at.0.load(Ordering::Acquire)).min().unwrap_or(usize::MAX)
    }
}

impl Drop for Runner<'_> {
    /// Home, or fallen: nobody has to wait any more.
    fn drop(&mut self) {
        self.pace.at[self.thread].0.store(usize::MAX, Ordering::Release);
    }
}
