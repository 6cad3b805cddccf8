//! Rows that have overflowed look further for ever, and over many windows that becomes most of them. The sweep makes them narrow
//! again: some groups at a time, by whoever moves the horizon or maintains.

use super::group::Group;
use crate::sync::{AtomicU8, Flagpole, Ordering::Relaxed, Wide, epoch};
use std::{mem, ops::Range, sync::Mutex};

/// How many groups ahead their memory is asked for.
const AHEAD: usize = 16;

/// Where the sweep over a table's groups stands.
#[derive(Default)]
pub(super) struct Sweep(Mutex<State>);

#[derive(Default)]
struct State {
    /// Groups that were asked to close, and what tells that every call has ended that began before.
    closing: Option<(Range<usize>, Flagpole)>,
    next: usize,
    /// What is owed of the next share, in parts of a group.
    owed: usize,
    /// Shares.
    taken: usize,
}

/// A round of the sweep in so many shares.
const SHARES: usize = 1024;

/// No share is smaller, but where that is the whole table: to wait for all calls costs as much as a look at some groups.
const LEAST: usize = 32;

impl Sweep {
    /// Goes on by `budget` groups; not at all if another thread is at it. Few at a time: calls may keep rows wide that come
    /// while they are closing.
    pub(super) fn go_on<const BUCKETS: usize, const CELLS: usize>(
        &self,
        wide: impl Wide,
        groups: &[Group<BUCKETS, CELLS>],
        overflown: &[AtomicU8],
        gone: u64,
        budget: usize,
    ) {
        let Ok(mut state) = self.0.try_lock() else { return };
        state.go_on(wide, groups, overflown, gone, budget);
    }

    /// Goes on by a share of all groups. `true` once a round, and more often in a large table: time for what is not due each time.
    pub(super) fn go_on_by_a_share<const BUCKETS: usize, const CELLS: usize>(
        &self,
        wide: impl Wide,
        groups: &[Group<BUCKETS, CELLS>],
        overflown: &[AtomicU8],
        gone: u64,
    ) -> bool {
        let Ok(mut state) = self.0.try_lock() else { return false };
        state.owed += groups.len();
        let budget = state.owed / SHARES;
        if budget < groups.len().min(LEAST) {
            return false;
        }
        state.owed %= SHARES;
        state.go_on(wide, groups, overflown, gone, budget);
        state.taken += 1;
        state.next == 0 || state.taken.is_multiple_of(SHARES / 64)
    }
}

impl State {
    fn go_on<const BUCKETS: usize, const CELLS: usize>(
        &mut self,
        wide: impl Wide,
        groups: &[Group<BUCKETS, CELLS>],
        overflown: &[AtomicU8],
        gone: u64,
        budget: usize,
    ) {
        if let Some((closing, ended)) = &mut self.closing {
            if !ended.is_raised() {
                return epoch::collect();
            }
            each(groups, overflown, mem::take(closing), |group, overflown| group.open(wide, overflown, gone));
            self.closing = None;
        }
        let end = self.next.saturating_add(budget).min(groups.len());
        let (part, mut any) = (self.next..end, false);
        each(groups, overflown, part.clone(), |group, overflown| any |= group.close(wide, overflown, gone));
        if any {
            self.closing = Some((part, epoch::when_all_ended()));
        }
        self.next = if end == groups.len() { 0 } else { end };
    }
}

/// Calls `f` with each group of `part` that has something for it.
fn each<const BUCKETS: usize, const CELLS: usize>(
    groups: &[Group<BUCKETS, CELLS>],
    overflown: &[AtomicU8],
    part: Range<usize>,
    mut f: impl FnMut(&Group<BUCKETS, CELLS>, &AtomicU8),
) {
    let (groups, overflown) = (&groups[part.clone()], &overflown[part]);
    for (i, (group, bits)) in groups.iter().zip(overflown).enumerate() {
        if let (Some(group), Some(bits)) = (groups.get(i + AHEAD), overflown.get(i + AHEAD)) {
            group.prefetch_overflown(bits);
        }
        if bits.load(Relaxed) != 0 {
            f(group, bits);
        }
    }
}
