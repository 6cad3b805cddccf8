//! A limiter for each client.

mod builder;

pub use builder::KeyedLimiterBuilder;

use super::{
    admission::{Admission, Answer},
    algorithm::{Algorithm, Judges, with_judge},
    change::Terms,
    judge::Judge,
    overrides::Overrides,
    quota::Quota,
    single::Limiter,
};
use crate::{
    hash::{Key, KeyHash, Seed},
    maintain::Maintain,
    origin::Origin,
    sync::{
        AtomicU64, CachePadded, Counter,
        Ordering::{AcqRel, Relaxed},
        Wide,
        epoch::{self, Link},
        twin, with_wide,
    },
    table::{Full, KeyTable},
    time::{Clock, Tick},
};
use std::{fmt, time::Duration};

/// So many permits in so long for each of many clients.
///
/// A client is a key, and takes one entry of a table for as long as it makes a difference; then the entry is taken over, by itself.
///
/// ```
/// use std::time::Duration;
/// use windlass::{Admission, KeyedLimiter, Quota, Tick};
///
/// let limiter = KeyedLimiter::builder("100/60s".parse()?).clients(10_000).build()?;
/// let now = Tick(0);
/// for _ in 0..100 {
///     assert!(limiter.check_at("203.0.113.7", 1, now).is_allowed());
/// }
/// let denied = Admission::Denied { retry_after: Duration::from_millis(600) };
/// assert_eq!(limiter.check_at("203.0.113.7", 1, now), denied);
/// assert!(limiter.check_at("203.0.113.8", 1, now).is_allowed());
/// # Ok::<(), windlass::ConfigError>(())
/// ```
///
/// # Guarantees
/// Every call is linearizable per client and lock-free. A denial is a load, without a write; an admission one compare-and-exchange. Any
/// number of threads is granted together what one would be. What that is in any span of time: [`Algorithm`].
///
/// # Time
/// Ticks may come from several clocks and out of order: a time before that of a client's last admission never gains. The structure
/// keeps a horizon behind the newest tick it has seen, by the [`KeyedLimiterBuilder::lateness`]; a call that comes from
/// behind it counts as if it came there, and is counted in [`LimiterStats::late`].
///
/// # Clients
/// They are told apart by 64 bits of their hash beside their place in the table (two share a quota with a probability of 3.5e-18 a
/// call at most), `u64` keys exactly. When the table is full a client that it does not know is answered by
/// [`OnUnknown`], and counted; those it knows are not affected.
///
/// # Memory
/// 40 bytes for each client of the capacity, all in. With [`KeyedLimiterBuilder::max_memory`] the table grows and shrinks: 32
/// to 64 bytes a client. [`Algorithm::SlidingLog`] adds 30 bytes, and 10 for each of the N stamps; of what no client
/// uses the system gives out nothing.
///
/// # Other quotas
/// [`KeyedLimiter::set_quota_at`] changes the quota of all clients at once, [`KeyedLimiter::set_quota_for_at`] that of one. Limiters whose quotas nobody
/// changes do not pay for it.
pub struct KeyedLimiter {
    pub(super) table: KeyTable,
    pub(super) judges: Judges,
    /// As built.
    pub(super) terms: Terms,
    pub(super) algorithm: Algorithm,
    pub(super) in_set: bool,
    /// What has taken the place of `judges` and `terms`, if the quota has changed.
    pub(super) changed: Link<Changed>,
    /// Clients with quotas of their own, if there have ever been any.
    pub(super) overrides: Link<Overrides<Limiter>>,
    pub(super) origin: Origin,
    pub(super) lateness: u64,
    max_jump: u64,
    /// Time moves the horizon in steps of this, a power of two: a thousandth of the time for which clients are remembered.
    granule: u64,
    /// The newest time seen, rounded down to a granule. Relaxed: the horizon that follows from it is the table's.
    newest: CachePadded<AtomicU64>,
    /// What a client is told that the table does not know, when it is full.
    pub(super) unknown: Admission,
    pub(super) on_unknown: OnUnknown,
    /// .. unless it has one of these: see [`OnUnknown::Share`].
    pub(super) shared: Box<[AtomicU64]>,
    pub(super) seed: Seed,
    pub(super) clock: Clock,
    pub(super) counts: Counts,
}

/// What a changed quota comes to.
pub(super) struct Changed {
    pub(super) judges: Judges,
    pub(super) terms: Terms,
    pub(super) unknown: Admission,
}

