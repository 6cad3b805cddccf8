//! Building a [`WindowedCounter`] or a [`WindowedTotal`]: values checked once, so that nothing can fail later.

use super::{
    Panes, WindowedCounter, WindowedTotal,
    core::{Core, Extra},
    stock::Stock,
    table::Size,
    total::Ring,
};
use crate::{
    error::ConfigError,
    hash::Seed,
    mem::physical_memory,
    pane::Spans,
    settings,
    sync::Budget,
    time::{Clock, Window},
};
use std::sync::Arc;

/// Settings of a [`WindowedCounter`]. Made by [`WindowedCounter::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct CounterBuilder {
    pub(super) grid: Grid,
    capacity: u64,
    max_memory: Option<u64>,
    pub(super) seed: Option<Seed>,
    pub(super) clock: Option<Clock>,
}

/// What counters with keys and without have in common.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    pub(crate) window: Window,
    pane: Window,
    pub(crate) lateness: Window,
    pub(crate) max_jump: Option<Window>,
}

/// Panes that may be kept: a question looks at all of them.
const MOST_PANES: u64 = 1024;

/// Up to so many panes are kept in rows of 1 line, and of 2.
const IN_SMALL_ROWS: [u64; 2] = [24, 96];

impl CounterBuilder {
    pub(crate) fn new(window: Window, pane: Window) -> CounterBuilder {
        CounterBuilder {
            grid: Grid::new(window, pane),
            capacity: 1_000_000,
            max_memory: None,
            seed: None,
            clock: None,
        }
    }

    /// How many different keys a window may have: all there will be, or with [`CounterBuilder::max_memory`] those to begin with. Default:
    /// 1,000,000.
    pub fn capacity(mut self, keys: usize) -> Self {
        self.capacity = keys as u64;
        self
    }

    /// Lets it grow, up to so many bytes, and shrink again, but not below the capacity: each generation is made for what the one before held. More
    /// than three quarters of the machine's memory count as that. Default: all generations are of the size that it is built with.
    pub fn max_memory(mut self, bytes: u64) -> Self {
        self.max_memory = Some(bytes);
        self
    }

    /// How far events may come late, or callers' clocks differ, beyond the window, and still be counted; and how far back questions
    /// can be asked. Rounded up to panes. In the window's unit; default: 0.
    pub fn lateness(mut self, lateness: impl Into<Window>) -> Self {
        self.grid.lateness = lateness.into();
        self
    }

    /// Refuses ticks further ahead of the newest pane than this: a single wild one would age all that is counted. In the window's unit;
    /// default: no bound.
    pub fn max_jump(mut self, max_jump: impl Into<Window>) -> Self {
        self.grid.max_jump = Some(max_jump.into());
        self
    }

    /// The seed of the hash. Default: random; set it where nodes must agree.
    pub fn seed(mut self, seed: Seed) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The clock of the short forms. Default: monotonic for a window by time, a count of arrivals for one by events.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Bytes that it will take when all its generations are in use, if it does not grow.
    ///
    /// # Errors
    /// Names the first setting out of its range, and the range.
    pub fn memory_bytes(&self) -> Result<u64, ConfigError> {
        let (_, spans, lines) = self.grid.spans()?;
        Ok(self.size(lines)?.bytes().saturating_mul(spans.in_turn()))
    }

    fn size(&self, lines: usize) -> Result<Size, ConfigError> {
        let size = Size::for_keys(lines, self.capacity);
        if self.capacity == 0 || size.bytes() > physical_memory().unwrap_or(u64::MAX) / 4 * 3 {
            let most =
                physical_memory().map_or(u64::MAX, |bytes| bytes / 4 * 3 / Size::for_keys(lines, 3).bytes());
            return Err(ConfigError::new("capacity", self.capacity, format_args!("1 to {most} keys")));
        }
        Ok(size)
    }

    /// Checks the settings and allocates.
    ///
    /// # Errors
    /// Names the first setting out of its range, and the range.
    pub fn build(self) -> Result<WindowedCounter, ConfigError> {
        let lateness = self.lateness_kept();
        let Parts { core, panes, seed, clock } = self.parts(|_| ())?;
        Ok(WindowedCounter { core, panes, lateness, seed, clock })
    }

    /// What a structure consists of that counts. `means`: what its generations have in common.
    pub(crate) fn parts<X: Extra>(
        self,
        means: impl FnOnce(&Room) -> X::Means,
    ) -> Result<Parts<X>, ConfigError> {
        let (panes, spans, lines) = self.grid.spans()?;
        let size = self.size(lines)?;
        let clock = settings::clock(self.clock, self.grid.window)?;
        let most = settings::max_memory(self.max_memory, size.bytes().saturating_mul(spans.in_turn() + 1))?;
        let stock = Stock::new(size, spans.in_turn(), most).ok_or_else(|| {
            ConfigError::new(
                "capacity",
                format_args!("{} bytes", size.bytes()),
                "what the system can allocate",
            )
        })?;
        let seed = self.seed.unwrap_or_else(Seed::random);
        let room = Room {
            seed,
            generations: spans.in_turn(),
            panes: spans.panes,
            table: size.bytes(),
            budget: most.map(|_| stock.budget().clone()),
        };
        Ok(Parts { core: Core::new(spans, size, stock, means(&room)), panes, seed, clock })
    }

