//! Several limits in one decision.

mod admit;
mod answer;
mod builder;
mod call;
mod hold;
#[cfg(windlass_loom)]
pub(crate) mod model;
mod refunds;
mod snapshot;

pub use answer::{Reserved, SetAdmission, Settled};
pub use builder::{LimitRule, LimitSetBuilder};
pub use hold::Reservation;

use self::{
    admit::{Charged, MOST, admit, give_all_back},
    call::{Call, JUMP},
    hold::{Held, Holds},
    refunds::Refunds,
};
use super::{Inherit, KeyedLimiter, Limiter, LimiterStats, admission::Admission, quota::Quota};
use crate::{
    codec::Setting,
    error::ConfigError,
    hash::{Key, KeyHash, Seed},
    maintain::Maintain,
    sync::{
        AtomicU64, CachePadded, Counter,
        Ordering::{AcqRel, Relaxed},
    },
    time::{Clock, Tick},
};
use std::{fmt, time::Duration};

/// Several limits in one decision: by all of them, or by none.
///
/// Limits have names, and are for each client or for all, by different algorithms. A call brings its keys, one for each limit
/// that is for each client; it is charged by every limit, or refused and charged by none, and told by which and until when.
///
/// ```
/// use windlass::{LimitRule, LimitSet, SetAdmission, Tick};
///
/// let set = LimitSet::builder()
///     .limit(LimitRule::keyed("user", "2/s".parse()?).clients(1000))
///     .limit(LimitRule::keyed("tenant", "3/s".parse()?).clients(1000))
///     .limit(LimitRule::global("all", "1000/s".parse()?))
///     .build()?;
/// let denied_by = |user, tenant| match set.check_at(&[user, tenant], 1, Tick(0)) {
///     SetAdmission::Denied { limit, .. } => Some(limit),
///     _ => None,
/// };
/// assert_eq!(denied_by("ann", "acme"), None);
/// assert_eq!(denied_by("ann", "acme"), None);
/// assert_eq!(denied_by("ann", "acme"), Some("user"));
/// assert_eq!(denied_by("bob", "acme"), None);
/// assert_eq!(denied_by("bob", "acme"), Some("tenant"));
/// # Ok::<(), windlass::ConfigError>(())
/// ```
///
/// # Guarantees
/// Lock-free. No limit admits more than its [`super::Algorithm`] allows. A refused call leaves nothing charged. Callers
/// one after another get the exact answer; of callers that compete for the last permits one goes through.
///
/// What a call may see meanwhile: one that is refused by its second limit or a later one, because another took the last permit there between its look and
/// its charge, has been charged by those before, for a moment. So a call may be refused because of one that is itself refused a
/// moment later: never by a limit that has room for all calls under way together.
///
/// **How exactly it is given back.** What is given back by the time at which it was taken comes back whole. Has time gone on meanwhile (a thread
/// stalled), as much stays charged, to be given back by time, as a bucket may have been refilled since; that is known to 1/1024 of the shortest quota's time, and
/// so much may a refused call that was overtaken by calls of later ticks give back too much. What a state has no numbers left for stays charged until
/// time gives it back ([`LimitSetStats::unreturned`]): as often, at least, can it be done until a bucket has been refilled twice over: 100 times; 7
/// times with more than 10,000 permits a second that are no whole eighths of a microsecond apart, and less often with more than 10 days from one
/// permit to the next, 3 times with a year. In a window: 1023 times.
///
/// # Time
/// As in [`KeyedLimiter`]. There is no bound on jumps: a tick far ahead makes what is known old, and ends the leases of holds.
///
/// # Memory
/// For each limit that of its [`KeyedLimiter`].
pub struct LimitSet {
    limits: Box<[Limit]>,
    seed: Seed,
    clock: Clock,
    /// The newest tick seen, but for less than a granule.
    newest: CachePadded<AtomicU64>,
    granule: u64,
    holds: Option<Holds>,
    unreturned: Counter,
    /// What a snapshot says of it.
    settings: Vec<Setting>,
}

struct Limit {
    name: String,
    /// As built.
    quota: Quota,
    /// The most permits that there have been at once.
    most: AtomicU64,
    member: Member,
    refunds: Refunds,
}

enum Member {
    Keyed(Box<KeyedLimiter>),
    Sole(Box<Limiter>),
}

/// Plain figures about a [`LimitSet`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitSetStats {
    /// Bytes of all tables.
    pub memory_bytes: u64,
    /// Looks and charges for clients for which there was no room.
    pub unknown: u64,
    /// Calls from behind the horizon, of each limit that is for each client.
    pub late: u64,
    /// Holds that have neither been settled nor run out, estimated from a sample (exact for small tables).
    pub holds: u64,
    /// How often something could not be given back, and stays charged until time gives it back.
    pub unreturned: u64,
}

