//! The well-known design: a ring of hash maps, one for each pane, a map of totals, and a heap of the hottest.

use std::collections::HashMap;

use ahash::RandomState;

use super::counter::{K, Load, PANES};

type Map = HashMap<u64, u64, RandomState>;

pub(crate) struct Textbook {
    panes: Vec<Map>,
    /// The newest pane, and its length in ticks.
    newest: u64,
    pane: u64,
    totals: Map,
    hottest: Heap,
}

impl Textbook {
    pub(crate) fn new(load: &Load) -> Textbook {
        let map =
            || Map::with_capacity_and_hasher(usize::try_from(load.keys).unwrap_or(0), RandomState::new());
        Textbook {
            panes: (0..PANES).map(|_| map()).collect(),
            newest: 0,
            pane: load.pane(),
            totals: map(),
            hottest: Heap::default(),
        }
    }

    pub(crate) fn add(&mut self, key: u64, now: u64) {
        let pane = now / self.pane;
        while self.newest < pane {
            self.move_on();
        }
        if pane + PANES <= self.newest {
            return;
        }
        *self.panes[place(pane)].entry(key).or_insert(0) += 1;
        let total = self.totals.entry(key).or_insert(0);
        *total += 1;
        self.hottest.offer(key, *total);
    }

    /// What has left is subtracted. Then others may be hotter than those of the heap.
    fn move_on(&mut self) {
        self.newest += 1;
        for (key, count) in self.panes[place(self.newest)].drain() {
            if let Some(total) = self.totals.get_mut(&key) {
                *total -= count;
                if *total == 0 {
                    self.totals.remove(&key);
                }
            }
        }
        self.hottest = Heap::default();
        for (&key, &total) in &self.totals {
            self.hottest.offer(key, total);
        }
    }

    pub(crate) fn count(&self, key: u64) -> u64 {
        self.totals.get(&key).copied().unwrap_or(0)
    }

    /// The hottest first.
    pub(crate) fn top(&self) -> Vec<(u64, u64)> {
        let mut top = self.hottest.heap.clone();
        top.sort_unstable_by_key(|&(key, count)| (std::cmp::Reverse(count), key));
        top
    }
}

#[allow(clippy::cast_possible_truncation)] // a few
fn place(pane: u64) -> usize {
    (pane % PANES) as usize
}

/// The least first, and where each key is.
#[derive(Default)]
struct Heap {
    heap: Vec<(u64, u64)>,
    places: HashMap<u64, usize, RandomState>,
}

impl Heap {
    #[inline]
    fn offer(&mut self, key: u64, count: u64) {
        if self.heap.len() == K && count <= self.heap[0].1 {
            return; // also of one that is in it: then it would be more than the least
        }
        let at = match self.places.get(&key) {
            Some(&at) => at,
            None if self.heap.len() < K => {
                self.heap.push((key, 0));
                self.up(self.heap.len() - 1)
            }
            None => {
                self.places.remove(&self.heap[0].0);
                0
            }
        };
        self.heap[at] = (key, count);
        self.places.insert(key, at);
        self.down(at);
    }

    /// Where it is then.
    fn up(&mut self, mut at: usize) -> usize {
        while at > 0 && self.heap[at].1 < self.heap[(at - 1) / 2].1 {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
        at
    }

    fn down(&mut self, mut at: usize) {
        loop {
            let least = [2 * at + 1, 2 * at + 2].into_iter().filter(|&below| below < self.heap.len());
            match least.min_by_key(|&below| self.heap[below].1) {
                Some(below) if self.heap[below].1 < self.heap[at].1 => {
                    self.swap(at, below);
                    at = below;
                }
                _ => return,
            }
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        self.places.insert(self.heap[one].0, one);
        self.places.insert(self.heap[other].0, other);
    }
}
