//! The limiters that take part. All answers are made and looked at ([`black_box`]): windlass tells what is left and when all is back, or
//! when to come again; governor, as it comes, only whether, with what that time can be computed from.

use std::{
    cell::Cell,
    collections::HashMap,
    hint::black_box,
    num::NonZeroU32,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use ahash::RandomState;
use governor::{
    RateLimiter,
    clock::Clock,
    middleware::NoOpMiddleware,
    nanos::Nanos,
    state::{InMemoryState, NotKeyed, keyed::DashMapStateStore},
};
use windlass::{Admission, KeyedLimiter, LimitRule, LimitSet, Limiter, Quota, Seed, Tick};

use super::{
    limiter::{Contender, Event, Load, Part},
    plain::{Algorithm, Terms, gcra},
};

const SEED: Seed = Seed(0x77_69_6e_64_6c_61_73_73); // fixed, so that runs repeat

/// Which algorithm.
pub(crate) const GCRA: u8 = 0;
pub(crate) const FIXED: u8 = 1;
pub(crate) const SLIDING: u8 = 2;
pub(crate) const LOG: u8 = 3;

/// `check_at`, one client a call.
pub(crate) struct Single<const ALGORITHM: u8>(KeyedLimiter);

/// `check_each`: every call has its own tick and gets its own answer.
pub(crate) struct Batch(KeyedLimiter);

/// `Limiter::check_at`: one for all. `WHOLE`: all of the answer is made; else it is asked only whether the call is allowed, as governor is.
pub(crate) struct Direct<const WHOLE: bool>(Limiter);

/// `LimitSet::check_at`: for each client, for each of some tenants, and for all; the latter two grant whatever comes.
pub(crate) struct SetOfThree(LimitSet);

const TENANTS: u32 = 1000;

fn quota(terms: Terms) -> Quota {
    Quota::new(terms.permits, Duration::from_nanos(terms.per))
}

fn keyed(load: &Load, plain: Algorithm) -> KeyedLimiter {
    let algorithm = match plain {
        Algorithm::Gcra => windlass::Algorithm::Gcra,
        Algorithm::Fixed => windlass::Algorithm::FixedWindow,
        Algorithm::Sliding => windlass::Algorithm::SlidingCounter,
        Algorithm::Log => windlass::Algorithm::SlidingLog,
    };
    KeyedLimiter::builder(quota(load.terms_of(plain)))
        .algorithm(algorithm)
        .clients(usize::try_from(load.clients).expect("it is to be allocated"))
        .lateness(Duration::from_nanos(load.lateness())) // as far as threads may drift
        .seed(SEED)
        .build()
        .expect("the load is valid")
}

fn maintain(limiter: &KeyedLimiter, now: u64) {
    while limiter.maintain_at(Tick(now), usize::MAX) {}
}

impl<const ALGORITHM: u8> Contender for Single<ALGORITHM> {
    const NAME: &'static str = match ALGORITHM {
        FIXED => "windlass_fixed",
        SLIDING => "windlass_sliding",
        LOG => "windlass_log",
        _ => "windlass_gcra",
    };
    const ALGORITHM: Algorithm = match ALGORITHM {
        FIXED => Algorithm::Fixed,
        SLIDING => Algorithm::Sliding,
        LOG => Algorithm::Log,
        _ => Algorithm::Gcra,
    };
    type Scratch = ();

    fn new(load: &Load) -> Self {
        Single(keyed(load, Self::ALGORITHM))
    }

    fn take(&self, events: &[Event], part: Part, (): &mut ()) -> u64 {
        let check = |&(key, after): &Event| {
            let answer = black_box(self.0.check_at(key, part.cost, Tick(part.start + after)));
            u64::from(answer.is_allowed())
        };
        events.iter().map(check).sum()
    }

    fn maintain(&self, now: u64) {
        maintain(&self.0, now);
    }

    fn memory_bytes(&self) -> Option<u64> {
        Some(self.0.memory_bytes())
    }
}

