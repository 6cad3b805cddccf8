//! Counts keys and events by node.

use std::sync::Arc;

use windlass::{Dedup, KeyHash, NodeShare, Placement, Refused, Tick, Verdict};

use super::nodes::Rings;
use crate::{args::StateArgs, failure::Failure, room};

/// What belongs to somebody, or has moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) keys: u64,
    pub(super) events: u64,
}

impl Tally {
    fn add(&mut self, is_new: bool) {
        self.keys += u64::from(is_new);
        self.events += 1;
    }
}

/// A placement, and what its nodes get: by their ids.
pub(super) struct Side {
    pub(super) placement: Arc<Placement>,
    /// In the placement's order.
    pub(super) nodes: Vec<NodeShare>,
    pub(super) tallies: Vec<Tally>,
}

impl Side {
    fn new(placement: &Arc<Placement>) -> Side {
        let nodes = placement.nodes();
        let ids = nodes.last().map_or(0, |node| node.id as usize + 1);
        Side { placement: placement.clone(), nodes, tallies: vec![Tally::default(); ids] }
    }

    /// Whose it is.
    fn add(&mut self, hash: KeyHash, is_new: bool) -> Option<u32> {
        let owner = self.placement.route(hash)?;
        self.tallies[owner as usize].add(is_new);
        Some(owner)
    }
}

pub(super) struct Spread {
    seen: Dedup,
    pub(super) before: Side,
    pub(super) after: Option<Side>,
    pub(super) all: Tally,
    /// By the change.
    pub(super) moved: Tally,
    verdicts: Vec<Result<Verdict, Refused>>,
}

impl Spread {
    pub(super) fn new(rings: &Rings, seen: Dedup) -> Spread {
        let (before, after) = (Side::new(&rings.before), rings.after.as_ref().map(Side::new));
        Spread { seen, before, after, all: Tally::default(), moved: Tally::default(), verdicts: Vec::new() }
    }

    pub(super) fn add(&mut self, state: &StateArgs, events: &[(KeyHash, Tick)]) -> Result<(), Failure> {
        self.verdicts.clear();
        let first = self.all.events;
        self.seen.observe_each(events.len(), |i| (events[i].0, Tick(first + i as u64)), &mut self.verdicts);
        for (&(hash, _), verdict) in events.iter().zip(&self.verdicts) {
            let Ok(verdict) = verdict else {
                return Err(room::full(state, self.all.events + 1, "count fewer keys"));
            };
            let is_new = verdict.is_fresh();
            self.all.add(is_new);
            let owner = self.before.add(hash, is_new);
            if let Some(after) = &mut self.after
                && after.add(hash, is_new) != owner
            {
                self.moved.add(is_new);
            }
        }
        Ok(())
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.seen.memory_bytes()
    }
}
