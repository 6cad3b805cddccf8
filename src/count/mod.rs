//! How often in the window?

mod batch;
mod builder;
mod core;
mod marks;
#[cfg(windlass_loom)]
pub(crate) mod model;
mod saved;
mod snapshot;
mod stock;
mod table;
mod total;
mod totals;
mod writer;

pub(crate) use self::core::{Core, Extra, Generation};
use crate::{
    hash::{Key, Seed},
    maintain::Maintain,
    sync::epoch,
    time::{Clock, Tick, Window},
};
pub use batch::Tally;
pub use builder::{CounterBuilder, TotalBuilder};
pub(crate) use builder::{Grid, Parts, Room};
pub(crate) use saved::Saved;
pub(crate) use snapshot::header;
use std::{fmt, ops::Range};
pub(crate) use table::Row;
pub use total::WindowedTotal;
pub use writer::Writer;
pub(crate) use writer::{Counts, Hold, Terms};

/// Counts how often each key was seen in the window, exactly, for any number of threads.
///
/// ```
/// use std::time::Duration;
/// use windlass::{Tick, WindowedCounter};
///
/// let (window, pane) = (Duration::from_secs(60), Duration::from_secs(10));
/// let counter = WindowedCounter::builder(window, pane).capacity(10_000).build()?;
/// let at = |secs: u64| Tick(secs * 1_000_000_000);
///
/// counter.add_at("/index.html", 1, at(5));
/// counter.add_at("/index.html", 2, at(31));
/// assert_eq!(counter.count_at("/index.html", at(59)), 3);
/// assert_eq!(counter.count_at("/index.html", at(60)), 2); // the first was seen in the pane from 0 to 10
/// assert_eq!(counter.total_at(at(60)), 2);
/// # Ok::<(), windlass::ConfigError>(())
/// ```
///
/// # Window
/// Time is cut into panes, [`p * pane`, `(p + 1) * pane`) from tick 0 on. There are two ways to read, and they are not mixed:
///
/// - [`WindowedCounter::count_at`]: the pane of `now` and those before it that make up the window with it. So what is counted goes back
///   between window - pane and window.
/// - [`WindowedCounter::count_complete_at`]: the panes before that of `now`, as many as make up the window. It changes at the end of a pane only (and
///   by late events), and is always a whole window.
///
/// # Time
/// Ticks may come from several clocks and out of order. An event counts in the pane of its own tick as long as that pane is kept: the newest, the
/// window before it, and the `lateness` before that ([`CounterBuilder::lateness`], rounded up to panes). What comes for an earlier pane is not counted
/// ([`Added::Late`], [`CounterStats::late`]). A question may lie as far back as the lateness, or ahead: it moves nothing.
///
/// # Guarantees
/// All calls are lock-free. An add costs one cache miss and one `fetch_add`, the first of a key in a generation (see Memory) one CAS more. A count
/// lies between the adds that had ended when it began and those that had begun when it ended; when nobody writes it is exact. Counts do
/// not overflow: at 2^63 in one pane one is *saturated*, and then `u64::MAX` is told, which means "that many or more"
/// ([`CounterStats::saturated`]).
///
/// # Keys
/// They are told apart by 64 bits of their hash beside their place: two are counted as one with a probability of some 16 in 2^64
/// for each pair. `u64` keys are told apart exactly.
///
/// # Memory
/// Rows live in generations of 6, 14 or 30 panes (64, 128 or 256 bytes a row; no more than the window has), which go as a whole. A key has a row
/// in each generation in which it was seen. For the capacity, all generations together take what [`CounterBuilder::memory_bytes`] says, given out by
/// the system as it is touched: with 16 panes 480 bytes for each key of the capacity. With [`CounterBuilder::max_memory`] each generation is as large
/// as what the one before held, and grows in time of need. What has left is cleared by the calls that bring new keys, and by
/// [`WindowedCounter::maintain_at`], and used again.
///
/// A key for which there is no room is counted in the total only ([`Added::NoRoom`], [`CounterStats::refused`]).
pub struct WindowedCounter {
    core: Core<()>,
    panes: Panes,
    lateness: Window,
    seed: Seed,
    clock: Clock,
}

