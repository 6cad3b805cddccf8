//! Where tables come from, and where they go: those that have left are cleared, some blocks at a time, and used again. So pages come from the
//! system once, and no call has to wait for them later.

use super::table::{LEAST, Shop, Size, Table};
#[cfg(windlass_loom)]
use crate::sync::twin;
use crate::sync::{Budget, Counter, Flagpole, Switch, Tried, epoch};
use std::sync::Arc;

pub(crate) struct Stock {
    /// What a table has at least, and if they do not vary always.
    least: Size,
    vary: bool,
    /// Tables that go round.
    in_turn: u64,
    budget: Arc<Budget>,
    /// What is kept for tables that stand in for others, in bytes.
    reserve: u64,
    inside: Tried<Inside>,
    /// What upkeep makes ready for the next generation.
    ahead: Tried<Option<Ahead>>,
    /// What a generation gets for which there is no memory: its keys are refused.
    closed: Arc<Table>,
    /// Whether something is to be cleared.
    work: Switch,
    pub(super) counts: Counts,
}

#[derive(Default)]
pub(super) struct Counts {
    /// Generations that were opened, and those of them whose table had been used before.
    pub(super) opened: Counter,
    pub(super) recycled: Counter,
    /// Blocks cleared.
    pub(super) cleared: Counter,
    /// Further tables.
    pub(super) further: Counter,
}

#[derive(Default)]
struct Inside {
    used: Vec<Used>,
    clean: Vec<Arc<Table>>,
}

struct Used {
    /// All calls have ended that may use it.
    ended: Flagpole,
    table: Arc<Table>,
    /// It is clear up to here.
    at: usize,
}

struct Ahead {
    table: Table,
    /// From this block on its memory is not yet there. `None`: it is.
    next: Option<usize>,
}

/// So often a call looks for a table while others have their hands on the stock. Nobody waits for a thread that has stalled.
const LOOKS: usize = 100;

/// For thousands of small tables: when events are replayed, many generations may come and go while one call stalls.
const RESERVE: u64 = 64 << 20;

/// Tables that are kept for later.
const SPARE: usize = 2;

/// Rows that are looked at to find out how many are taken: 3 % off.
const SAMPLE: u64 = 1024;

impl Stock {
    /// With a first table, or `None` if there is no memory for it. So many go round. `most`: as many bytes as there may be; then sizes
    /// follow from what was needed last.
    pub(super) fn new(least: Size, in_turn: u64, most: Option<u64>) -> Option<Stock> {
        let reserve = most.map_or(RESERVE, |most| RESERVE.min(most / 8));
        // More than it takes: what has left comes back some calls later, or when a call ends that has stalled.
        let tables = in_turn.saturating_mul(4).saturating_add(4);
        let all = least.bytes().saturating_mul(tables).saturating_add(reserve);
        let (vary, budget) = (most.is_some(), Budget::new(most.unwrap_or(all)));
        let (first, closed) = (Table::new(least, &budget)?, Arc::new(Table::closed(least.lines)?));
        let inside = Inside { used: Vec::new(), clean: vec![Arc::new(first)] };
        Some(Stock {
            least,
            vary,
            in_turn,
            budget,
            reserve,
            inside: Tried::new(inside),
            ahead: Tried::default(),
            closed,
            work: Switch::default(),
            counts: Counts::default(),
        })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.budget.used()
    }

    /// What a table has at least.
    pub(super) fn least(&self) -> Size {
        self.least
    }

    /// The table of a generation for which there is no memory.
    pub(super) fn closed(&self) -> &Arc<Table> {
        &self.closed
    }

    pub(super) fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// A table for a generation, after one with this.
    pub(super) fn take(&self, last: Option<&Table>) -> Arc<Table> {
        self.counts.opened.add(1);
        let size = self.next_size(last);
        for _ in 0..LOOKS {
            match self.inside.with(|inside| self.take_from(inside, size)) {
                Some(Some(table)) => return table,
                Some(None) => break,
                None => crate::sync::retry(),
            }
        }
        self.fresh(size).unwrap_or_else(|| self.stopgap(last))
    }

    fn take_from(&self, inside: &mut Inside, size: Size) -> Option<Arc<Table>> {
        // What has become too small or far too large goes back to the system.
        inside.clean.retain(|table| (size.rows..=size.rows.saturating_mul(4)).contains(&table.size().rows));
        if let Some(table) = inside.clean.pop() {
            return Some(table);
        }
        if let Some(Some(Ahead { table, .. })) = self.ahead.with(Option::take)
            && table.size() == size
        {
            return Some(Arc::new(table));
        }
        if self.to_be_had() < size.bytes() {
            // There is no time to clear them: they may as well be new.
            inside.used.retain(|used| !used.ended.is_raised());
        }
        self.fresh(size)
    }

    /// Bytes that there may be for whole tables: a part is kept for those that stand in for them.
    fn to_be_had(&self) -> u64 {
        self.budget.left().saturating_sub(self.reserve)
    }

    /// As large as there is memory for.
    fn fresh(&self, size: Size) -> Option<Arc<Table>> {
        let sizes =
            size.and_smaller().filter(|size| size.bytes() <= self.to_be_had() && !self.is_stopgap(*size));
        { sizes }.find_map(|size| Table::new(size, &self.budget)).map(Arc::new)
    }

