//! Lists: candidates, their counts, and what can be missing.
//!
//! **Candidates** are the keys whose rows are marked. An add marks its row if it finds, or makes, the count of its pane as great as the
//! pane's threshold t. So a key that is marked in no generation has at most t - 1 in each pane, and sum(t - 1) in the window. If the last
//! of the list has more than that, none is missing. (The adds of a key: let one that makes the count t stall before it marks the row. It has not ended;
//! those before it make less than t; and one after it marks the row itself: twin `MarkOnce`.)
//!
//! **Scans.** Else all rows are looked at, one generation after the other, in the order in which they lie. A key with as many as the last of the list
//! has at least its g-th part in one of g generations: so those that have become candidates. They are a few, and then none is missing.
//!
//! **Refused** adds are known by pane, but not of which key they were. A key that has a row in a generation was never refused
//! there, unless a further table came later. So what is missing may have had them all, and a key of the list those of the generations in which
//! it has no row.

use super::{
    TopK, TopKey, TopRow, TopSnapshot,
    names::{Name, Names},
};
use crate::{
    count::{Generation, Row},
    hash::KeyHash,
    sync::{
        Ordering::Relaxed,
        epoch::{self, Guard},
        saturating::{self, SATURATED},
    },
    time::Tick,
};
use std::{cmp::Reverse, ops::Range};

/// A generation, and the panes of it that count.
struct Part<'g> {
    generation: &'g Generation<Names>,
    cells: Range<usize>,
    refused: u64,
}

struct Candidate {
    hash: KeyHash,
    name: Name,
    count: u64,
}

/// How many candidates ahead of its turn the rows of one are asked for.
const AHEAD: usize = 16;

impl TopK {
    /// The list over these panes.
    pub(super) fn list(&self, panes: Range<u64>, now: Tick) -> TopSnapshot {
        let guard = epoch::pin();
        let parts = self.core.parts(panes.clone(), &guard).map(|(generation, _, cells)| Part {
            generation,
            refused: generation.extra.refused(cells.clone()),
            cells,
        });
        let parts: Vec<Part<'_>> = parts.collect();
        let refused = saturating::sum(parts.iter().map(|part| part.refused));
        let unmarked = |part: &Part<'_>| part.generation.extra.unmarked(part.cells.clone());
        let mut unseen = saturating::sum(parts.iter().map(unmarked));
        let mut found = Vec::new();
        for part in &parts {
            self.find(&mut found, part, part.generation.table.marked(&guard), &guard);
        }
        self.count_all(&mut found, &panes, &guard);
        let mut last = self.last(&mut found);
        if unseen > 0 && unseen.saturating_add(refused) >= last {
            unseen = self.scan(&mut found, &parts, last.saturating_sub(refused).max(1), &guard);
            self.count_all(&mut found, &panes, &guard);
            last = self.last(&mut found);
        }
        let mut list = self.close(found, last, &parts, unseen.saturating_add(refused), &guard);
        list.total = self.core.total(panes.clone(), &guard);
        list.as_of = now;
        list.start = Tick(panes.start.saturating_mul(self.panes.pane));
        list.end = Tick(panes.end.saturating_mul(self.panes.pane));
        if self.core.keeps(panes.start) {
            // Half of what the last has in a pane: the rest is room for it to become less.
            self.next.store((last / self.panes.window / 2).max(1), Relaxed);
        } else {
            // Some of it has left.
            list.certified = false;
            list.tail = u64::MAX;
            list.rows.iter_mut().for_each(|row| row.upper = u64::MAX);
        }
        list
    }

