//! The rule of deduplication as pure functions of (state, horizon, now). What a state says: `state.rs`. Models:
//! loom-tests/tests/{horizon, claims}.rs.

use super::{
    Refresh, Refused,
    state::{BLOCK, admitted, claimed, field, is_admitted, is_claimed, last_of, lease, stamp},
};
use crate::{origin::MAX_STAMP, sync::twin, table::Decision};

/// Spans are in stamps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub(crate) window: u64,
    /// Window and lateness: how far the horizon is behind the newest tick.
    pub(crate) reach: u64,
    pub(crate) max_jump: u64,
    pub(crate) refresh: Refresh,
    /// The horizon moves in steps of this, a power of two, so that its cache line is seldom written.
    pub(crate) granule: u64,
    /// The lateness and a granule: how far above horizon + window a call comes that does not move the horizon.
    pub(crate) ordinary: u64,
    /// A tick, a power of two up to [`BLOCK`].
    pub(crate) tick: u64,
}

/// What a claim comes to. Times are stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claimed {
    /// It is the caller's: the state.
    Ours(u64),
    /// Admitted then.
    Duplicate(u64),
    /// Another's, until then.
    InProgress(u64),
    /// No stamp is left for it.
    Jump,
}

impl Rule {
    /// States less than this far above the horizon may be evicted: no call publishes one as low as that.
    pub(crate) fn evict_within(&self) -> u64 {
        // Calls come at horizon + window or later (see `arrival`), and a claim's state may lie less than a block below.
        let lowest = if self.is_coarse() { self.window - (BLOCK - 1) } else { self.window };
        admitted(lowest) - last_of(0)
    }

    /// Whether the horizon only stands at multiples of `BLOCK`. Then a claim made at one is gone with an id admitted
    /// there, although its state is lower.
    fn is_coarse(&self) -> bool {
        self.granule >= BLOCK
    }

    /// As a rule no state is further than this above the horizon that its call has seen: a call that comes with a later tick
    /// moves the horizon first. (What is claimed or admitted again and again after it was forgotten may be.)
    pub(crate) fn span(&self) -> u64 {
        admitted(self.reach + self.granule + 2 * BLOCK)
    }

    /// How far the state of a claim may be below that of the id when it is committed, at a multiple of a block.
    pub(crate) fn lead(&self) -> u64 {
        admitted(BLOCK) - 1
    }

    /// Whether a call at `now` neither moves the horizon nor comes behind it. (One comparison: what is less than 0 is huge.)
    #[inline(always)]
    pub(crate) fn is_ordinary(&self, now: u64, horizon: u64) -> bool {
        now.wrapping_sub(field(horizon)).wrapping_sub(self.window) < self.ordinary
    }

    /// Where the horizon should stand, if higher than it does.
    pub(crate) fn horizon_at(&self, now: u64, horizon: u64) -> Result<Option<u64>, Refused> {
        let target = now.saturating_sub(self.reach) & !(self.granule - 1);
        if target <= field(horizon) {
            return Ok(None);
        }
        // The newest tick seen is known to within a granule: no step within the bound is refused.
        if horizon > 0 && now - self.reach - field(horizon) >= self.max_jump.saturating_add(self.granule) {
            return Err(Refused::Jump);
        }
        Ok(Some(last_of(target)))
    }

    /// The stamp at which a call counts. One whose clock lies behind the horizon, whatever held it up, counts as if it came
    /// at the horizon: else two calls with different clocks could both be told "fresh".
    #[inline(always)]
    fn arrival(&self, now: u64, horizon: u64) -> u64 {
        if twin!(OwnTime) {
            return now;
        }
        now.max(field(horizon) + self.window)
    }

    /// Whether it is admitted, and was so less than a window ago.
    #[inline(always)]
    fn is_current(&self, state: u64, at: u64) -> bool {
        is_admitted(state) && field(state) + self.window > at
    }

