//! The filters that take part: windlass in its layouts, and a ring of fastbloom filters.

use std::sync::atomic::{AtomicU64, Ordering};

use fastbloom::AtomicBloomFilter;
use windlass::{Layout, RotatingBloom, Seed, Tick, Window};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    filter::{Filter, Load},
    keys::Event,
};

const PANES: u64 = 8;
const SEED: Seed = Seed(0x77_69_6e_64_6c_61_73_73); // fixed, so that runs repeat

/// Which layout: none is the one that the builder picks.
pub(crate) const PICKED: u8 = 0;
pub(crate) const ROW1: u8 = 1;
pub(crate) const ROW2: u8 = 2;
pub(crate) const ARRAYS: u8 = 3;

pub(crate) fn rotating(load: &Load, layout: u8) -> RotatingBloom {
    let builder = RotatingBloom::builder(Window::last_n(load.window))
        .expected_ids(load.window)
        .error(load.error)
        .panes(8)
        .seed(SEED);
    let builder = match layout {
        ROW1 => builder.layout(Layout::Rows(1)),
        ROW2 => builder.layout(Layout::Rows(2)),
        ARRAYS => builder.layout(Layout::Arrays),
        _ => builder,
    };
    builder.build().expect("the load is valid")
}

fn describe(bloom: &RotatingBloom) -> String {
    let plan = bloom.plan();
    format!("{}, {} bits of each id", plan.layout, plan.probes)
}

fn taken(seen: &[bool]) -> u64 {
    seen.iter().map(|&seen| u64::from(seen)).sum()
}

/// `insert_at`, one key a call.
pub(crate) struct Single<const LAYOUT: u8>(RotatingBloom);

/// `insert_each`: every event has its own tick and gets its own answer.
pub(crate) struct Batch<const LAYOUT: u8>(RotatingBloom);

/// `contains_each`, for keys that are not there.
pub(crate) struct Query(RotatingBloom);

fn insert_batch(bloom: &RotatingBloom, events: &[Event], seen: &mut Vec<bool>) -> u64 {
    seen.clear();
    bloom.insert_each(events.len(), |i| (&events[i].0, events[i].1), seen);
    taken(seen)
}

impl<const LAYOUT: u8> Filter for Single<LAYOUT> {
    const NAME: &'static str = if LAYOUT == ARRAYS { "padded_arrays" } else { "windlass" };
    type Scratch = ();

    fn new(load: &Load) -> Self {
        Single(rotating(load, LAYOUT))
    }

    fn take(&self, events: &[Event], (): &mut ()) -> u64 {
        events.iter().map(|(key, now)| u64::from(self.0.insert_at(key, *now))).sum()
    }

    fn fill(&self, events: &[Event], (): &mut ()) {
        insert_batch(&self.0, events, &mut Vec::new());
    }

    fn contains(&self, (key, now): &Event) -> bool {
        self.0.contains_at(key, *now)
    }

    fn bytes(&self) -> u64 {
        self.0.memory_bytes()
    }

    fn describe(&self) -> String {
        describe(&self.0)
    }
}

impl<const LAYOUT: u8> Filter for Batch<LAYOUT> {
    const NAME: &'static str = match LAYOUT {
        ROW1 => "windlass_row1_batch",
        ROW2 => "windlass_row2_batch",
        ARRAYS => "padded_arrays_batch",
        _ => "windlass_batch",
    };
    type Scratch = Vec<bool>;

    fn new(load: &Load) -> Self {
        Batch(rotating(load, LAYOUT))
    }

    fn take(&self, events: &[Event], seen: &mut Vec<bool>) -> u64 {
        insert_batch(&self.0, events, seen)
    }

    fn contains(&self, (key, now): &Event) -> bool {
        self.0.contains_at(key, *now)
    }

    fn bytes(&self) -> u64 {
        self.0.memory_bytes()
    }

    fn describe(&self) -> String {
        describe(&self.0)
    }
}