    /// The keys that it is built for.
    pub(crate) fn keys(&self) -> u64 {
        self.capacity
    }

    /// Whether it grows.
    pub(crate) fn grows(&self) -> bool {
        self.max_memory.is_some()
    }

    /// How much longer panes are kept.
    pub(crate) fn lateness_kept(&self) -> Window {
        self.grid.lateness
    }

    /// What is counted over.
    pub(crate) fn window(&self) -> Window {
        self.grid.window
    }
}

/// See [`CounterBuilder::parts`].
pub(crate) struct Parts<X: Extra> {
    pub(crate) core: Core<X>,
    pub(crate) panes: Panes,
    pub(crate) seed: Seed,
    pub(crate) clock: Clock,
}

/// How much a structure has room for, and what its keys are hashed with.
pub(crate) struct Room {
    pub(crate) seed: Seed,
    /// Generations that may be there at one time.
    pub(crate) generations: u64,
    /// Panes of one.
    pub(crate) panes: u64,
    /// Bytes of the table of one.
    pub(crate) table: u64,
    /// What all bytes together may take, if it grows.
    pub(crate) budget: Option<Arc<Budget>>,
}

/// Settings of a [`WindowedTotal`]. Made by [`WindowedTotal::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct TotalBuilder {
    pub(super) grid: Grid,
    pub(super) clock: Option<Clock>,
}

impl TotalBuilder {
    pub(super) fn new(window: Window, pane: Window) -> TotalBuilder {
        TotalBuilder { grid: Grid::new(window, pane), clock: None }
    }

    /// See [`CounterBuilder::lateness`].
    pub fn lateness(mut self, lateness: impl Into<Window>) -> Self {
        self.grid.lateness = lateness.into();
        self
    }

    /// See [`CounterBuilder::max_jump`].
    pub fn max_jump(mut self, max_jump: impl Into<Window>) -> Self {
        self.grid.max_jump = Some(max_jump.into());
        self
    }

    /// The clock of the short forms. Default: monotonic for a window by time, a count of arrivals for one by events.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Checks the settings and allocates.
    ///
    /// # Errors
    /// Names the first setting out of its range, and the range.
    pub fn build(self) -> Result<WindowedTotal, ConfigError> {
        let (panes, spans, lines) = self.grid.spans()?;
        let clock = settings::clock(self.clock, self.grid.window)?;
        Ok(WindowedTotal::new(Ring::new(spans, Size::cells(lines)), panes, self.grid.lateness, clock))
    }
}

impl Grid {
    pub(crate) fn new(window: Window, pane: Window) -> Grid {
        Grid { window, pane, lateness: settings::nothing(window), max_jump: None }
    }

    /// With a generation for each pane.
    pub(crate) fn single_panes(&self) -> Result<(Panes, Spans), ConfigError> {
        let (panes, spans, _) = self.spans()?;
        Ok((panes, Spans { panes: 1, ..spans }))
    }

    /// .. and how many lines a row has.
    fn spans(&self) -> Result<(Panes, Spans, usize), ConfigError> {
        let (window, lateness) = settings::reach(self.window, self.lateness)?;
        let pane = settings::ticks("pane", self.pane, self.window, 1)?;
        if !window.is_multiple_of(pane) {
            let limit = format!("a divisor of the window ({})", self.window);
            return Err(ConfigError::new("pane", self.pane, limit));
        }
        let jump = |jump| settings::ticks("max_jump", jump, self.window, 1);
        let max_jump = self.max_jump.map_or(Ok(u64::MAX), jump)?;
        let (panes, kept) = (window / pane, window / pane + 1 + lateness.div_ceil(pane));
        if kept > MOST_PANES {
            let limit =
                format!("at most {MOST_PANES} panes in window and lateness, and one more: these are {kept}");
            return Err(ConfigError::new("pane", self.pane, limit));
        }
        let lines = match kept {
            n if n <= IN_SMALL_ROWS[0] => 1,
            n if n <= IN_SMALL_ROWS[1] => 2,
            _ => 4,
        };
        // No longer than the window: what a window has of different keys, a generation may have.
        let length = panes.min(Size::cells(lines) as u64);
        Ok((
            Panes { pane, window: panes, counts_events: self.window.counts_events() },
            Spans { pane, panes: length, kept, max_jump },
            lines,
        ))
    }
}
