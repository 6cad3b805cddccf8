//! Keyed limiters whose quotas change while they are in use.

use super::{
    admission::{Admission, Answer},
    algorithm::{Judges, with_judge},
    change::Inherit,
    course::Course,
    judge::Judge,
    keyed::{Changed, KeyedLimiter},
    meter::Charge,
    overrides::Overrides,
    quota::Quota,
    single::Limiter,
};
use crate::{
    error::ConfigError,
    hash::{Key, KeyHash},
    sync::{
        epoch::{Guard, pin},
        retry, with_wide,
    },
    table::Full,
    time::Tick,
};

impl KeyedLimiter {
    /// Another quota from `now` on, of all clients that have none of their own, known or not: for all calls that begin after this one has ended. Those
    /// under way meanwhile are judged by the old quota or by the new one.
    ///
    /// What has been used, what is admitted around a change, and which quotas there can be: as [`Limiter::set_quota_at`] says, for each client. A client that is not
    /// known has used nothing.
    ///
    /// ```
    /// use windlass::{Inherit, KeyedLimiter, Tick};
    ///
    /// let limiter = KeyedLimiter::builder("100/60s".parse()?).clients(1000).build()?;
    /// let now = Tick(0);
    /// assert!(limiter.check_at("ann", 60, now).is_allowed());
    /// limiter.set_quota_at("20/60s".parse()?, Inherit::Proportional, now)?;
    /// assert!(limiter.check_at("ann", 8, now).is_allowed());
    /// assert!(!limiter.check_at("ann", 1, now).is_allowed());
    /// assert!(limiter.check_at("bob", 20, now).is_allowed());
    /// # Ok::<(), windlass::ConfigError>(())
    /// ```
    ///
    /// Lock-free, and no pass over the clients, however many: O(1). Clients are remembered for as long as the quota takes to give them
    /// all back: with one that takes longer there are more at a time (see [`super::KeyedLimiterBuilder::clients`]).
    ///
    /// # Errors
    /// As [`Limiter::set_quota_at`], and if `now` lies too far ahead. Nothing has changed then.
    pub fn set_quota_at(&self, quota: Quota, inherit: Inherit, now: Tick) -> Result<(), ConfigError> {
        let Some(at) = self.arrive(now) else { return Err(too_far(now)) };
        let guard = pin();
        loop {
            let present = self.changed.get(&guard);
            let terms = present.map_or(&self.terms, |changed| &changed.terms);
            let terms = terms.changed((self.algorithm, self.in_set), (quota, inherit), at)?;
            let judges = terms.rule.beside(&self.judges);
            let changed = Changed { judges, terms, unknown: self.on_unknown.admission(quota) };
            if self.changed.exchange(present, Some(changed), &guard).is_ok() {
                return Ok(());
            }
            retry();
        }
    }

    /// Another quota from now on: see [`KeyedLimiter::set_quota_at`].
    ///
    /// # Errors
    /// As there.
    pub fn set_quota(&self, quota: Quota, inherit: Inherit) -> Result<(), ConfigError> {
        self.set_quota_at(quota, inherit, self.clock.now())
    }

    /// A quota of its own for one client from `now` on, whatever [`KeyedLimiter::set_quota_at`] says later; or another one, if it has one.
    ///
    /// ```
    /// use windlass::{Inherit, KeyedLimiter, Tick};
    ///
    /// let limiter = KeyedLimiter::builder("10/s".parse()?).clients(1000).build()?;
    /// let now = Tick(0);
    /// limiter.set_quota_for_at("ann", "1000/s".parse()?, Inherit::AsIs, now)?;
    /// assert!(limiter.check_at("ann", 1000, now).is_allowed());
    /// assert!(!limiter.check_at("bob", 11, now).is_allowed());
    /// # Ok::<(), windlass::ConfigError>(())
    /// ```
    ///
    /// **What has been used** up to `now` counts as if it had been taken then, all that the client had used up of its quota: so many permits, but no more
    /// than there are ([`Inherit::AsIs`]), or the same share of them, rounded up ([`Inherit::Proportional`]; here of all algorithms). If the client has a quota of its own already: as [`Limiter::set_quota_at`].
    ///
    /// **What is admitted around the change**: calls of this client that are under way meanwhile are judged by the quota that it had, which they never exceed, or by the
    /// one that it gets. What is admitted by the former after the change has begun may not be counted by the latter.
    ///
    /// Lock-free. It copies a 64th of the list of such clients. Each takes about 300 bytes (with [`super::Algorithm::SlidingLog`] and 8 a permit), until
    /// [`KeyedLimiter::clear_quota_for_at`]; they are not in [`KeyedLimiter::memory_bytes`]. A call of any client then looks whether it is one of them. Clients are told apart by 128 bits of
    /// their hash.
    ///
    /// # Errors
    /// As when a limiter is built for that quota, and if `now` lies too far ahead. Nothing has changed then.
    pub fn set_quota_for_at(
        &self,
        key: impl Key,
        quota: Quota,
        inherit: Inherit,
        now: Tick,
    ) -> Result<(), ConfigError> {
        let hash = key.key_hash(self.seed);
        if self.arrive(now).is_none() {
            return Err(too_far(now));
        }
        let guard = pin();
        let make = || Limiter::builder(quota).algorithm(self.algorithm).build();
        let there = self.overrides_or_new(&guard).insert(hash, make, |limiter| {
            let (used, old) = self.used_at(hash, now);
            limiter.check_at(inherit.share(used, old, quota), now);
        })?;
        there.map_or(Ok(()), |limiter| limiter.set_quota_at(quota, inherit, now))
    }

