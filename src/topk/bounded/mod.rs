//! Which keys are the hottest, in memory that is given?

mod add;
mod builder;
mod entry;
mod list;
#[cfg(windlass_loom)]
pub(crate) mod model;
mod names;
mod pane;
mod plan;
mod saved;
mod sketch;
mod slots;

use super::{Export, TopSnapshot, snapshot::Board};
use crate::{
    count::Panes,
    hash::{Key, Seed},
    maintain::Maintain,
    pane::Generations,
    sync::{
        Counter,
        epoch::{self},
        saturating, with_wide,
    },
    time::{Clock, Tick, Window},
};
pub use builder::BoundedTopKBuilder;
pub(super) use list::{Found, guess};
use pane::{Pane, Pool};
use std::{fmt, sync::Arc};

/// Keeps the hottest keys of a window in memory that is given, whatever the keys are, for any number of threads: with counts between bounds that always hold.
///
/// ```
/// use std::time::Duration;
/// use windlass::{BoundedTopK, Tick};
///
/// let (window, pane) = (Duration::from_secs(60), Duration::from_secs(10));
/// let top = BoundedTopK::builder(window, pane, 2).memory(64 << 10).build()?;
/// let at = |secs: u64| Tick(secs * 1_000_000_000);
///
/// for visitor in 0..100_000_u64 {
///     top.add_at(visitor, 1, at(5)); // each but once
///     if visitor % 20 == 0 {
///         top.add_at("crawler", 1, at(5));
///     }
/// }
/// top.add_at("monitor", 3000, at(31));
/// let list = top.top_at(at(31));
/// let keys: Vec<_> = list.rows.iter().map(|row| row.key.to_string()).collect();
/// assert_eq!(keys, ["crawler", "monitor"]);
/// assert!(list.rows[0].lower <= 5000 && list.rows[0].upper >= 5000);
/// assert!(top.memory_bytes() <= 64 << 10);
/// # Ok::<(), windlass::ConfigError>(())
/// ```
///
/// # Guarantees
/// A row's count lies between its bounds ([`TopRow::lower`](crate::TopRow::lower), [`upper`](crate::TopRow::upper)), at every question, and no key that is missing has more than the list's tail.
/// [`TopRow::count`](crate::TopRow::count) is the guess of the two. A list that is certified is exact: it is as long as the different keys of each pane
/// have found a slot, and seldom later. (What that means while others add: [`TopSnapshot`].)
///
/// All calls are lock-free. An add of a hot key is one exchange in two adjacent cache lines, one of another key a few adds on a third line on top. Nothing is
/// allocated but the tables of a pane, when it begins, as long as not all have been made. A list takes time in proportion to the memory.
///
/// # Window, time
/// As with [`crate::WindowedCounter`]. Late events land in their own pane.
///
/// # Keys
/// Told apart by 64 bits of their hash beside their place; numbers (`u64`) exactly. A key comes into a list by its bytes, which are
/// kept for candidates, [`TopK::MAX_LEN`](crate::TopK::MAX_LEN) at most ([`BoundedTopKBuilder::key_bytes`]).
///
/// # Memory
/// What it is given ([`BoundedTopKBuilder::memory`]), in equal parts for each pane that is kept and two more: half of a part is candidates with their
/// keys, 16 bytes each and twice the bytes of a key; the rest a sketch of what the others have been seen. The hottest candidates of a pane are those of
/// the next one from its beginning on. If calls stall for a pane and longer,
/// and hold back what has left, the adds of a pane may be known as a sum alone ([`BoundedStats::without`]): then bounds are that much wider.
///
/// Counts of a pane beyond 2^32 are "that many or more".
///
/// # Source
/// Count-Min (G. Cormode, S. Muthukrishnan, *An improved data stream summary*, 2005), behind a filter of the hottest keys (P. Roy, A. Khan, G. Alonso, *Augmented
/// Sketch*, SIGMOD 2016), here one for each pane, shared by all threads.
pub struct BoundedTopK {
    time: Generations<Pane>,
    pool: Pool,
    panes: Panes,
    lateness: Window,
    k: usize,
    /// Ticks between refreshes by upkeep.
    refresh: u64,
    board: Board<TopSnapshot>,
    late: Counter,
    jumps: Counter,
    seed: Seed,
    clock: Clock,
}