impl Contender for SetOfThree {
    const NAME: &'static str = "windlass_set_of_3";
    const ALGORITHM: Algorithm = Algorithm::Gcra;
    type Scratch = ();

    fn new(load: &Load) -> Self {
        // 5 a microsecond, and 2^38 at once: more than a heat takes.
        let much = Quota::new(5_000_000, Duration::from_secs(1)).burst(1 << 38);
        let clients = usize::try_from(load.clients).expect("it is to be allocated");
        let set = LimitSet::builder()
            .limit(LimitRule::keyed("client", quota(load.terms)).clients(clients))
            .limit(LimitRule::keyed("tenant", much).clients(2 * TENANTS as usize))
            .limit(LimitRule::global("all", much))
            .lateness(Duration::from_nanos(load.lateness()))
            .seed(SEED);
        SetOfThree(set.build().expect("the load is valid"))
    }

    fn take(&self, events: &[Event], part: Part, (): &mut ()) -> u64 {
        let check = |&(key, after): &Event| {
            let keys = [key, key % u64::from(TENANTS)];
            let answer = black_box(self.0.check_at(&keys, part.cost, Tick(part.start + after)));
            u64::from(answer.is_allowed())
        };
        events.iter().map(check).sum()
    }

    fn maintain(&self, now: u64) {
        while self.0.maintain_at(Tick(now), usize::MAX) {}
    }

    fn memory_bytes(&self) -> Option<u64> {
        Some(self.0.stats().memory_bytes)
    }
}

impl Contender for Batch {
    const NAME: &'static str = "windlass_gcra_batch";
    const ALGORITHM: Algorithm = Algorithm::Gcra;
    type Scratch = Vec<Admission>;

    fn new(load: &Load) -> Self {
        Batch(keyed(load, Self::ALGORITHM))
    }

    fn take(&self, events: &[Event], part: Part, answers: &mut Vec<Admission>) -> u64 {
        answers.clear();
        let call = |i: usize| (events[i].0, part.cost, Tick(part.start + events[i].1));
        self.0.check_each(events.len(), call, answers);
        black_box(&*answers).iter().map(|answer| u64::from(answer.is_allowed())).sum()
    }

    fn maintain(&self, now: u64) {
        maintain(&self.0, now);
    }

    fn memory_bytes(&self) -> Option<u64> {
        Some(self.0.memory_bytes())
    }
}

impl<const WHOLE: bool> Contender for Direct<WHOLE> {
    const NAME: &'static str = if WHOLE { "windlass_direct" } else { "windlass_direct_allowed" };
    const ALGORITHM: Algorithm = Algorithm::Gcra;
    type Scratch = ();

    fn new(load: &Load) -> Self {
        Direct(Limiter::builder(quota(load.terms)).build().expect("the load is valid"))
    }

    fn take(&self, events: &[Event], part: Part, (): &mut ()) -> u64 {
        let check = |&(_, after): &Event| {
            let answer = self.0.check_at(part.cost, Tick(part.start + after));
            u64::from(if WHOLE { black_box(answer).is_allowed() } else { black_box(answer.is_allowed()) })
        };
        events.iter().map(check).sum()
    }
}

thread_local! {
    /// What governor's clock says to this thread.
    static NOW: Cell<u64> = const { Cell::new(0) };
}

/// governor asks a clock for the time. To give it, a call stores it for its thread and the clock loads it from there: two instructions, of
/// a line that never leaves the first cache. windlass gets it in a register. (governor's own `FakeRelativeClock` is one atomic for all threads, which
/// takes a CAS to set: with two threads that alone would cost more than the limiter.)
#[derive(Clone)]
pub(crate) struct Given;

impl Clock for Given {
    type Instant = Nanos;

    #[inline(always)]
    fn now(&self) -> Nanos {
        NOW.get().into()
    }
}

