//! What a pane has, and where its memory comes from and goes to: as many tables as there may be go round.

use super::{
    names::Names,
    plan::Plan,
    sketch::{LINE, Sketch},
    slots::Slots,
};
use crate::{
    hash::KeyHash,
    sync::{
        AnyWide, AtomicU64, Budget, Counter, Flagpole, Ordering::Relaxed, Switch, Tried, epoch, saturating,
        shard, with_wide,
    },
};
use std::sync::Arc;

/// Words from one thread's part of a total to the next: a cache line.
const STRIDE: usize = 8;

pub(super) struct Tables {
    pub(super) slots: Slots,
    pub(super) sketch: Sketch,
    pub(super) names: Names,
    totals: Box<[AtomicU64]>,
}

/// A pane that is live. Tables may be missing, since calls that stall hold back those that have left: then its adds are known as a sum alone.
pub(super) struct Pane {
    pub(super) tables: Option<Arc<Tables>>,
    pub(super) first: u64,
    unkept: AtomicU64,
}

impl Tables {
    pub(super) fn new(plan: &Plan, budget: &Arc<Budget>) -> Option<Tables> {
        Some(Tables {
            slots: Slots::new(plan.buckets, budget)?,
            sketch: Sketch::new(plan.lines, budget)?,
            names: Names::new(plan.names, budget)?,
            totals: (0..plan.parts * STRIDE).map(|_| AtomicU64::new(0)).collect(),
        })
    }

    pub(super) fn add_to_total(&self, n: u64) {
        // (As many parts as a power of two.)
        saturating::add_and_hold(&self.totals[(shard() * STRIDE) & (self.totals.len() - 1)], n);
    }

    /// Relaxed: it is added to before a slot is (by a batch: before that ends), so whoever has acquired the slot finds it here.
    pub(super) fn total(&self) -> u64 {
        saturating::sum(self.totals.iter().map(|total| total.load(Relaxed)))
    }

    /// For one thread, when no other uses it: clears up to `budget` KiB from here on. Whether it is all clear.
    fn clear(&self, wide: AnyWide, at: &mut Cleared, budget: &mut usize) -> bool {
        while *budget > 0 {
            *budget -= 1;
            if let Some(from) = at.slots {
                at.slots = with_wide!(wide, wide => self.slots.clear(wide, from, 1024 / 16));
            } else if let Some(from) = at.sketch {
                at.sketch = self.sketch.clear(from, 1024 / 64 * LINE);
            } else {
                self.totals.iter().for_each(|total| total.store(0, Relaxed));
                self.names.clear();
                return true;
            }
        }
        false
    }
}

impl Pane {
    /// Known as a sum alone.
    pub(super) fn without(first: u64) -> Pane {
        Pane { tables: None, first, unkept: AtomicU64::new(0) }
    }

    pub(super) fn total(&self) -> u64 {
        self.tables.as_ref().map_or_else(|| self.unkept.load(Relaxed), |tables| tables.total())
    }

    /// Relaxed, here and in `total`: a count.
    pub(super) fn unkept(&self) -> u64 {
        self.unkept.load(Relaxed)
    }

    /// Counts what is known as a sum alone.
    #[cold]
    pub(super) fn add_unkept(&self, n: u64) {
        saturating::add_and_hold(&self.unkept, n);
    }
}

/// How far tables are cleared.
struct Cleared {
    slots: Option<usize>,
    sketch: Option<usize>,
}

impl Default for Cleared {
    fn default() -> Cleared {
        Cleared { slots: Some(0), sketch: Some(0) }
    }
}

pub(super) struct Pool {
    plan: Plan,
    budget: Arc<Budget>,
    wide: AnyWide,
    inside: Tried<Inside>,
    work: Switch,
    pub(super) opened: Counter,
    pub(super) recycled: Counter,
    pub(super) without: Counter,
}

#[derive(Default)]
struct Inside {
    /// In use, and of which pane: of several threads that open one all get the same.
    live: Vec<(u64, Arc<Tables>)>,
    used: Vec<Used>,
    clean: Vec<Arc<Tables>>,
}

struct Used {
    /// All calls have ended that may use it.
    ended: Flagpole,
    tables: Arc<Tables>,
    at: Cleared,
}

/// So often a call looks for tables while another has its hands on them. Nobody waits for a thread that has stalled.
const LOOKS: usize = if cfg!(windlass_loom) { 1 } else { 1000 };