/// Plain figures about a [`BoundedTopK`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BoundedStats {
    /// Keys that a pane has slots for.
    pub slots: u64,
    /// Cells of a pane's sketch.
    pub cells: u64,
    /// Slots of the newest pane that are taken, estimated from a sample (exact where there are some 15,000 at most).
    pub taken: u64,
    /// The number of the newest pane, which takes what comes: pane `p` begins at tick `p * pane`. 0 before the first event.
    pub active_pane: u64,
    /// Bytes that it takes now.
    pub memory_bytes: u64,
    /// Panes opened so far.
    pub opened: u64,
    /// Tables that were cleared to be used again.
    pub recycled: u64,
    /// Panes for which there were none: their adds are known as a sum alone.
    pub without: u64,
    /// Events for panes that are kept no more: not counted.
    pub late: u64,
    /// Events whose tick lay too far ahead: not counted.
    pub jumps: u64,
}

impl BoundedStats {
    /// The share of the newest pane's slots that is taken: near 1 most buckets are full, and keys come that find no empty slot.
    #[must_use]
    pub fn load(&self) -> f64 {
        crate::math::share(self.taken, self.slots)
    }
}

/// Buckets that `stats` looks at.
const SAMPLE: usize = 2048;

impl BoundedTopK {
    /// A builder for lists of `k` keys over `window`, in panes of `pane`, of which the window has to be a multiple.
    pub fn builder(window: impl Into<Window>, pane: impl Into<Window>, k: usize) -> BoundedTopKBuilder {
        BoundedTopKBuilder::new(window.into(), pane.into(), k)
    }

    /// What a key was seen at least, and at most, in the pane of `now` and those before it that make up the window.
    #[must_use]
    pub fn bounds_at(&self, key: impl Key, now: Tick) -> (u64, u64) {
        let (hash, guard, panes) = (key.key_hash(self.seed), epoch::pin(), self.panes.current(now));
        let parts: Vec<&Pane> = self.time.with(panes.clone(), &guard).map(|(pane, ..)| pane).collect();
        let totals: Vec<u64> = parts.iter().map(|pane| pane.total()).collect();
        let Some(tables) = parts.iter().find_map(|pane| pane.tables.as_ref()) else {
            return (
                0,
                if self.time.keeps(panes.start) { saturating::sum(totals.into_iter()) } else { u64::MAX },
            );
        };
        let bucket = tables.slots.of(hash.hi);
        let (lower, upper) = with_wide!(self.pool.wide(), wide => {
            self.bounds_of(wide, &parts, &totals, hash.lo, bucket)
        });
        (lower, if self.time.keeps(panes.start) { upper } else { u64::MAX })
    }

    /// How often all keys were seen in the pane of `now` and those before it that make up the window.
    #[must_use]
    pub fn total_at(&self, now: Tick) -> u64 {
        let guard = epoch::pin();
        saturating::sum(self.time.with(self.panes.current(now), &guard).map(|(pane, ..)| pane.total()))
    }

    /// The last list that was made by [`BoundedTopK::refresh_at`] or upkeep. Before the first: an empty one of an empty interval, not certified.
    #[must_use]
    #[inline]
    pub fn snapshot(&self) -> Arc<TopSnapshot> {
        self.board.get()
    }

    /// Makes the list anew, over the pane of `now` and those before it that make up the window, for all to read. (If another thread has
    /// begun one later and is done, that remains for the others.)
    pub fn refresh_at(&self, now: Tick) -> Arc<TopSnapshot> {
        let number = self.board.begin();
        let list = Arc::new(self.top_at(now));
        self.board.show(number, list.clone());
        list
    }

    /// .. by the structure's clock.
    pub fn refresh(&self) -> Arc<TopSnapshot> {
        self.refresh_at(self.clock.now())
    }

    /// The list over the pane of `now` and those before it that make up the window, for the caller alone.
    #[must_use]
    pub fn top_at(&self, now: Tick) -> TopSnapshot {
        self.list(self.panes.current(now), now)
    }

