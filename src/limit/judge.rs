//! What a limiter for many clients asks of an algorithm.

use super::{
    admission::Answer,
    meter::{Charge, Meter, STATE_BITS},
    word::update,
};
use crate::{
    hash::KeyHash,
    sync::{AtomicU64, Wide},
    table::{Decision, Full, KeyTable, Pinned},
};

/// The table, as a judge sees it.
pub(crate) trait Clients {
    /// See [`Pinned::update`].
    fn update<R>(
        &self,
        hash: KeyHash,
        decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
    ) -> Result<R, Full>;

    /// Every state up to here is gone. Acquire.
    fn horizon(&self) -> u64;
}

impl<W: Wide, const BUCKETS: usize, const CELLS: usize> Clients for Pinned<'_, W, BUCKETS, CELLS> {
    #[inline(always)]
    fn update<R>(
        &self,
        hash: KeyHash,
        decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
    ) -> Result<R, Full> {
        Pinned::update(self, hash, decide)
    }

    #[inline(always)]
    fn horizon(&self) -> u64 {
        Pinned::horizon(self)
    }
}

/// The only table there will ever be, not pinned.
pub(crate) trait Home {
    /// See [`KeyTable::update_at_home`].
    fn update_at_home<R>(&self, hash: KeyHash, decide: impl Fn(Option<u64>, u64) -> Decision<R>)
    -> Option<R>;
}

impl<W: Wide> Home for (&KeyTable, W) {
    #[inline(always)]
    fn update_at_home<R>(
        &self,
        hash: KeyHash,
        decide: impl Fn(Option<u64>, u64) -> Decision<R>,
    ) -> Option<R> {
        self.0.update_at_home(self.1, hash, decide)
    }
}

/// Times are stamps.
pub(crate) trait Judge: Copy {
    /// Permits that can be taken at once.
    fn burst(self) -> u64;

    /// [`Judge::check`] without a pin, for a client that is where it should be. `None`: nothing is done.
    #[inline(always)]
    fn check_at_home(self, _: &impl Home, _: KeyHash, _cost: u64, _at: u64) -> Option<Answer> {
        None
    }

    /// Takes `cost` of a client's permits, no more than the burst. Of cost 0 it tells how things stand.
    fn check(self, table: &impl Clients, hash: KeyHash, cost: u64, at: u64) -> Result<Answer, Full>;

    /// What [`Judge::check`] would answer.
    fn peek(self, table: &impl Clients, hash: KeyHash, cost: u64, at: u64) -> Result<Answer, Full>;

    /// [`Judge::check`], and what has to be kept to give it back, if it was charged.
    fn charge(
        self,
        table: &impl Clients,
        hash: KeyHash,
        cost: u64,
        at: u64,
    ) -> Result<(Answer, Option<Charge>), Full> {
        Ok((self.check(table, hash, cost, at)?, None))
    }

    /// .. without a pin, as [`Judge::check_at_home`].
    #[inline(always)]
    fn charge_at_home(
        self,
        _: &impl Home,
        _: KeyHash,
        _cost: u64,
        _at: u64,
    ) -> Option<(Answer, Option<Charge>)> {
        None
    }

    /// [`Judge::peek`] without a pin.
    #[inline(always)]
    fn peek_at_home(self, _: &impl Home, _: KeyHash, _cost: u64, _at: u64) -> Option<Answer> {
        None
    }

    /// See [`Meter::give_back`].
    fn give_back(
        self,
        _: &impl Clients,
        _: KeyHash,
        _: Charge,
        _permits: u64,
        _at: impl Fn() -> u64 + Copy,
        _others: impl Fn() -> u64 + Copy,
    ) -> bool {
        false
    }

    /// See [`Meter::given`].
    fn given(self, permits: u64) -> u64 {
        permits
    }

    /// See [`Meter::charge_more`].
    fn charge_more(self, _: &impl Clients, _: KeyHash, _permits: u64, _at: u64) -> Result<u64, Full> {
        Ok(0)
    }

    /// [`Judge::check`] by a word that clients share. `None`: there is no such word.
    fn check_shared(self, _: &AtomicU64, _cost: u64, _at: u64) -> Option<Answer> {
        None
    }

    /// Gives back all that a client has taken. Whether there was something, and it could be done.
    fn forget(self, table: &impl Clients, hash: KeyHash, at: u64) -> bool;

