//! Exact windowed deduplication: was this id admitted in the last T?

mod batch;
mod builder;
mod claim;
mod digest;
#[cfg(windlass_loom)]
pub(crate) mod model;
mod rule;
mod snapshot;
mod state;

use crate::{
    error::ConfigError,
    hash::{Key, KeyHash, Seed},
    maintain::Maintain,
    origin::Origin,
    sync::{AtomicU64, Counter, Ordering::Relaxed, Wide, epoch, with_wide},
    table::{Ahead, Decision, Full, KeyTable, MAX_LEN, Pinned},
    time::{Clock, Tick, Window},
    verdict::Verdict,
};
pub use builder::{DedupBuilder, Identity, OnFull, Refresh};
pub use claim::{Claim, Ticket};
use rule::Rule;
use std::fmt;

/// Admits each id once per window, exactly, for any number of threads.
///
/// An event is a duplicate if its id was *admitted* less than a window ago; exactly a window later it is fresh again. A
/// duplicate refreshes nothing (but see [`Refresh::OnDuplicate`]). Of several threads that bring one id, one gets
/// [`Verdict::Fresh`].
///
/// ```
/// use std::time::Duration;
/// use windlass::{Dedup, Tick, Verdict};
///
/// let dedup = Dedup::builder(Duration::from_secs(60)).capacity(100_000).build()?;
/// let at = |secs: u64| Tick(secs * 1_000_000_000);
///
/// assert_eq!(dedup.observe_at("order-4711", at(0)), Ok(Verdict::Fresh));
/// assert_eq!(dedup.observe_at("order-4711", at(59)), Ok(Verdict::Duplicate { first_seen: Some(at(0)) }));
/// assert_eq!(dedup.observe_at("order-4711", at(60)), Ok(Verdict::Fresh));
/// # Ok::<(), windlass::ConfigError>(())
/// ```
///
/// Where the handling of an event may fail, [`Dedup::claim`] its id first, and [`Dedup::commit`] it when all is done.
///
/// # Time
/// Ticks may come from several clocks and out of order. The structure keeps a horizon behind the newest tick it has seen,
/// window + lateness back. An event that is late by no more than the `lateness` it was built with is judged by its own
/// time, exactly. One that is later counts as arriving at the horizon's other end (newest - lateness), and is counted in
/// [`DedupStats::late`]. The horizon moves in steps of up to a 1024th of the window, so an event may be up to that much
/// later than `lateness` and still be judged by its own time. An event with a time before its id's admission is a duplicate
/// of it. Times never go back: no order of ticks admits an id twice within its window.
///
/// # Guarantees
/// Every operation is linearizable per id and lock-free; a duplicate is answered without a write to shared memory, a fresh
/// id with one compare-and-exchange. A call costs one cache miss (two adjacent lines), and more for the buckets that overflow
/// (about 1 in 25 at full capacity). Nothing is allocated for a single id: memory is, by building, by [`Dedup::reset`], by growing and
/// shrinking, and a few bytes once or twice a window by the upkeep that calls share.
///
/// # Identity
/// Ids are told apart by 64 bits of their hash beside their group: a fresh id is taken for a duplicate with a probability
/// of 3.5e-18 (64 cells looked at, of 2^64) per call at most. `u64` ids are told apart exactly. That is the default, since it costs
/// next to nothing, and with a seed that nobody knows nobody can make ids collide. With [`Identity::Bytes`] ids are kept and compared byte by byte: exact
/// for whatever ids, for about half as much time again in single calls and twice as much in batches, and the bytes.
///
/// # Memory
/// 40 bytes for each id of the capacity ([`Dedup::memory_bytes`]), given out by the system as it is touched. Ids spread over buckets by
/// chance, so the capacity is a promise of statistics: in simulations of 2e7 admissions at full capacity none was refused. With
/// [`DedupBuilder::max_memory`] a table that is crowded (by a quarter more ids than it is meant for) gives way to a larger one,
/// and one with less than a quarter of them to a smaller one, while callers go on: 32 to 64 bytes an id, and as much as two tables
/// together for up to a window, or until upkeep has emptied the old one. [`Identity::Bytes`] adds 8 bytes and the id's length,
/// rounded up to 8, and a 16th of that or less.
pub struct Dedup {
    table: KeyTable,
    rule: Rule,
    origin: Origin,
    window: Window,
    lateness: Window,
    resets: AtomicU64,
    seed: Seed,
    clock: Clock,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    late: Counter,
    full: Counter,
    jumps: Counter,
}

