//! The counters that take part. Maps count all that ever came; the others what is in the window.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use ahash::RandomState;
use dashmap::DashMap;
use windlass::{Added, BoundedTopK, Seed, Tick, TopK, WindowedCounter, Writer};

use super::{
    counter::{Contender, Event, K, Load},
    textbook::Textbook,
};

const SEED: Seed = Seed(0x77_69_6e_64_6c_61_73_73); // fixed, so that runs repeat

fn capacity(load: &Load) -> usize {
    usize::try_from(load.keys.max(K as u64)).expect("it is to be allocated")
}

pub(crate) fn top_k(load: &Load) -> TopK {
    let [window, pane] = [load.window(), load.pane()].map(Duration::from_nanos);
    TopK::builder(window, pane, K).capacity(capacity(load)).seed(SEED).build().expect("the load is valid")
}

pub(crate) fn counter(load: &Load) -> WindowedCounter {
    let [window, pane] = [load.window(), load.pane()].map(Duration::from_nanos);
    WindowedCounter::builder(window, pane)
        .capacity(capacity(load))
        .seed(SEED)
        .build()
        .expect("the load is valid")
}

pub(crate) fn list_of(top: &TopK, now: u64) -> Vec<(u64, u64)> {
    let list = top.refresh_at(Tick(now));
    assert!(list.certified, "{list:?}");
    list.rows.iter().map(|row| (row.key.number().expect("as added"), row.count)).collect()
}

fn counted(added: Added) -> u64 {
    u64::from(added == Added::Counted)
}

/// Where a function's name ends.
pub(crate) const SINGLE: u8 = 0;
pub(crate) const BATCH: u8 = 1;
pub(crate) const WRITER: u8 = 2;

/// `TopK`: `add_at`, `add_each`, or writers.
pub(crate) struct Exact<const WAY: u8>(TopK);

impl<const WAY: u8> Exact<WAY> {
    pub(crate) fn inner(&self) -> &TopK {
        &self.0
    }
}

/// `WindowedCounter`: the same.
pub(crate) struct Counting<const WAY: u8>(WindowedCounter);

macro_rules! ours {
    ($contender:ident, $inner:ty, $build:ident, $names:expr, $top:expr) => {
        impl<const WAY: u8> Contender for $contender<WAY> {
            const NAME: &'static str = $names[WAY as usize];
            const FORGETS: bool = true;
            type Scratch<'c> = Option<Writer<'c, $inner>>;

            fn new(load: &Load) -> Self {
                $contender($build(load))
            }

            #[inline]
            fn take<'c>(&'c self, events: &[Event], start: u64, scratch: &mut Self::Scratch<'c>) -> u64 {
                match WAY {
                    SINGLE => {
                        let add = |&(key, after): &Event| counted(self.0.add_at(key, 1, Tick(start + after)));
                        events.iter().map(add).sum()
                    }
                    BATCH => {
                        let event = |i: usize| (events[i].0, 1, Tick(start + events[i].1));
                        self.0.add_each(events.len(), event).counted
                    }
                    _ => {
                        let writer = scratch.get_or_insert_with(|| self.0.writer());
                        let add = |&(key, after): &Event| counted(writer.add_at(key, 1, Tick(start + after)));
                        events.iter().map(add).sum()
                    }
                }
            }

            fn count(&self, key: u64, now: u64) -> u64 {
                self.0.count_at(key, Tick(now))
            }

            fn top(&self, now: u64) -> Option<Vec<(u64, u64)>> {
                $top(&self.0, now)
            }

            fn memory_bytes(&self) -> Option<u64> {
                Some(self.0.memory_bytes())
            }
        }
    };
}
ours!(Exact, TopK, top_k, ["windlass_exact", "windlass_exact_batch", "windlass_writer"], |top, now| Some(
    list_of(top, now)
));
ours!(
    Counting,
    WindowedCounter,
    counter,
    ["windlass_counter", "windlass_counter_batch", "windlass_counter_writer"],
    |_, _| None
);

/// `BoundedTopK` in 1 MiB: `add_at`, or `add_each`.
pub(crate) struct Approx<const WAY: u8>(BoundedTopK);

impl<const WAY: u8> Contender for Approx<WAY> {
    const NAME: &'static str = ["windlass_approx", "windlass_approx_batch"][WAY as usize];
    const FORGETS: bool = true;
    const ROUGH: bool = true;
    type Scratch<'c> = ();

    fn has_stalled(&self) -> bool {
        self.0.stats().without > 0
    }

