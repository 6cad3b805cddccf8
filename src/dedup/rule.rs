//! The rule of deduplication as pure functions of (state, horizon, now).
//!
//! A state is `stamp * 2`, or `stamp * 2 + 1` once forgotten: a greater state than the one it forgets, gone with it and not
//! before. Model: loom-tests/tests/horizon.rs.

use super::{Refresh, Refused};
use crate::{sync::twin, table::Decision};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// In ticks.
    pub(crate) window: u64,
    /// Window and lateness: how far the horizon is behind the newest tick.
    pub(crate) reach: u64,
    pub(crate) max_jump: u64,
    pub(crate) refresh: Refresh,
    /// The horizon moves in steps of this, a power of two, so that its cache line is seldom written.
    pub(crate) granule: u64,
}

impl Rule {
    /// States less than this far above the horizon may be evicted: `arrival` is never so low.
    pub(crate) fn evict_within(&self) -> u64 {
        self.window * 2 - 1
    }

    /// No state is published further than this above the horizon that its call has seen: a call that comes with a later tick
    /// moves the horizon first.
    pub(crate) fn span(&self) -> u64 {
        // (A tick more for what is admitted after it was forgotten.)
        (self.reach + self.granule + 2) * 2
    }

    /// Whether a call at `now` neither moves the horizon nor comes behind it. (One comparison: what is less than 0 is huge.)
    #[inline(always)]
    pub(crate) fn is_ordinary(&self, now: u64, horizon: u64) -> bool {
        now.wrapping_sub(horizon / 2).wrapping_sub(self.window) < self.reach - self.window + self.granule
    }

    /// Where the horizon should stand, if higher than it does.
    pub(crate) fn horizon_at(&self, now: u64, horizon: u64) -> Result<Option<u64>, Refused> {
        let target = now.saturating_sub(self.reach) & !(self.granule - 1);
        if target <= horizon / 2 {
            return Ok(None);
        }
        // The newest tick seen is known to within a granule: no step within the bound is refused.
        if horizon > 0 && now - self.reach - horizon / 2 >= self.max_jump.saturating_add(self.granule) {
            return Err(Refused::Jump);
        }
        Ok(Some(target * 2 + 1))
    }

    /// The stamp at which a call counts. One whose clock lies behind the horizon, whatever held it up, counts as if it came
    /// at the horizon: else two calls with different clocks could both be told "fresh".
    #[inline(always)]
    fn arrival(&self, now: u64, horizon: u64) -> u64 {
        if twin!(OwnTime) {
            return now;
        }
        now.max(horizon / 2 + self.window)
    }

    #[inline(always)]
    fn admitted(&self, state: u64, at: u64) -> bool {
        state.is_multiple_of(2) && state / 2 + self.window > at
    }

    pub(crate) fn is_live(&self, state: u64, now: u64, horizon: u64) -> bool {
        self.admitted(state, self.arrival(now, horizon))
    }

    /// Answers with the stamp that makes it a duplicate, or with 0: fresh.
    #[inline(always)]
    pub(crate) fn observe(&self, now: u64) -> impl Fn(Option<u64>, u64) -> Decision<u64> + Copy {
        move |state, horizon| {
            let at = self.arrival(now, horizon);
            match state {
                Some(state) if self.admitted(state, at) => match self.refresh {
                    Refresh::OnDuplicate if at > state / 2 => Decision::Publish(at * 2, state / 2),
                    _ => Decision::Keep(state / 2),
                },
                // Expired, or forgotten: a tick later at least than what it forgets.
                Some(state) => Decision::Publish(at.max(state / 2 + state % 2) * 2, 0),
                None => Decision::Publish(at * 2, 0),
            }
        }
    }

    pub(crate) fn contains(&self, now: u64) -> impl Fn(Option<u64>, u64) -> Decision<bool> + Copy {
        move |state, horizon| Decision::Keep(state.is_some_and(|state| self.is_live(state, now, horizon)))
    }

    pub(crate) fn forget(&self, now: u64) -> impl Fn(Option<u64>, u64) -> Decision<bool> + Copy {
        move |state, horizon| match state {
            Some(state) if self.is_live(state, now, horizon) => Decision::Publish(state + 1, true),
            _ => Decision::Keep(false),
        }
    }
}