#[derive(Default)]
pub(super) struct Counts {
    pub(super) unknown: Counter,
    late: Counter,
    pub(super) jumps: Counter,
}

/// What a client gets that the table does not know, when it is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUnknown {
    /// [`Admission::Denied`], to come again after the quota's time divided by its permits. (It may be denied again.)
    #[default]
    Deny,
    /// [`Admission::Allowed`], and is not charged.
    Allow,
    /// It shares one of so many cells of 8 bytes, by its hash: a Count-Min row, in which a cell is what a client is. What a cell has taken is no
    /// less than what each of its clients has: so none gets more than its quota from it, and one may be denied for what others have taken. Of n
    /// unknown clients at a time, n divided by the cells share one, beside itself, on average; a client has a cell of its own with a probability of exp(-n / cells).
    ///
    /// (A client that becomes known then has its own quota, whatever its cell has taken.) Not of [`Algorithm::SlidingLog`], nor in a set.
    Share(usize),
}

/// Plain figures about a [`KeyedLimiter`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimiterStats {
    /// Clients that it is meant for at its present size.
    pub capacity: u64,
    /// Clients that are not as if they had never come, estimated from a sample of the table (exact for small ones).
    pub clients: u64,
    /// Bytes of the table, or of all tables while one takes the place of another.
    pub memory_bytes: u64,
    /// Tables in use: 1, or more while one takes the place of another.
    pub tables: u64,
    /// How often it has grown.
    pub grown: u64,
    /// How often it has shrunk.
    pub shrunk: u64,
    /// Clients with quotas of their own.
    pub overrides: u64,
    /// Calls of clients for which there was no room.
    pub unknown: u64,
    /// Calls from behind the horizon.
    pub late: u64,
    /// Calls whose tick lay too far ahead, answered as those of unknown clients.
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

impl LimiterStats {
    /// Clients as a share of those that it is meant for.
    #[must_use]
    pub fn load(&self) -> f64 {
        crate::math::share(self.clients, self.capacity)
    }
}

/// Moves the newest time on. Of several that do so the latest stays. Model: loom-tests/tests/limit.rs.
pub(super) fn raise(newest: &AtomicU64, at: u64) {
    if twin!(TimeBlindly) {
        newest.store(at.max(newest.load(Relaxed)), Relaxed);
    } else {
        newest.fetch_max(at, AcqRel);
    }
}

impl KeyedLimiter {
    /// A builder for this quota, for each client.
    pub fn builder(quota: Quota) -> KeyedLimiterBuilder {
        KeyedLimiterBuilder::new(quota)
    }

    /// Takes `cost` permits of a client's at `now`, or none. Of cost 0 it tells how things stand.
    #[inline]
    pub fn check_at(&self, key: impl Key, cost: u64, now: Tick) -> Admission {
        let hash = key.key_hash(self.seed);
        if self.has_changed() {
            return self.check_changed(hash, cost, now);
        }
        with_judge!(&self.judges, judge => with_wide!(self.table.wide(), wide => {
            self.judged(judge, cost, now, |at| match judge.check_at_home(&(&self.table, wide), hash, cost, at) {
                Some(answer) => answer.into(),
                None => self.check_pinned(judge, wide, hash, cost, at),
            })
        }))
    }

    /// Takes `cost` permits of a client's now, or none.
    #[inline]
    pub fn check(&self, key: impl Key, cost: u64) -> Admission {
        self.check_at(key, cost, self.clock.now())
    }

    /// What [`KeyedLimiter::check_at`] would answer, if there is room for the client. Nothing is taken, and time is not moved on.
    #[must_use]
    pub fn peek_at(&self, key: impl Key, cost: u64, now: Tick) -> Admission {
        let hash = key.key_hash(self.seed);
        self.origin.foresee(now, |at| {
            let newest = self.newest.load(Relaxed);
            let at = at.filter(|&at| at < newest || self.is_plausible(at, newest));
            let guard = epoch::pin();
            if let (Some(limiter), Some(_)) = (self.own(hash, &guard), at) {
                return limiter.peek_at(cost, now);
            }
            let (judges, course, unknown) = self.present(&guard);
            with_judge!(judges, judge => match (cost, at) {
                (cost, _) if cost > judge.burst() => Admission::Never,
                (_, None) => unknown,
                (cost, Some(at)) => with_wide!(self.table.wide(), wide => {
                    let time = course.time(at);
                    let answer = judge.peek(&self.table.pinned(wide, &guard), hash, cost, time);
                    answer.map_or(unknown, |answer| course.told(answer, at, time).into())
                }),
            })
        })
    }