/// What became of an add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Added {
    /// It is in the key's count, and in the total.
    Counted,
    /// It is in the total alone: there is no room for one more key.
    NoRoom,
    /// It is in the total alone: the key is too long to be kept ([`crate::TopK::MAX_LEN`]).
    TooLong,
    /// It is not counted: its pane is kept no more.
    Late,
    /// It is not counted: its tick lies further ahead of the newest one than [`CounterBuilder::max_jump`] allows.
    Jump,
}

/// A pane, and what was counted in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaneCount {
    /// Its first tick.
    pub start: Tick,
    /// The tick after its last.
    pub end: Tick,
    /// What was counted. `u64::MAX`: that many or more.
    pub count: u64,
}

/// Plain figures about a [`WindowedCounter`] or a [`WindowedTotal`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CounterStats {
    /// Keys that the newest generation is meant for.
    pub capacity: u64,
    /// Rows of all generations, estimated from a sample of each (exact for small ones).
    pub rows: u64,
    /// .. of the newest: keys that were seen in it.
    pub newest_rows: u64,
    /// The number of the newest pane, which takes what comes: pane `p` begins at tick `p * pane`. 0 before the first event.
    pub active_pane: u64,
    /// Generations that are live, or have left and are still listed.
    pub generations: u64,
    /// Tables that they have: more than generations if some had to grow.
    pub tables: u64,
    /// Bytes of all tables, also those that are cleared or wait for it.
    pub memory_bytes: u64,
    /// Generations opened so far.
    pub opened: u64,
    /// Tables that were cleared to be used again.
    pub recycled: u64,
    /// Tables that were put behind one that was full.
    pub grown: u64,
    /// Events for panes that are kept no more: not counted.
    pub late: u64,
    /// Events of keys for which there was no room: counted in the total alone.
    pub refused: u64,
    /// Events whose tick lay too far ahead: not counted.
    pub jumps: u64,
    /// Adds that found a count saturated, or made it so.
    pub saturated: u64,
}

impl CounterStats {
    /// Keys of the newest generation as a share of those that it is meant for: above 1 it had to grow.
    #[must_use]
    pub fn load(&self) -> f64 {
        crate::math::share(self.newest_rows, self.capacity)
    }
}

impl WindowedCounter {
    /// A builder for counts over `window`, in panes of `pane`, of which the window has to be a multiple.
    pub fn builder(window: impl Into<Window>, pane: impl Into<Window>) -> CounterBuilder {
        CounterBuilder::new(window.into(), pane.into())
    }

    /// Counts a key `n` times at `now`.
    #[inline]
    pub fn add_at(&self, key: impl Key, n: u64, now: Tick) -> Added {
        let hash = key.key_hash(self.seed);
        self.core.prefetch(hash);
        let guard = epoch::pin();
        match self.core.add(hash, n, now.0, &guard) {
            Ok(_) => Added::Counted,
            Err(other) => other,
        }
    }

    /// Counts a key `n` times now, by the structure's clock.
    #[inline]
    pub fn add(&self, key: impl Key, n: u64) -> Added {
        self.add_at(key, n, self.clock.arrivals(1))
    }

    /// How often a key was seen in the pane of `now` and those before it that make up the window.
    #[must_use]
    #[inline]
    pub fn count_at(&self, key: impl Key, now: Tick) -> u64 {
        self.core.count(key.key_hash(self.seed), self.panes.current(now), &epoch::pin())
    }

    /// .. by the structure's clock.
    #[must_use]
    pub fn count(&self, key: impl Key) -> u64 {
        self.count_at(key, self.clock.now())
    }

    /// How often a key was seen in the panes before that of `now` that make up the window.
    #[must_use]
    #[inline]
    pub fn count_complete_at(&self, key: impl Key, now: Tick) -> u64 {
        self.core.count(key.key_hash(self.seed), self.panes.complete(now), &epoch::pin())
    }

