//! What all algorithms have in common: pure functions of (state, horizon, time, cost).

use super::admission::Answer;
use crate::table::Decision;

/// Times are stamps: nanoseconds from shortly before the first call. States only rise, from one publication to the next.
///
/// `decide(state, gone)`: `None` is a client that is not known, or whose state is `gone` or less; both are as if it had never come.
pub(crate) trait Meter: Copy {
    /// How [`Meter::take`] ends, in a word or a few, which stay in registers.
    type Taken: Copy;

    /// Permits that can be taken at once.
    fn burst(&self) -> u64;

    /// Takes `cost`, no more than the burst. Of cost 0 it tells how things stand.
    fn take(&self, at: u64, cost: u64) -> impl Fn(Option<u64>, u64) -> Decision<Self::Taken> + Copy;

    /// What a call with this outcome is told. (When it is over: of what it takes nothing stands before the exchange.)
    fn answer(&self, taken: Self::Taken, at: u64, cost: u64) -> Answer;

    /// Gives back all that was taken. Whether there was something, and it could be done.
    fn forget(&self, at: u64) -> impl Fn(Option<u64>, u64) -> Decision<bool> + Copy;

    /// What has to be kept of a call with this outcome if it is to be given back.
    fn charge(&self, taken: Self::Taken, cost: u64) -> Charge;

    /// Gives back so many of the permits of a charge, as far as time has not: never more than would be there if they had not been taken.
    /// Whether that could be done: else they stay charged until time gives them back.
    ///
    /// `at` and `others` are called when the state has been loaded: the latest time that counts in it, as far as is known; and no less than what, since
    /// the charge, others have given back of it ([`Meter::given`]).
    fn give_back(
        &self,
        charge: Charge,
        permits: u64,
        at: impl Fn() -> u64 + Copy,
        others: impl Fn() -> u64 + Copy,
    ) -> impl Fn(Option<u64>, u64) -> Decision<bool> + Copy;

    /// By how much the state comes down, at most, when so many are given back: `others` counts in this.
    fn given(&self, permits: u64) -> u64;

    /// Charges permits whether there are any or not, as far as the state can hold them: how many.
    fn charge_more(&self, at: u64, permits: u64) -> impl Fn(Option<u64>, u64) -> Decision<u64> + Copy;

    /// The greatest state that is as good as none from `at` on.
    fn gone_at(&self, at: u64) -> u64;

    fn is_fresh(&self, state: u64, at: u64) -> bool;

    /// For how many nanoseconds a client is remembered at most.
    fn memory(&self) -> u64;

    /// What [`Meter::take`] would answer.
    #[inline(always)]
    fn peek(&self, at: u64, cost: u64) -> impl Fn(Option<u64>, u64) -> Decision<Self::Taken> + Copy {
        let take = self.take(at, cost);
        move |state, gone| match take(state, gone) {
            Decision::Keep(taken) | Decision::Publish(_, taken) => Decision::Keep(taken),
        }
    }
}

/// What was charged, in the meter's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Charge {
    /// When it counts.
    pub(super) from: u64,
    /// .. and up to when, of what is there until it is over.
    pub(super) to: u64,
    pub(super) cost: u64,
}

/// How often a client can be forgotten in a window: the state has to rise with it.
pub(super) const TURN_BITS: u32 = 4;

/// .. how often, at least, a call of a set can be given back in a window.
pub(super) const TURN_BITS_OF_SET: u32 = 10;

/// Nanoseconds of time that a word has to hold, as a power of two: the range of stamps.
pub(super) const RANGE_BITS: u32 = 58;

/// Bits of a state in a table.
pub(super) const STATE_BITS: u32 = 60;

/// Bits for the numbers up to `most`.
pub(super) fn bits(most: u64) -> u32 {
    u64::BITS - most.leading_zeros()
}
