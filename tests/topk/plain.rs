//! What lists have to be: counts of (key, pane), of which nothing is forgotten.

use std::{collections::BTreeMap, ops::Range};
use windlass::{Added, Tick, TopK, TopKBuilder, TopSnapshot, Window};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    pub(crate) pane: u64,
    pub(crate) panes: u64,
    pub(crate) lateness: u64,
}

impl Grid {
    pub(crate) fn builder(&self, k: usize) -> TopKBuilder {
        let (window, pane) = (Window::last_n(self.pane * self.panes), Window::last_n(self.pane));
        TopK::builder(window, pane, k).lateness(Window::last_n(self.lateness))
    }

    fn late_panes(&self) -> u64 {
        self.lateness.div_ceil(self.pane)
    }

    pub(crate) fn current(&self, now: u64) -> Range<u64> {
        let end = now / self.pane + 1;
        end.saturating_sub(self.panes)..end
    }

    pub(crate) fn complete(&self, now: u64) -> Range<u64> {
        let end = now / self.pane;
        end.saturating_sub(self.panes)..end
    }
}

#[derive(Default)]
pub(crate) struct Plain {
    counts: BTreeMap<(u64, u64), u64>,
    newest: Option<u64>,
}

impl Plain {
    /// Whether it is late.
    pub(crate) fn add(&mut self, grid: &Grid, key: u64, n: u64, now: u64) -> bool {
        let pane = now / grid.pane;
        let newest = self.newest.unwrap_or(pane).max(pane);
        self.newest = Some(newest);
        let late = newest - pane > grid.panes + grid.late_panes();
        if !late {
            *self.counts.entry((pane, key)).or_default() += n;
        }
        late
    }

    pub(crate) fn move_on(&mut self, grid: &Grid, now: u64) {
        self.newest = self.newest.map(|newest| newest.max(now / grid.pane));
    }

    /// Whether all that is asked for at that time is kept.
    pub(crate) fn keeps(&self, grid: &Grid, now: u64) -> bool {
        self.newest.is_none_or(|newest| newest <= now / grid.pane + grid.late_panes())
    }

    pub(crate) fn counts(&self, panes: Range<u64>) -> BTreeMap<u64, u64> {
        let mut counts = BTreeMap::new();
        for (&(_, key), n) in self.counts.range((panes.start, 0)..(panes.end, 0)) {
            *counts.entry(key).or_default() += n;
        }
        counts
    }
}

/// A list against the truth. Whether it is certified.
#[track_caller]
pub(crate) fn check(list: &TopSnapshot, counts: &BTreeMap<u64, u64>, k: usize) -> bool {
    let mut all: Vec<(u64, u64)> = counts.iter().map(|(&key, &n)| (key, n)).collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let told: Vec<_> = list.rows.iter().map(|row| (row.key.number().expect("a number"), row.count)).collect();
    if list.certified {
        assert_eq!(told, all[..k.min(all.len())], "certified, and wrong");
        assert!(list.rows.iter().all(|row| row.lower == row.count && row.upper == row.count));
        assert_eq!(list.total, counts.values().sum::<u64>());
    }
    for row in &list.rows {
        let truth = counts.get(&row.key.number().expect("a number")).copied().unwrap_or(0);
        assert!((row.lower..=row.upper).contains(&truth), "{row:?}: {truth}");
    }
    let missing = all.iter().find(|(key, _)| told.iter().all(|row| row.0 != *key));
    assert!(missing.is_none_or(|(_, n)| *n <= list.tail), "{missing:?} beyond the tail, {}", list.tail);
    list.certified
}

/// Adds; the answer is as it should be.
#[track_caller]
pub(crate) fn add(top: &TopK, plain: &mut Plain, grid: &Grid, key: u64, n: u64, now: u64) {
    let late = plain.add(grid, key, n, now);
    let added = top.add_at(key, n, Tick(now));
    assert!(if late { added == Added::Late } else { matches!(added, Added::Counted | Added::NoRoom) });
}
