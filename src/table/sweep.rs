//! Buckets that have overflowed look at two places for ever, and over many windows that becomes most of them. The sweep takes
//! their flags away again once the spill line is empty: a little at a time, by whoever moves the horizon or maintains.

use super::geometry::Group;
use crate::sync::{Flagpole, Wide, epoch};
use std::sync::Mutex;

/// How many groups ahead their hints are asked for.
const AHEAD: usize = 8;

/// Where the sweep over a table's groups stands.
#[derive(Default)]
pub(super) struct Sweep(Mutex<State>);

#[derive(Default)]
struct State {
    phase: Phase,
    next: usize,
}

#[derive(Default)]
enum Phase {
    #[default]
    Closing,
    /// Every group has been asked to close. Raised when every call that began before has ended.
    Waiting(Flagpole),
    Opening,
}

impl Sweep {
    /// Goes on by `budget` groups; not at all if another thread is at it.
    pub(super) fn go_on(&self, wide: impl Wide, groups: &[Group], gone: u64, budget: usize) {
        let Ok(mut state) = self.0.try_lock() else { return };
        if let Phase::Waiting(ended) = &state.phase {
            if !ended.is_raised() {
                return epoch::collect();
            }
            state.phase = Phase::Opening;
        }
        let end = state.next.saturating_add(budget).min(groups.len());
        for (i, group) in (state.next..).zip(&groups[state.next..end]) {
            if let Some(soon) = groups.get(i + AHEAD) {
                soon.prefetch_hint();
            }
            match state.phase {
                Phase::Opening => group.open(wide, gone),
                _ => group.close(wide, gone),
            }
        }
        state.next = end;
        if end == groups.len() {
            state.next = 0;
            state.phase = match state.phase {
                Phase::Opening => Phase::Closing,
                _ => Phase::Waiting(epoch::when_all_ended()),
            };
        }
    }
}
