//! A ring of panes by its definition, one caller at a time: what each pane holds, exactly, and which of them are live.
//!
//! It clears as much as it has to at once. So the filter beside it must be small: no more than a call may clear.

use std::collections::{HashMap, HashSet, VecDeque};

use windlass::Rotation;

pub(crate) struct Column {
    /// The pane in which it began.
    pub(crate) first: u64,
    /// The last pane of which something may be in it.
    pub(crate) last: u64,
    turn: u64,
    pub(crate) ids: HashSet<u64>,
}

pub(crate) struct Ring {
    columns: usize,
    pane: u64,
    rotation: Rotation,
    pub(crate) max_jump: u64,
    /// The live ones, the newest first.
    pub(crate) live: VecDeque<Column>,
    /// The turn of the newest column that has the id.
    newest: HashMap<u64, u64>,
    /// Whether the next column is.
    clean: bool,
    due: u64,
    pub(crate) rotations: u64,
    pub(crate) late: u64,
    pub(crate) jumps: u64,
}

impl Ring {
    pub(crate) fn new(columns: usize, pane: u64, rotation: Rotation) -> Ring {
        let first = Column { first: 0, last: 0, turn: 0, ids: HashSet::new() };
        Ring {
            columns,
            pane,
            rotation,
            max_jump: u64::MAX,
            live: VecDeque::from([first]),
            newest: HashMap::new(),
            clean: true,
            due: 0,
            rotations: 0,
            late: 0,
            jumps: 0,
        }
    }

    /// Whether the id was in a live pane. Now it is in the newest.
    pub(crate) fn insert(&mut self, id: u64, now: u64) -> bool {
        self.enter(now);
        let seen = self.has(id, self.live.len());
        self.put(id);
        seen
    }

    /// The same, but an id that was there is left where it was.
    pub(crate) fn observe(&mut self, id: u64, now: u64) -> bool {
        self.enter(now);
        let seen = self.has(id, self.live.len());
        if !seen {
            self.put(id);
        }
        seen
    }

    /// Whether it is in one of the newest `live` panes.
    pub(crate) fn has(&self, id: u64, live: usize) -> bool {
        live > 0 && self.newest.get(&id).is_some_and(|&turn| turn >= self.live[live - 1].turn)
    }

    pub(crate) fn put(&mut self, id: u64) {
        let current = &mut self.live[0];
        current.ids.insert(id);
        self.newest.insert(id, current.turn);
    }

    /// How many of the panes are live at a time, by the rule: until span after the end of the last pane of which they hold anything.
    pub(crate) fn live_at(&self, now: u64) -> usize {
        // What ends with the last tick, or beyond it, does not end.
        let now = u128::from(now.min(u64::MAX - 1));
        (0..self.live.len()).rev().find(|&i| self.expiry(i) > now).map_or(0, |i| i + 1)
    }

    /// When the i-th is over.
    fn expiry(&self, i: usize) -> u128 {
        let lead = self.pane.div_ceil(8);
        (u128::from(self.live[i].last) + self.columns as u128) * u128::from(self.pane) - u128::from(lead)
    }

    fn end(&self, pane: u64) -> u64 {
        pane.saturating_add(1).saturating_mul(self.pane)
    }

    /// A call that puts something in.
    pub(crate) fn enter(&mut self, now: u64) {
        if now < self.due {
            return;
        }
        let now = self.plausible(now);
        loop {
            let (pane, live) = (now / self.pane, self.live_at(now));
            let overdue = pane > self.live[0].first;
            if overdue && live < self.columns && self.clean && self.rotation != Rotation::Scheduled {
                self.turn(pane, live);
            } else if self.rotation == Rotation::ByCalls && self.retire_or_clear(live, overdue) {
                // Once more.
            } else {
                if overdue && self.live[0].last < pane {
                    self.live[0].last = pane;
                    self.late += 1;
                }
                let end = self.end(if overdue { self.live[0].last } else { self.live[0].first });
                // Where calls clear, they look at each time.
                self.due = self.due.max(if self.rotation == Rotation::ByCalls { 1 } else { end });
                return;
            }
        }
    }

    /// Upkeep, with a column cleared for each of the budget. Whether there is more to do.
    pub(crate) fn maintain(&mut self, now: u64, budget: usize) -> bool {
        let now = self.plausible(now);
        self.tend_within(now, budget)
    }

    /// .. as far as it takes.
    pub(crate) fn advance(&mut self, now: u64) {
        self.tend_within(now, usize::MAX);
    }

    fn tend_within(&mut self, now: u64, budget: usize) -> bool {
        let mut left = budget;
        loop {
            let (pane, live) = (now / self.pane, self.live_at(now));
            let overdue = pane > self.live[0].first;
            if overdue && live < self.columns && self.clean {
                self.turn(pane, live);
                continue;
            }
            let dirty = live < self.columns && live.max(1) == self.live.len() && !self.clean;
            if dirty && left == 0 {
                return true;
            }
            left -= usize::from(dirty);
            if !self.retire_or_clear(live, true) {
                return false;
            }
        }
    }

    fn turn(&mut self, pane: u64, live: usize) {
        let Column { last, turn, .. } = self.live[0];
        self.live.truncate(live);
        self.live.push_front(Column {
            first: pane,
            last: pane.max(last),
            turn: turn + 1,
            ids: HashSet::new(),
        });
        // In their first turns columns are empty.
        self.clean = turn + 2 < self.columns as u64;
        self.rotations += 1;
    }

    fn retire_or_clear(&mut self, live: usize, may_clear: bool) -> bool {
        let live = live.max(1);
        if live < self.live.len() {
            self.live.truncate(live);
            return true;
        }
        if live == self.columns {
            return false;
        }
        let clears = may_clear && !self.clean;
        self.clean |= clears;
        clears
    }

    /// A tick too far ahead counts as in the newest pane.
    fn plausible(&mut self, now: u64) -> u64 {
        let plausible = self.within_jump(now);
        self.jumps += u64::from(plausible < now);
        plausible
    }

    pub(crate) fn within_jump(&self, now: u64) -> u64 {
        let newest = self.end(self.live[0].last);
        if self.due > 0 && now > newest.saturating_add(self.max_jump) { newest - 1 } else { now }
    }
}
