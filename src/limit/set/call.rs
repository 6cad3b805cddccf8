//! What a call does to each limit.

use super::{
    super::{
        admission::{Admission, Answer},
        algorithm::with_judge,
        judge::Judge,
        meter::Charge,
        quota::Quota,
    },
    Limit, LimitSet, Member, SetAdmission,
    admit::{MOST, Parts},
};
use crate::{
    hash::{Key, KeyHash, Seed},
    sync::{epoch, with_wide},
    table::Full,
    time::Tick,
};
use std::time::Duration;

/// A call, to all limits.
pub(super) struct Call<'a> {
    pub(super) set: &'a LimitSet,
    pub(super) now: Tick,
    pub(super) hashes: [KeyHash; MOST],
    /// By limit; `JUMP` if it is too far ahead.
    pub(super) stamps: [u64; MOST],
}

pub(super) const JUMP: u64 = u64::MAX;

impl Limit {
    /// The next key, if this is for each client. `None`: there is none.
    #[inline(always)]
    pub(super) fn hash<'k, K: Key + 'k>(
        &self,
        keys: &mut impl Iterator<Item = &'k K>,
        seed: Seed,
    ) -> Option<KeyHash> {
        match self.member {
            Member::Keyed(_) => keys.next().map(|key| key.key_hash(seed)),
            Member::Sole(_) => Some(KeyHash { hi: 0, lo: 0 }),
        }
    }

    /// See [`super::super::meter::Meter::give_back`]. `now` is called when the state has been loaded. `before`: of a hold, what [`super::refunds::Refunds::done`] was.
    pub(super) fn give_back(
        &self,
        hash: KeyHash,
        charge: Charge,
        permits: u64,
        now: impl Fn() -> Tick + Copy,
        before: Option<u64>,
    ) -> bool {
        // (A refund is counted, whatever quota there is by now: in a set a permit takes as much as ever.)
        match &self.member {
            Member::Keyed(keyed) => keyed.give_back(hash, charge, permits, now, |given, back| {
                self.refunds.around(hash, given, before, back)
            }),
            Member::Sole(sole) => sole.core.give_back(
                charge,
                permits,
                || sole.stamp(now()),
                |given, back| self.refunds.around(hash, given, before, back),
            ),
        }
    }

    /// See [`super::super::meter::Meter::charge_more`].
    pub(super) fn charge_more(&self, hash: KeyHash, permits: u64, now: Tick) -> u64 {
        match &self.member {
            Member::Keyed(keyed) => keyed.charge_more(hash, permits, now),
            Member::Sole(sole) => sole.core.charge_more(permits, sole.stamp(now)),
        }
    }

    /// Whether its quota has changed since it was built.
    #[inline(always)]
    pub(super) fn has_changed(&self) -> bool {
        match &self.member {
            Member::Keyed(keyed) => keyed.has_changed(),
            Member::Sole(sole) => sole.core.has_changed(),
        }
    }

    pub(super) fn quota(&self) -> Quota {
        match &self.member {
            Member::Keyed(keyed) => keyed.quota(),
            Member::Sole(sole) => sole.quota(),
        }
    }

    /// Permits that can be taken at once.
    #[inline(always)]
    pub(super) fn capacity(&self) -> u64 {
        if self.has_changed() { self.quota().capacity() } else { self.quota.capacity() }
    }
}

impl Call<'_> {
    pub(super) fn each<R: Copy + Default>(&self, f: impl Fn(&Limit, KeyHash) -> R) -> [R; MOST] {
        let mut all = [R::default(); MOST];
        for ((one, limit), &hash) in all.iter_mut().zip(&self.set.limits).zip(&self.hashes) {
            *one = f(limit, hash);
        }
        all
    }
}

impl Parts for Call<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.set.limits.len()
    }

    #[inline(always)]
    fn peek(&self, limit: usize, cost: u64) -> Answer {
        let (hash, at) = (self.hashes[limit], self.stamps[limit]);
        match &self.set.limits[limit].member {
            Member::Sole(sole) => sole.core.look(cost, at),
            Member::Keyed(keyed) if at == JUMP => unknown(keyed.unknown(true)),
            Member::Keyed(keyed) if keyed.has_changed() => {
                keyed.look_changed(hash, cost, at).unwrap_or_else(|Full| unknown(keyed.unknown(false)))
            }
            Member::Keyed(keyed) => {
                with_judge!(keyed.judges(), judge => with_wide!(keyed.table().wide(), wide => {
                    match judge.peek_at_home(&(keyed.table(), wide), hash, cost, at) {
                        Some(answer) => answer,
                        None => {
                            let guard = epoch::pin();
                            let answer = judge.peek(&keyed.table().pinned(wide, &guard), hash, cost, at);
                            answer.unwrap_or_else(|_| unknown(keyed.unknown(false)))
                        }
                    }
                }))
            }
        }
    }

    #[inline(always)]
    fn charge(&self, limit: usize, cost: u64) -> (Answer, Option<Charge>) {
        let (hash, at) = (self.hashes[limit], self.stamps[limit]);
        match &self.set.limits[limit].member {
            Member::Sole(sole) => sole.core.charge(cost, at),
            Member::Keyed(keyed) if at == JUMP => (unknown(keyed.unknown(true)), None),
            Member::Keyed(keyed) if keyed.has_changed() => {
                let charged = keyed.charge_changed(hash, cost, at);
                charged.unwrap_or_else(|Full| (unknown(keyed.unknown(false)), None))
            }
            Member::Keyed(keyed) => {
                with_judge!(keyed.judges(), judge => with_wide!(keyed.table().wide(), wide => {
                    match judge.charge_at_home(&(keyed.table(), wide), hash, cost, at) {
                        Some(charged) => charged,
                        None => {
                            let guard = epoch::pin();
                            let charged = judge.charge(&keyed.table().pinned(wide, &guard), hash, cost, at);
                            charged.unwrap_or_else(|_| (unknown(keyed.unknown(false)), None))
                        }
                    }
                }))
            }
        }
    }

    fn give_back(&self, limit: usize, charge: Charge, permits: u64) {
        let now = || self.set.latest(self.now);
        if !self.set.limits[limit].give_back(self.hashes[limit], charge, permits, now, None) {
            self.set.unreturned.add(1);
        }
    }

    #[cfg(windlass_loom)]
    fn turns(&self) -> bool {
        false
    }
}

impl<'a> Call<'a> {
    /// Which limit refuses, and until all would pass. (What refused may not any more: then it is that one, and at once.)
    #[cold]
    #[inline(never)]
    pub(super) fn refused(&self, limit: usize, cost: u64) -> SetAdmission<'a> {
        let (mut first, mut longest) = (None, 0);
        for i in 0..self.len() {
            if let Answer::Denied { retry_after } = self.peek(i, cost) {
                first = first.or(Some(i));
                longest = longest.max(retry_after);
            }
        }
        let set: &'a LimitSet = self.set;
        let limit = &set.limits[first.unwrap_or(limit)].name;
        SetAdmission::Denied { limit, retry_after: Duration::from_nanos(longest) }
    }
}

fn unknown(admission: Admission) -> Answer {
    match admission {
        Admission::Denied { retry_after } => {
            Answer::Denied { retry_after: u64::try_from(retry_after.as_nanos()).unwrap_or(u64::MAX) }
        }
        _ => Answer::Allowed { remaining: 0, reset_after: 0, delay: 0 },
    }
}