    /// A quota of its own for one client from now on: see [`KeyedLimiter::set_quota_for_at`].
    ///
    /// # Errors
    /// As there.
    pub fn set_quota_for(&self, key: impl Key, quota: Quota, inherit: Inherit) -> Result<(), ConfigError> {
        self.set_quota_for_at(key, quota, inherit, self.clock.now())
    }

    /// From `now` on the quota of all counts for this client again. Whether it had one of its own.
    ///
    /// What it has used of its own counts as taken now, as far as there is room for it and it has not used as much of the other one; and around the change what
    /// [`KeyedLimiter::set_quota_for_at`] says.
    pub fn clear_quota_for_at(&self, key: impl Key, inherit: Inherit, now: Tick) -> bool {
        let hash = key.key_hash(self.seed);
        let guard = pin();
        let own = self.overrides.get(&guard).and_then(|overrides| overrides.remove(hash));
        let Some(limiter) = own else { return false };
        let (used, old) = limiter.used_at(now);
        let (before, quota) = self.used_at(hash, now);
        let more = inherit.share(used, old, quota).saturating_sub(before);
        // (By another call meanwhile it may have used so much that there is no room. Then it has.)
        let _ = self.check_changed(hash, more, now);
        true
    }

    /// .. from now on.
    pub fn clear_quota_for(&self, key: impl Key, inherit: Inherit) -> bool {
        self.clear_quota_for_at(key, inherit, self.clock.now())
    }

    /// The quota of a client, its own or that of all.
    #[must_use]
    pub fn quota_for(&self, key: impl Key) -> Quota {
        let own = self.own(key.key_hash(self.seed), &pin()).map(Limiter::quota);
        own.unwrap_or_else(|| self.quota())
    }

    /// Whether quotas are what they were when it was built, of all and of each: then calls go the short way.
    #[inline(always)]
    pub(super) fn has_changed(&self) -> bool {
        self.changed.is_some() || self.overrides.is_some()
    }

    /// What clients go by that have no quota of their own.
    pub(super) fn present<'g>(&'g self, guard: &'g Guard) -> (&'g Judges, Course, Admission) {
        match self.changed.get(guard) {
            None => (&self.judges, self.terms.course, self.unknown),
            Some(changed) => (&changed.judges, changed.terms.course, changed.unknown),
        }
    }

    /// The client's own limiter, if it has one.
    pub(super) fn own<'g>(&'g self, hash: KeyHash, guard: &'g Guard) -> Option<&'g Limiter> {
        self.overrides.get(guard)?.get(hash, guard)
    }

    fn overrides_or_new<'g>(&'g self, guard: &'g Guard) -> &'g Overrides<Limiter> {
        loop {
            if let Some(overrides) = self.overrides.get(guard) {
                return overrides;
            }
            // (If it fails another call has come first.)
            let _ = self.overrides.exchange(None, Some(Overrides::default()), guard);
        }
    }

    /// `check_at` of a limiter of which a quota has changed.
    #[cold]
    #[inline(never)]
    pub(super) fn check_changed(&self, hash: KeyHash, cost: u64, now: Tick) -> Admission {
        let guard = pin();
        let (judges, course, unknown) = self.present(&guard);
        let own = self.own(hash, &guard);
        if let Some(burst) = own.map(|limiter| limiter.quota().capacity())
            && cost > burst
        {
            return Admission::Never;
        }
        with_judge!(judges, judge => with_wide!(self.table.wide(), wide => {
            if own.is_none() && cost > judge.burst() {
                return Admission::Never;
            }
            let Some(at) = self.arrive(now) else {
                self.counts.jumps.add(1);
                return unknown;
            };
            if let Some(limiter) = own {
                return limiter.check_at(cost, now);
            }
            let time = course.time(at);
            let answer = match judge.check_at_home(&(&self.table, wide), hash, cost, time) {
                Some(answer) => Ok(answer),
                None => judge.check(&self.table.pinned(wide, &guard), hash, cost, time),
            };
            let answer = answer.or_else(|Full| {
                self.counts.unknown.add(1);
                self.share(judge, hash, cost, time).ok_or(unknown)
            });
            answer.map_or_else(|unknown| unknown, |answer| course.told(answer, at, time).into())
        }))
    }

    /// Permits that are used up of the quota of all.
    fn used_at(&self, hash: KeyHash, now: Tick) -> (u64, Quota) {
        let guard = pin();
        let quota = self.quota();
        let (judges, course, _) = self.present(&guard);
        let time = course.time(self.nearest(now));
        let answer = with_judge!(judges, judge => with_wide!(self.table.wide(), wide => {
            judge.peek(&self.table.pinned(wide, &guard), hash, 0, time)
        }));
        match answer {
            Ok(Answer::Allowed { remaining, .. }) => (quota.capacity().saturating_sub(remaining), quota),
            _ => (0, quota),
        }
    }
}