    fn new(load: &Load) -> Self {
        let [window, pane] = [load.window(), load.pane()].map(Duration::from_nanos);
        let builder = BoundedTopK::builder(window, pane, K).memory(1 << 20).key_bytes(0).seed(SEED);
        Approx(builder.build().expect("the load is valid"))
    }

    #[inline]
    fn take(&self, events: &[Event], start: u64, (): &mut ()) -> u64 {
        if WAY == BATCH {
            let event = |i: usize| (events[i].0, 1, Tick(start + events[i].1));
            return self.0.add_each(events.len(), event).counted;
        }
        let add = |&(key, after): &Event| counted(self.0.add_at(key, 1, Tick(start + after)));
        events.iter().map(add).sum()
    }

    fn count(&self, key: u64, now: u64) -> u64 {
        let (lower, upper) = self.0.bounds_at(key, Tick(now));
        lower + (upper - lower) / 2
    }

    fn memory_bytes(&self) -> Option<u64> {
        Some(self.0.memory_bytes())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A hash map for one thread. (The mutex is taken once for 512 events.)
pub(crate) struct AhashMap(Mutex<HashMap<u64, u64, RandomState>>);

impl Contender for AhashMap {
    const NAME: &'static str = "ahash_map";
    const THREADS: usize = 1;
    const FORGETS: bool = false;
    type Scratch<'c> = ();

    fn new(load: &Load) -> Self {
        AhashMap(Mutex::new(HashMap::with_capacity_and_hasher(capacity(load), RandomState::new())))
    }

    fn take(&self, events: &[Event], _: u64, (): &mut ()) -> u64 {
        let mut map = lock(&self.0);
        events.iter().for_each(|(key, _)| *map.entry(*key).or_insert(0) += 1);
        events.len() as u64
    }

    fn count(&self, key: u64, _: u64) -> u64 {
        lock(&self.0).get(&key).copied().unwrap_or(0)
    }
}

pub(crate) struct Dash(pub(crate) DashMap<u64, u64, RandomState>);

impl Contender for Dash {
    const NAME: &'static str = "dashmap";
    const FORGETS: bool = false;
    type Scratch<'c> = ();

    fn new(load: &Load) -> Self {
        Dash(DashMap::with_capacity_and_hasher(capacity(load), RandomState::new()))
    }

    fn take(&self, events: &[Event], _: u64, (): &mut ()) -> u64 {
        events.iter().for_each(|(key, _)| *self.0.entry(*key).or_insert(0) += 1);
        events.len() as u64
    }

    fn count(&self, key: u64, _: u64) -> u64 {
        self.0.get(&key).map_or(0, |count| *count)
    }
}

/// heavykeeper's fastest and most exact, by its own figures. For one thread: under a mutex, taken once for 512 events.
pub(crate) struct HeavyKeeper(pub(crate) Mutex<heavykeeper::CuckooTopK<u64>>);

impl Contender for HeavyKeeper {
    const NAME: &'static str = "heavykeeper";
    const FORGETS: bool = false;
    const ROUGH: bool = true;
    type Scratch<'c> = ();

    fn new(_: &Load) -> Self {
        // As in its own benchmarks.
        HeavyKeeper(Mutex::new(heavykeeper::CuckooTopK::new(K, 4096, 4, 0.9)))
    }

    fn take(&self, events: &[Event], _: u64, (): &mut ()) -> u64 {
        let mut sketch = lock(&self.0);
        events.iter().for_each(|(key, _)| sketch.add(key, 1));
        events.len() as u64
    }

    fn count(&self, key: u64, _: u64) -> u64 {
        lock(&self.0).count(&key)
    }
}

/// A call takes the mutex.
pub(crate) struct MutexTextbook(pub(crate) Mutex<Textbook>);

impl Contender for MutexTextbook {
    const NAME: &'static str = "textbook";
    const FORGETS: bool = true;
    type Scratch<'c> = ();

    fn new(load: &Load) -> Self {
        MutexTextbook(Mutex::new(Textbook::new(load)))
    }

    fn take(&self, events: &[Event], start: u64, (): &mut ()) -> u64 {
        events.iter().for_each(|&(key, after)| lock(&self.0).add(key, start + after));
        events.len() as u64
    }

    fn count(&self, key: u64, _: u64) -> u64 {
        lock(&self.0).count(key)
    }

    fn top(&self, _: u64) -> Option<Vec<(u64, u64)>> {
        Some(lock(&self.0).top())
    }
}
