//! The rivals, each as its own documentation would have it for this job.
//!
//! All keep the event's number as the value and hash with ahash. [`Id`] hashes as one 128-bit number, which is faster
//! than the derived hash of a byte array (that one also hashes the length), and is compared as 16 bytes.

use std::{
    collections::{HashMap, VecDeque, hash_map},
    hash::{Hash, Hasher},
    sync::{Mutex, PoisonError},
};

use ahash::RandomState;
use moka::policy::EvictionPolicy;

use super::{
    contender::{Contender, Upkeep},
    keys::Event,
    stream::Shape,
};

#[derive(Clone, Copy, PartialEq, Eq)]
struct Id([u8; 16]);

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(u128::from_ne_bytes(self.0));
    }
}

/// ahash with fixed keys, so that runs repeat.
fn hasher() -> RandomState {
    RandomState::with_seeds(1, 2, 3, 4)
}

/// The textbook design: a hash map and a queue of arrivals under one mutex.
pub(crate) struct MutexHashMap {
    window: u64,
    state: Mutex<Textbook>,
}

struct Textbook {
    first_seen: HashMap<Id, u64, RandomState>,
    arrivals: VecDeque<(Id, u64)>,
}

impl Textbook {
    fn observe(&mut self, id: Id, now: u64, window: u64) -> bool {
        while self.arrivals.front().is_some_and(|(_, seen)| seen + window <= now) {
            if let Some((gone, _)) = self.arrivals.pop_front() {
                self.first_seen.remove(&gone);
            }
        }
        match self.first_seen.entry(id) {
            hash_map::Entry::Occupied(_) => false,
            hash_map::Entry::Vacant(place) => {
                place.insert(now);
                self.arrivals.push_back((id, now));
                true
            }
        }
    }
}

impl Contender for MutexHashMap {
    const NAME: &'static str = "mutex_hashmap";
    const UPKEEP: Upkeep = Upkeep::Itself("event number");
    type Scratch = ();

    fn new(shape: &Shape, room: usize) -> MutexHashMap {
        let first_seen = HashMap::with_capacity_and_hasher(room, hasher());
        let arrivals = VecDeque::with_capacity(room);
        MutexHashMap { window: shape.window, state: Mutex::new(Textbook { first_seen, arrivals }) }
    }

    fn observe(&self, events: &[Event], (): &mut ()) -> u64 {
        let observe = |&(key, now): &Event| {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            u64::from(state.observe(Id(key), now.0, self.window))
        };
        events.iter().map(observe).sum()
    }
}

/// dashmap: sharded, a lock for each shard. `entry` finds or inserts under one lock and with one hash.
///
/// With its default number of shards, four per core (`SHARDS` = 0), or with many: then two threads seldom meet in one.
pub(crate) struct DashMap<const SHARDS: usize>(dashmap::DashMap<Id, u64, RandomState>);

impl<const SHARDS: usize> Contender for DashMap<SHARDS> {
    const NAME: &'static str = if SHARDS == 0 { "dashmap" } else { "dashmap_many_shards" };
    const UPKEEP: Upkeep = Upkeep::Harness;
    type Scratch = ();

    fn new(_: &Shape, room: usize) -> Self {
        DashMap(match SHARDS {
            0 => dashmap::DashMap::with_capacity_and_hasher(room, hasher()),
            shards => dashmap::DashMap::with_capacity_and_hasher_and_shard_amount(room, hasher(), shards),
        })
    }

    fn observe(&self, events: &[Event], (): &mut ()) -> u64 {
        let observe = |&(key, now): &Event| match self.0.entry(Id(key)) {
            dashmap::Entry::Occupied(_) => 0,
            dashmap::Entry::Vacant(place) => {
                place.insert(now.0);
                1
            }
        };
        events.iter().map(observe).sum()
    }

    fn forget(&mut self, key: [u8; 16]) {
        self.0.remove(&Id(key));
    }
}

/// papaya: lock-free, a node on the heap for each entry. The guard is held for a chunk, as its documentation advises.
pub(crate) struct Papaya(papaya::HashMap<Id, u64, RandomState>);

impl Contender for Papaya {
    const NAME: &'static str = "papaya";
    const UPKEEP: Upkeep = Upkeep::Rebuild;
    type Scratch = ();

    fn new(_: &Shape, room: usize) -> Papaya {
        Papaya(papaya::HashMap::builder().capacity(room).hasher(hasher()).build())
    }

    fn observe(&self, events: &[Event], (): &mut ()) -> u64 {
        let map = self.0.pin();
        events.iter().map(|&(key, now)| u64::from(map.try_insert(Id(key), now.0).is_ok())).sum()
    }
}

/// scc: a lock for each bucket of 32.
pub(crate) struct Scc(scc::HashMap<Id, u64, RandomState>);

impl Contender for Scc {
    const NAME: &'static str = "scc";
    const UPKEEP: Upkeep = Upkeep::Harness;
    type Scratch = ();

    fn new(_: &Shape, room: usize) -> Scc {
        Scc(scc::HashMap::with_capacity_and_hasher(room, hasher()))
    }

    fn observe(&self, events: &[Event], (): &mut ()) -> u64 {
        events.iter().map(|&(key, now)| u64::from(self.0.insert_sync(Id(key), now.0).is_ok())).sum()
    }

    fn forget(&mut self, key: [u8; 16]) {
        self.0.remove_sync(&Id(key));
    }
}

/// moka: a cache that evicts the least recently used id when it is full. Its default policy (TinyLFU) would turn new
/// ids away and answer wrongly.
pub(crate) struct Moka(moka::sync::Cache<Id, u64, RandomState>);

impl Contender for Moka {
    const NAME: &'static str = "moka";
    const UPKEEP: Upkeep = Upkeep::Itself("capacity, LRU");
    const TOLERANCE_PPM: u64 = 1000; // it evicts some time after it is full, in an order that is not quite that of use
    type Scratch = ();

    fn new(_: &Shape, room: usize) -> Moka {
        let cache = moka::sync::Cache::builder()
            .max_capacity(room as u64)
            .initial_capacity(room)
            .eviction_policy(EvictionPolicy::lru())
            .build_with_hasher(hasher());
        Moka(cache)
    }

    fn observe(&self, events: &[Event], (): &mut ()) -> u64 {
        events.iter().map(|&(key, now)| u64::from(self.0.entry(Id(key)).or_insert(now.0).is_fresh())).sum()
    }
}
