//! Lower thresholds for panes that have begun, when counts have fallen since: then all rows are looked at once, some at a time, and not for
//! each list.
//!
//! First the thresholds are lowered, while lists go by the old ones (`bounds`). When all calls have ended that may have gone by those (the epoch says
//! so), every row with a count that is as great as the new one is marked, by its adds or by a look at it; then lists go by the new ones.
//! (Without the wait: twin `LowerAtOnce`, a key that is neither.)

use super::{TopK, add::mark};
#[cfg(windlass_loom)]
use crate::sync::twin;
use crate::sync::{Flagpole, Ordering::Relaxed, epoch};
use std::ops::Range;

/// What is under way.
pub(super) struct Lowering {
    /// Nobody goes by the old thresholds.
    ended: Flagpole,
    to: u64,
    panes: Range<u64>,
    /// In the generation of the first of these panes this row is next.
    row: u64,
}

/// What a step of it came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// There is nothing to do, or not now.
    Nothing,
    More,
    /// The last one.
    Done,
}

/// Rows that are looked at instead of clearing a KiB.
const ROWS: usize = 16;

impl TopK {
    /// Begins, unless one is under way.
    pub(super) fn lower(&self, panes: Range<u64>) {
        self.lowering.with(|lowering| {
            if lowering.is_some() {
                return;
            }
            let (guard, to) = (epoch::pin(), self.next.load(Relaxed).max(1));
            for (generation, _, cells) in self.core.parts(panes.clone(), &guard) {
                generation.extra.lower(cells, to);
            }
            drop(guard);
            let ended = epoch::when_all_ended();
            #[cfg(windlass_loom)]
            let ended = if twin!(LowerAtOnce) { Flagpole::raised() } else { ended };
            *lowering = Some(Lowering { ended, to, panes, row: 0 });
        });
    }

    /// Goes on with it.
    pub(super) fn step(&self, budget: usize) -> Step {
        let step = self.lowering.with(|under_way| {
            let Some(lowering) = under_way.as_mut().filter(|lowering| lowering.ended.is_raised()) else {
                return Step::Nothing;
            };
            if !self.look(lowering, budget.saturating_mul(ROWS)) {
                return Step::More;
            }
            *under_way = None;
            Step::Done
        });
        step.unwrap_or(Step::Nothing)
    }

    /// Looks at so many rows. Whether they were the last.
    fn look(&self, lowering: &mut Lowering, mut rows: usize) -> bool {
        let guard = epoch::pin();
        for (generation, first, cells) in self.core.parts(lowering.panes.clone(), &guard) {
            if first != lowering.panes.start {
                (lowering.panes.start, lowering.row) = (first, 0);
            }
            for row in generation.table.rows(lowering.row, &guard) {
                if rows == 0 {
                    return false;
                }
                (rows, lowering.row) = (rows - 1, lowering.row + 1);
                if row.counts(cells.clone()).any(|count| count >= lowering.to)
                    && generation.extra.name_of(row).is_some()
                {
                    mark(generation, row, &guard);
                }
            }
            generation.extra.lowered(cells.clone());
            // On to the next.
            lowering.panes.start = first.saturating_add(cells.len() as u64);
            lowering.row = 0;
        }
        true
    }
}