    /// The first stamp at which a claim does not hold any more.
    fn deadline(&self, claim: u64) -> u64 {
        stamp(claim) + lease(claim).min(self.window)
    }

    fn is_held(&self, state: u64, at: u64) -> bool {
        is_claimed(state) && at < self.deadline(state)
    }

    /// Whether an observation finds a duplicate.
    pub(crate) fn is_live(&self, state: u64, now: u64, horizon: u64) -> bool {
        let at = self.arrival(now, horizon);
        self.is_current(state, at) || self.is_held(state, at)
    }

    /// Answers with the stamp that makes it a duplicate, or with 0: fresh.
    #[inline(always)]
    pub(crate) fn observe(&self, now: u64) -> impl Fn(Option<u64>, u64) -> Decision<u64> + Copy {
        move |state, horizon| {
            let at = self.arrival(now, horizon);
            match state {
                Some(state) if self.is_current(state, at) => self.again(state, at),
                Some(state) if self.is_held(state, at) => Decision::Keep(stamp(state)),
                // Expired or forgotten. A tick later at least than what was forgotten.
                Some(state) => Decision::Publish(admitted(at.max(stamp(state) + self.tick)), 0),
                None => Decision::Publish(admitted(at), 0),
            }
        }
    }

    /// A duplicate of an admitted id.
    #[inline(always)]
    fn again(&self, state: u64, at: u64) -> Decision<u64> {
        match self.refresh {
            Refresh::OnDuplicate if at > field(state) => Decision::Publish(admitted(at), field(state)),
            _ => Decision::Keep(field(state)),
        }
    }

    /// A claim under a lease of this code.
    pub(crate) fn claim(&self, now: u64, code: u64) -> impl Fn(Option<u64>, u64) -> Decision<Claimed> + Copy {
        move |state, horizon| {
            let at = self.arrival(now, horizon);
            let stamp = match state {
                Some(state) if self.is_current(state, at) => {
                    return match self.again(state, at) {
                        Decision::Keep(first) => Decision::Keep(Claimed::Duplicate(first)),
                        Decision::Publish(next, first) => Decision::Publish(next, Claimed::Duplicate(first)),
                    };
                }
                Some(state) if self.is_held(state, at) => {
                    return Decision::Keep(Claimed::InProgress(self.deadline(state)));
                }
                // What was forgotten is below the claim's block. (What has expired is, by itself.)
                Some(state) => self.stamp_for_claim(at).max(stamp(state).next_multiple_of(BLOCK) + BLOCK),
                None => self.stamp_for_claim(at),
            };
            if stamp > MAX_STAMP {
                return Decision::Keep(Claimed::Jump);
            }
            let state = claimed(stamp, code);
            Decision::Publish(state, Claimed::Ours(state))
        }
    }

    /// Where a claim that comes at `at` is made.
    fn stamp_for_claim(&self, at: u64) -> u64 {
        at.next_multiple_of(BLOCK) + if self.is_coarse() { 0 } else { BLOCK }
    }

    /// Admits an id that is claimed by `claim`. Whether it is still.
    ///
    /// Of all claims of an id none has another's stamp, and an observation none either: what is admitted there was
    /// committed.
    pub(crate) fn commit(claim: u64) -> impl Fn(Option<u64>, u64) -> Decision<bool> + Copy {
        move |state, _| match state {
            Some(state) if is_claimed(state) && (state == claim || twin!(CommitAny)) => {
                Decision::Publish(admitted(stamp(state)), true)
            }
            Some(state) => Decision::Keep(is_claimed(claim) && state == admitted(stamp(claim))),
            None => Decision::Keep(false),
        }
    }

    /// Gives `claim` up. Whether it was still there.
    pub(crate) fn abort(claim: u64) -> impl Fn(Option<u64>, u64) -> Decision<bool> + Copy {
        move |state, _| match state {
            Some(state) if is_claimed(state) && (state == claim || twin!(AbortBlindly)) => {
                Decision::Publish(claim + 1, true)
            }
            _ => Decision::Keep(false),
        }
    }

