//! Building a [`FifoIndex`]: values checked once, so that nothing can fail later.

use super::{Counts, FifoIndex, entry::OnPresent, log::Log, queue::Queue};
use crate::{
    error::ConfigError,
    hash::Seed,
    mem::physical_memory,
    settings,
    table::{Geometry, KeyTable, Plan},
    time::{Clock, Tick, Window},
};
use std::time::Duration;

/// Settings of a [`FifoIndex`]. Made by [`FifoIndex::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct FifoBuilder {
    capacity: usize,
    max_memory: Option<u64>,
    pub(super) on_present: OnPresent,
    pub(super) seed: Option<Seed>,
    clock: Option<Clock>,
}

/// Slots of a segment: 2^these, by the capacity.
const BITS: (u32, u32) = (6, 12);

/// How entries lie in memory.
struct Sizes {
    bits: u32,
    /// Segments in the ring.
    ring: usize,
    /// Bytes that the table may have.
    table: Option<u64>,
}

impl FifoBuilder {
    pub(super) fn new() -> FifoBuilder {
        FifoBuilder {
            capacity: 1_000_000,
            max_memory: None,
            on_present: OnPresent::default(),
            seed: None,
            clock: None,
        }
    }

    /// How many entries it may hold; or with [`FifoBuilder::max_memory`] for how many it is made to begin with. Default: 1,000,000.
    pub fn capacity(mut self, entries: usize) -> Self {
        self.capacity = entries;
        self
    }

    /// Lets it hold as many entries as this memory has room for, half of it for the table and half for the entries, also those that have
    /// been popped and wait until calls under way have ended. (A value's own heap memory, and that of keys of more than 21 bytes, is not counted.) Default: it
    /// holds the capacity.
    pub fn max_memory(mut self, bytes: u64) -> Self {
        self.max_memory = Some(bytes);
        self
    }

    /// What a push does about a key that is there. Default: nothing.
    pub fn on_present(mut self, on_present: OnPresent) -> Self {
        self.on_present = on_present;
        self
    }

    /// The seed of the hash. Default: random; set it where nodes must agree.
    pub fn seed(mut self, seed: Seed) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The clock of the short forms. Default: monotonic.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Bytes that it takes with as many entries as the capacity, of values of this type.
    ///
    /// # Errors
    /// If the capacity is 0, or beyond the machine's memory.
    pub fn memory_bytes<V: Clone + Send + Sync + 'static>(&self) -> Result<u64, ConfigError> {
        let bits = self.bits();
        let segments = (self.capacity as u64).div_ceil(1 << bits) + 1;
        Ok(self.geometry()?.bytes().saturating_add(segments.saturating_mul(Log::<V>::segment_bytes(bits))))
    }

    fn geometry(&self) -> Result<Geometry, ConfigError> {
        if self.capacity == 0 {
            return Geometry::for_keys(0);
        }
        // What was popped last is still in the table.
        let extra = usize::try_from(self.granule()).unwrap_or(usize::MAX);
        Geometry::for_keys(self.capacity.saturating_add(extra)).map_err(|error| {
            let limit = format!("{}, less {extra}", error.limit);
            ConfigError::new(error.field, self.capacity, limit)
        })
    }

    /// The table's horizon follows the head in steps of this, a power of two: a segment at most. Each is a share of the table's upkeep, of which there
    /// are to be some 1024 while the queue goes round.
    fn granule(&self) -> u64 {
        1 << (self.capacity / 1024).max(1).ilog2().clamp(BITS.0, self.bits())
    }

    /// About 64 segments and more.
    fn bits(&self) -> u32 {
        (self.capacity / 64).max(1).ilog2().clamp(BITS.0, BITS.1)
    }

    fn sizes<V: Clone + Send + Sync + 'static>(&self) -> Result<Sizes, ConfigError> {
        let bits = self.bits();
        let least = self.memory_bytes::<V>()?;
        let (segments, table) = match self.max_memory {
            // As many holes as entries.
            None => ((self.capacity as u64).div_ceil(1 << bits).saturating_mul(2) + 2, None),
            Some(_) => {
                let most =
                    settings::max_memory(self.max_memory, least.saturating_mul(2))?.unwrap_or(u64::MAX) / 2;
                (most / Log::<V>::segment_bytes(bits), Some(most))
            }
        };
        let memory = physical_memory().unwrap_or(u64::MAX) / Log::<V>::segment_bytes(bits);
        if self.max_memory.is_none() && segments / 2 > memory {
            let limit = format!("entries of {} bytes that fit into this machine's memory", size_of::<V>());
            return Err(ConfigError::new("capacity", self.capacity, limit));
        }
        // One place is always free.
        let ring = usize::try_from(segments.max(3)).ok().and_then(usize::checked_next_power_of_two);
        let ring =
            ring.ok_or_else(|| ConfigError::new("capacity", self.capacity, "what fits into memory"))?;
        Ok(Sizes { bits, ring: ring.max(4), table })
    }

    /// Checks the settings and allocates.
    ///
    /// # Errors
    /// Names the first setting out of its range, and the range.
    pub fn build<V: Clone + Send + Sync + 'static>(self) -> Result<FifoIndex<V>, ConfigError> {
        self.make(Tick(0))
    }

    /// .. with a clock that begins at `start`, if none was given.
    pub(super) fn make<V: Clone + Send + Sync + 'static>(
        self,
        start: Tick,
    ) -> Result<FifoIndex<V>, ConfigError> {
        let (geometry, granule) = (self.geometry()?, self.granule());
        let Sizes { bits, ring, table: limit } = self.sizes::<V>()?;
        let clock = settings::clock_from(self.clock, Window::time(Duration::from_nanos(1)), start)?;
        let span = (ring as u64) << bits;
        let table =
            KeyTable::new(Plan { geometry, span, evict_within: None, limit, bytes: None })?.for_good();
        let no_memory = || ConfigError::new("capacity", self.capacity, "what the system can allocate");
        let segments = Log::ring(ring).ok_or_else(no_memory)?;
        let memory = limit.map_or(u64::MAX, |most| most.saturating_sub(Log::<V>::ring_bytes(ring)));
        let capacity = if limit.is_some() { u64::MAX >> 1 } else { self.capacity as u64 };
        Ok(FifoIndex {
            table,
            queue: Queue::new(Log::new(bits, segments, capacity, memory), self.on_present),
            granule,
            seed: self.seed.unwrap_or_else(Seed::random),
            clock,
            counts: Counts::default(),
        })
    }
}