    /// Gives a client back all that it has taken. Whether there was something. (`false` also when it has been done too often: in a window
    /// 15 times; of a bucket when more than 127 admissions have come since it was done, 3 of one with less than a millisecond between
    /// permits, in the time in which an empty one fills; and when `now` lies before an admission by more than that time.)
    pub fn forget_at(&self, key: impl Key, now: Tick) -> bool {
        let hash = key.key_hash(self.seed);
        let guard = epoch::pin();
        if let Some(limiter) = self.own(hash, &guard) {
            return limiter.forget_at(now);
        }
        let Some(at) = self.origin.past(now) else { return false };
        let (judges, course, _) = self.present(&guard);
        with_judge!(judges, judge => with_wide!(self.table.wide(), wide => {
            judge.forget(&self.table.pinned(wide, &guard), hash, course.time(at))
        }))
    }

    /// Upkeep, most of which calls do by themselves: see [`crate::Dedup::maintain_at`].
    pub fn maintain_at(&self, now: Tick, budget: usize) -> bool {
        let newest = self.newest.load(Relaxed);
        if let Some(at) = self.origin.past(now).filter(|&at| at > newest && self.is_plausible(at, newest)) {
            self.advance(at);
        }
        if budget == 0 {
            return false;
        }
        with_judge!(&self.judges, judge => judge.maintain(self.table.horizon()));
        self.table.maintain(budget)
    }

    /// Plain figures. Costs a look at a sample of the table, and nothing to others.
    #[must_use]
    pub fn stats(&self) -> LimiterStats {
        let (gone, figures) = (self.table.horizon(), self.table.figures());
        let guard = epoch::pin();
        let (judges, course, _) = self.present(&guard);
        let at = course.time(self.newest.load(Relaxed));
        let knows = |state| state > gone && !with_judge!(judges, judge => judge.is_fresh(state, at));
        LimiterStats {
            capacity: figures.capacity,
            clients: self.table.count(Some(SAMPLE), knows),
            memory_bytes: self.memory_bytes(),
            tables: figures.tables,
            grown: figures.grown,
            shrunk: figures.shrunk,
            overrides: self.overrides.get(&guard).map_or(0, |own| own.len() as u64),
            unknown: self.counts.unknown.sum(),
            late: self.counts.late.sum(),
            jumps: self.counts.jumps.sum(),
            buckets: figures.buckets,
            overflows: self.table.overflows(),
            overflown_buckets: figures.overflown_buckets,
            lock_free: crate::sync::is_lock_free(),
        }
    }

