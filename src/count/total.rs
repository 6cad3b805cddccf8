//! How often in the window, all together?

use super::{Added, CounterStats, PaneCount, Panes, TotalBuilder, totals::Totals};
use crate::{
    codec::{Reader, RestoreError, Writer},
    maintain::Maintain,
    pane::{Generations, Keep, Missed, Spans},
    sync::{Counter, epoch, saturating::SATURATED},
    time::{Clock, Tick, Window},
};
use std::{
    fmt,
    io::{self, Read, Write},
    sync::Arc,
};

/// Counts how much came in the window, without keys: a [`crate::WindowedCounter`] of one key, for next to no memory. Threads that add
/// do not meet.
///
/// ```
/// use std::time::Duration;
/// use windlass::{Tick, WindowedTotal};
///
/// let (window, pane) = (Duration::from_secs(60), Duration::from_secs(10));
/// let bytes = WindowedTotal::builder(window, pane).build()?;
/// let at = |secs: u64| Tick(secs * 1_000_000_000);
///
/// bytes.add_at(1500, at(5));
/// bytes.add_at(500, at(31));
/// assert_eq!(bytes.total_at(at(59)), 2000);
/// assert_eq!(bytes.total_at(at(60)), 500);
/// assert_eq!(bytes.total_complete_at(at(60)), 2000); // the six panes before
/// # Ok::<(), windlass::ConfigError>(())
/// ```
///
/// Window, time, guarantees: as with [`crate::WindowedCounter`].
pub struct WindowedTotal {
    pub(super) ring: Ring,
    pub(super) panes: Panes,
    pub(super) lateness: Window,
    pub(super) clock: Clock,
}

pub(super) struct Ring {
    time: Generations<Totals>,
    keeper: Keeper,
}

/// Makes and lets go what is a few KiB.
struct Keeper {
    cells: usize,
    opened: Counter,
    late: Counter,
    jumps: Counter,
    saturated: Counter,
}

impl Keep<Totals> for Keeper {
    fn open(&self, _: u64, _: Option<&Totals>) -> Totals {
        self.opened.add(1);
        Totals::new(self.cells)
    }

    fn unused(&self, _: Totals) {}

    fn left(&self, _: Arc<Totals>) {}
}

impl Ring {
    pub(super) fn new(spans: Spans, cells: usize) -> Ring {
        let [opened, late, jumps, saturated] = std::array::from_fn(|_| Counter::default());
        Ring { time: Generations::new(spans), keeper: Keeper { cells, opened, late, jumps, saturated } }
    }
}

/// Sections of a snapshot: totals by generation, and the newest pane.
const TOTALS: u32 = 1;
const NEWEST: u32 = 2;

/// For snapshots.
impl Ring {
    pub(super) fn save<W: Write>(&self, writer: &mut Writer<W>) -> io::Result<()> {
        // A few KiB: all at once. The newest pane is read last (see `saved`).
        let (guard, mut totals) = (epoch::pin(), Vec::new());
        let firsts = self.time.firsts(&guard);
        for &first in &firsts {
            let cells = 0..self.keeper.cells;
            let Some(generation) = self.time.of(first, &guard) else { continue };
            totals.push((first, cells.map(|cell| generation.sum(cell..cell + 1)).collect::<Vec<_>>()));
        }
        let newest = self.time.newest();
        drop(guard);
        writer.section(TOTALS)?;
        writer.u64(totals.len() as u64)?;
        for (first, cells) in totals {
            writer.entry();
            writer.u64(first)?;
            cells.into_iter().try_for_each(|total| writer.u64(total))?;
        }
        writer.section(NEWEST)?;
        writer.u64(newest.map_or(0, |newest| newest + 1))
    }

    pub(super) fn load<R: Read>(&self, reader: &mut Reader<R>) -> Result<(), RestoreError> {
        reader.section(TOTALS)?;
        let (mut generations, mut next) = (Vec::new(), 0);
        let count = reader.u64("generations")?;
        if count > self.time.most() {
            return Err(reader.wrong("generations", "more than there may be"));
        }
        for _ in 0..count {
            let first = reader.u64("first pane")?;
            if first < next || !self.time.begins_with(first) {
                return Err(reader.wrong("first pane", "not one that comes next"));
            }
            next = first + 1;
            reader.entry();
            let totals = Totals::new(self.keeper.cells);
            for cell in 0..self.keeper.cells {
                totals.add(cell, reader.u64("totals")?.min(SATURATED));
            }
            generations.push((first, totals));
        }
        reader.section(NEWEST)?;
        match reader.u64("newest pane")?.checked_sub(1) {
            Some(newest) if next <= newest.saturating_add(1) && newest < u64::MAX - 1 => {
                self.time.put_back(newest, generations, &self.keeper);
                Ok(())
            }
            None if next == 0 => Ok(()),
            _ => Err(reader.wrong("newest pane", "before one that there is")),
        }
    }

