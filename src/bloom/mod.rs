//! Approximate windowed membership: seen in the last T?, in fixed memory.

mod batch;
mod builder;
mod columns;
mod figures;
#[cfg(all(feature = "mmap", unix, not(windlass_loom)))]
mod file;
mod plan;
mod snapshot;

use crate::{
    hash::{Key, KeyHash, Seed},
    maintain::Maintain,
    pane::{Ask, Bloom, Contains, Insert, Observe, PaneRing},
    time::{Clock, Tick, Window},
    verdict::Verdict,
};
pub use builder::BloomBuilder;
use columns::{Columns, with_columns};
pub use figures::{BloomStats, Distinct, PaneSpan, PaneStats};
pub use plan::{BloomPlan, Layout};
use std::fmt;

/// Remembers the ids of a window in fixed memory, for any number of threads: no id of the window is ever missed, and of those that
/// were not there a stated share is taken for seen.
///
/// ```
/// use std::time::Duration;
/// use windlass::{RotatingBloom, Tick};
///
/// let seen = RotatingBloom::builder(Duration::from_secs(60)).expected_ids(100_000).error(0.01).build()?;
/// let at = |secs: u64| Tick(secs * 1_000_000_000);
///
/// assert!(!seen.insert_at("order-4711", at(0)));
/// assert!(seen.insert_at("order-4711", at(59))); // within the window, and put in again
/// assert!(seen.contains_at("order-4711", at(118)));
/// assert!(!seen.contains_at("order-4711", at(200)));
/// # Ok::<(), windlass::ConfigError>(())
/// ```
///
/// # Promise
/// What was put in at tick t is found until t + window (+ lateness), as long as no later tick than that was brought. It is forgotten an 8th of a
/// pane before t + N panes at the latest, N being the number of panes and a pane window / (N - 9/8) long: with 8 panes at most
/// 15 % after the window. If the next pane is not yet clean when it should begin ([`BloomStats::late`]) ids are kept longer, never
/// shorter. So after a silence: until somebody has cleared a pane, which calls do in steps of up to 4096 rows, the ids of the last
/// pane before it count as seen. [`RotatingBloom::maintain_at`] does that meanwhile, [`RotatingBloom::advance_to`] at once.
///
/// Ticks may come from several clocks and out of order. A late one counts as in the newest pane.
///
/// # Which call
/// - [`RotatingBloom::insert_at`]: any arrival refreshes. It says whether the id was there before.
/// - [`RotatingBloom::observe_at`]: the first arrival counts, and for a window only, as in [`crate::Dedup`]: approximate deduplication. Some
///   fresh ids are taken for duplicates, no duplicate for a fresh id.
/// - [`RotatingBloom::contains_at`]: looks, and writes nothing.
///
/// Of several threads that bring one new id at the same time, at least one is told that it is new. With one row of 64-bit blocks
/// ([`Layout::Rows`]`(1)`) it is exactly one in each pane; else more than one may be told so, and also where a pane ends between them.
///
/// # Layouts
/// All panes have an id's bits in the same place. In the layouts with rows these places are next to each other, so a question costs one
/// cache line, or a few. The builder takes the layout with the fewest lines whose memory is within 1.3 times that of the most thrifty
/// one: of 8 panes a row of 128-bit blocks for 1 %, two rows for 0.1 % ([`BloomBuilder::plan`] says which). [`Layout::Rows`]`(1)` is
/// faster for more memory.
///
/// # Cost
/// A call is lock-free. It reads its rows; it writes to them only if the id's bits are not all set in the current pane. A pane is
/// cleared in steps of 16 rows by the calls in the last 8th of the time of the one before (or see [`Rotation`](crate::Rotation)).
///
/// # Error
/// [`BloomPlan::expected_error`] is that of full panes; [`RotatingBloom::stats`] tells the present one. It follows from the loads of blocks (F. Putze,
/// P. Sanders, J. Singler: "Cache-, Hash- and Space-Efficient Bloom Filters", 2007), not from the classic formula, which promises too much for
/// blocks; that blocks with as many ids differ in how many bits are set is counted in as well. With more ids than expected the error rises; nothing else happens. With a seed that others know, ids can be made that are
/// taken for seen.
pub struct RotatingBloom {
    ring: PaneRing,
    columns: Columns,
    plan: BloomPlan,
    window: Window,
    lateness: Window,
    seed: Seed,
    clock: Clock,
    #[cfg(all(feature = "mmap", unix, not(windlass_loom)))]
    file: Option<std::sync::Arc<crate::mem::Mapped>>,
}