    /// The quota now, of all clients that have none of their own.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.changed.get(&epoch::pin()).map_or(self.terms.quota, |changed| changed.terms.quota)
    }

    /// Bytes that it takes now: of all tables, while one takes the place of another.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.table.bytes() + with_judge!(&self.judges, judge => judge.bytes()) + 8 * self.shared.len() as u64
    }

    /// The seed in use: to hash keys beforehand ([`Seed::hash`]), or to let another node agree.
    #[must_use]
    pub fn seed(&self) -> Seed {
        self.seed
    }

    pub(super) fn unknown_calls(&self) -> u64 {
        self.counts.unknown.sum()
    }

    pub(super) fn late_calls(&self) -> u64 {
        self.counts.late.sum()
    }

    pub(super) fn table(&self) -> &KeyTable {
        &self.table
    }

    /// As built: by these calls go as long as nothing has changed.
    pub(super) fn judges(&self) -> &Judges {
        &self.judges
    }

    pub(super) fn arrivals(&self, n: usize) -> Tick {
        self.clock.arrivals(n as u64)
    }

    /// `check`: asks the judge, at a stamp.
    #[inline(always)]
    pub(super) fn judged(
        &self,
        judge: impl Judge,
        cost: u64,
        now: Tick,
        check: impl FnOnce(u64) -> Admission,
    ) -> Admission {
        if cost > judge.burst() {
            return Admission::Never;
        }
        let Some(at) = self.arrive(now) else {
            count(&self.counts.jumps);
            return self.unknown;
        };
        check(at)
    }

    /// (By itself: the short way is shorter without it.)
    #[inline(never)]
    fn check_pinned(
        &self,
        judge: impl Judge,
        wide: impl Wide,
        hash: KeyHash,
        cost: u64,
        at: u64,
    ) -> Admission {
        self.table.prefetch(hash);
        let answer = judge.check(&self.table.pinned(wide, &epoch::pin()), hash, cost, at);
        self.told(answer, || self.share(judge, hash, cost, at))
    }

    /// Counts who is not known, and asks the cell that it shares.
    #[inline(always)]
    pub(super) fn told(
        &self,
        answer: Result<Answer, Full>,
        shared: impl FnOnce() -> Option<Answer>,
    ) -> Admission {
        match answer {
            Ok(answer) => answer.into(),
            Err(_) => {
                count(&self.counts.unknown);
                shared().map_or(self.unknown, Admission::from)
            }
        }
    }

    /// Who is not known, by the cell that it shares.
    #[cold]
    #[inline(never)]
    #[allow(clippy::cast_possible_truncation)] // less than there are
    pub(super) fn share(&self, judge: impl Judge, hash: KeyHash, cost: u64, at: u64) -> Option<Answer> {
        let cells = self.shared.len() as u128;
        // (By bits that say little about the place in the table, whose neighbours are full together.)
        let cell = (u128::from(hash.lo.rotate_left(24)) * cells) >> 64;
        judge.check_shared(self.shared.get(cell as usize)?, cost, at)
    }

    /// The stamp of a call that goes on from what another has done, and so is not the first: the nearest there is.
    pub(super) fn nearest(&self, now: Tick) -> u64 {
        self.origin.past(now).unwrap_or(0)
    }

    /// What a client is told that the table does not know.
    #[cold]
    #[inline(never)]
    pub(super) fn unknown(&self, jumps: bool) -> Admission {
        count(if jumps { &self.counts.jumps } else { &self.counts.unknown });
        self.unknown
    }

    /// The stamp of a call, after a look at what it does to time. `None`: it jumps too far.
    #[inline(always)]
    pub(super) fn arrive(&self, now: Tick) -> Option<u64> {
        let (at, newest) = (self.origin.at(now)?, self.newest.load(Relaxed));
        // One comparison: what is less than 0 is huge.
        let is_ordinary = at.wrapping_add(self.lateness).wrapping_sub(newest) < self.lateness + self.granule;
        (is_ordinary || self.moves(at, newest)).then_some(at)
    }

    /// For a call that moves the horizon, or comes late. `false`: it jumps too far.
    #[cold]
    #[inline(never)]
    fn moves(&self, at: u64, newest: u64) -> bool {
        if at < newest {
            self.counts.late.add(1);
            return true;
        }
        if !self.is_plausible(at, newest) {
            return false;
        }
        self.advance(at);
        self.table.maintain_a_share();
        with_judge!(&self.judges, judge => judge.maintain_a_share(self.table.horizon()));
        true
    }

    fn is_plausible(&self, at: u64, newest: u64) -> bool {
        newest == 0 || at - newest < self.max_jump.saturating_add(self.granule)
    }

    fn advance(&self, at: u64) {
        let at = at & !(self.granule - 1);
        raise(&self.newest, at);
        let guard = epoch::pin();
        let (judges, course, _) = self.present(&guard);
        let gone = course.time(at.saturating_sub(self.lateness));
        with_judge!(judges, judge => self.table.advance(judge.gone_at(gone)));
    }
}

impl OnUnknown {
    pub(super) fn admission(self, quota: Quota) -> Admission {
        match self {
            OnUnknown::Allow => {
                Admission::Allowed { remaining: 0, reset_after: Duration::ZERO, delay: Duration::ZERO }
            }
            OnUnknown::Deny | OnUnknown::Share(_) => {
                let nanos = quota.per.as_nanos().div_ceil(u128::from(quota.permits));
                Admission::Denied {
                    retry_after: Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)),
                }
            }
        }
    }
}

/// Of what seldom happens. (And makes no answer: where all that do are inlined one is made where it shall go, and not copied there.)
#[cold]
#[inline(never)]
fn count(of: &Counter) {
    of.add(1);
}

/// Groups of buckets that `stats` looks at: 2048 buckets.
const SAMPLE: usize = 256;

impl Maintain for KeyedLimiter {
    fn maintain_at(&self, now: Tick, budget: usize) -> bool {
        KeyedLimiter::maintain_at(self, now, budget)
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

impl fmt::Debug for KeyedLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedLimiter")
            .field("quota", &self.quota())
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