    /// After a time without calls: goes on to `now`, however far that is.
    pub(super) fn resume(&self, now: u64) {
        self.time.resume(now);
        self.time.maintain(now, &epoch::pin(), &self.keeper);
    }
}

impl WindowedTotal {
    pub(super) fn new(ring: Ring, panes: Panes, lateness: Window, clock: Clock) -> WindowedTotal {
        WindowedTotal { ring, panes, lateness, clock }
    }

    /// A builder for a total over `window`, in panes of `pane`, of which the window has to be a multiple.
    pub fn builder(window: impl Into<Window>, pane: impl Into<Window>) -> TotalBuilder {
        TotalBuilder::new(window.into(), pane.into())
    }

    /// Adds `n` at `now`. ([`Added::NoRoom`] it never says.)
    #[inline]
    pub fn add_at(&self, n: u64, now: Tick) -> Added {
        let (guard, keeper) = (epoch::pin(), &self.ring.keeper);
        match self.ring.time.enter(now.0, &guard, keeper) {
            Ok(place) => {
                if place.generation.add(place.cell, n) {
                    keeper.saturated.add(1);
                }
                Added::Counted
            }
            Err(Missed::Late) => {
                keeper.late.add(1);
                Added::Late
            }
            Err(Missed::Jump) => {
                keeper.jumps.add(1);
                Added::Jump
            }
        }
    }

    /// Adds `n` now, by the structure's clock.
    #[inline]
    pub fn add(&self, n: u64) -> Added {
        self.add_at(n, self.clock.arrivals(1))
    }

    /// What came in the pane of `now` and those before it that make up the window. `u64::MAX`: that much or more.
    #[must_use]
    pub fn total_at(&self, now: Tick) -> u64 {
        self.sum(self.panes.current(now))
    }

    /// .. by the structure's clock.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total_at(self.clock.now())
    }

    /// What came in the panes before that of `now` that make up the window.
    #[must_use]
    pub fn total_complete_at(&self, now: Tick) -> u64 {
        self.sum(self.panes.complete(now))
    }

    /// The total of each pane from that of `now` back as far as the window, the newest first. Empty panes are left out.
    #[must_use]
    pub fn panes_at(&self, now: Tick) -> Vec<PaneCount> {
        self.panes.counts(now, |panes| self.sum(panes))
    }

    fn sum(&self, panes: std::ops::Range<u64>) -> u64 {
        let guard = epoch::pin();
        let parts = self.ring.time.with(panes, &guard);
        crate::sync::saturating::sum(parts.map(|(totals, _, cells)| totals.sum(cells)))
    }

    /// Upkeep: moves time on to `now`, and lets go what is behind the window. There is never more to do.
    pub fn maintain_at(&self, now: Tick, _: usize) -> bool {
        self.ring.time.maintain(now.0, &epoch::pin(), &self.ring.keeper);
        epoch::collect();
        false
    }

    /// Plain figures. Those of rows and keys are 0.
    #[must_use]
    pub fn stats(&self) -> CounterStats {
        let keeper = &self.ring.keeper;
        CounterStats {
            active_pane: self.ring.time.newest().unwrap_or(0),
            generations: self.ring.time.all(&epoch::pin()).count() as u64,
            memory_bytes: self.memory_bytes(),
            opened: keeper.opened.sum(),
            late: keeper.late.sum(),
            jumps: keeper.jumps.sum(),
            saturated: keeper.saturated.sum(),
            ..CounterStats::default()
        }
    }

    /// What is counted over.
    #[must_use]
    pub fn window(&self) -> Window {
        self.panes.of_window(self.panes.window)
    }

    /// Bytes that it takes now.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.ring.time.all(&epoch::pin()).count() as u64 * Totals::bytes(self.ring.keeper.cells)
    }
}

impl Maintain for WindowedTotal {
    fn maintain_at(&self, now: Tick, budget: usize) -> bool {
        WindowedTotal::maintain_at(self, now, budget)
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

impl fmt::Debug for WindowedTotal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WindowedTotal")
            .field("panes", &self.panes)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