impl Pool {
    /// With first tables, or `None` if there is no memory for them.
    pub(super) fn new(plan: Plan) -> Option<Pool> {
        let budget = Budget::new(plan.arrays().saturating_mul(plan.tables));
        let first = Arc::new(Tables::new(&plan, &budget)?);
        let inside = Inside { clean: vec![first], ..Inside::default() };
        Some(Pool {
            plan,
            budget,
            wide: AnyWide::detect(),
            inside: Tried::new(inside),
            work: Switch::default(),
            opened: Counter::default(),
            recycled: Counter::default(),
            without: Counter::default(),
        })
    }

    pub(super) fn wide(&self) -> AnyWide {
        self.wide
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Bytes of all tables that were made.
    pub(super) fn bytes(&self) -> u64 {
        let made = self.budget.used() / self.plan.arrays().max(1);
        made.saturating_mul(self.plan.bytes())
    }

    pub(super) fn open(&self, first: u64) -> Pane {
        self.opened.add(1);
        epoch::collect();
        let mut tables = None;
        for _ in 0..LOOKS {
            if let Some(found) = self.inside.with(|inside| self.take(inside, first)) {
                tables = found;
                break;
            }
            crate::sync::retry();
        }
        if tables.is_none() {
            self.without.add(1);
        }
        Pane { tables, first, unkept: AtomicU64::new(0) }
    }

    /// Whether a pane that is opened now finds tables. (Who finds them locked does not know, and says no.)
    pub(super) fn is_ready(&self) -> bool {
        let ready = |inside: &mut Inside| {
            !inside.clean.is_empty()
                || self.budget.left() >= self.plan.arrays()
                || inside.used.iter().any(|used| used.ended.is_raised())
        };
        self.inside.with(ready).unwrap_or(false)
    }

    fn take(&self, inside: &mut Inside, first: u64) -> Option<Arc<Tables>> {
        if let Some((_, tables)) = inside.live.iter().find(|live| live.0 == first) {
            return Some(tables.clone());
        }
        // Opened, and too late to be listed.
        let forgotten = |live: &(u64, Arc<Tables>)| live.0.saturating_add(self.plan.tables) < first;
        while self.retire(inside, forgotten) {}
        let mut tables = inside.clean.pop();
        if tables.is_none() && self.budget.left() >= self.plan.arrays() {
            tables = Tables::new(&self.plan, &self.budget).map(Arc::new);
        }
        if tables.is_none() {
            // There is no time to do it bit by bit.
            let mut all = usize::MAX;
            self.clear_some(inside, &mut all);
            tables = inside.clean.pop();
        }
        let tables = tables?;
        inside.live.push((first, tables.clone()));
        Some(tables)
    }

    /// Calls under way may still use it.
    pub(super) fn left(&self, pane: &Pane) {
        // (Who finds it locked leaves that to `take`.)
        self.inside.with(|inside| self.retire(inside, |live| live.0 == pane.first));
    }

    /// Takes one of these out of use, to be cleared when all calls have ended that may use it. Whether there was one.
    fn retire(&self, inside: &mut Inside, which: impl Fn(&(u64, Arc<Tables>)) -> bool) -> bool {
        let Some(at) = inside.live.iter().position(which) else { return false };
        let (_, tables) = inside.live.swap_remove(at);
        inside.used.push(Used { ended: epoch::when_all_ended(), tables, at: Cleared::default() });
        self.work.set(true);
        true
    }

    fn clear_some(&self, inside: &mut Inside, budget: &mut usize) {
        while let Some(at) = inside.used.iter().position(|used| used.ended.is_raised()) {
            let used = &mut inside.used[at];
            if !used.tables.clear(self.wide, &mut used.at, budget) {
                return;
            }
            let Used { tables, .. } = inside.used.swap_remove(at);
            inside.clean.push(tables);
            self.recycled.add(1);
            if inside.used.is_empty() {
                self.work.set(false);
            }
        }
    }

    /// Clears up to `budget` KiB. Whether there is more that can be done now.
    pub(super) fn clear(&self, mut budget: usize) -> bool {
        let more = self.inside.with(|inside| {
            self.clear_some(inside, &mut budget);
            inside.used.iter().any(|used| used.ended.is_raised())
        });
        more.unwrap_or(false)
    }

    /// A call's share of it.
    #[inline(always)]
    pub(super) fn help(&self) {
        if self.work.get() {
            self.clear(1);
        }
    }

    /// Nothing is live: gives all back to the system.
    pub(super) fn empty(&self) {
        self.inside.with(|inside| {
            inside.clean.clear();
            // (Calls that stall may still use some: those are freed with the last that has them.)
            inside.used.clear();
            self.work.set(false);
        });
    }
}

impl Pane {
    /// Asks for a key's memory.
    #[inline(always)]
    pub(super) fn prefetch(&self, hash: KeyHash) {
        if let Some(tables) = &self.tables {
            tables.slots.prefetch(hash.hi);
            tables.sketch.prefetch(hash.lo);
        }
    }
}
