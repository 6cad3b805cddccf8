//! Which keys are the hottest?

mod add;
mod aggregate;
mod batch;
mod bounded;
mod builder;
mod export;
mod key;
mod list;
mod lower;
#[cfg(windlass_loom)]
pub(crate) mod model;
mod names;
mod rank;
mod saved;
mod snapshot;
mod sums;
mod wire;
mod writer;

use crate::{
    count::{Added, Core, CounterStats, PaneCount, Panes},
    hash::{Key, Seed},
    maintain::Maintain,
    sync::{AtomicU64, Counter, Ordering::Relaxed, Tried, epoch},
    time::{Clock, Tick, Window},
};
pub use aggregate::{Aggregator, Keys, Mismatch};
use bounded::Found;
#[cfg(windlass_loom)]
pub(crate) use bounded::model as bounded_model;
pub use bounded::{BoundedStats, BoundedTopK, BoundedTopKBuilder};
pub use builder::TopKBuilder;
pub use export::{Export, ExportRow};
pub use key::TopKey;
use lower::{Lowering, Step};
use names::Names;
use snapshot::Board;
pub use snapshot::{TopRow, TopSnapshot};
use std::{fmt, ops::Range, sync::Arc};
pub use wire::WireError;

/// Keeps the hottest keys of a window, with their counts and a certificate, for any number of threads.
///
/// ```
/// use std::time::Duration;
/// use windlass::{Tick, TopK};
///
/// let (window, pane) = (Duration::from_secs(60), Duration::from_secs(10));
/// let top = TopK::builder(window, pane, 2).capacity(10_000).build()?;
/// let at = |secs: u64| Tick(secs * 1_000_000_000);
///
/// for (key, n) in [("/", 5), ("/about", 2), ("/login", 9), ("/logout", 1)] {
///     top.add_at(key, n, at(5));
/// }
/// let list = top.refresh_at(at(31));
/// let rows: Vec<_> = list.rows.iter().map(|row| (row.key.to_string(), row.count)).collect();
/// assert_eq!(rows, [("/login".into(), 9), ("/".into(), 5)]);
/// assert!(list.certified && list.tail == 2); // no other key has more than 2
///
/// // For all readers, until the next refresh: a pointer.
/// assert_eq!(top.snapshot().age(at(32)), 1_000_000_000);
/// # Ok::<(), windlass::ConfigError>(())
/// ```
///
/// # Lists
/// - [`TopK::snapshot`]: the last list that was made, for next to nothing (no more than the copy of a pointer). It says how old it is.
/// - [`TopK::refresh_at`]: makes it anew, over the pane of `now` and those before it that make up the window. [`TopK::maintain_at`] does that when
///   the refresh interval has passed ([`TopKBuilder::refresh_every`]); so a [`crate::Maintainer`] keeps it fresh.
/// - [`TopK::top_at`], [`TopK::top_complete_at`]: a list that nobody else sees. The second is over the panes before that of `now`, as many as make up
///   the window: asked at the end of each pane, it is the list of each.
///
/// Of equal counts the one with the lesser key comes first.
///
/// # Guarantees
/// A list that says [`TopSnapshot::certified`] is exact: keys, order, counts. What "exact" means while others add is
/// said there. A list that is not says what a missing key has at most ([`TopSnapshot::tail`]), and what each of its own has at least and at
/// most. It comes to that only if keys were refused ([`Added::NoRoom`], [`Added::TooLong`]), if a count is saturated, or if it is asked for a window
/// of which some is kept no more.
///
/// All calls are lock-free. An add costs what it costs a [`crate::WindowedCounter`], and two loads; the first of a key in a generation puts its
/// bytes down, and that which makes it a candidate sets two bits. There is no heap and no order on that path: rows that come upon
/// the threshold of a pane are candidates, and thresholds follow from the last list. Making a list takes time in proportion to the
/// candidates, about twice as many as the list has where a few keys are much hotter than most; and a look at all rows if the counts have
/// fallen since the thresholds were chosen.
///
/// # Window, time
/// As with [`crate::WindowedCounter`].
///
/// # Keys
/// They are told apart as by a [`crate::WindowedCounter`]: by 64 bits of their hash beside their place. Their bytes are
/// kept, [`TopK::MAX_LEN`] at most, and given back as they came ([`TopKey`]).
///
/// # Memory
/// As of a [`crate::WindowedCounter`]; and 16 bytes and its own, rounded up to 8, for each key in each generation. (None
/// for `u64` keys: they follow from their hash.)
///
/// # Source
/// That a key which is hot all together is so in a part: the uniform threshold of TPUT (P. Cao, Z. Wang, *Efficient top-K query calculation in
/// distributed networks*, PODC 2004), here over panes and generations instead of nodes.
pub struct TopK {
    core: Core<Names>,
    panes: Panes,
    lateness: Window,
    k: usize,
    /// Ticks between refreshes by upkeep.
    refresh: u64,
    /// The threshold of panes that begin. Relaxed: any will do.
    next: AtomicU64,
    board: Board<TopSnapshot>,
    lowering: Tried<Option<Lowering>>,
    /// Looks at all rows.
    scans: Counter,
    seed: Seed,
    clock: Clock,
}

/// Plain figures about a [`TopK`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopStats {
    /// Of its counts.
    pub counter: CounterStats,
    /// Bytes of keys.
    pub key_bytes: u64,
    /// The threshold of panes that begin now.
    pub threshold: u64,
    /// Lists for which all rows had to be looked at.
    pub scans: u64,
}

impl TopK {
    /// Bytes that a key may have. (Of one in a namespace: name and key and 4.)
    pub const MAX_LEN: usize = crate::table::MAX_LEN - size_of::<u64>();