    /// The list over the panes before that of `now` that make up the window, for the caller alone.
    #[must_use]
    pub fn top_complete_at(&self, now: Tick) -> TopSnapshot {
        self.list(self.panes.complete(now), now)
    }

    /// What an [`Aggregator`](crate::Aggregator) needs to know of the pane of `now` and those before it that make up the window: ten times the keys
    /// of a list.
    #[must_use]
    pub fn export_at(&self, now: Tick) -> Export {
        self.export(self.panes.current(now), now)
    }

    /// .. of the panes before that of `now` that make up the window.
    #[must_use]
    pub fn export_complete_at(&self, now: Tick) -> Export {
        self.export(self.panes.complete(now), now)
    }

    fn export(&self, panes: std::ops::Range<u64>, now: Tick) -> Export {
        let rows = Export::rows_for(self.k);
        let found = self.rows(panes.clone(), rows);
        Export::new(found, (self.panes, panes.clone()), self.time.keeps(panes.start), now, self.k, self.seed)
    }

    /// Upkeep: moves time on to `now`, lets go what is behind the window, clears up to `budget` KiB of it for its next use, and
    /// makes the list anew if the refresh interval has passed. After a window of silence it gives back the memory. `true`: there is more that can be done
    /// now.
    pub fn maintain_at(&self, now: Tick, budget: usize) -> bool {
        let live = self.time.maintain(now.0, &epoch::pin(), self);
        epoch::collect();
        let more = if live {
            self.pool.clear(budget)
        } else {
            self.pool.empty();
            false
        };
        let shown = self.snapshot();
        if shown.end == Tick(0) || shown.age(now) >= self.refresh {
            self.refresh_at(now);
        }
        more
    }

    /// Whether the next pane finds tables to count in: those of the panes that have left are used again as soon as nobody reads them any more. A pane
    /// that begins before has a sum alone ([`BoundedStats::without`]), and lists of its windows are as uncertain as that.
    ///
    /// With clocks that go as fast as everybody's there is always time for it. A replay, whose panes may be over in microseconds, best
    /// waits for it before each of them.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        epoch::collect();
        self.pool.is_ready()
    }

    /// Plain figures. Costs a look at a sample of the newest pane's slots, and nothing to others.
    #[must_use]
    pub fn stats(&self) -> BoundedStats {
        let guard = epoch::pin();
        let newest = self.time.all(&guard).next_back().and_then(|pane| pane.tables.as_ref());
        let taken = newest.map_or(0, |tables| {
            let step = tables.slots.each().len().div_ceil(SAMPLE).max(1);
            let (mut looked_at, mut taken) = (0, 0);
            for bucket in tables.slots.each().step_by(step) {
                looked_at += 1;
                taken += with_wide!(self.pool.wide(), wide => bucket.entries(wide).count());
            }
            taken * tables.slots.each().len() / looked_at.max(1)
        });
        let plan = self.pool.plan();
        BoundedStats {
            slots: plan.slots(),
            cells: plan.lines * sketch::LINE as u64,
            taken: taken as u64,
            active_pane: self.time.newest().unwrap_or(0),
            memory_bytes: self.memory_bytes(),
            opened: self.pool.opened.sum(),
            recycled: self.pool.recycled.sum(),
            without: self.pool.without.sum(),
            late: self.late.sum(),
            jumps: self.jumps.sum(),
        }
    }

    /// Keys in a list.
    #[must_use]
    pub fn k(&self) -> usize {
        self.k
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

    /// Bytes that it takes now: of all panes, and of what waits to be used again.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.pool.bytes()
    }

    /// The seed in use: to hash keys beforehand ([`Seed::hash`]), or to let another node agree.
    #[must_use]
    pub fn seed(&self) -> Seed {
        self.seed
    }
}

impl Maintain for BoundedTopK {
    fn maintain_at(&self, now: Tick, budget: usize) -> bool {
        BoundedTopK::maintain_at(self, now, budget)
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

impl fmt::Debug for BoundedTopK {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundedTopK")
            .field("k", &self.k)
            .field("panes", &self.panes)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