impl Filter for Query {
    const NAME: &'static str = "windlass_query_batch";
    const ASKS_ONLY: bool = true;
    type Scratch = Vec<bool>;

    fn new(load: &Load) -> Self {
        Query(rotating(load, PICKED))
    }

    fn take(&self, events: &[Event], seen: &mut Vec<bool>) -> u64 {
        seen.clear();
        self.0.contains_each(events.len(), |i| (&events[i].0, events[i].1), seen);
        taken(seen)
    }

    fn fill(&self, events: &[Event], seen: &mut Vec<bool>) {
        insert_batch(&self.0, events, seen);
    }

    fn contains(&self, (key, now): &Event) -> bool {
        self.0.contains_at(key, *now)
    }

    fn bytes(&self) -> u64 {
        self.0.memory_bytes()
    }

    fn describe(&self) -> String {
        describe(&self.0)
    }
}

/// Eight of fastbloom's atomic filters in a ring, with 16 bits for each id of a pane and the number of hashes that it chooses for these.
/// A key is hashed once. The window is the seven filters before the current one. When the current one has had its events, whoever
/// brings the next clears the oldest and goes on with that.
pub(crate) struct FastbloomRing {
    filters: Vec<AtomicBloomFilter>,
    pane: u64,
    /// How many panes there have been; the current one is this, modulo the number of filters.
    current: AtomicU64,
    /// The first tick of the next.
    next: AtomicU64,
}

const BITS_PER_ID: u64 = 16;

impl FastbloomRing {
    #[allow(clippy::cast_possible_truncation)] // 8 filters
    fn filter(&self, pane: u64) -> &AtomicBloomFilter {
        &self.filters[(pane % PANES) as usize]
    }

    /// The current pane, at this tick.
    #[inline(always)]
    fn enter(&self, Tick(now): Tick) -> u64 {
        let next = self.next.load(Ordering::Relaxed);
        if now >= next
            && self.next.compare_exchange(next, next + self.pane, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        {
            let pane = self.current.load(Ordering::Acquire) + 1;
            self.filter(pane).clear();
            self.current.store(pane, Ordering::Release);
        }
        self.current.load(Ordering::Acquire)
    }

    /// In any filter but the current one, the newest first.
    #[inline(always)]
    fn is_in_others(&self, pane: u64, hash: u64) -> bool {
        (1..PANES).any(|back| self.filter(pane + PANES - back).contains_hash(hash))
    }
}

impl Filter for FastbloomRing {
    const NAME: &'static str = "fastbloom_ring";
    type Scratch = ();

    fn new(load: &Load) -> Self {
        let pane = load.window.div_ceil(PANES - 1);
        let size = |n: u64| usize::try_from(n).expect("it is to be allocated");
        let filter = |_| {
            AtomicBloomFilter::with_num_bits(size(pane * BITS_PER_ID)).seed(&1).expected_items(size(pane))
        };
        let (current, next) = (AtomicU64::new(0), AtomicU64::new(pane));
        FastbloomRing { filters: (0..PANES).map(filter).collect(), pane, current, next }
    }

    fn take(&self, events: &[Event], (): &mut ()) -> u64 {
        let insert = |(key, now): &Event| {
            let (pane, hash) = (self.enter(*now), xxh3_64(key));
            let in_others = self.is_in_others(pane, hash);
            u64::from(self.filter(pane).insert_hash(hash) || in_others)
        };
        events.iter().map(insert).sum()
    }

    fn contains(&self, (key, _): &Event) -> bool {
        let (pane, hash) = (self.current.load(Ordering::Acquire), xxh3_64(key));
        self.filter(pane).contains_hash(hash) || self.is_in_others(pane, hash)
    }

    fn bytes(&self) -> u64 {
        self.filters.iter().map(|filter| filter.num_bits() as u64 / 8).sum()
    }

    fn describe(&self) -> String {
        format!("8 filters, {} bits of each id", self.filters[0].num_hashes())
    }
}