    /// The greatest state that is as good as none from `at` on.
    fn gone_at(self, at: u64) -> u64;

    fn is_fresh(self, state: u64, at: u64) -> bool;

    /// No state is greater.
    fn last(self) -> u64 {
        (1 << STATE_BITS) - 1
    }

    /// For how many nanoseconds a client is remembered at most.
    fn memory(self) -> u64;

    /// Bytes beside the table.
    fn bytes(self) -> u64 {
        0
    }

    /// Upkeep of what is not in the table, when the horizon has moved to `gone`.
    fn maintain_a_share(self, _gone: u64) {}

    /// .. all of it.
    fn maintain(self, _gone: u64) {}
}

// (By reference: what it knows is not little, and would be copied to the stack with each call.)
impl<M: Meter> Judge for &M {
    #[inline(always)]
    fn burst(self) -> u64 {
        Meter::burst(self)
    }

    #[inline(always)]
    fn check_at_home(self, table: &impl Home, hash: KeyHash, cost: u64, at: u64) -> Option<Answer> {
        Some(self.answer(table.update_at_home(hash, self.take(at, cost))?, at, cost))
    }

    #[inline(always)]
    fn check(self, table: &impl Clients, hash: KeyHash, cost: u64, at: u64) -> Result<Answer, Full> {
        Ok(self.answer(table.update(hash, self.take(at, cost))?, at, cost))
    }

    fn peek(self, table: &impl Clients, hash: KeyHash, cost: u64, at: u64) -> Result<Answer, Full> {
        Ok(self.answer(table.update(hash, Meter::peek(self, at, cost))?, at, cost))
    }

    #[inline(always)]
    fn charge(
        self,
        table: &impl Clients,
        hash: KeyHash,
        cost: u64,
        at: u64,
    ) -> Result<(Answer, Option<Charge>), Full> {
        Ok(charged(self, table.update(hash, self.take(at, cost))?, at, cost))
    }

    #[inline(always)]
    fn charge_at_home(
        self,
        table: &impl Home,
        hash: KeyHash,
        cost: u64,
        at: u64,
    ) -> Option<(Answer, Option<Charge>)> {
        Some(charged(self, table.update_at_home(hash, self.take(at, cost))?, at, cost))
    }

    #[inline(always)]
    fn peek_at_home(self, table: &impl Home, hash: KeyHash, cost: u64, at: u64) -> Option<Answer> {
        Some(self.answer(table.update_at_home(hash, Meter::peek(self, at, cost))?, at, cost))
    }

    fn check_shared(self, word: &AtomicU64, cost: u64, at: u64) -> Option<Answer> {
        Some(self.answer(update(word, self.take(at, cost)), at, cost))
    }

    fn give_back(
        self,
        table: &impl Clients,
        hash: KeyHash,
        charge: Charge,
        permits: u64,
        at: impl Fn() -> u64 + Copy,
        others: impl Fn() -> u64 + Copy,
    ) -> bool {
        // (No room: it is not there any more.)
        table.update(hash, Meter::give_back(self, charge, permits, at, others)).unwrap_or(true)
    }

    fn given(self, permits: u64) -> u64 {
        Meter::given(self, permits)
    }

    fn charge_more(self, table: &impl Clients, hash: KeyHash, permits: u64, at: u64) -> Result<u64, Full> {
        table.update(hash, Meter::charge_more(self, at, permits))
    }

    fn forget(self, table: &impl Clients, hash: KeyHash, at: u64) -> bool {
        table.update(hash, Meter::forget(self, at)).unwrap_or(false)
    }

    fn gone_at(self, at: u64) -> u64 {
        Meter::gone_at(self, at)
    }

    fn is_fresh(self, state: u64, at: u64) -> bool {
        Meter::is_fresh(self, state, at)
    }

    fn memory(self) -> u64 {
        Meter::memory(self)
    }
}

/// The answer to a call with this outcome, and its charge, if there is one.
#[inline(always)]
pub(super) fn charged<M: Meter>(meter: &M, taken: M::Taken, at: u64, cost: u64) -> (Answer, Option<Charge>) {
    let answer = meter.answer(taken, at, cost);
    let allowed = cost > 0 && matches!(answer, Answer::Allowed { .. });
    (answer, allowed.then(|| meter.charge(taken, cost)))
}
