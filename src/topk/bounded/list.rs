//! Lists from candidates: bounds of each, and of what is missing.
//!
//! In each pane a key has what its slot says; or, where it has none, no more than the bar of its bucket, and no more than the sketch says. All panes have as many buckets, so a key has the same one in
//! each: buckets are gone through one after the other, in all panes.

use super::{BoundedTopK, entry::Entry, names::NONE, pane::Pane};
use crate::{
    sync::{
        Wide,
        epoch::{self, Guard},
        saturating, with_wide,
    },
    time::Tick,
    topk::{TopKey, TopRow, TopSnapshot, snapshot::Trace},
};
use std::{cmp::Reverse, ops::Range};

struct Candidate {
    lo: u64,
    bucket: usize,
    lower: u64,
    upper: u64,
    /// A pane in which it has a name, and that.
    name: Option<(usize, u64)>,
}

/// What is known of a window.
pub(in crate::topk) struct Found {
    /// The hottest first.
    pub(in crate::topk) rows: Vec<TopRow>,
    /// What a key has at most that is not among them.
    pub(in crate::topk) tail: u64,
    /// .. unless it is known exactly.
    pub(in crate::topk) doubtful: u64,
    pub(in crate::topk) total: u64,
}

impl BoundedTopK {
    pub(super) fn list(&self, panes: Range<u64>, now: Tick) -> TopSnapshot {
        let Found { rows, tail, doubtful, total } = self.rows(panes.clone(), self.k);
        let kept = self.time.keeps(panes.start);
        let none_missing = match rows.get(self.k - 1) {
            Some(last) => doubtful < last.lower,
            None => tail == 0,
        };
        let mut list = TopSnapshot {
            as_of: now,
            start: Tick(panes.start.saturating_mul(self.panes.pane)),
            end: Tick(panes.end.saturating_mul(self.panes.pane)),
            total,
            certified: kept && none_missing && rows.iter().all(|row| row.lower == row.upper),
            tail,
            rows,
        };
        if !kept {
            // Some of it has left.
            list.tail = u64::MAX;
            list.rows.iter_mut().for_each(|row| row.upper = u64::MAX);
        }
        list
    }

    /// The hottest of these panes, so many.
    pub(super) fn rows(&self, panes: Range<u64>, most: usize) -> Found {
        let guard = epoch::pin();
        let parts: Vec<&Pane> = self.time.with(panes, &guard).map(|(pane, ..)| pane).collect();
        with_wide!(self.pool.wide(), wide => self.rows_of(wide, &parts, most, &guard))
    }