    /// For when calls that stall hold back what has left: a small one, with others behind it as need be.
    #[cold]
    fn stopgap(&self, last: Option<&Table>) -> Arc<Table> {
        let keys = last.map_or(0, |last| 2 * self.taken(last)).min(self.least.keys() / 64);
        let size = Size::for_keys(self.least.lines, keys);
        let table = Table::new(size, &self.budget).or_else(|| Table::small(size.lines));
        table.map_or_else(|| self.closed.clone(), Arc::new)
    }

    fn is_stopgap(&self, size: Size) -> bool {
        size.rows < self.least.rows
    }

    /// Rows of a generation, about.
    fn taken(&self, table: &Table) -> u64 {
        let guard = epoch::pin();
        table.chain(&guard).map(|table| table.taken(SAMPLE)).sum()
    }

    /// How large the next table is to be.
    fn next_size(&self, last: Option<&Table>) -> Size {
        let Some(last) = last.filter(|_| self.vary) else { return self.least };
        let taken = self.taken(last);
        // A quarter more than it would be made for.
        let want = Size::for_keys(self.least.lines, taken + taken / 4).rows;
        let had = last.size().rows;
        let rows = if want <= had && had / 4 < want { had } else { want };
        Size { rows: rows.max(self.least.rows), ..self.least }
    }

    /// Nobody has seen it.
    pub(super) fn give_back(&self, table: Arc<Table>) {
        self.inside.with(|inside| inside.clean.push(table));
    }

    /// Calls under way may still use it.
    pub(super) fn left(&self, table: &Arc<Table>) {
        let guard = epoch::pin();
        if !table.is_alone(&guard) || self.is_stopgap(table.size()) {
            return;
        }
        drop(guard);
        // (Who finds it locked lets the table go: it is freed through the epoch.)
        self.inside.with(|inside| {
            let ended = epoch::when_all_ended();
            #[cfg(windlass_loom)]
            let ended = if twin!(ClearAtOnce) { Flagpole::raised() } else { ended };
            inside.used.push(Used { ended, table: table.clone(), at: 0 });
            self.work.set(true);
        });
    }

    /// Clears up to `budget` blocks. Whether there is more that can be done now.
    fn clear(&self, budget: usize) -> bool {
        let mut left = budget;
        let more = self.inside.with(|inside| {
            while let Some(at) = inside.used.iter().position(|used| used.ended.is_raised()) {
                let used = &mut inside.used[at];
                match used.table.clear(used.at, &mut left) {
                    Some(at) => {
                        used.at = at;
                        break;
                    }
                    None => {
                        let Used { table, .. } = inside.used.swap_remove(at);
                        if inside.clean.len() < SPARE {
                            inside.clean.push(table);
                        }
                        self.counts.recycled.add(1);
                    }
                }
            }
            if inside.used.is_empty() {
                self.work.set(false);
            }
            inside.used.iter().any(|used| used.ended.is_raised())
        });
        self.counts.cleared.add((budget - left) as u64);
        more.unwrap_or(false)
    }

    /// Upkeep. `newest`: the table in use, or none: nothing is live, so what is in stock goes back to the system.
    pub(super) fn maintain(&self, budget: usize, newest: Option<&Table>) -> bool {
        let Some(newest) = newest else {
            self.inside.with(|inside| {
                inside.clean.clear();
                inside.used.clear();
                self.work.set(false);
            });
            self.ahead.with(Option::take);
            return false;
        };
        let mut left = budget;
        while left > 0 && self.work.get() {
            // One hold of the lock is short.
            let part = left.min(HOLD);
            if !self.clear(part) {
                return false;
            }
            left -= part;
        }
        self.work.get() && left == 0 || self.make_ready(newest, left)
    }

    /// If no table is in stock for the next generation, and none comes back: makes one, and takes up to `budget` blocks of it from the system. So the first
    /// calls of that generation do not wait for them. Whether there is more to do.
    ///
    /// (Not in models: what it makes goes through a lock, and is seen by nobody before.)
    fn make_ready(&self, newest: &Table, mut budget: usize) -> bool {
        let none = || self.inside.with(|inside| inside.clean.is_empty() && inside.used.is_empty());
        if cfg!(windlass_loom) || budget == 0 || none() != Some(true) {
            return false;
        }
        let more = self.ahead.with(|ahead| {
            if ahead.is_none() {
                let size = self.next_size(Some(newest));
                let all = self.budget.used().saturating_add(size.bytes());
                if all > size.bytes().saturating_mul(self.in_turn) || self.to_be_had() < size.bytes() {
                    return false;
                }
                *ahead = Table::new(size, &self.budget).map(|table| Ahead { table, next: Some(0) });
            }
            let Some(Ahead { table, next }) = ahead else { return false };
            *next = next.and_then(|from| table.touch_ahead(from, &mut budget));
            next.is_some()
        });
        more.unwrap_or(false)
    }
}

/// Blocks: about 10 microseconds.
const HOLD: usize = 64;

impl Shop for Stock {
    #[inline]
    fn taken(&self) {
        if self.work.get() {
            self.clear(1);
        }
    }

    fn further(&self, full: Size) -> Option<Table> {
        let stopgap = self.is_stopgap(full);
        if !self.vary && !stopgap {
            return None;
        }
        let size = Size { rows: full.rows.saturating_mul(2).max(LEAST), ..full };
        // Something is left for the next generation.
        let fits = |size: &Size| stopgap || size.bytes() <= self.budget.left() / 2;
        let table = size.and_smaller().filter(fits).find_map(|size| Table::new(size, &self.budget))?;
        self.counts.further.add(1);
        Some(table)
    }
}
