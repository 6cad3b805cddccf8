//! A cache in front of a slow store, guarded against its hottest keys: they are loaded anew before they expire, by one caller only, so that a key that half the world asks for is
//! never missing, and its expiry does not send a crowd to the store.
//!
//! ```text
//! cargo run --release --example hot_key_guard
//! ```
//!
//! `TopK` says which keys are hot; a claim in a `Dedup` says who loads one: all others go on with what there is. The same requests go through the cache without the guard and with it;
//! what the store had to do is compared, and every answer checked.

use std::{
    collections::HashMap,
    error::Error,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};
use windlass::{Claim, Clock, Dedup, TopK, TopSnapshot};

const CALLERS: u64 = 8;
const REQUESTS: u64 = 60_000;
const KEYS: u64 = 1_000;
/// What is in the cache is good for so long.
const EXPIRES: Duration = Duration::from_millis(40);
/// A hot key is loaded anew when less than this is left of it.
const EARLY: Duration = Duration::from_millis(20);
/// What the store takes to answer.
const SLOW: Duration = Duration::from_micros(500);
const HOT: usize = 8;

#[derive(Default)]
struct Store {
    /// Of the hottest key. A figure.
    of_the_hottest: AtomicU64,
}

impl Store {
    fn load(&self, key: u64) -> u64 {
        self.of_the_hottest.fetch_add(u64::from(key == 0), Relaxed);
        thread::sleep(SLOW);
        key * 7
    }
}

/// Which keys are hot, and who loads them.
struct Guard {
    hot: TopK,
    loading: Dedup,
    clock: Clock,
}

impl Guard {
    fn new() -> Result<Guard, Box<dyn Error + Send + Sync>> {
        let second = Duration::from_secs(1);
        let hot = TopK::builder(second, second / 10, HOT).capacity(10_000).refresh_every(second / 100);
        let loading = Dedup::builder(second).capacity(10_000).build()?;
        Ok(Guard { hot: hot.build()?, loading, clock: Clock::monotonic() })
    }

    /// The keys that are hot now, to those who ask now and then.
    fn list(&self) -> std::sync::Arc<TopSnapshot> {
        self.hot.maintain_at(self.clock.now(), 1024);
        self.hot.snapshot()
    }

    /// Loads it if nobody else is at it.
    fn alone(&self, key: u64, load: impl FnOnce()) -> Result<(), Box<dyn Error + Send + Sync>> {
        // If the loader dies, another may try after that time.
        if let Claim::Claimed(ticket) = self.loading.claim(key, 100 * SLOW)? {
            load();
            // Not committed: it shall be loaded again when it is due.
            self.loading.abort(ticket);
        }
        Ok(())
    }
}

#[derive(Default)]
struct Cache {
    values: Mutex<HashMap<u64, (u64, Instant)>>,
    store: Store,
}

impl Cache {
    fn look(&self, key: u64) -> Option<(u64, Instant)> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied()
    }

    fn load(&self, key: u64) -> u64 {
        let value = self.store.load(key);
        self.values
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key, (value, Instant::now() + EXPIRES));
        value
    }

    fn get(
        &self,
        key: u64,
        guard: Option<(&Guard, &TopSnapshot)>,
    ) -> Result<u64, Box<dyn Error + Send + Sync>> {
        let now = Instant::now();
        let there = self.look(key).filter(|&(_, until)| until > now);
        let Some((value, until)) = there else { return Ok(self.load(key)) };
        if let Some((guard, list)) = guard
            && until - now < EARLY
            && list.rows.iter().any(|row| row.key.number() == Some(key))
        {
            guard.alone(key, || {
                self.load(key);
            })?;
        }
        Ok(value)
    }
}

/// Half of all requests are for key 0, the others for any.
fn key(i: u64) -> u64 {
    let mixed = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    if mixed.is_multiple_of(2) { 0 } else { mixed / 2 % KEYS }
}

fn run(guard: Option<&Guard>) -> Result<Store, Box<dyn Error + Send + Sync>> {
    let cache = Cache::default();
    thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let cache = &cache;
                scope.spawn(move || -> Result<(), Box<dyn Error + Send + Sync>> {
                    let mut list = guard.map(Guard::list);
                    for i in 0..REQUESTS / CALLERS {
                        let key = key(caller * REQUESTS + i);
                        if let Some(guard) = guard {
                            guard.hot.add_at(key, 1, guard.clock.now());
                            if i % 32 == 0 {
                                list = Some(guard.list());
                            }
                        }
                        if cache.get(key, guard.zip(list.as_deref()))? != key * 7 {
                            return Err(format!("key {key}: another value").into());
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        callers
            .into_iter()
            .try_for_each(|caller| caller.join().unwrap_or_else(|_| Err("a caller failed".into())))
    })?;
    Ok(cache.store)
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    println!("{REQUESTS} requests of {CALLERS} callers, half of them for one key");
    let mut loads = Vec::new();
    for (name, guard) in [("without", None), ("with", Some(Guard::new()?))] {
        let begun = Instant::now();
        let store = run(guard.as_ref())?;
        let hottest = store.of_the_hottest.into_inner();
        let spans = begun.elapsed().as_secs_f64() / EXPIRES.as_secs_f64();
        #[allow(clippy::cast_precision_loss)] // a few thousand
        let each = hottest as f64 / spans;
        println!("  {name:8} the guard: of the hottest key {hottest:5} loads, {each:.1} in each {EXPIRES:?}");
        loads.push(each);
    }
    // Once for each caller that finds it missing, against once when it is half way to its end.
    if loads[1] > loads[0] {
        return Err("the guard has made it worse".into());
    }
    Ok(())
}