fn governor_quota(terms: Terms) -> governor::Quota {
    let interval = Duration::from_nanos(terms.interval());
    governor::Quota::with_period(interval).expect("some time").allow_burst(cost(terms.permits))
}

fn cost(permits: u64) -> NonZeroU32 {
    u32::try_from(permits).ok().and_then(NonZeroU32::new).expect("governor's range")
}

/// governor with a limiter for each key, on dashmap with its default shards. With ahash: its default hasher is slower.
pub(crate) struct GovernorDashMap(
    RateLimiter<u64, DashMapStateStore<u64, RandomState>, Given, NoOpMiddleware<Nanos>>,
);

impl Contender for GovernorDashMap {
    const NAME: &'static str = "governor_dashmap";
    const ALGORITHM: Algorithm = Algorithm::Gcra;
    type Scratch = ();

    fn new(load: &Load) -> Self {
        NOW.set(0);
        let (quota, hasher) = (governor_quota(load.terms), RandomState::with_seeds(1, 2, 3, 4));
        GovernorDashMap(RateLimiter::dashmap_with_clock_and_hasher(quota, Given, hasher))
    }

    fn take(&self, events: &[Event], part: Part, (): &mut ()) -> u64 {
        if part.cost > 1 {
            let n = cost(part.cost);
            NOW.set(part.start);
            return events.iter().map(|(key, _)| u64::from(self.0.check_key_n(key, n) == Ok(Ok(())))).sum();
        }
        let check = |(key, after): &Event| {
            NOW.set(part.start + after);
            u64::from(black_box(self.0.check_key(key)).is_ok())
        };
        events.iter().map(check).sum()
    }
}

/// governor with one limiter for all.
pub(crate) struct GovernorDirect(RateLimiter<NotKeyed, InMemoryState, Given, NoOpMiddleware<Nanos>>);

impl Contender for GovernorDirect {
    const NAME: &'static str = "governor_direct";
    const ALGORITHM: Algorithm = Algorithm::Gcra;
    type Scratch = ();

    fn new(load: &Load) -> Self {
        NOW.set(0);
        GovernorDirect(RateLimiter::direct_with_clock(governor_quota(load.terms), Given))
    }

    fn take(&self, events: &[Event], part: Part, (): &mut ()) -> u64 {
        if part.cost > 1 {
            let n = cost(part.cost);
            NOW.set(part.start);
            return events.iter().map(|_| u64::from(self.0.check_n(n) == Ok(Ok(())))).sum();
        }
        let check = |(_, after): &Event| {
            NOW.set(part.start + after);
            u64::from(black_box(self.0.check()).is_ok())
        };
        events.iter().map(check).sum()
    }
}

/// The textbook design: arrival times in a hash map under one mutex. It tells only whether.
pub(crate) struct MutexHashMap {
    terms: Terms,
    arrivals: Mutex<HashMap<u64, u64, RandomState>>,
}

impl Contender for MutexHashMap {
    const NAME: &'static str = "mutex_hashmap";
    const ALGORITHM: Algorithm = Algorithm::Gcra;
    type Scratch = ();

    fn new(load: &Load) -> Self {
        let room = usize::try_from(load.clients).expect("it is to be allocated");
        let map = HashMap::with_capacity_and_hasher(room, RandomState::with_seeds(1, 2, 3, 4));
        MutexHashMap { terms: load.terms, arrivals: Mutex::new(map) }
    }

    fn take(&self, events: &[Event], part: Part, (): &mut ()) -> u64 {
        let check = |&(key, after): &Event| {
            let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
            let tat = arrivals.entry(key).or_default();
            let next = gcra(self.terms, *tat, part.cost, part.start + after);
            *tat = next.unwrap_or(*tat);
            u64::from(black_box(next.is_some()))
        };
        events.iter().map(check).sum()
    }
}