/// Of a set, whose calls are looked at, charged and given back one limit after the other. Times are stamps.
impl KeyedLimiter {
    /// [`Judge::peek`]. `Err`: there is no room for the client.
    #[cold]
    #[inline(never)]
    pub(super) fn look_changed(&self, hash: KeyHash, cost: u64, at: u64) -> Result<Answer, Full> {
        let guard = pin();
        let (judges, course, _) = self.present(&guard);
        let time = course.time(at);
        let answer = with_judge!(judges, judge => with_wide!(self.table.wide(), wide => {
            judge.peek(&self.table.pinned(wide, &guard), hash, cost, time)
        }));
        answer.map(|answer| course.told(answer, at, time))
    }

    /// [`Judge::charge`].
    #[cold]
    #[inline(never)]
    pub(super) fn charge_changed(
        &self,
        hash: KeyHash,
        cost: u64,
        at: u64,
    ) -> Result<(Answer, Option<Charge>), Full> {
        let guard = pin();
        let (judges, course, _) = self.present(&guard);
        let time = course.time(at);
        let charged = with_judge!(judges, judge => with_wide!(self.table.wide(), wide => {
            judge.charge(&self.table.pinned(wide, &guard), hash, cost, time)
        }));
        charged.map(|(answer, charge)| (course.told(answer, at, time), charge))
    }

    /// [`Judge::give_back`]. `around` is told how much comes down, and calls what does it.
    pub(super) fn give_back(
        &self,
        hash: KeyHash,
        charge: Charge,
        permits: u64,
        now: impl Fn() -> Tick + Copy,
        around: impl FnOnce(u64, &dyn Fn(&dyn Fn() -> u64) -> bool) -> bool,
    ) -> bool {
        let guard = pin();
        let (judges, course, _) = self.present(&guard);
        let at = || course.time(self.nearest(now()));
        with_judge!(judges, judge => with_wide!(self.table.wide(), wide => {
            let table = self.table.pinned(wide, &guard);
            around(judge.given(permits), &|others| judge.give_back(&table, hash, charge, permits, at, others))
        }))
    }

    /// [`Judge::charge_more`].
    pub(super) fn charge_more(&self, hash: KeyHash, permits: u64, now: Tick) -> u64 {
        let guard = pin();
        let (judges, course, _) = self.present(&guard);
        let time = course.time(self.nearest(now));
        with_judge!(judges, judge => with_wide!(self.table.wide(), wide => {
            judge.charge_more(&self.table.pinned(wide, &guard), hash, permits, time).unwrap_or(0)
        }))
    }
}

impl Inherit {
    /// What is used of the new quota, of one in which so many were.
    fn share(self, used: u64, old: Quota, new: Quota) -> u64 {
        let most = new.capacity();
        match self {
            Inherit::AsIs => used.min(most),
            Inherit::Proportional => {
                let share = (u128::from(used) * u128::from(most)).div_ceil(u128::from(old.capacity().max(1)));
                u64::try_from(share).map_or(most, |share| share.min(most))
            }
        }
    }
}

fn too_far(now: Tick) -> ConfigError {
    ConfigError::new("now", now.0, "a tick no further ahead than `max_jump`")
}