    /// A key's count in each pane from that of `now` back as far as the window, the newest first. Panes in which it was not seen are left
    /// out.
    #[must_use]
    pub fn panes_at(&self, key: impl Key, now: Tick) -> Vec<PaneCount> {
        let (hash, guard) = (key.key_hash(self.seed), epoch::pin());
        self.panes.counts(now, |panes| self.core.count(hash, panes, &guard))
    }

    /// How often all keys were seen in the pane of `now` and those before it that make up the window.
    #[must_use]
    pub fn total_at(&self, now: Tick) -> u64 {
        self.core.total(self.panes.current(now), &epoch::pin())
    }

    /// How often all keys were seen in the panes before that of `now` that make up the window.
    #[must_use]
    pub fn total_complete_at(&self, now: Tick) -> u64 {
        self.core.total(self.panes.complete(now), &epoch::pin())
    }

    /// Upkeep, most of which calls do by themselves while events come: moves time on to `now`, lets go what is behind the window, and
    /// clears up to `budget` KiB of it for its next use. After a window of silence it gives back the memory. `true`: there is more that can
    /// be done now. Of use after a silence, and from a thread beside the callers ([`crate::Maintainer`]).
    pub fn maintain_at(&self, now: Tick, budget: usize) -> bool {
        let more = self.core.maintain(now.0, budget);
        epoch::collect();
        more
    }

    /// Plain figures. Costs a look at a sample of each generation, and nothing to others.
    #[must_use]
    pub fn stats(&self) -> CounterStats {
        self.core.stats()
    }

    /// What is counted over.
    #[must_use]
    pub fn window(&self) -> Window {
        self.panes.of_window(self.panes.window)
    }

    /// The length of a pane.
    #[must_use]
    pub fn pane(&self) -> Window {
        self.panes.of_window(1)
    }

    /// Bytes that it takes now: of all generations, and of what waits to be used again.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.core.bytes()
    }

    /// The seed in use: to hash keys beforehand ([`Seed::hash`]), with namespaces, or to let another node agree.
    #[must_use]
    pub fn seed(&self) -> Seed {
        self.seed
    }
}

/// Which panes are asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panes {
    /// Ticks in one.
    pub(crate) pane: u64,
    /// How many there are in a window.
    pub(crate) window: u64,
    pub(crate) counts_events: bool,
}

impl Panes {
    #[inline(always)]
    pub(crate) fn current(self, now: Tick) -> Range<u64> {
        let end = (now.0.min(u64::MAX - 1) / self.pane).saturating_add(1);
        end.saturating_sub(self.window)..end
    }

    #[inline(always)]
    pub(crate) fn complete(self, now: Tick) -> Range<u64> {
        let end = now.0.min(u64::MAX - 1) / self.pane;
        end.saturating_sub(self.window)..end
    }

    /// The counts of each pane from that of `now` back as far as the window, the newest first, without those of which it is 0.
    pub(crate) fn counts(self, now: Tick, count: impl Fn(Range<u64>) -> u64) -> Vec<PaneCount> {
        let counts = self.current(now).rev().map(|pane| (pane, count(pane..pane + 1)));
        counts.filter(|&(_, count)| count > 0).map(|(pane, count)| self.count(pane, count)).collect()
    }

    fn count(self, pane: u64, count: u64) -> PaneCount {
        let start = pane.saturating_mul(self.pane);
        PaneCount { start: Tick(start), end: Tick(start.saturating_add(self.pane)), count }
    }

    pub(crate) fn of_window(self, panes: u64) -> Window {
        let ticks = panes * self.pane;
        if self.counts_events {
            Window::last_n(ticks)
        } else {
            Window::time(std::time::Duration::from_nanos(ticks))
        }
    }
}

impl Maintain for WindowedCounter {
    fn maintain_at(&self, now: Tick, budget: usize) -> bool {
        WindowedCounter::maintain_at(self, now, budget)
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

impl fmt::Debug for WindowedCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WindowedCounter")
            .field("panes", &self.panes)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
