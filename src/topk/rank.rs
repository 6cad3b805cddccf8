//! The best rows of many, with what is known of the others.

use super::{TopKey, TopRow, snapshot::Trace};
use crate::sync::saturating::SATURATED;
use std::{cmp::Ordering, collections::BinaryHeap};

/// The `k` best of what it is given.
pub(super) struct Ranking {
    k: usize,
    /// The worst is on top.
    rows: BinaryHeap<Ranked>,
    rest: Rest,
}

/// What the keys have at most that are not among the best.
#[derive(Clone, Copy, Default)]
pub(super) struct Rest {
    pub(super) any: u64,
    /// .. those of which it is not known exactly.
    pub(super) doubtful: u64,
}

impl Rest {
    fn add(&mut self, count: u64, upper: u64) {
        self.any = self.any.max(upper);
        if upper > count {
            self.doubtful = self.doubtful.max(upper);
        }
    }
}

impl Ranking {
    pub(super) fn new(k: usize) -> Ranking {
        Ranking { k, rows: BinaryHeap::new(), rest: Rest::default() }
    }

    /// One that is known not to be among them.
    pub(super) fn leave(&mut self, count: u64, upper: u64) {
        self.rest.add(count, upper);
    }

    /// `trace`: [`TopRow::trace`].
    pub(super) fn add(&mut self, kind: u32, bytes: &[u8], trace: Trace, count: u64, upper: u64) {
        if self.rows.len() >= self.k {
            let Some(worst) = self.rows.peek() else { return };
            let is_better = count.cmp(&worst.0.count).then_with(|| worst.0.key.cmp_to(kind, bytes));
            if is_better != Ordering::Greater {
                return self.rest.add(count, upper);
            }
            if let Some(Ranked(row)) = self.rows.pop() {
                self.rest.add(row.lower, row.upper);
            }
        }
        let lower = if count == u64::MAX { SATURATED } else { count };
        self.rows.push(Ranked(TopRow { key: TopKey::new(kind, bytes), count, lower, upper, trace }));
    }

    /// The best first.
    pub(super) fn done(self) -> (Vec<TopRow>, Rest) {
        (self.rows.into_sorted_vec().into_iter().map(|Ranked(row)| row).collect(), self.rest)
    }
}

/// The better is the less.
struct Ranked(TopRow);

impl Ord for Ranked {
    fn cmp(&self, other: &Ranked) -> Ordering {
        other.0.count.cmp(&self.0.count).then_with(|| self.0.key.cmp(&other.0.key))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Ranked) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Ranked) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked {}
