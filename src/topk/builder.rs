//! Building a [`TopK`]: values checked once, so that nothing can fail later.

use super::{
    TopK, TopSnapshot,
    names::{Means, Names},
    snapshot::Board,
};
use crate::{
    count::{CounterBuilder, Parts},
    error::ConfigError,
    hash::Seed,
    settings,
    sync::{AtomicU64, Counter, Tried},
    time::{Clock, Window},
};
use std::time::Duration;

/// Settings of a [`TopK`]. Made by [`TopK::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct TopKBuilder {
    pub(super) counter: CounterBuilder,
    pane: Window,
    k: usize,
    refresh: Option<Window>,
}

/// .. of a window by time.
const REFRESH: Duration = Duration::from_millis(100);

impl TopKBuilder {
    pub(super) fn new(window: Window, pane: Window, k: usize) -> TopKBuilder {
        TopKBuilder { counter: CounterBuilder::new(window, pane), pane, k, refresh: None }
    }

    /// How many different keys a window may have. See [`CounterBuilder::capacity`]. Without [`TopKBuilder::max_memory`] their bytes
    /// may take as much as their rows (and 1 MiB at least). Default: 1,000,000.
    pub fn capacity(mut self, keys: usize) -> Self {
        self.counter = self.counter.capacity(keys);
        self
    }

    /// Lets it grow, up to so many bytes, those of keys among them. See [`CounterBuilder::max_memory`].
    pub fn max_memory(mut self, bytes: u64) -> Self {
        self.counter = self.counter.max_memory(bytes);
        self
    }

    /// How far events may come late, and how far back lists can be asked for. See [`CounterBuilder::lateness`].
    pub fn lateness(mut self, lateness: impl Into<Window>) -> Self {
        self.counter = self.counter.lateness(lateness);
        self
    }

    /// Refuses ticks further ahead. See [`CounterBuilder::max_jump`].
    pub fn max_jump(mut self, max_jump: impl Into<Window>) -> Self {
        self.counter = self.counter.max_jump(max_jump);
        self
    }

    /// The seed of the hash. Default: random; set it where nodes must agree.
    pub fn seed(mut self, seed: Seed) -> Self {
        self.counter = self.counter.seed(seed);
        self
    }

    /// The clock of the short forms. Default: monotonic for a window by time, a count of arrivals for one by events.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.counter = self.counter.clock(clock);
        self
    }

    /// How old upkeep lets the list become. In the window's unit. Default: 100 ms, or a pane of events.
    pub fn refresh_every(mut self, interval: impl Into<Window>) -> Self {
        self.refresh = Some(interval.into());
        self
    }

    /// Bytes that it will take when all its generations are in use, if it does not grow. The bytes of keys come on top.
    ///
    /// # Errors
    /// Names the first setting out of its range, and the range.
    pub fn memory_bytes(&self) -> Result<u64, ConfigError> {
        self.counter.memory_bytes()
    }

    /// Checks the settings and allocates.
    ///
    /// # Errors
    /// Names the first setting out of its range, and the range.
    pub fn build(self) -> Result<TopK, ConfigError> {
        let window = self.counter.window();
        let refresh = self.refresh.unwrap_or(if window.counts_events() { self.pane } else { REFRESH.into() });
        let refresh = settings::ticks("refresh_every", refresh, window, 0)?;
        let (most, lateness) = (self.counter.keys(), self.counter.lateness_kept());
        let parts = self.counter.parts::<Names>(Means::new)?;
        if self.k == 0 || self.k as u64 > most {
            return Err(ConfigError::new("k", self.k, format_args!("1 to {most}, the capacity")));
        }
        Ok(TopK::of(parts, self.k, refresh, lateness))
    }
}

impl TopK {
    pub(super) fn of(parts: Parts<Names>, k: usize, refresh: u64, lateness: Window) -> TopK {
        let Parts { core, panes, seed, clock } = parts;
        TopK {
            core,
            panes,
            lateness,
            k,
            refresh,
            next: AtomicU64::new(1),
            board: Board::new(TopSnapshot::unknown()),
            lowering: Tried::default(),
            scans: Counter::default(),
            seed,
            clock,
        }
    }
}

/// The smallest there is, for models. Keys may take so many bytes.
#[cfg(windlass_loom)]
pub(super) fn made(window: u64, k: usize, bytes: u64) -> Result<TopK, ConfigError> {
    let counter = CounterBuilder::new(Window::last_n(window), Window::last_n(1)).capacity(1);
    Ok(TopK::of(counter.parts::<Names>(|room| Means::of_bytes(room, bytes))?, k, 0, Window::last_n(0)))
}
