//! All or nothing: the limits of a set, one after the other.
//!
//! **Look, then charge.** All limits are looked at first, so that a plain refusal writes nothing. Then they are charged, in the one order
//! that all calls have: whoever has got furthest in it waits for nobody, so of calls that compete for the last permits one goes
//! through. Who is refused on the way gives back what was charged, the last first.
//!
//! Meanwhile others see those charges: a call can be refused for the sake of one that is itself refused a moment later. It takes part
//! in no more than it asks for, so there is no false denial where there is room for all calls under way together.
//!
//! Lock-free: each step is an update of one word, and none is done twice. Models, with twins: loom-tests/tests/sets.rs.

use crate::{
    limit::{admission::Answer, meter::Charge},
    sync::twin,
};

/// Limits of a set.
pub(crate) const MOST: usize = 8;

/// The limits, as a call sees them.
pub(crate) trait Parts {
    fn len(&self) -> usize;

    /// What [`Parts::charge`] would answer.
    fn peek(&self, limit: usize, cost: u64) -> Answer;

    /// Takes the cost, if it can be had. What was charged can be given back.
    fn charge(&self, limit: usize, cost: u64) -> (Answer, Option<Charge>);

    fn give_back(&self, limit: usize, charge: Charge, permits: u64);

    /// For a twin: whether the call charges in the other order.
    #[cfg(windlass_loom)]
    fn turns(&self) -> bool;
}

/// What a call was charged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charged {
    /// By limit, if there was one: some are not charged for clients for which they have no room.
    pub(crate) charges: [Option<Charge>; MOST],
    /// The least that is left, of any limit, and of which.
    pub(crate) remaining: u64,
    pub(crate) tightest: usize,
    /// Until all of them have all permits again.
    pub(crate) reset_after: u64,
}

/// Takes `cost` from each of the limits, or nothing: then it tells which refused.
#[inline(always)]
pub(crate) fn admit(parts: &impl Parts, cost: u64) -> Result<Charged, usize> {
    let mut charged = Charged { charges: [None; MOST], remaining: u64::MAX, tightest: 0, reset_after: 0 };
    // (The first one tells by itself, and has nothing to give back.)
    for limit in 1..parts.len() {
        if let Answer::Denied { .. } = parts.peek(limit, cost) {
            return Err(limit);
        }
    }
    for step in 0..parts.len() {
        let limit = if turns(parts) { parts.len() - 1 - step } else { step };
        match parts.charge(limit, cost) {
            (Answer::Allowed { remaining, reset_after, .. }, charge) => {
                charged.charges[limit] = charge;
                if remaining < charged.remaining {
                    (charged.remaining, charged.tightest) = (remaining, limit);
                }
                charged.reset_after = charged.reset_after.max(reset_after);
            }
            (Answer::Denied { .. }, _) => {
                if !twin!(KeepTheCharge) {
                    give_all_back(parts, &charged, cost);
                }
                return Err(limit);
            }
        }
    }
    Ok(charged)
}

/// (By itself: it is seldom.)
#[cold]
#[inline(never)]
pub(crate) fn give_all_back(parts: &impl Parts, charged: &Charged, cost: u64) {
    for limit in (0..parts.len()).rev() {
        if let Some(charge) = charged.charges[limit] {
            parts.give_back(limit, charge, cost);
        }
    }
}

#[cfg(windlass_loom)]
fn turns(parts: &impl Parts) -> bool {
    twin!(OtherOrder) && parts.turns()
}

#[cfg(not(windlass_loom))]
#[inline(always)]
fn turns(_: &impl Parts) -> bool {
    false
}