    pub(crate) fn contains(&self, now: u64) -> impl Fn(Option<u64>, u64) -> Decision<bool> + Copy {
        move |state, horizon| Decision::Keep(state.is_some_and(|state| self.is_live(state, now, horizon)))
    }

    /// The stamp that an observation would answer with, which it does not make.
    pub(crate) fn first(&self, now: u64) -> impl Fn(Option<u64>, u64) -> Decision<Option<u64>> + Copy {
        move |state, horizon| {
            Decision::Keep(state.filter(|&state| self.is_live(state, now, horizon)).map(stamp))
        }
    }

    pub(crate) fn forget(&self, now: u64) -> impl Fn(Option<u64>, u64) -> Decision<bool> + Copy {
        move |state, horizon| match state {
            Some(state) if self.is_live(state, now, horizon) => Decision::Publish(state + 1, true),
            _ => Decision::Keep(false),
        }
    }
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;
    use crate::{dedup::state::code, time::Window};
    use proptest::prelude::*;

    fn rule(window: u64, lateness: u64, tick: u64) -> Rule {
        let granule = tick << (window / 1024).max(1).ilog2();
        Rule {
            window: window * tick,
            reach: (window + lateness) * tick,
            max_jump: u64::MAX,
            refresh: Refresh::Never,
            granule,
            ordinary: lateness * tick + granule,
            tick,
        }
    }

    /// By events, by time, and by very little time.
    fn rules() -> impl Strategy<Value = Rule> {
        let span = || prop_oneof![1..10_u64, 1..3000_u64, 1..1_u64 << 37];
        prop_oneof![
            (span(), span()).prop_map(|(window, lateness)| rule(window, lateness, BLOCK)),
            (1_u64 << 20..1 << 56, 0..1_u64 << 56).prop_map(|(window, lateness)| rule(window, lateness, 1)),
            (1_u64..1 << 20, 0..1_u64 << 20).prop_map(|(window, lateness)| rule(window, lateness, 1)),
        ]
    }

    /// Near the borders of what there is, or anywhere.
    fn near(border: u64, by: i64, anywhere: Option<u64>) -> u64 {
        anywhere.unwrap_or_else(|| border.saturating_add_signed(by)).min(MAX_STAMP)
    }

