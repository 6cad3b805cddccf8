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

/// How often a client can be forgotten in a window: the state has to rise with it.
pub(super) const TURN_BITS: u32 = 4;

/// Nanoseconds of time that a word has to hold, as a power of two: the range of stamps.
pub(super) const RANGE_BITS: u32 = 58;

/// Bits of a state in a table.
pub(super) const STATE_BITS: u32 = 60;

/// Bits for the numbers up to `most`.
pub(super) fn bits(most: u64) -> u32 {
    u64::BITS - most.leading_zeros()
}
