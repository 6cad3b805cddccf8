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
    TopK, TopSnapshot,
    names::{Name, Names},
    rank::Ranking,
    snapshot::Trace,
};
use crate::{
    count::{Generation, Row},
    hash::KeyHash,
    sync::{
        Ordering::Relaxed,
        epoch::{self, Guard},
        saturating,
    },
    time::Tick,
};
use std::{cmp::Reverse, ops::Range};

/// A generation, and the panes of it that count.
struct Part<'g> {
    generation: &'g Generation<Names>,
    cells: Range<usize>,
    refused: u64,
    /// What a key has there at most that is not marked.
    unmarked: u64,
}

/// A key, and what it has in some of the parts.
struct Candidate {
    lo: u64,
    /// Half of the other half.
    hi: u32,
    /// A bit for each.
    parts: u64,
    name: Name,
    count: u64,
}

/// How many candidates ahead of its turn the rows of one are asked for.
const AHEAD: usize = 16;

impl TopK {
    /// The list over these panes. `scan`: all rows may be looked at. Whether they would have to be, and were not.
    pub(super) fn list(&self, panes: Range<u64>, now: Tick, scan: bool) -> (TopSnapshot, bool) {
        self.list_of(panes, now, scan, self.k)
    }

    /// .. of so many keys.
    pub(super) fn list_of(&self, panes: Range<u64>, now: Tick, scan: bool, k: usize) -> (TopSnapshot, bool) {
        let guard = epoch::pin();
        let parts = self.core.parts(panes.clone(), &guard).map(|(generation, _, cells)| Part {
            generation,
            refused: generation.extra.refused(cells.clone()),
            unmarked: generation.extra.unmarked(cells.clone()),
            cells,
        });
        let parts: Vec<Part<'_>> = parts.collect();
        let refused = saturating::sum(parts.iter().map(|part| part.refused));
        let mut unseen = saturating::sum(parts.iter().map(|part| part.unmarked));
        let mut found = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            find(&mut found, at, part, part.generation.table.marked(&guard));
        }
        self.count(&mut found, &parts, |part| part.unmarked > 0, &guard);
        let mut last = last_of(&mut found, k);
        let short = unseen > 0 && unseen.saturating_add(refused) >= last;
        if short && scan {
            // What was refused may be any key's. Where that is too much for a certificate the list is that of those with rows.
            let least = if last > refused { last - refused } else { last.max(1) };
            unseen = self.scan(&mut found, &parts, least, &guard);
            last = last_of(&mut found, k);
        }
        let mut list = self.close(found, (k, last), &parts, unseen.saturating_add(refused), &guard);
        list.total = self.core.total(panes.clone(), &guard);
        list.as_of = now;
        list.start = Tick(panes.start.saturating_mul(self.panes.pane));
        list.end = Tick(panes.end.saturating_mul(self.panes.pane));
        if !self.core.keeps(panes.start) {
            // Some of it has left.
            list.certified = false;
            list.tail = u64::MAX;
            list.rows.iter_mut().for_each(|row| row.upper = u64::MAX);
        } else if k == self.k {
            // Half of what the last has in a pane: the rest is room for it to become less.
            self.next.store((last / self.panes.window / 2).max(1), Relaxed);
        }
        (list, short && !scan && refused < last.max(1))
    }

    /// Each key once, with its count. `open`: where those may have something as well of whom no row was found.
    fn count(
        &self,
        found: &mut Vec<Candidate>,
        parts: &[Part<'_>],
        open: impl Fn(&Part<'_>) -> bool,
        guard: &Guard,
    ) {
        found.sort_unstable_by_key(Candidate::key);
        found.dedup_by(|one, kept| {
            let same = one.key() == kept.key();
            if same && one.parts & kept.parts == 0 {
                kept.parts |= one.parts;
                kept.count = saturating::sum([kept.count, one.count].into_iter());
            }
            same
        });
        for (at, part) in parts.iter().enumerate().filter(|(_, part)| open(part)) {
            self.look_up(found, at, part, guard);
        }
    }

    /// What candidates have in a part in which no row of theirs was found.
    fn look_up(&self, found: &mut [Candidate], at: usize, part: &Part<'_>, guard: &Guard) {
        let table = &part.generation.table;
        let mut ahead = [None; AHEAD];
        for i in 0..found.len() + AHEAD {
            let next = found.get(i).filter(|candidate| candidate.parts & 1 << at == 0);
            let next = next.and_then(|candidate| self.hash(candidate, guard));
            if let Some(hash) = next {
                table.prefetch(hash, part.cells.start);
            }
            if let Some(hash) = std::mem::replace(&mut ahead[i % AHEAD], next)
                && let Some(row) = table.find(hash, guard)
            {
                let candidate = &mut found[i - AHEAD];
                let counts = row.counts(part.cells.clone()).chain([candidate.count]);
                candidate.count = saturating::sum(counts);
                candidate.parts |= 1 << at;
            }
        }
    }

    fn hash(&self, candidate: &Candidate, guard: &Guard) -> Option<KeyHash> {
        let hi = self.core.means.hi(candidate.name, candidate.lo, guard)?;
        Some(KeyHash { hi, lo: candidate.lo })
    }

    /// Looks at all rows for candidates, such that what a key has that is none is less than `least`. How much that is at most.
    fn scan(&self, found: &mut Vec<Candidate>, parts: &[Part<'_>], least: u64, guard: &Guard) -> u64 {
        self.scans.add(1);
        let n = parts.len().max(1) as u64;
        let each = (least - 1) / n;
        for (at, part) in parts.iter().enumerate() {
            let rows = part.generation.table.rows(0, guard);
            let many = rows.filter(|row| saturating::sum(row.counts(part.cells.clone())) > each);
            find(found, at, part, many);
        }
        self.count(found, parts, |_| each > 0, guard);
        each * n
    }

    /// The list of these candidates, where one that is missing has at most `unseen`.
    fn close(
        &self,
        found: Vec<Candidate>,
        (k, last): (usize, u64),
        parts: &[Part<'_>],
        unseen: u64,
        guard: &Guard,
    ) -> TopSnapshot {
        let (mut bytes, mut ranking) = (Vec::new(), Ranking::new(k));
        for candidate in found {
            let upper = candidate.count.saturating_add(self.unknown(&candidate, parts, guard));
            if candidate.count < last {
                ranking.leave(candidate.count, upper);
            } else if let Some(kind) = self.core.means.read(candidate.name, candidate.lo, &mut bytes, guard) {
                let trace = Trace(self.hash(&candidate, guard));
                ranking.add(kind, &bytes, trace, candidate.count, upper);
            }
        }
        let (rows, rest) = ranking.done();
        let mut list = TopSnapshot::unknown();
        list.tail = rest.any.max(unseen);
        let none_missing = match rows.get(k - 1) {
            Some(last) => unseen.max(rest.doubtful) < last.lower,
            None => list.tail == 0,
        };
        list.certified = none_missing && rows.iter().all(|row| row.lower == row.upper);
        list.rows = rows;
        list
    }

    /// Adds of the key that may have been refused, at most.
    fn unknown(&self, candidate: &Candidate, parts: &[Part<'_>], guard: &Guard) -> u64 {
        if parts.iter().all(|part| part.refused == 0) {
            return 0;
        }
        let hash = self.hash(candidate, guard);
        let doubtful = parts.iter().filter(|part| {
            let table = &part.generation.table;
            let row = || table.find(hash?, guard);
            part.refused > 0
                && !(table.is_alone(guard)
                    && row().is_some_and(|row| part.generation.extra.name_of(row).is_some()))
        });
        saturating::sum(doubtful.map(|part| part.refused))
    }
}

/// The count of the last of a list of `k`, 0 if it is shorter.
fn last_of(found: &mut [Candidate], k: usize) -> u64 {
    if found.len() < k {
        return 0;
    }
    found.select_nth_unstable_by_key(k - 1, |candidate| Reverse(candidate.count)).1.count
}

impl Candidate {
    fn key(&self) -> (u64, u32) {
        (self.lo, self.hi)
    }
}

/// The keys of rows, with what they have in that part.
fn find<'g>(found: &mut Vec<Candidate>, at: usize, part: &Part<'g>, rows: impl Iterator<Item = Row<'g>>) {
    found.extend(rows.filter_map(|row| {
        let count = saturating::sum(row.counts(part.cells.clone()));
        let (name, hi) = part.generation.extra.name_of(row)?;
        (count > 0).then(|| Candidate { lo: row.fingerprint(), hi, parts: 1 << at, name, count })
    }));
}