    fn rows_of(&self, wide: impl Wide, parts: &[&Pane], most: usize, _: &Guard) -> Found {
        let (mut all, missing) = self.candidates(wide, parts);
        // (After the slots: who has added to one has added to the total.)
        let totals: Vec<u64> = parts.iter().map(|pane| pane.total()).collect();
        let mut found = Found {
            rows: Vec::new(),
            tail: missing,
            doubtful: missing,
            total: saturating::sum(totals.iter().copied()),
        };
        // The sketches are asked about those alone that may be among the hottest.
        let least = if all.len() < most {
            0
        } else {
            all.select_nth_unstable_by_key(most - 1, |one| Reverse(one.lower)).1.lower
        };
        let (near, far): (Vec<_>, Vec<_>) = all.into_iter().partition(|one| one.upper >= least);
        far.iter().for_each(|one| found.leave(one.lower, one.upper));
        let mut near: Vec<_> = near
            .into_iter()
            .map(|one| {
                let (lower, upper) = self.bounds_of(wide, parts, &totals, one.lo, one.bucket);
                Candidate { lower, upper, ..one }
            })
            .collect();
        near.sort_unstable_by_key(|one| Reverse(guess(one.lower, one.upper)));
        // .. and all that have as many as the last of them.
        let last = near.get(most - 1).map_or(0, |one| guess(one.lower, one.upper));
        let mut bytes = Vec::new();
        for one in near {
            let count = guess(one.lower, one.upper);
            let key = (count >= last).then(|| self.key_of(parts, &one, &mut bytes)).flatten();
            match key {
                Some(key) => {
                    let (lower, upper) = (one.lower, one.upper);
                    found.rows.push(TopRow { key, count, lower, upper, trace: Trace::default() });
                }
                // It is one that cannot be told, or not among them.
                None if count >= last => found.leave_nameless(one.upper),
                None => found.leave(one.lower, one.upper),
            }
        }
        found.rows.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.key.cmp(&b.key)));
        for row in found.rows.split_off(most.min(found.rows.len())) {
            found.leave(row.lower, row.upper);
        }
        found
    }

    /// All keys with slots, and what another has at most.
    fn candidates(&self, wide: impl Wide, parts: &[&Pane]) -> (Vec<Candidate>, u64) {
        let (mut all, mut here) = (Vec::new(), Vec::<(u64, usize, Entry)>::new());
        let mut highest = vec![0_u64; parts.len()];
        let mut bars = vec![0_u64; parts.len()];
        let buckets = usize::try_from(self.pool.plan().buckets).unwrap_or(0);
        for bucket in 0..buckets {
            here.clear();
            for (at, pane) in parts.iter().enumerate() {
                bars[at] = pane.unkept();
                if let Some(tables) = &pane.tables {
                    let bucket = tables.slots.bucket(bucket);
                    here.extend(bucket.entries(wide).map(|entry| (entry.lo(), at, entry)));
                    // After the slots: it is raised before a key has none.
                    bars[at] = bucket.bar(wide);
                }
                highest[at] = highest[at].max(bars[at]);
            }
            here.sort_unstable_by_key(|one| (one.0, one.1));
            let bar = sum(bars.iter().copied());
            for same in here.chunk_by(|a, b| a.0 == b.0) {
                let known = |&(lo, at, entry): &(u64, usize, Entry)| upper(parts[at], lo, entry);
                let own = sum(same.iter().map(|one| bars[one.1]));
                let name = same.iter().find(|one| one.2.name() != NONE);
                let upper = clamp(bar - own + sum(same.iter().map(known)));
                if upper == 0 {
                    // It was added no times.
                    continue;
                }
                all.push(Candidate {
                    lo: same[0].0,
                    bucket,
                    lower: clamp(sum(same.iter().map(|one| one.2.count()))),
                    upper,
                    name: name.map(|one| (one.1, one.2.name())),
                });
            }
        }
        (all, clamp(sum(highest.into_iter())))
    }

    /// What a key has at least, and at most.
    pub(super) fn bounds_of(
        &self,
        wide: impl Wide,
        parts: &[&Pane],
        totals: &[u64],
        lo: u64,
        bucket: usize,
    ) -> (u64, u64) {
        let (mut lower, mut most) = (0_u128, 0_u128);
        for (pane, &total) in parts.iter().zip(totals) {
            let (own, upper) = match &pane.tables {
                None => (0, total),
                Some(tables) => {
                    let bucket = tables.slots.bucket(bucket);
                    match bucket.find(wide, lo) {
                        Some(entry) => (entry.count(), upper(pane, lo, entry)),
                        None => (0, bucket.bar(wide).min(tables.sketch.estimate(lo).upper)),
                    }
                }
            };
            lower += u128::from(own);
            // (What is added meanwhile may be in one and not yet in the other.)
            most += u128::from(upper.min(total).max(own));
        }
        (clamp(lower), clamp(most))
    }

    fn key_of(&self, parts: &[&Pane], one: &Candidate, bytes: &mut Vec<u8>) -> Option<TopKey> {
        let (at, name) = one.name?;
        let kind = parts.get(at)?.tables.as_ref()?.names.read(name, one.lo, self.seed, bytes)?;
        Some(TopKey::new(kind, bytes))
    }
}

impl Found {
    /// One that is not in the list.
    fn leave(&mut self, lower: u64, upper: u64) {
        self.tail = self.tail.max(upper);
        if upper > lower {
            self.doubtful = self.doubtful.max(upper);
        }
    }

    /// .. since it has no name.
    fn leave_nameless(&mut self, upper: u64) {
        self.leave(0, upper);
    }
}

/// What a key with this slot has at most in the pane.
fn upper(pane: &Pane, lo: u64, entry: Entry) -> u64 {
    let sketched = || pane.tables.as_ref().map_or(u64::MAX, |tables| tables.sketch.estimate(lo).upper);
    match entry.upper() {
        Some(upper) => upper,
        None if entry.count() < super::entry::MOST => entry.count().saturating_add(sketched()),
        None => u64::MAX,
    }
}

/// The best guess of a count: of what is doubtful the same share as is sure of what there can be, to the nearest. (Where the bounds are close the upper
/// one is as good as exact, since the sketch was all but empty when the key came; where they are far apart it is noise. Measured: `examples/accuracy.rs`.)
pub(in crate::topk) fn guess(lower: u64, upper: u64) -> u64 {
    if upper == u64::MAX {
        return lower;
    }
    let (doubt, most) = (upper.saturating_sub(lower), upper.max(1));
    let part = match doubt.checked_mul(lower).and_then(|product| product.checked_add(most / 2)) {
        Some(product) => product / most,
        // (Slow.)
        None => clamp((u128::from(doubt) * u128::from(lower) + u128::from(most / 2)) / u128::from(most)),
    };
    lower.saturating_add(part)
}

fn sum(counts: impl Iterator<Item = u64>) -> u128 {
    counts.map(u128::from).sum()
}

fn clamp(sum: u128) -> u64 {
    u64::try_from(sum).unwrap_or(u64::MAX)
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;

    #[test]
    fn guesses_lie_between() {
        let near = |bits: u32| [1_u64 << bits, (1 << bits) - 1, (1 << bits) + 1];
        let all: Vec<u64> = (0..64).flat_map(near).chain([0, u64::MAX - 1, u64::MAX]).collect();
        for &lower in &all {
            for &upper in all.iter().filter(|&&upper| upper >= lower) {
                let guess = guess(lower, upper);
                assert!((lower..=upper).contains(&guess), "{lower} {guess} {upper}");
            }
        }
        assert_eq!((guess(5, 5), guess(1000, 1002), guess(0, 900), guess(7, u64::MAX)), (5, 1002, 0, 7));
    }
}
