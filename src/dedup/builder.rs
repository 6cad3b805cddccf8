//! Building a [`Dedup`]: values checked once, so that nothing can fail later.

use super::{Counts, Dedup, Rule, state::BLOCK};
use crate::{
    error::ConfigError,
    hash::Seed,
    origin::Origin,
    settings,
    sync::AtomicU64,
    table::{Geometry, KeyTable, Plan},
    time::{Clock, Tick, Window},
};

/// What happens to a new id when there is no room for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFull {
    /// It is refused ([`super::Refused::Full`]): nothing is ever forgotten early.
    #[default]
    Reject,
    /// The oldest id of its bucket is forgotten early, and counted. Ids no older than the lateness are not.
    EvictOldest,
}

/// What makes two ids the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Identity {
    /// 64 bits of their hash beside their place: see [`Dedup`], "Identity". `u64` ids are told apart exactly.
    #[default]
    Hash,
    /// Their bytes, which are kept: exact, also against whoever makes ids whose hashes collide. Of an id given as a
    /// [`crate::KeyHash`] those are its 128 bits. An id has [`Dedup::MAX_LEN`] bytes at most.
    Bytes,
}

/// What an id's window counts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refresh {
    /// From its admission: a duplicate changes nothing.
    #[default]
    Never,
    /// From the last time it was seen: a duplicate moves the window on (and costs a write).
    OnDuplicate,
}

/// Settings of a [`Dedup`]. Made by [`Dedup::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct DedupBuilder {
    pub(super) window: Window,
    pub(super) lateness: Window,
    max_jump: Option<Window>,
    capacity: usize,
    max_memory: Option<u64>,
    pub(super) seed: Option<Seed>,
    pub(super) identity: Identity,
    pub(super) refresh: Refresh,
    on_full: OnFull,
    clock: Option<Clock>,
}

impl DedupBuilder {
    pub(super) fn new(window: Window) -> DedupBuilder {
        DedupBuilder {
            window,
            lateness: settings::nothing(window),
            max_jump: None,
            capacity: 1_000_000,
            max_memory: None,
            seed: None,
            identity: Identity::default(),
            refresh: Refresh::default(),
            on_full: OnFull::default(),
            clock: None,
        }
    }

    /// How many live ids it must hold, those of the window and of the lateness before it: all there will be, or with
    /// [`DedupBuilder::max_memory`] those to begin with. Default: 1,000,000.
    pub fn capacity(mut self, ids: usize) -> Self {
        self.capacity = ids;
        self
    }

    /// Lets it grow, up to so many bytes, and shrink again, but not below the capacity. While one size takes the place of another
    /// both count: at least four ninths of the bytes can be used in the end. More than three quarters of the machine's memory
    /// count as that. Default: it keeps the size it is built with.
    pub fn max_memory(mut self, bytes: u64) -> Self {
        self.max_memory = Some(bytes);
        self
    }

    /// How far callers' clocks may differ, or events come late, and still be judged by their own time. Ids are kept that
    /// much longer. In the window's unit; default: 0.
    pub fn lateness(mut self, lateness: impl Into<Window>) -> Self {
        self.lateness = lateness.into();
        self
    }

    /// Refuses ticks further ahead of the newest one seen than this: a single wild one would age the whole table. In the
    /// window's unit, to within a 1024th of the window; default: no bound but the range of stamps (2^58 ns or 2^48 events from the
    /// first).
    pub fn max_jump(mut self, max_jump: impl Into<Window>) -> Self {
        self.max_jump = Some(max_jump.into());
        self
    }

    /// The seed of the hash. Default: random; set it where nodes must agree.
    pub fn seed(mut self, seed: Seed) -> Self {
        self.seed = Some(seed);
        self
    }

    /// What makes two ids the same. Default: their hash.
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = identity;
        self
    }

    /// What an id's window counts from. Default: its admission.
    pub fn refresh(mut self, refresh: Refresh) -> Self {
        self.refresh = refresh;
        self
    }

    /// What happens when there is no room. Default: new ids are refused.
    pub fn on_full(mut self, on_full: OnFull) -> Self {
        self.on_full = on_full;
        self
    }

    /// The clock of the short forms. Default: monotonic for a window by time, a count of arrivals for one by events.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Bytes that it will take to begin with.
    ///
    /// # Errors
    /// If the capacity is 0 or beyond the machine's memory.
    pub fn memory_bytes(&self) -> Result<u64, ConfigError> {
        Ok(Geometry::for_keys(self.capacity)?.bytes())
    }

    /// Checks the settings and allocates.
    ///
    /// # Errors
    /// Names the first setting out of its range, and the range.
    pub fn build(self) -> Result<Dedup, ConfigError> {
        self.make(Tick(0), KeyTable::new)
    }

    /// With a table by the plan, and a clock that begins at `start` if none was given.
    pub(super) fn make<E: From<ConfigError>>(
        self,
        start: Tick,
        table: impl FnOnce(Plan) -> Result<KeyTable, E>,
    ) -> Result<Dedup, E> {
        let (window, lateness) = settings::reach(self.window, self.lateness)?;
        let ticks = |jump| settings::ticks("max_jump", jump, self.window, 1);
        let max_jump = self.max_jump.map_or(Ok(u64::MAX), ticks)?;
        let by_events = self.window.counts_events();
        let clock = settings::clock_from(self.clock, self.window, start)?;
        // A 1024th of the window, rounded down to a power of two.
        let granule = 1 << (window / 1024).max(1).ilog2();
        // Claims are made at multiples of a block of stamps. A block of nanoseconds is next to nothing, one of events is not: there
        // it is a single event, but for huge windows, of which thousands must fit into the range of stamps.
        let fits = (Window::MAX_TICKS / BLOCK / (window + lateness)).clamp(1, BLOCK);
        let shift = if by_events { fits.ilog2() } else { 0 };
        let tick = 1 << shift;
        let rule = Rule {
            window: window * tick,
            reach: (window + lateness) * tick,
            max_jump: max_jump.saturating_mul(tick),
            refresh: self.refresh,
            granule: granule * tick,
            ordinary: (lateness + granule) * tick,
            tick,
        };
        let geometry = Geometry::for_keys(self.capacity)?;
        let max_memory = settings::max_memory(self.max_memory, geometry.bytes())?;
        let evict_within = (self.on_full == OnFull::EvictOldest).then(|| rule.evict_within());
        Ok(Dedup {
            table: table(Plan {
                geometry,
                span: rule.span(),
                evict_within,
                limit: max_memory,
                bytes: (self.identity == Identity::Bytes).then(|| rule.lead()),
            })?,
            rule,
            // The first event's horizon is above 0, and so is every state.
            origin: Origin::new(rule.reach + rule.granule, shift, 1),
            window: self.window,
            lateness: self.lateness,
            resets: AtomicU64::new(0),
            seed: self.seed.unwrap_or_else(Seed::random),
            clock,
            counts: Counts::default(),
        })
    }
}
