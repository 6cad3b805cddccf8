//! Threads that read and parse: whoever is free reads the next block and parses it, and one consumer takes the portions
//! in the order of the input.
//!
//! ```text
//! free --> feed (one thread at a time: reads, numbers) --> parse (many) --> parsed --> consumer, in order --> free
//! ```
//! There is a fixed number of portions, which bounds what is read ahead. The one that the consumer waits for is always on its
//! way: numbers are given in order, and whoever has got one has all it needs to finish.

use std::{
    collections::BTreeMap,
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use super::{feed::Feed, parser::Parser, portion::Portion, spec::Spec, supply::Supplied};
use crate::failure::{Failure, reason};

/// Long records ahead of the consumer may take this much memory together, beside the one that is being read.
const LONG: usize = if cfg!(test) { 2 << 20 } else { 64 << 20 };

/// The consumer's end. Threads that are at work when it is dropped end with what they have in hand, or with the process:
/// nobody can wake one that waits for a pipe.
pub(super) struct Pool {
    shared: Arc<Shared>,
    /// The number of the portion that is next.
    next: u64,
    /// The consumer has given its own away, and is still to get one for it.
    owed: bool,
}

struct Shared {
    /// Held while waiting for `room`, so at most one thread does.
    feed: Mutex<Numbered>,
    state: Mutex<State>,
    /// A portion is free, or nothing is wanted any more.
    room: Condvar,
    /// A portion is parsed, or there will be none.
    news: Condvar,
}

struct Numbered {
    feed: Feed,
    next: u64,
}

#[derive(Default)]
struct State {
    free: Vec<Portion>,
    parsed: BTreeMap<u64, Result<Portion, Failure>>,
    /// The number behind the last portion.
    end: Option<u64>,
    /// Bytes that long records take.
    long: usize,
    /// Nothing more is to be read.
    closed: bool,
    /// How many have been read, in hand or parsed.
    read: u64,
    /// Nobody wants more.
    stopped: bool,
    /// A thread has gone with a portion in hand.
    lost: bool,
}

impl Pool {
    pub(super) fn start(threads: usize, feed: Feed, spec: &Arc<Spec>) -> Result<Pool, Failure> {
        // Each thread has one in hand and one waiting in line; the consumer brings its own.
        let free = (0..2 * threads).map(|_| Portion::default()).collect();
        let shared = Arc::new(Shared {
            feed: Mutex::new(Numbered { feed, next: 0 }),
            state: Mutex::new(State { free, ..State::default() }),
            room: Condvar::new(),
            news: Condvar::new(),
        });
        let pool = Pool { shared, next: 0, owed: false };
        for _ in 0..threads {
            let (shared, spec) = (pool.shared.clone(), spec.clone());
            let work = move || work(&shared, &mut Parser::new(&spec));
            thread::Builder::new().name("parse".to_owned()).spawn(work).map_err(|e| {
                Failure::Running(format!("--threads {threads}: cannot start a thread: {}", reason(&e)))
            })?;
        }
        Ok(pool)
    }

    /// The next portion in exchange for a used one. `most`: how long to wait for it.
    pub(super) fn next(
        &mut self,
        portion: &mut Portion,
        most: Option<Duration>,
    ) -> Result<Supplied, Failure> {
        let begun = Instant::now();
        let mut state = lock(&self.shared.state);
        if !mem::replace(&mut self.owed, true) {
            let long = portion.block.long();
            portion.clear();
            state.free.push(mem::take(portion));
            state.long -= long;
            self.shared.room.notify_one();
        }
        loop {
            if let Some(parsed) = state.parsed.remove(&self.next) {
                self.next += 1;
                *portion = parsed?;
                self.owed = false;
                return Ok(Supplied::Portion);
            }
            if state.end == Some(self.next) || state.closed && self.next >= state.read {
                return Ok(Supplied::End);
            }
            if state.lost {
                return Err(Failure::Running("a thread ended before its work did".to_owned()));
            }
            state = match most.map(|most| most.saturating_sub(begun.elapsed())) {
                None => self.shared.news.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => return Ok(Supplied::Nothing),
                Some(left) => {
                    let waited = self.shared.news.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

impl Pool {
    /// What has been read is still handed out; then it ends.
    pub(super) fn close(&self) {
        lock(&self.shared.state).closed = true;
        self.shared.room.notify_one();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        lock(&self.shared.state).stopped = true;
        self.shared.room.notify_one();
    }
}

fn work(shared: &Shared, parser: &mut Parser) {
    let _watch = Watch(shared);
    loop {
        let mut feed = lock(&shared.feed);
        let Some(mut portion) = shared.wait_for_room() else { return };
        let number = feed.next;
        let outcome = feed.feed.next(&mut portion);
        // The end keeps its number, whoever comes upon it.
        feed.next += u64::from(!matches!(outcome, Ok(false)));
        let mut state = lock(&shared.state);
        state.long += portion.block.long();
        state.read = feed.next;
        drop((state, feed));
        let parsed = match outcome {
            Ok(true) => {
                parser.parse(&mut portion);
                Ok(portion)
            }
            Ok(false) => {
                lock(&shared.state).end = Some(number);
                shared.news.notify_one();
                return;
            }
            Err(failure) => Err(failure),
        };
        lock(&shared.state).parsed.insert(number, parsed);
        shared.news.notify_one();
    }
}

impl Shared {
    /// A portion to read into; `None` if nobody wants it.
    fn wait_for_room(&self) -> Option<Portion> {
        let mut state = lock(&self.state);
        loop {
            if state.stopped || state.closed {
                return None;
            }
            if state.long <= LONG
                && let Some(portion) = state.free.pop()
            {
                return Some(portion);
            }
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Tells the consumer if its thread panics: it would wait for ever.
struct Watch<'a>(&'a Shared);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            lock(&self.0.state).lost = true;
            self.0.news.notify_one();
        }
    }
}

/// A panic elsewhere left nothing half-done: what is shared changes in single steps.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::atomic::AtomicU64};

    use clap::Parser as _;
    use windlass::Seed;

    use super::{
        super::{blocks::BLOCK, feed::Begin, spec::Need},
        *,
    };
    use crate::args::{Cli, Command};

    fn pool(threads: usize, file: &str) -> Pool {
        let cli = Cli::try_parse_from(["windlass", "dedup", "--window", "1s", file]).unwrap();
        let Command::Dedup(args) = cli.command else { unreachable!() };
        let need = Need {
            key: &[],
            option: "--id",
            parts: &[],
            beside: &[],
            may_be_none: false,
            names: None,
            text: true,
            numbered: true,
            seed: Seed(0),
        };
        let spec = Arc::new(Spec::new(&args.sift.input, need).unwrap());
        Pool::start(threads, Feed::new(&spec, Begin::default(), Arc::new(AtomicU64::new(0))), &spec).unwrap()
    }

    #[test]
    fn long_records_wait_their_turn() {
        let path = std::env::temp_dir().join(format!("windlass-pool-{}", std::process::id()));
        // In blocks of 1 MiB each.
        let line = |i: usize| format!("{i}{}\n", "x".repeat(5 * BLOCK));
        fs::write(&path, (0..60).map(line).collect::<String>()).unwrap();
        let mut pool = pool(4, path.to_str().unwrap());
        let (mut portion, mut text) = (Portion::default(), Vec::new());
        while pool.next(&mut portion, None).unwrap() == Supplied::Portion {
            let long = lock(&pool.shared.state).long;
            assert!(long <= LONG + 8 * BLOCK, "{long}");
            text.extend_from_slice(portion.block.text());
        }
        assert!(text == fs::read(&path).unwrap());
        fs::remove_file(path).unwrap();
    }
}
