//! Building a [`BoundedTopK`]: values checked once, so that nothing can fail later.

use super::{BoundedTopK, pane::Pool, plan::Plan};
use crate::{
    count::Grid,
    error::ConfigError,
    hash::Seed,
    pane::Generations,
    settings,
    sync::Counter,
    time::{Clock, Window},
    topk::{TopSnapshot, snapshot::Board},
};
use std::time::Duration;

/// Settings of a [`BoundedTopK`]. Made by [`BoundedTopK::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct BoundedTopKBuilder {
    pub(super) grid: Grid,
    pane: Window,
    k: usize,
    memory: u64,
    key_bytes: u64,
    pub(super) seed: Option<Seed>,
    pub(super) clock: Option<Clock>,
    refresh: Option<Window>,
}

/// .. of a window by time.
const REFRESH: Duration = Duration::from_millis(100);

impl BoundedTopKBuilder {
    pub(super) fn new(window: Window, pane: Window, k: usize) -> BoundedTopKBuilder {
        BoundedTopKBuilder {
            grid: Grid::new(window, pane),
            pane,
            k,
            memory: 1 << 20,
            key_bytes: 24,
            seed: None,
            clock: None,
            refresh: None,
        }
    }

    /// Bytes that it may take, all in all. They are divided among the panes that are kept, and two more. Default: 1 MiB.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// How many bytes a key has, on average: as much room is kept for those of the candidates, twice. 0: all are `u64`, which need none.
    /// (A key for which there is no room is counted, but not told.) Default: 24.
    pub fn key_bytes(mut self, bytes: usize) -> Self {
        self.key_bytes = bytes as u64;
        self
    }

    /// How far events may come late, and how far back lists can be asked for. See [`crate::CounterBuilder::lateness`].
    pub fn lateness(mut self, lateness: impl Into<Window>) -> Self {
        self.grid.lateness = lateness.into();
        self
    }

    /// Refuses ticks further ahead. See [`crate::CounterBuilder::max_jump`].
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

    /// How old upkeep lets the list become. In the window's unit. Default: 100 ms, or a pane of events.
    pub fn refresh_every(mut self, interval: impl Into<Window>) -> Self {
        self.refresh = Some(interval.into());
        self
    }

    /// Checks the settings and allocates.
    ///
    /// # Errors
    /// Names the first setting out of its range, and the range; of too little memory also the least that would do.
    pub fn build(self) -> Result<BoundedTopK, ConfigError> {
        let window = self.grid.window;
        let (panes, spans) = self.grid.single_panes()?;
        if self.k == 0 || self.k > MOST {
            return Err(ConfigError::new("k", self.k, format_args!("1 to {MOST}")));
        }
        if self.key_bytes > super::super::TopK::MAX_LEN as u64 {
            let limit = format!("{} at most", super::super::TopK::MAX_LEN);
            return Err(ConfigError::new("key_bytes", self.key_bytes, limit));
        }
        let refresh = self.refresh.unwrap_or(if window.counts_events() { self.pane } else { REFRESH.into() });
        let refresh = settings::ticks("refresh_every", refresh, window, 0)?;
        let clock = settings::clock(self.clock, window)?;
        let plan = Plan::new(self.memory, spans.kept, self.k as u64, self.key_bytes)?;
        let pool = Pool::new(plan).ok_or_else(|| {
            ConfigError::new("memory", format_args!("{} bytes", self.memory), "what the system can allocate")
        })?;
        Ok(BoundedTopK {
            time: Generations::new(spans),
            pool,
            panes,
            lateness: self.grid.lateness,
            k: self.k,
            refresh,
            board: Board::new(TopSnapshot::unknown()),
            late: Counter::default(),
            jumps: Counter::default(),
            seed: self.seed.unwrap_or_else(Seed::random),
            clock,
        })
    }
}

/// Keys of a list.
const MOST: usize = 1 << 20;