    fn by() -> impl Strategy<Value = (i64, Option<u64>)> {
        (prop_oneof![-3..4_i64, -5000..5000_i64], prop::option::weighted(0.1, any::<u64>()))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// One key, at any horizon and any times: every state is above the last one and above the horizon, and no lower than what
        /// may be evicted; and a claim holds for as long as was asked.
        #[test]
        fn states_only_rise(
            rule in rules(),
            steps in prop::collection::vec((0..6_u8, by(), by(), by()), 1..60),
        ) {
            let start = rule.reach + rule.granule;
            let (mut state, mut horizon, mut newest) = (0, 0, start);
            let mut tickets = Vec::new();
            // Until when a claim must hold.
            let mut promise: Option<u64> = None;
            for (what, now, lease, border) in steps {
                let to = match border.0.rem_euclid(5) {
                    0 => newest,
                    1 => stamp(state) + rule.window,
                    2 => newest - newest.min(rule.reach - rule.window),
                    3 => promise.unwrap_or(newest),
                    _ => newest + rule.window,
                };
                let now = near(to, now.0, now.1) / rule.tick * rule.tick;
                if let Ok(Some(target)) = rule.horizon_at(now, horizon) {
                    horizon = target;
                }
                newest = newest.max(now);
                let seen = Some(state).filter(|&state| state > horizon);
                let at = rule.arrival(now, horizon);
                let lease = near(rule.window, lease.0, lease.1).clamp(1, rule.window).next_multiple_of(rule.tick);
                let live = seen.is_some_and(|state| rule.is_live(state, now, horizon));
                if let Some(until) = promise {
                    prop_assert!(live || at >= until, "a claim ended early");
                }
                let ticket = tickets.last().copied().unwrap_or(2);
                let next = match what {
                    0 => match rule.observe(now)(seen, horizon) {
                        Decision::Publish(next, _) => {
                            prop_assert!(!live);
                            Some(next)
                        }
                        Decision::Keep(first) => {
                            prop_assert!(live && first == stamp(state));
                            None
                        }
                    },
                    1 | 2 => match rule.claim(now, code(lease))(seen, horizon) {
                        Decision::Publish(next, Claimed::Ours(ticket)) => {
                            prop_assert!(!live && next == ticket && !tickets.contains(&ticket));
                            let (made, end) = (stamp(next), rule.deadline(next));
                            prop_assert!(made >= at && end >= at + lease, "too short");
                            prop_assert!(end - made <= (lease + lease / 16).min(rule.window), "too long");
                            if seen.is_none() {
                                let later = if rule.is_coarse() { BLOCK } else { 2 * BLOCK };
                                prop_assert!(made - at < later);
                            }
                            tickets.push(ticket);
                            promise = Some(at + lease);
                            prop_assert!(next >= horizon + rule.evict_within());
                            prop_assert!(next > state && next > horizon && next < 1 << 60);
                            state = next;
                            continue;
                        }
                        Decision::Publish(..) => return Err(TestCaseError::fail("no ticket")),
                        Decision::Keep(answer) => {
                            let expected = if is_claimed(state) && live {
                                Claimed::InProgress(rule.deadline(state))
                            } else if live {
                                Claimed::Duplicate(stamp(state))
                            } else {
                                Claimed::Jump
                            };
                            prop_assert_eq!(answer, expected);
                            None
                        }
                    },
                    3 => match Rule::commit(ticket)(seen, horizon) {
                        Decision::Publish(next, done) => {
                            prop_assert!(done && ticket == state && next == admitted(stamp(ticket)));
                            Some(next)
                        }
                        Decision::Keep(_) => {
                            prop_assert!(ticket != state || seen.is_none());
                            None
                        }
                    },
                    4 => match Rule::abort(ticket)(seen, horizon) {
                        Decision::Publish(next, done) => {
                            prop_assert!(done && ticket == state);
                            Some(next)
                        }
                        Decision::Keep(done) => {
                            prop_assert!(!done && (ticket != state || seen.is_none()));
                            None
                        }
                    },
                    _ => match rule.forget(now)(seen, horizon) {
                        Decision::Publish(next, done) => {
                            prop_assert!(live && done);
                            Some(next)
                        }
                        Decision::Keep(done) => {
                            prop_assert!(!live && !done);
                            None
                        }
                    },
                };
                if let Some(next) = next {
                    prop_assert!(next > state && next > horizon && next < 1 << 60, "{what}: {state} -> {next}");
                    // What is given up is no new state of the id's, and need not be above what may be evicted.
                    prop_assert!(what >= 3 || next >= horizon + rule.evict_within());
                    (state, promise) = (next, None);
                }
            }
        }
    }

    /// The range that the builder allows.
    #[test]
    fn the_longest_window() {
        let rule = rule(Window::MAX_TICKS, 0, 1);
        let Decision::Publish(claim, _) = rule.claim(MAX_STAMP, code(rule.window))(None, 0) else {
            panic!("claimed")
        };
        assert_eq!(rule.deadline(claim), MAX_STAMP + rule.window);
        assert!(matches!(rule.claim(MAX_STAMP, 1)(Some(claim + 1), 0), Decision::Keep(Claimed::Jump)));
        let Decision::Publish(next, _) = rule.observe(MAX_STAMP)(Some(claim + 1), 0) else { panic!("fresh") };
        assert_eq!(next, admitted(MAX_STAMP + 1));
    }
}