/// Groups of buckets of the holds that `stats` looks at.
const SAMPLE: usize = 256;

impl LimitSet {
    /// A builder, without limits yet.
    pub fn builder() -> LimitSetBuilder {
        LimitSetBuilder::default()
    }

    /// Takes `cost` permits of each limit at `now`, or none at all. `keys`: one for each limit that is for each client, in their order.
    /// ([`Seed::hash`] makes one type of different ones.) Of cost 0 it tells how things stand.
    #[inline]
    pub fn check_at<K: Key>(&self, keys: &[K], cost: u64, now: Tick) -> SetAdmission<'_> {
        let call = match self.call(keys, cost, now) {
            Ok(call) => call,
            Err(limit) => return SetAdmission::Never { limit },
        };
        match admit(&call, cost) {
            Ok(charged) => self.allowed(&charged),
            Err(limit) => call.refused(limit, cost),
        }
    }

    /// .. now.
    #[inline]
    pub fn check<K: Key>(&self, keys: &[K], cost: u64) -> SetAdmission<'_> {
        self.check_at(keys, cost, self.clock.now())
    }

    /// How a call of this cost stands with each limit, by name. Nothing is taken.
    pub fn peek_each_at<K: Key>(
        &self,
        keys: &[K],
        cost: u64,
        now: Tick,
    ) -> impl Iterator<Item = (&str, Admission)> {
        let mut keys = keys.iter();
        let hashes: Vec<Option<KeyHash>> =
            self.limits.iter().map(|limit| limit.hash(&mut keys, self.seed)).collect();
        self.limits.iter().zip(hashes).map(move |(limit, hash)| {
            let admission = match (&limit.member, hash) {
                (Member::Keyed(keyed), Some(hash)) => keyed.peek_at(hash, cost, now),
                (Member::Sole(sole), Some(_)) => sole.peek_at(cost, now),
                (_, None) => Admission::Never,
            };
            (limit.name.as_str(), admission)
        })
    }

    /// Takes `estimate` permits of each limit at `now`, or none at all, until it is known what they are: for a `lease`, within which it has to be settled.
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass::{LimitRule, LimitSet, Reserved, Settled, Tick};
    ///
    /// let set = LimitSet::builder()
    ///     .limit(LimitRule::keyed("tokens", "1000/60s".parse()?).clients(1000))
    ///     .reservations(100)
    ///     .build()?;
    /// let (now, lease) = (Tick(0), Duration::from_secs(30));
    /// let Reserved::Held(ticket) = set.reserve_at(&["ann"], 800, lease, now) else { panic!() };
    /// assert!(!set.check_at(&["ann"], 300, now).is_allowed());
    /// // It took 500.
    /// assert_eq!(set.settle_at(ticket, 500, now), Settled::Settled { uncharged: 0 });
    /// assert!(set.check_at(&["ann"], 500, now).is_allowed());
    /// assert_eq!(set.settle_at(ticket, 0, now), Settled::Before);
    /// # Ok::<(), windlass::ConfigError>(())
    /// ```
    ///
    /// **A hold is a charge** from the time at which it is made: time gives it back as it does others. One whose lease has run out stays charged;
    /// who crashes need not do anything.
    ///
    /// **What is given back** of a bucket is never more than would be there if it had not been taken. All of it comes back if more than the bucket
    /// regained meanwhile, and than others at the same key gave back, was in use when it was reserved, so whenever the bucket is
    /// scarce; else what it regained may count as given back already, at most until it is full. Of a window all comes back, as long as it counts.
    ///
    /// **More than the estimate** is charged whether there is room or not, and has to be worked off: a bucket goes into debt, by 15 bursts at
    /// most; a window is full.
    pub fn reserve_at<K: Key>(&self, keys: &[K], estimate: u64, lease: Duration, now: Tick) -> Reserved<'_> {
        let call = match self.call(keys, estimate, now) {
            Ok(call) => call,
            Err(limit) => return Reserved::Refused(SetAdmission::Never { limit }),
        };
        let Some(holds) = &self.holds else { return Reserved::NoRoom };
        // Before they are charged.
        let before = call.each(|limit, hash| limit.refunds.done(hash));
        let charged = match admit(&call, estimate) {
            Ok(charged) => charged,
            Err(limit) => return Reserved::Refused(call.refused(limit, estimate)),
        };
        let lease = u64::try_from(lease.as_nanos()).unwrap_or(u64::MAX);
        let Ok(number) = holds.open(self.latest(now), lease) else {
            give_all_back(&call, &charged, estimate);
            return Reserved::NoRoom;
        };
        let mut parts = [None; MOST];
        for (i, part) in parts.iter_mut().enumerate() {
            let held = |charge| Held { hash: call.hashes[i], charge, before: before[i] };
            *part = charged.charges[i].map(held);
        }
        Reserved::Held(Reservation { number, estimate, parts })
    }

    /// .. now.
    pub fn reserve<K: Key>(&self, keys: &[K], estimate: u64, lease: Duration) -> Reserved<'_> {
        self.reserve_at(keys, estimate, lease, self.clock.now())
    }

    /// Says what a hold was really for, at `now`: gives back what was too much, or charges what was too little.
    pub fn settle_at(&self, ticket: Reservation, actual: u64, now: Tick) -> Settled {
        self.arrive(now);
        let now = self.latest(now);
        let Some(holds) = &self.holds else { return Settled::Expired };
        // (No ticket of this set, if so.)
        if self.limits.iter().any(|limit| ticket.estimate > limit.most.load(Relaxed)) {
            return Settled::Expired;
        }
        let settled = holds.close(ticket.number, now);
        if !matches!(settled, Settled::Settled { .. }) {
            return settled;
        }
        let mut uncharged = 0;
        for (limit, held) in self.limits.iter().zip(ticket.parts) {
            let Some(Held { hash, charge, before }) = held else { continue };
            match actual.checked_sub(ticket.estimate) {
                None => {
                    let less = ticket.estimate - actual;
                    if !limit.give_back(hash, charge, less, || self.latest(now), Some(before)) {
                        self.unreturned.add(1);
                    }
                }
                Some(more) => uncharged = uncharged.max(more - limit.charge_more(hash, more, now)),
            }
        }
        Settled::Settled { uncharged }
    }

    /// .. now.
    pub fn settle(&self, ticket: Reservation, actual: u64) -> Settled {
        self.settle_at(ticket, actual, self.clock.now())
    }

    /// Gives back all that is held: it was for nothing.
    pub fn cancel_at(&self, ticket: Reservation, now: Tick) -> Settled {
        self.settle_at(ticket, 0, now)
    }

    /// .. now.
    pub fn cancel(&self, ticket: Reservation) -> Settled {
        self.cancel_at(ticket, self.clock.now())
    }

    /// Another quota from `now` on for the limit of this name, for all calls that begin after this one has ended. Permits that were used stay used, one
    /// by one ([`Inherit::AsIs`]), and what is held or given back is so many of them, whatever the quota was when they were taken.
    ///
    /// What is admitted around a change, and which quotas there can be: see [`Limiter::set_quota_at`]. A call that is under way meanwhile may be looked at by the old quota
    /// and charged by the new one: the charge is what counts.
    ///
    /// ```
    /// use windlass::{LimitRule, LimitSet, Tick};
    ///
    /// let set = LimitSet::builder()
    ///     .limit(LimitRule::keyed("user", "2/s".parse()?).clients(1000))
    ///     .limit(LimitRule::global("all", "1000/s".parse()?))
    ///     .build()?;
    /// assert!(!set.check_at(&["ann"], 3, Tick(0)).is_allowed());
    /// set.set_quota_at("user", "5/s".parse()?, Tick(0))?;
    /// assert!(set.check_at(&["ann"], 3, Tick(0)).is_allowed());
    /// # Ok::<(), windlass::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no limit of this name; else as there, with the name. Nothing has changed then.
    pub fn set_quota_at(&self, name: &str, quota: Quota, now: Tick) -> Result<(), ConfigError> {
        let Some(limit) = self.limits.iter().find(|limit| limit.name == name) else {
            let names: Vec<&str> = self.limits.iter().map(|limit| limit.name.as_str()).collect();
            return Err(ConfigError::new(
                "limit",
                format_args!("{name:?}"),
                format_args!("one of {names:?}"),
            ));
        };
        self.arrive(now);
        // Before it can be held. Relaxed: whoever brings a ticket has it from somebody who has charged it, by the new quota.
        limit.most.fetch_max(quota.capacity(), AcqRel);
        let changed = match &limit.member {
            Member::Keyed(keyed) => keyed.set_quota_at(quota, Inherit::AsIs, now),
            Member::Sole(sole) => sole.set_quota_at(quota, Inherit::AsIs, now),
        };
        changed.map_err(|error| ConfigError { value: format!("{} of {name:?}", error.value), ..error })
    }

    /// .. from now on.
    ///
    /// # Errors
    /// As there.
    pub fn set_quota(&self, name: &str, quota: Quota) -> Result<(), ConfigError> {
        self.set_quota_at(name, quota, self.clock.now())
    }

    /// The limits, in order: name and quota, and whether they are for each client.
    pub fn limits(&self) -> impl ExactSizeIterator<Item = (&str, Quota, bool)> {
        self.limits
            .iter()
            .map(|limit| (limit.name.as_str(), limit.quota(), matches!(limit.member, Member::Keyed(_))))
    }

    /// The seed in use: to hash keys beforehand ([`Seed::hash`]).
    #[must_use]
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// Plain figures of the limits that are for each client, by name and in order. Costs a look at a sample of each table, and nothing to others.
    /// (Those for all are a word each, and have none.)
    pub fn limit_stats(&self) -> impl Iterator<Item = (&str, LimiterStats)> {
        self.limits.iter().filter_map(|limit| match &limit.member {
            Member::Keyed(keyed) => Some((limit.name.as_str(), keyed.stats())),
            Member::Sole(_) => None,
        })
    }

    /// Plain figures. Costs a look at a sample of the holds, and nothing to others.
    #[must_use]
    pub fn stats(&self) -> LimitSetStats {
        let bytes = |limit: &Limit| match &limit.member {
            Member::Keyed(keyed) => keyed.memory_bytes(),
            Member::Sole(_) => 0,
        };
        LimitSetStats {
            memory_bytes: self.limits.iter().map(bytes).sum::<u64>()
                + self.holds.as_ref().map_or(0, Holds::bytes),
            unknown: self.keyed().map(KeyedLimiter::unknown_calls).sum(),
            late: self.keyed().map(KeyedLimiter::late_calls).sum(),
            holds: self.holds.as_ref().map_or(0, |holds| holds.open_ones(SAMPLE)),
            unreturned: self.unreturned.sum(),
        }
    }

    /// Upkeep, most of which calls do by themselves: see [`crate::Dedup::maintain_at`].
    pub fn maintain_at(&self, now: Tick, budget: usize) -> bool {
        self.arrive(now);
        let mut more = self.holds.as_ref().is_some_and(|holds| holds.maintain(budget));
        for limit in &self.limits {
            if let Member::Keyed(keyed) = &limit.member {
                more |= keyed.maintain_at(now, budget);
            }
        }
        more
    }

    fn keyed(&self) -> impl Iterator<Item = &KeyedLimiter> {
        self.limits.iter().filter_map(|limit| match &limit.member {
            Member::Keyed(keyed) => Some(&**keyed),
            Member::Sole(_) => None,
        })
    }

    /// A call, if it can ever be allowed; else the limit by which it cannot.
    #[inline(always)]
    fn call<K: Key>(&self, keys: &[K], cost: u64, now: Tick) -> Result<Call<'_>, &str> {
        self.arrive(now);
        let (hashes, stamps) = ([KeyHash { hi: 0, lo: 0 }; MOST], [0; MOST]);
        let (mut call, mut keys) = (Call { set: self, now, hashes, stamps }, keys.iter());
        for (i, limit) in self.limits.iter().enumerate() {
            let Some(hash) = limit.hash(&mut keys, self.seed) else { return Err(&limit.name) };
            call.hashes[i] = hash;
            call.stamps[i] = match &limit.member {
                Member::Keyed(keyed) => {
                    keyed.table().prefetch(hash);
                    keyed.arrive(now).unwrap_or(JUMP)
                }
                Member::Sole(sole) => sole.stamp(now),
            };
            if cost > limit.capacity() {
                return Err(&limit.name);
            }
        }
        Ok(call)
    }

    /// Moves time on.
    #[inline(always)]
    fn arrive(&self, now: Tick) {
        let newest = self.newest.load(Relaxed);
        if now.0.saturating_sub(newest) >= self.granule {
            self.moves(now);
        }
    }

    #[cold]
    #[inline(never)]
    fn moves(&self, now: Tick) {
        self.newest.fetch_max(now.0, AcqRel);
        if let Some(holds) = &self.holds {
            holds.advance(now);
        }
    }

    /// No earlier than others have been, as far as is known.
    ///
    /// Relaxed: who moves time on does so before it charges, and that releases it; whoever has loaded the state finds it here. Model:
    /// loom-tests/tests/sets.rs.
    fn latest(&self, now: Tick) -> Tick {
        Tick(now.0.max(self.newest.load(Relaxed)))
    }

    #[inline(always)]
    fn allowed(&self, charged: &Charged) -> SetAdmission<'_> {
        SetAdmission::Allowed {
            tightest: self.limits.get(charged.tightest).map_or("", |limit| &limit.name),
            remaining: charged.remaining,
            reset_after: Duration::from_nanos(charged.reset_after),
        }
    }
}

impl Maintain for LimitSet {
    fn maintain_at(&self, now: Tick, budget: usize) -> bool {
        LimitSet::maintain_at(self, now, budget)
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

impl fmt::Debug for LimitSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = self.limits.iter().map(|limit| (&limit.name, limit.quota()));
        f.debug_map().entries(limits).finish()
    }
}
