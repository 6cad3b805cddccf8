//! The counts of the keys.

use std::{
    io,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use windlass::{
    BoundedTopK, ConfigError, Export, Key, KeyHash, PaneCount, Seed, Tick, TopK, TopRow, TopSnapshot, Window,
    metrics::{Page, Source},
};

use crate::{
    args::TopArgs,
    failure::Failure,
    input::Batch,
    metrics::Metrics,
    output,
    room::{self, out_of_range},
    state::Loaded,
};

pub(super) struct Counts {
    live: Arc<Live>,
    turns: Turns,
    /// Events for whose keys there was no room.
    pub(super) refused: u64,
}

/// Panes that begin. A log is read faster than its time went: whoever reads the list of one pane would have the next ones begin without tables.
struct Turns {
    /// Nanoseconds.
    pane: u64,
    newest: Option<u64>,
}

impl Turns {
    /// Nobody reads that long, but who has stalled.
    const PATIENCE: Duration = Duration::from_secs(1);

    fn add_each<K: Key>(
        &mut self,
        top: &BoundedTopK,
        n: usize,
        event: impl Fn(usize) -> (K, u64, Tick),
    ) -> u64 {
        let pane = |i: usize| event(i).2.0 / self.pane;
        let (mut first, mut refused) = (0, 0);
        while first < n {
            let newest = pane(first).max(self.newest.unwrap_or(0));
            if self.newest.replace(newest) != Some(newest) {
                let begun = Instant::now();
                while !top.is_ready() && begun.elapsed() < Turns::PATIENCE {
                    thread::yield_now();
                }
            }
            let next = (first..n).find(|&i| pane(i) > newest).unwrap_or(n);
            refused += top.add_each(next - first, |i| event(first + i)).refused;
            first = next;
        }
        refused
    }
}

/// What others may look at meanwhile.
pub(super) struct Live {
    top: Top,
    /// The newest event's time and 1, or 0 before the first. Relaxed: whoever looks may be a little behind.
    newest: AtomicU64,
}

enum Top {
    Exact(Box<TopK>),
    Bounded(Box<BoundedTopK>),
}

impl Live {
    fn new(top: Top) -> Arc<Live> {
        Arc::new(Live { top, newest: AtomicU64::new(0) })
    }

    /// The newest event's time.
    pub(super) fn newest(&self) -> Option<u64> {
        self.newest.load(Relaxed).checked_sub(1)
    }

    /// The list of the window that ends with the pane of that time.
    pub(super) fn list(&self, now: Tick) -> TopSnapshot {
        match &self.top {
            Top::Exact(top) => top.top_at(now),
            Top::Bounded(top) => top.top_at(now),
        }
    }

    /// How often a row's key was seen in each pane of that window, and how often all were (without a row); `None` if that is not known.
    pub(super) fn panes(&self, row: Option<&TopRow>, now: Tick) -> Option<Vec<PaneCount>> {
        match (&self.top, row) {
            (Top::Exact(top), Some(row)) => Some(top.panes_of(row, now)),
            (Top::Exact(top), None) => Some(top.pane_totals_at(now)),
            (Top::Bounded(_), _) => None,
        }
    }

    /// The list of the window that ends with the newest event's pane.
    fn refresh(&self) -> Option<Arc<TopSnapshot>> {
        let newest = self.newest().map(Tick)?;
        Some(match &self.top {
            Top::Exact(top) => top.refresh_at(newest),
            Top::Bounded(top) => top.refresh_at(newest),
        })
    }
}

impl Source for Live {
    fn measure(&self, page: &mut Page) {
        self.refresh();
        match &self.top {
            Top::Exact(top) => top.measure(page),
            Top::Bounded(top) => top.measure(page),
        }
    }

    fn hot_keys(&self) -> Option<Arc<TopSnapshot>> {
        self.refresh()
    }
}

/// Bytes, with `--approx`.
const MEMORY: u64 = 1 << 20;

/// Keys, unless told otherwise: rows are as long as the panes are many, and sometimes all are looked at.
const CAPACITY: u64 = 16_000;

impl Counts {
    /// None yet, or as a run before has left them.
    pub(super) fn new(args: &TopArgs, loaded: Option<&mut Loaded>) -> Result<Counts, Failure> {
        let (k, given) = (args.k.0, args.state.capacity);
        if args.approx {
            return Counts::bounded(args, loaded);
        }
        let capacity = given.map_or(CAPACITY.max(k), |count| count.0);
        let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let (window, pane) = (args.window.duration, args.pane.duration);
        let top = TopK::builder(Window::time(window), Window::time(pane), number(k))
            .capacity(number(capacity))
            .max_memory(room::most(&args.state))
            .lateness(args.lateness.duration)
            .seed(Seed(args.state.seed));
        let refused = |error: ConfigError| refused(args, capacity, &error);
        let top = match loaded {
            None => top.build().map_err(refused)?,
            // Ticks are the events', whatever the time is.
            Some(loaded) => loaded.restore(|rest| top.restore(rest, Duration::ZERO), refused)?,
        };
        Ok(Counts::of(Top::Exact(Box::new(top)), args))
    }

    fn bounded(args: &TopArgs, loaded: Option<&mut Loaded>) -> Result<Counts, Failure> {
        let k = usize::try_from(args.k.0).unwrap_or(usize::MAX);
        let (window, pane) = (args.window.duration, args.pane.duration);
        let top = BoundedTopK::builder(Window::time(window), Window::time(pane), k)
            .memory(args.memory.map_or(MEMORY, |memory| memory.0))
            .lateness(args.lateness.duration)
            .seed(Seed(args.state.seed));
        let refused = |error: ConfigError| refused(args, 0, &error);
        let top = match loaded {
            None => top.build().map_err(refused)?,
            Some(loaded) => loaded.restore(|rest| top.restore(rest, Duration::ZERO), refused)?,
        };
        Ok(Counts::of(Top::Bounded(Box::new(top)), args))
    }

    fn of(top: Top, args: &TopArgs) -> Counts {
        let pane = u64::try_from(args.pane.duration.as_nanos()).unwrap_or(u64::MAX);
        Counts { live: Live::new(top), turns: Turns { pane: pane.max(1), newest: None }, refused: 0 }
    }

    /// Has the counts served.
    pub(super) fn show(&self, metrics: &Metrics) -> Result<(), Failure> {
        metrics.add("keys", &self.live)
    }

    /// Whoever looks at the counts meanwhile is to see those up to here.
    pub(super) fn come_to(&self, newest: u64) {
        self.live.newest.store(newest.saturating_add(1), Relaxed);
    }

    /// Counts some of a batch, next to each other.
    pub(super) fn add(&mut self, batch: &Batch<'_>, events: Range<usize>) {
        self.add_each(batch, events.len(), |i| events.start + i);
    }

    /// .. or not.
    pub(super) fn add_some(&mut self, batch: &Batch<'_>, events: &[usize]) {
        self.add_each(batch, events.len(), |i| events[i]);
    }

    fn add_each(&mut self, batch: &Batch<'_>, n: usize, event: impl Fn(usize) -> usize) {
        let event = |i: usize| {
            let i = event(i);
            let (hash, tick) = batch.events[i];
            (Named { hash, name: batch.name(i) }, 1, tick)
        };
        let refused = match &self.live.top {
            Top::Exact(top) => top.add_each(n, event).refused,
            Top::Bounded(top) => self.turns.add_each(top, n, event),
        };
        self.refused += refused;
    }

    /// The list of the window that ends there.
    pub(super) fn list(&self, end: u64) -> TopSnapshot {
        match &self.live.top {
            Top::Exact(top) => top.top_complete_at(Tick(end)),
            Top::Bounded(top) => top.top_complete_at(Tick(end)),
        }
    }

    /// What is known of it, to be put together with what others know.
    pub(super) fn export(&self, end: u64) -> Export {
        match &self.live.top {
            Top::Exact(top) => top.export_complete_at(Tick(end)),
            Top::Bounded(top) => top.export_complete_at(Tick(end)),
        }
    }

    /// .. of the window that ends with the pane of `now`, as far as it has come.
    #[cfg(feature = "remote")]
    pub(super) fn export_so_far(&self, now: u64) -> Export {
        match &self.live.top {
            Top::Exact(top) => top.export_at(Tick(now)),
            Top::Bounded(top) => top.export_at(Tick(now)),
        }
    }

    /// A snapshot.
    pub(super) fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        match &self.live.top {
            Top::Exact(top) => top.save_at(out, Tick(0), Duration::ZERO),
            Top::Bounded(top) => top.save_at(out, Tick(0), Duration::ZERO),
        }
        .map(drop)
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        match &self.live.top {
            Top::Exact(top) => top.memory_bytes(),
            Top::Bounded(top) => top.memory_bytes(),
        }
    }

    /// To look at from another thread.
    pub(super) fn live(&self) -> Arc<Live> {
        self.live.clone()
    }
}

/// A key that is told apart by a hash of all its fields and its source, and told by its name.
struct Named<'a> {
    hash: KeyHash,
    name: &'a [u8],
}

impl Key for Named<'_> {
    fn key_hash(&self, _: Seed) -> KeyHash {
        self.hash
    }

    fn with_bytes<R>(&self, f: impl FnOnce(u32, &[u8]) -> R) -> R {
        self.name.with_bytes(f)
    }
}

/// The builder's error in the words of the command line.
fn refused(args: &TopArgs, capacity: u64, error: &ConfigError) -> Failure {
    match error.field {
        "k" => out_of_range(format_args!("-k {}", args.k), &error.limit),
        "window" => out_of_range(format_args!("--window {}", args.window), &error.limit),
        "pane" => out_of_range(format_args!("--pane {}", args.pane), &error.limit),
        "lateness" => out_of_range(format_args!("--lateness {}", args.lateness), &error.limit),
        "memory" => {
            let given = output::memory(args.memory.map_or(MEMORY, |memory| memory.0));
            out_of_range(format_args!("--memory {given}"), &error.limit)
        }
        "capacity" => out_of_range(format_args!("--capacity {capacity}"), &error.limit),
        _ => room::refused(&args.state, error),
    }
}