impl RotatingBloom {
    /// A builder for ids that count as seen for `window`.
    pub fn builder(window: impl Into<Window>) -> BloomBuilder {
        BloomBuilder::new(window.into())
    }

    /// Puts an id in at `now`. Whether it was seen within the window before.
    #[inline]
    pub fn insert_at(&self, key: impl Key, now: Tick) -> bool {
        self.ask::<Insert>(key.key_hash(self.seed), now)
    }

    /// Puts an id in now. Whether it was seen within the window before.
    #[inline]
    pub fn insert(&self, key: impl Key) -> bool {
        self.insert_at(key, self.clock.arrivals(1))
    }

    /// Puts an id in at `now` if it was not seen within the window before: the first arrival counts.
    #[inline]
    pub fn observe_at(&self, key: impl Key, now: Tick) -> Verdict {
        verdict(self.ask::<Observe>(key.key_hash(self.seed), now))
    }

    /// Puts an id in now if it was not seen within the window before.
    #[inline]
    pub fn observe(&self, key: impl Key) -> Verdict {
        self.observe_at(key, self.clock.arrivals(1))
    }

    /// Whether an id was seen within the window before `now`.
    #[must_use]
    #[inline]
    pub fn contains_at(&self, key: impl Key, now: Tick) -> bool {
        self.ask::<Contains>(key.key_hash(self.seed), now)
    }

    /// Whether an id was seen within the window.
    #[must_use]
    #[inline]
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_at(key, self.clock.now())
    }

    #[inline(always)]
    fn ask<A: Ask>(&self, hash: KeyHash, now: Tick) -> bool {
        with_columns!(&self.columns, columns => A::ask(&self.ring, columns, &columns.spot(hash), now.0))
    }

    /// Upkeep: moves the panes on to `now`, and clears up to `budget` pieces (16 rows, or KiB) of the next one if it is time.
    /// `true`: there is more that can be done now. Of use in a silence, and from a thread beside the callers
    /// ([`crate::Maintainer`]).
    pub fn maintain_at(&self, now: Tick, budget: usize) -> bool {
        with_columns!(&self.columns, columns => self.ring.maintain(now.0, budget as u64, columns))
    }

    /// Moves the panes on to `now`, with all the clearing that this takes. `now` is believed, also where it lies beyond
    /// [`BloomBuilder::max_jump`].
    pub fn advance_to(&self, now: Tick) {
        with_columns!(&self.columns, columns => self.ring.advance(now.0, columns));
    }

    /// What it was built as.
    #[must_use]
    pub fn plan(&self) -> &BloomPlan {
        &self.plan
    }

    /// How long an id counts as seen.
    #[must_use]
    pub fn window(&self) -> Window {
        self.window
    }

    /// Bytes of all panes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.plan.bytes
    }

    /// The seed in use: to hash keys beforehand ([`Seed::hash`]), with namespaces, or to let another node agree.
    #[must_use]
    pub fn seed(&self) -> Seed {
        self.seed
    }
}

fn verdict(seen: bool) -> Verdict {
    if seen { Verdict::Duplicate { first_seen: None } } else { Verdict::Fresh }
}

impl Maintain for RotatingBloom {
    fn maintain_at(&self, now: Tick, budget: usize) -> bool {
        RotatingBloom::maintain_at(self, now, budget)
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

impl fmt::Debug for RotatingBloom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RotatingBloom")
            .field("window", &self.window)
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}
