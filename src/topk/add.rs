//! The way of an add: a row, its name, its count, and a mark if that has come upon the threshold.

use super::{
    TopK,
    names::{LISTED, Names, is_named},
};
use crate::{
    count::{Added, Generation, Row},
    hash::{Key, KeyHash},
    pane::Place,
    sync::{
        Ordering::{Acquire, Relaxed, Release},
        epoch::Guard,
        twin,
    },
    time::Tick,
};

impl TopK {
    #[inline(always)]
    pub(super) fn add_hashed(
        &self,
        key: &impl Key,
        hash: KeyHash,
        n: u64,
        now: Tick,
        guard: &Guard,
    ) -> Added {
        match self.core.enter(now.0, guard) {
            Ok(place) => {
                self.core.add_to_total(&place, n);
                self.add_in(&place, key, hash, n, guard)
            }
            Err(missed) => missed,
        }
    }

    #[inline(always)]
    pub(super) fn add_in<'g>(
        &'g self,
        place: &Place<'g, Generation<Names>>,
        key: &impl Key,
        hash: KeyHash,
        n: u64,
        guard: &'g Guard,
    ) -> Added {
        let (generation, pane) = (place.generation, place.cell);
        let Some(row) = self.core.claim(place, hash, guard) else { return self.refuse(place, key, n) };
        // Acquire; pairs with the release in `mark`: who relies on the mark that another has set has it behind it.
        let mut note = row.note().load(if twin!(RelaxedNote) { Relaxed } else { Acquire });
        if !is_named(note) {
            note = generation.extra.name(row, key, hash, &self.core.means, guard);
            if !is_named(note) {
                return self.refuse(place, key, n);
            }
        }
        let before = self.core.add_to_row(row, pane, n);
        let threshold = generation.extra.threshold(pane, &self.next);
        // Whoever makes it, and whoever finds it made but not marked.
        if before.saturating_add(n) >= threshold
            && note & LISTED == 0
            && !(twin!(MarkOnce) && before >= threshold)
        {
            mark(generation, row, guard);
        }
        Added::Counted
    }

    #[cold]
    #[inline(never)]
    fn refuse(&self, place: &Place<'_, Generation<Names>>, key: &impl Key, n: u64) -> Added {
        place.generation.extra.refuse(place.cell, n);
        let refused = self.core.refuse();
        if key.with_bytes(|_, bytes| bytes.len() > TopK::MAX_LEN) { Added::TooLong } else { refused }
    }
}

/// As often as you like: it is marked once.
#[cold]
#[inline(never)]
pub(super) fn mark(generation: &Generation<Names>, row: Row<'_>, guard: &Guard) {
    generation.table.mark(row, guard);
    // Release: see where the note is loaded.
    row.note().fetch_or(LISTED, Release);
}