/// Why an observation got no verdict, or a claim no answer. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// There is no room for a new id (with [`OnFull::Reject`], or when everything near it is too young to be evicted).
    Full,
    /// An id of more than [`Dedup::MAX_LEN`] bytes, with [`Identity::Bytes`].
    TooLong,
    /// The tick lies further ahead of the newest one seen than [`DedupBuilder::max_jump`] allows.
    Jump,
    /// The lease of a claim is not 1 tick to the window, in the window's unit.
    Lease,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refused::Full => "no room for a new id: the capacity is reached",
            Refused::TooLong => "an id has 65,535 bytes at most where its bytes are kept",
            Refused::Jump => "the time lies too far ahead of the newest one seen",
            Refused::Lease => "the lease is not 1 tick to the window, in the window's unit",
        })
    }
}

impl std::error::Error for Refused {}

/// What the batch calls give for each event.
pub type Outcome = Result<Verdict, Refused>;

/// Plain figures about a [`Dedup`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DedupStats {
    /// Live ids that it is meant for at its present size.
    pub capacity: u64,
    /// Ids that have not passed the horizon, estimated from a sample of the table (exact for small ones).
    pub live: u64,
    /// Bytes of the table, or of all tables while one takes the place of another.
    pub memory_bytes: u64,
    /// Tables in use: 1, or more while one takes the place of another.
    pub tables: u64,
    /// How often it has grown.
    pub grown: u64,
    /// How often it has shrunk.
    pub shrunk: u64,
    /// Ids that were still live when their table was given up, and so were put into the next.
    pub forwarded: u64,
    /// Ids dropped before their time, with [`OnFull::EvictOldest`]: each once, also those that were forgotten. (With [`Identity::Bytes`] some
    /// are dropped many at a time. Of these, what the horizon had passed is estimated.)
    pub evicted: u64,
    /// Events refused because there was no room.
    pub refused: u64,
    /// Events later than the lateness allows, taken as arriving at the horizon.
    pub late: u64,
    /// Events refused because their tick lay too far ahead.
    pub jumps: u64,
    /// Buckets of the table.
    pub buckets: u64,
    /// How often a bucket has overflowed.
    pub overflows: u64,
    /// Buckets that have overflowed and not yet come back: their calls look at two more cache lines, seldom at all of the group.
    pub overflown_buckets: u64,
    /// Whether 128-bit atomic operations are lock-free on this machine.
    pub lock_free: bool,
}

impl DedupStats {
    /// Live ids as a share of those that it is meant for.
    #[must_use]
    pub fn load(&self) -> f64 {
        crate::math::share(self.live, self.capacity)
    }
}

impl Dedup {
    /// Bytes that an id may have with [`Identity::Bytes`]. (Else any number.)
    pub const MAX_LEN: usize = MAX_LEN;

    /// A builder for ids that count as seen for `window`.
    pub fn builder(window: impl Into<Window>) -> DedupBuilder {
        DedupBuilder::new(window.into())
    }

    /// Observes an id now, by the structure's clock.
    ///
    /// # Errors
    /// See [`Refused`].
    #[inline]
    pub fn observe(&self, key: impl Key) -> Outcome {
        self.observe_at(key, self.clock.arrivals(1))
    }

    /// Observes an id at `now`: is it new within the window?
    ///
    /// # Errors
    /// See [`Refused`].
    #[inline]
    pub fn observe_at(&self, key: impl Key, now: Tick) -> Outcome {
        let hash = key.key_hash(self.seed);
        self.table.prefetch(hash);
        with_wide!(self.table.wide(), wide => {
            let guard = epoch::pin();
            let table = self.table.pinned(wide, &guard);
            if self.table.is_exact() {
                return self.observe_exact(&table, hash, key, None, now);
            }
            self.observe_pinned(&table, hash, now)
        })
    }

    /// Whether an observation of the id at `now` would find a duplicate.
    #[must_use]
    pub fn contains_at(&self, key: impl Key, now: Tick) -> bool {
        let Some(now) = self.origin.past(now) else { return false };
        self.change(key, self.rule.contains(now)).is_ok_and(|(there, _)| there)
    }