    /// A builder for lists of `k` keys over `window`, in panes of `pane`, of which the window has to be a multiple.
    pub fn builder(window: impl Into<Window>, pane: impl Into<Window>, k: usize) -> TopKBuilder {
        TopKBuilder::new(window.into(), pane.into(), k)
    }

    /// Counts a key `n` times at `now`.
    #[inline]
    pub fn add_at(&self, key: impl Key, n: u64, now: Tick) -> Added {
        let hash = key.key_hash(self.seed);
        self.core.prefetch(hash);
        self.add_hashed(&key, hash, n, now, &epoch::pin())
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

    /// The counts of a row of one of its lists in each pane from that of `now` back as far as the window, the newest first. Panes in which the key
    /// was not seen are left out. (Of a row of an [`Aggregator`] nothing is known by pane.)
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass::{Tick, TopK};
    ///
    /// let top = TopK::builder(Duration::from_secs(60), Duration::from_secs(10), 1).capacity(100).build()?;
    /// let at = |secs: u64| Tick(secs * 1_000_000_000);
    /// for (count, secs) in [(5, 3), (2, 31), (1, 38)] {
    ///     top.add_at("/index.html", count, at(secs));
    /// }
    /// let list = top.top_at(at(40));
    /// let panes = top.panes_of(&list.rows[0], at(40));
    /// let panes: Vec<_> = panes.iter().map(|pane| (pane.start, pane.count)).collect();
    /// assert_eq!(panes, [(at(30), 3), (at(0), 5)]);
    /// # Ok::<(), windlass::ConfigError>(())
    /// ```
    #[must_use]
    pub fn panes_of(&self, row: &TopRow, now: Tick) -> Vec<PaneCount> {
        let Some(hash) = row.trace.0 else { return Vec::new() };
        let guard = epoch::pin();
        self.panes.counts(now, |panes| self.core.count(hash, panes, &guard))
    }

    /// How often all keys were seen in each pane from that of `now` back as far as the window, the newest first. Panes without an event are left
    /// out.
    #[must_use]
    pub fn pane_totals_at(&self, now: Tick) -> Vec<PaneCount> {
        let guard = epoch::pin();
        self.panes.counts(now, |panes| self.core.total(panes, &guard))
    }

    /// How often all keys were seen in the pane of `now` and those before it that make up the window.
    #[must_use]
    pub fn total_at(&self, now: Tick) -> u64 {
        self.core.total(self.panes.current(now), &epoch::pin())
    }

    /// The last list that was made by [`TopK::refresh_at`] or upkeep. Before the first: an empty one of an empty interval, not certified.
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
        self.list(self.panes.current(now), now, true).0
    }

    /// The list over the panes before that of `now` that make up the window, for the caller alone.
    #[must_use]
    pub fn top_complete_at(&self, now: Tick) -> TopSnapshot {
        self.list(self.panes.complete(now), now, true).0
    }

    /// What an [`Aggregator`] needs to know of the pane of `now` and those before it that make up the window: ten times the keys of a list.
    #[must_use]
    pub fn export_at(&self, now: Tick) -> Export {
        self.export(self.panes.current(now), now)
    }

    /// .. of the panes before that of `now` that make up the window.
    #[must_use]
    pub fn export_complete_at(&self, now: Tick) -> Export {
        self.export(self.panes.complete(now), now)
    }

    fn export(&self, panes: Range<u64>, now: Tick) -> Export {
        let list = self.list_of(panes.clone(), now, true, Export::rows_for(self.k)).0;
        let found = Found { rows: list.rows, tail: list.tail, doubtful: list.tail, total: list.total };
        Export::new(found, (self.panes, panes.clone()), self.core.keeps(panes.start), now, self.k, self.seed)
    }

    /// Upkeep: moves time on to `now`, lets go what is behind the window, clears up to `budget` KiB of it for its next use, and
    /// makes the list anew if the refresh interval has passed. If counts have fallen, so that it cannot be certified by the candidates alone, all rows
    /// are looked at, in this and the next calls (some 16 for each unit of the budget), and the list is made once more when that is done.
    /// `true`: there is more that can be done now.
    pub fn maintain_at(&self, now: Tick, budget: usize) -> bool {
        let more = self.core.maintain(now.0, budget);
        epoch::collect();
        let shown = self.snapshot();
        let mut due = shown.end == Tick(0) || shown.age(now) >= self.refresh;
        let step = self.step(budget);
        due |= step == Step::Done;
        if due {
            let (number, panes) = (self.board.begin(), self.panes.current(now));
            let (list, short) = self.list(panes.clone(), now, false);
            self.board.show(number, Arc::new(list));
            if short {
                self.lower(panes);
            }
        }
        more || step == Step::More
    }

    /// Plain figures. Costs a look at a sample of each generation, and nothing to others.
    #[must_use]
    pub fn stats(&self) -> TopStats {
        let mut counter = self.core.stats();
        counter.memory_bytes = self.memory_bytes();
        TopStats {
            counter,
            key_bytes: self.core.means.key_bytes(&epoch::pin()),
            threshold: self.next.load(Relaxed),
            scans: self.scans.sum(),
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

    /// Bytes that it takes now: of all generations, of their keys, and of what waits to be used again.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.core.bytes() + self.core.means.bytes()
    }

    /// The seed in use: to hash keys beforehand ([`Seed::hash`]), or to let another node agree.
    #[must_use]
    pub fn seed(&self) -> Seed {
        self.seed
    }
}

impl Maintain for TopK {
    fn maintain_at(&self, now: Tick, budget: usize) -> bool {
        TopK::maintain_at(self, now, budget)
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

impl fmt::Debug for TopK {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopK")
            .field("k", &self.k)
            .field("panes", &self.panes)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
