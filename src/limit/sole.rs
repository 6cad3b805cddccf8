//! What a limiter for all asks of an algorithm, and what it keeps.

use super::{
    admission::Answer,
    algorithm::Rule,
    fixed::Fixed,
    judge::charged,
    meter::{Charge, Meter},
    ring::{LogRule, MICROS, Ring},
    sliding::Sliding,
    tat::Tat,
    word::Word,
};
use crate::sync::AtomicU64;

/// Times are stamps.
pub(super) trait Sole {
    /// Permits that can be taken at once.
    fn burst(&self) -> u64;

    /// Takes `cost`, no more than the burst. Of cost 0 it tells how things stand.
    fn check(&self, cost: u64, at: u64) -> Answer;

    /// What [`Sole::check`] would answer.
    fn peek(&self, cost: u64, at: u64) -> Answer;

    /// [`Sole::check`], and what has to be kept to give it back, if it was charged.
    fn charge(&self, cost: u64, at: u64) -> (Answer, Option<Charge>) {
        (self.check(cost, at), None)
    }

    /// See [`Meter::give_back`].
    fn give_back(
        &self,
        _: Charge,
        _permits: u64,
        _at: impl Fn() -> u64 + Copy,
        _others: impl Fn() -> u64 + Copy,
    ) -> bool {
        false
    }

    /// See [`Meter::given`].
    fn given(&self, permits: u64) -> u64 {
        permits
    }

    /// See [`Meter::charge_more`].
    fn charge_more(&self, _permits: u64, _at: u64) -> u64 {
        0
    }

    /// Gives back all that was taken. Whether there was something, and it could be done.
    fn forget(&self, at: u64) -> bool;
}

pub(super) enum State {
    Tat(Tat, Word),
    Fixed(Fixed, Word),
    Sliding(Sliding, Word),
    Log(LogRule, Log),
}

/// Calls an expression with what there is: of a state, and by a rule of its algorithm that is not its own.
macro_rules! with_sole {
    ($state:expr, $sole:ident => $body:expr) => {
        match $state {
            $crate::limit::sole::State::Tat(meter, word) => {
                let $sole = (meter, word);
                $body
            }
            $crate::limit::sole::State::Fixed(meter, word) => {
                let $sole = (meter, word);
                $body
            }
            $crate::limit::sole::State::Sliding(meter, word) => {
                let $sole = (meter, word);
                $body
            }
            $crate::limit::sole::State::Log(rule, log) => {
                let $sole = (rule, log);
                $body
            }
        }
    };
    ($state:expr, by $rule:expr, $sole:ident => $body:expr) => {
        match ($rule, $state) {
            ($crate::limit::algorithm::Rule::Tat(meter), $crate::limit::sole::State::Tat(_, word)) => {
                let $sole = (meter, word);
                $body
            }
            ($crate::limit::algorithm::Rule::Fixed(meter), $crate::limit::sole::State::Fixed(_, word)) => {
                let $sole = (meter, word);
                $body
            }
            ($crate::limit::algorithm::Rule::Sliding(meter), $crate::limit::sole::State::Sliding(_, word)) => {
                let $sole = (meter, word);
                $body
            }
            ($crate::limit::algorithm::Rule::Log(rule), $crate::limit::sole::State::Log(_, log)) => {
                let $sole = (rule, log);
                $body
            }
            // (Not of this algorithm: there are none.)
            (_, state) => with_sole!(state, $sole => $body),
        }
    };
}
pub(super) use with_sole;

impl From<Rule> for State {
    fn from(rule: Rule) -> State {
        match rule {
            Rule::Tat(tat) => State::Tat(tat, Word::default()),
            Rule::Fixed(fixed) => State::Fixed(fixed, Word::default()),
            Rule::Sliding(sliding) => State::Sliding(sliding, Word::default()),
            Rule::Log(rule) => State::Log(rule, Log::new(rule)),
        }
    }
}

impl<M: Meter> Sole for (&M, &Word) {
    #[inline(always)]
    fn burst(&self) -> u64 {
        self.0.burst()
    }

    #[inline(always)]
    fn check(&self, cost: u64, at: u64) -> Answer {
        self.0.answer(self.1.update(self.0.take(at, cost)), at, cost)
    }

    fn peek(&self, cost: u64, at: u64) -> Answer {
        self.0.answer(self.1.update(Meter::peek(self.0, at, cost)), at, cost)
    }

    #[inline(always)]
    fn charge(&self, cost: u64, at: u64) -> (Answer, Option<Charge>) {
        charged(self.0, self.1.update(self.0.take(at, cost)), at, cost)
    }

    fn give_back(
        &self,
        charge: Charge,
        permits: u64,
        at: impl Fn() -> u64 + Copy,
        others: impl Fn() -> u64 + Copy,
    ) -> bool {
        self.1.update(Meter::give_back(self.0, charge, permits, at, others))
    }

    fn given(&self, permits: u64) -> u64 {
        Meter::given(self.0, permits)
    }

    fn charge_more(&self, permits: u64, at: u64) -> u64 {
        self.1.update(Meter::charge_more(self.0, at, permits))
    }

    fn forget(&self, at: u64) -> bool {
        self.1.update(Meter::forget(self.0, at))
    }
}

/// A ring of its own.
pub(crate) struct Log {
    head: AtomicU64,
    floor: AtomicU64,
    slots: Box<[AtomicU64]>,
}

impl Log {
    pub(crate) fn new(rule: LogRule) -> Log {
        let zero = || AtomicU64::new(0);
        Log { head: zero(), floor: zero(), slots: (0..rule.limit).map(|_| zero()).collect() }
    }

    pub(super) fn ring(&self, rule: LogRule) -> Ring<'_> {
        Ring { rule, head: &self.head, floor: &self.floor, slots: &self.slots }
    }
}

impl Sole for (&LogRule, &Log) {
    fn burst(&self) -> u64 {
        self.0.limit
    }

    fn check(&self, cost: u64, at: u64) -> Answer {
        match cost {
            0 => self.peek(cost, at),
            _ => self.1.ring(*self.0).take(at / MICROS, cost, at),
        }
    }

    fn peek(&self, cost: u64, at: u64) -> Answer {
        self.1.ring(*self.0).peek(at / MICROS, cost, at)
    }

    fn forget(&self, at: u64) -> bool {
        self.1.ring(*self.0).forget(at / MICROS)
    }
}