    /// What an observation of the id at `now` would tell as `first_seen` ([`Verdict::Duplicate`]); `None`: it would find it fresh. Changes nothing, and moves no time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass::{Dedup, Tick};
    ///
    /// let dedup = Dedup::builder(Duration::from_nanos(60)).capacity(1000).build()?;
    /// assert!(dedup.observe_at("order-4711", Tick(5)).is_ok());
    /// assert_eq!(dedup.first_seen_at("order-4711", Tick(64)), Some(Tick(5)));
    /// assert_eq!(dedup.first_seen_at("order-4711", Tick(65)), None);
    /// # Ok::<(), windlass::ConfigError>(())
    /// ```
    #[must_use]
    pub fn first_seen_at(&self, key: impl Key, now: Tick) -> Option<Tick> {
        let now = self.origin.past(now)?;
        let (first, _) = self.change(key, self.rule.first(now)).ok()?;
        first.map(|first| self.origin.tick(first))
    }

    /// Whether an observation of the id now would find a duplicate.
    #[must_use]
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_at(key, self.clock.now())
    }

    /// Forgets the id, so that the next observation finds it fresh; one that is claimed is aborted. Whether it was there at `now`.
    pub fn forget_at(&self, key: impl Key, now: Tick) -> bool {
        let Some(now) = self.origin.past(now) else { return false };
        self.change(key, self.rule.forget(now)).is_ok_and(|(there, _)| there)
    }

    /// How many ids an observation at `now` would find to be duplicates. Looks at the whole table; a count taken while
    /// others write is approximate.
    #[must_use]
    pub fn live_at(&self, now: Tick) -> u64 {
        let Some(now) = self.origin.past(now) else { return 0 };
        let gone = self.table.horizon();
        self.table.count(None, |state| state > gone && self.rule.is_live(state, now, gone))
    }

    /// Forgets all ids. Calls under way end in the old table or in the new one; what is claimed meanwhile may be lost before its
    /// lease runs out.
    ///
    /// # Errors
    /// If the memory for a second table is not to be had; then nothing has changed.
    pub fn reset(&self) -> Result<(), ConfigError> {
        // First. See `settle`.
        self.resets.fetch_add(1, Relaxed);
        self.table.reset().inspect_err(|_| {
            self.resets.fetch_sub(1, Relaxed);
        })
    }

    /// Upkeep, most of which calls do by themselves while events come: moves the horizon to `now`, looks after `budget` groups of
    /// 64 cells each, makes a larger table ready before it is needed, empties one that has been replaced, and gives back
    /// its memory. `true`: there is more that can be done now. Of use after a silence, and from a thread beside the callers
    /// ([`crate::Maintainer`]).
    pub fn maintain_at(&self, now: Tick, budget: usize) -> bool {
        // Whoever only looks after it does not fix the origin.
        if let Some(now) = self.origin.past(now)
            && let Ok(Some(target)) = self.rule.horizon_at(now, self.table.horizon())
        {
            self.table.advance(target);
        }
        budget > 0 && self.table.maintain(budget)
    }

    /// Plain figures. Costs a look at a sample of the table, and nothing to others.
    #[must_use]
    pub fn stats(&self) -> DedupStats {
        let (gone, figures) = (self.table.horizon(), self.table.figures());
        DedupStats {
            capacity: figures.capacity,
            tables: figures.tables,
            grown: figures.grown,
            shrunk: figures.shrunk,
            forwarded: figures.forwarded,
            live: self.table.count(Some(SAMPLE), |state| state > gone && self.rule.is_live(state, 0, gone)),
            memory_bytes: self.memory_bytes(),
            evicted: self.table.evicted(),
            refused: self.counts.full.sum(),
            late: self.counts.late.sum(),
            jumps: self.counts.jumps.sum(),
            buckets: figures.buckets,
            overflows: self.table.overflows(),
            overflown_buckets: figures.overflown_buckets,
            lock_free: crate::sync::is_lock_free(),
        }
    }

    /// How long an id counts as seen.
    #[must_use]
    pub fn window(&self) -> Window {
        self.window
    }

    /// Bytes that it takes now: of all tables, while one takes the place of another.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.table.bytes()
    }

    /// The seed in use: to hash keys beforehand ([`Seed::hash`]), with namespaces, or to let another node agree.
    #[must_use]
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// Changes an id, and gives the hash by which it can be found again. (One that is too long is not there, and finds no room.)
    fn change<R>(
        &self,
        key: impl Key,
        decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
    ) -> Result<(R, KeyHash), Refused> {
        let hash = key.key_hash(self.seed);
        self.table.prefetch(hash);
        with_wide!(self.table.wide(), wide => {
            let guard = epoch::pin();
            let table = self.table.pinned(wide, &guard);
            key.with_bytes(|kind, bytes| {
                let (answer, lo) = table.update_exact(hash, (kind, bytes), None, decide).map_err(|_| Refused::Full)?;
                Ok((answer, KeyHash { lo, ..hash }))
            })
        })
    }

    /// Ids that are told apart by their bytes.
    #[inline(always)]
    fn observe_exact<'g>(
        &self,
        table: &Pinned<'g, impl Wide>,
        hash: KeyHash,
        key: impl Key,
        ahead: Option<&Ahead<'g>>,
        now: Tick,
    ) -> Outcome {
        self.outcome(key.with_bytes(|kind, bytes| self.judge_exact(table, hash, (kind, bytes), ahead, now)))
    }

    #[inline(always)]
    fn judge_exact<'g>(
        &self,
        table: &Pinned<'g, impl Wide>,
        hash: KeyHash,
        key: (u32, &[u8]),
        ahead: Option<&Ahead<'g>>,
        now: Tick,
    ) -> u64 {
        if key.1.len() > MAX_LEN {
            return TOO_LONG;
        }
        let Some(now) = self.arrive(now) else { return self.refuse(JUMP) };
        match table.update_exact(hash, key, ahead, self.rule.observe(now)) {
            Ok((code, _)) => code,
            Err(Full) => self.refuse(FULL),
        }
    }

    #[inline(always)]
    fn observe_pinned(&self, table: &Pinned<'_, impl Wide>, hash: KeyHash, now: Tick) -> Outcome {
        self.outcome(self.judge(table, hash, now))
    }

    /// The stamp that makes it a duplicate, or one of the codes below: in a register, where an `Outcome` would be put together
    /// in memory.
    #[inline(always)]
    fn judge(&self, table: &Pinned<'_, impl Wide>, hash: KeyHash, now: Tick) -> u64 {
        let Some(now) = self.arrive(now) else { return self.refuse(JUMP) };
        match table.update(hash, self.rule.observe(now)) {
            Ok(code) => code,
            Err(Full) => self.refuse(FULL),
        }
    }

    #[inline(always)]
    fn outcome(&self, code: u64) -> Outcome {
        // (One after the other: a match becomes a jump by a table.)
        if code == FRESH {
            Ok(Verdict::Fresh)
        } else if code < TOO_LONG {
            Ok(Verdict::Duplicate { first_seen: Some(self.origin.tick(code)) })
        } else {
            Err(refusal(code))
        }
    }

    /// The stamp of an event, after a look at what it does to time. `None`: it jumps too far.
    #[inline(always)]
    fn arrive(&self, now: Tick) -> Option<u64> {
        let (now, horizon) = (self.origin.at(now)?, self.table.horizon());
        (self.rule.is_ordinary(now, horizon) || self.move_horizon(now, horizon)).then_some(now)
    }

    /// For a call that moves the horizon, about a thousand a window, or comes late. `false`: it jumps too far.
    #[cold]
    #[inline(never)]
    fn move_horizon(&self, now: u64, horizon: u64) -> bool {
        match self.rule.horizon_at(now, horizon) {
            Ok(Some(target)) => {
                self.table.advance(target);
                self.table.maintain_a_share();
            }
            Ok(None) => self.counts.late.add(1),
            Err(_) => return false,
        }
        true
    }

    #[cold]
    #[inline(never)]
    fn refuse(&self, code: u64) -> u64 {
        if code == FULL { &self.counts.full } else { &self.counts.jumps }.add(1);
        code
    }
}

/// Groups of buckets that `stats` looks at: 2048 buckets.
const SAMPLE: usize = 256;

/// No stamp is 0 or that great.
const FRESH: u64 = 0;
const FULL: u64 = u64::MAX;
const JUMP: u64 = u64::MAX - 1;
const TOO_LONG: u64 = u64::MAX - 2;

#[cold]
fn refusal(code: u64) -> Refused {
    match code {
        FULL => Refused::Full,
        JUMP => Refused::Jump,
        _ => Refused::TooLong,
    }
}

impl Maintain for Dedup {
    fn maintain_at(&self, now: Tick, budget: usize) -> bool {
        Dedup::maintain_at(self, now, budget)
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

impl fmt::Debug for Dedup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dedup")
            .field("rule", &self.rule)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
