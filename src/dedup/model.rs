//! What `loom-tests` sees of the rule of deduplication.

use super::{
    Refresh,
    rule::{self, Claimed},
    state::{self, BLOCK},
};
use crate::{
    origin::Origin,
    table::model::{Exact, Name, Stop, Table},
    time::Tick,
};

/// The shipped rule, for a window by events.
#[derive(Clone, Copy)]
pub struct Rule(rule::Rule);

impl Rule {
    /// Of a window and a lateness in ticks.
    pub fn new(window: u64, lateness: u64, refresh: Refresh) -> Rule {
        Rule(rule::Rule {
            window: window * BLOCK,
            reach: (window + lateness) * BLOCK,
            max_jump: u64::MAX,
            refresh,
            granule: BLOCK,
            ordinary: (lateness + 1) * BLOCK,
            tick: BLOCK,
        })
    }

    /// The state of an id admitted at `tick`.
    pub const fn admitted(tick: u64) -> u64 {
        state::admitted(tick * BLOCK)
    }

    /// The state of an id claimed at `tick` for so many.
    pub fn claimed(tick: u64, lease: u64) -> u64 {
        state::claimed(tick * BLOCK, state::code(lease * BLOCK))
    }

    /// What may be evicted.
    pub fn evict_within(&self) -> u64 {
        self.0.evict_within()
    }
}

/// `Ticket`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    key: u64,
    claim: u64,
}

impl Ticket {
    /// Of the claim of `key` that has this state.
    pub fn new(key: u64, claim: u64) -> Ticket {
        Ticket { key, claim }
    }
}

impl<const BUCKETS: usize, const CELLS: usize> Table<BUCKETS, CELLS> {
    /// `Dedup::observe_at`: whether the id is fresh.
    pub fn observe(&self, rule: &Rule, key: u64, now: u64) -> Result<bool, Stop> {
        self.change(key, rule.0.observe(self.arrive(rule, now))).map(|first| first == 0)
    }

    /// `Dedup::claim_at`: a ticket, if the claim is the caller's.
    pub fn claim(&self, rule: &Rule, key: u64, now: u64, lease: u64) -> Result<Option<Ticket>, Stop> {
        let decide = rule.0.claim(self.arrive(rule, now), state::code(lease * BLOCK));
        self.change(key, decide).map(|claimed| match claimed {
            Claimed::Ours(claim) => Some(Ticket { key, claim }),
            _ => None,
        })
    }

    /// `Dedup::commit`.
    pub fn commit(&self, ticket: Ticket) -> bool {
        self.change(ticket.key, rule::Rule::commit(ticket.claim)).unwrap_or(false)
    }

    /// `Dedup::abort`.
    pub fn abort(&self, ticket: Ticket) -> bool {
        self.change(ticket.key, rule::Rule::abort(ticket.claim)).unwrap_or(false)
    }

    /// `Dedup::arrive`.
    fn arrive(&self, rule: &Rule, now: u64) -> u64 {
        let now = now * BLOCK;
        if let Ok(Some(target)) = rule.0.horizon_at(now, self.horizon()) {
            self.advance(target);
        }
        now
    }

    /// `Dedup::forget_at`: whether the id was there.
    pub fn forget(&self, rule: &Rule, key: u64, now: u64) -> bool {
        self.change(key, rule.0.forget(now * BLOCK)).unwrap_or(false)
    }
}

/// Before the first call: there is no origin yet.
pub struct Beginning(Table<1, 2>, Origin, Rule);

impl Beginning {
    /// For the rule.
    pub fn new(rule: Rule) -> Beginning {
        let origin = Origin::new(rule.0.reach + rule.0.granule, BLOCK.ilog2(), 1);
        Beginning(Table::new([[(0, 0); 2]], 0), origin, rule)
    }

    /// `Dedup::observe_at`: whether the id is fresh.
    pub fn observe(&self, key: u64, now: u64) -> Result<bool, Stop> {
        let now = self.1.at(Tick(now)).unwrap_or(0);
        self.0.observe(&self.2, key, now / BLOCK)
    }

    /// `Dedup::contains_at`.
    pub fn contains(&self, key: u64, now: u64) -> bool {
        let Some(now) = self.1.past(Tick(now)) else { return false };
        self.0.change(key, self.2.0.contains(now)).unwrap_or(false)
    }
}

/// `Ticket` of a key that is told apart by its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExactTicket {
    low: u64,
    claim: u64,
}

impl<const BUCKETS: usize, const CELLS: usize> Exact<BUCKETS, CELLS> {
    /// Empty, for the rule, in slices of so many ticks, a power of two.
    pub fn for_rule(rule: &Rule, slice: u64) -> Self {
        Exact::planned(state::admitted(slice * BLOCK), rule.0.lead())
    }

    /// `Dedup::observe_at`: whether the id is fresh; `None`: no room.
    pub fn observe(&self, rule: &Rule, key: Name, now: u64) -> Option<bool> {
        self.change(key, rule.0.observe(self.arrive(rule, now))).map(|(first, _)| first == 0)
    }

    /// `Dedup::claim_at`: a ticket, if the claim is the caller's.
    pub fn claim(&self, rule: &Rule, key: Name, now: u64, lease: u64) -> Option<ExactTicket> {
        let decide = rule.0.claim(self.arrive(rule, now), state::code(lease * BLOCK));
        match self.change(key, decide)? {
            (Claimed::Ours(claim), low) => Some(ExactTicket { low, claim }),
            _ => None,
        }
    }

    /// `Dedup::commit`.
    pub fn commit(&self, ticket: ExactTicket) -> bool {
        self.change_known(ticket.low, ticket.claim, rule::Rule::commit(ticket.claim)).unwrap_or(false)
    }

    /// `Dedup::abort`.
    pub fn abort(&self, ticket: ExactTicket) -> bool {
        self.change_known(ticket.low, ticket.claim, rule::Rule::abort(ticket.claim)).unwrap_or(false)
    }

    /// `Dedup::arrive`.
    fn arrive(&self, rule: &Rule, now: u64) -> u64 {
        let now = now * BLOCK;
        if let Ok(Some(target)) = rule.0.horizon_at(now, self.horizon()) {
            self.advance(target);
        }
        now
    }
}