    /// The keys of rows.
    fn find<'g>(
        &self,
        found: &mut Vec<Candidate>,
        part: &Part<'g>,
        rows: impl Iterator<Item = Row<'g>>,
        guard: &Guard,
    ) {
        let mut bytes = Vec::new();
        found.extend(rows.filter_map(|row| {
            let name = part.generation.extra.name_of(row)?;
            let (hi, _) = self.core.means.read(name, &mut bytes, guard)?;
            Some(Candidate { hash: KeyHash { hi, lo: row.fingerprint() }, name, count: 0 })
        }));
    }

    /// Each key once, with its count.
    fn count_all(&self, found: &mut Vec<Candidate>, panes: &Range<u64>, guard: &Guard) {
        let hash = |candidate: &Candidate| (candidate.hash.lo, candidate.hash.hi);
        found.sort_unstable_by_key(hash);
        found.dedup_by_key(|candidate| hash(candidate));
        for i in 0..found.len() {
            if let Some(ahead) = found.get(i + AHEAD) {
                self.core.prefetch_all(ahead.hash, panes.clone(), guard);
            }
            found[i].count = self.core.count_fetched(found[i].hash, panes.clone(), guard);
        }
        found.retain(|candidate| candidate.count > 0);
    }

    /// The count of the last of the list, 0 if it is shorter.
    fn last(&self, found: &mut [Candidate]) -> u64 {
        if found.len() < self.k {
            return 0;
        }
        found.select_nth_unstable_by_key(self.k - 1, |candidate| Reverse(candidate.count)).1.count
    }

    /// Looks at all rows for candidates, such that what a key has that is none is less than `least`. How much that is at most.
    fn scan(&self, found: &mut Vec<Candidate>, parts: &[Part<'_>], least: u64, guard: &Guard) -> u64 {
        self.scans.add(1);
        let n = parts.len().max(1) as u64;
        let each = (least - 1) / n;
        for part in parts {
            let rows = part.generation.table.rows(guard);
            let many = rows.filter(|row| saturating::sum(row.counts(part.cells.clone())) > each);
            self.find(found, part, many, guard);
        }
        each * n
    }

    /// The list of these candidates, where one that is missing has at most `unseen`.
    fn close(
        &self,
        found: Vec<Candidate>,
        last: u64,
        parts: &[Part<'_>],
        unseen: u64,
        guard: &Guard,
    ) -> TopSnapshot {
        let (mut bytes, mut rows, mut list) = (Vec::new(), Vec::new(), TopSnapshot::unknown());
        // Of those that are not in the list: the most that one may have, and of those that are not counted exactly.
        let (mut tail, mut doubt) = (unseen, 0);
        let mut leave = |count: u64, upper: u64| {
            tail = tail.max(upper);
            if upper > count {
                doubt = doubt.max(upper);
            }
        };
        for candidate in found {
            let upper = candidate.count.saturating_add(self.unknown(&candidate, parts, guard));
            if candidate.count < last {
                leave(candidate.count, upper);
            } else if let Some((_, kind)) = self.core.means.read(candidate.name, &mut bytes, guard) {
                let (key, count) = (TopKey::new(kind, &bytes), candidate.count);
                let lower = if count == u64::MAX { SATURATED } else { count };
                rows.push(TopRow { key, count, lower, upper });
            }
        }
        rows.sort_unstable_by(|a, b| b.count.cmp(&a.count).then_with(|| a.key.cmp(&b.key)));
        rows.iter().skip(self.k).for_each(|row| leave(row.lower, row.upper));
        rows.truncate(self.k);
        let least = rows.get(self.k - 1).map_or(0, |last| last.lower);
        let exact = rows.iter().all(|row| row.lower == row.upper);
        list.certified = exact && if rows.len() < self.k { tail == 0 } else { unseen.max(doubt) < least };
        list.tail = tail;
        list.rows = rows;
        list
    }

    /// Adds of the key that may have been refused, at most.
    fn unknown(&self, candidate: &Candidate, parts: &[Part<'_>], guard: &Guard) -> u64 {
        let doubtful = parts.iter().filter(|part| {
            let table = &part.generation.table;
            let row = || table.find(candidate.hash, guard);
            part.refused > 0
                && !(table.is_alone(guard)
                    && row().is_some_and(|row| part.generation.extra.name_of(row).is_some()))
        });
        saturating::sum(doubtful.map(|part| part.refused))
    }
}
