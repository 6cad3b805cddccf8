//! What counts: generations of rows, with totals.

use super::{
    Added, CounterStats,
    stock::Stock,
    table::{HEADER, Row, Size, Table, prefetch_row},
    totals::Totals,
};
use crate::{
    hash::KeyHash,
    mem::{Line, WORDS},
    pane::{Generations, Keep, Missed, Place, Spans},
    sync::{
        AtomicPtr, AtomicU64, Counter,
        Ordering::Relaxed,
        epoch::{self, Guard},
        saturating,
    },
};
use std::{ops::Range, sync::Arc};

/// What a structure on top of this keeps for each generation. It goes with it.
pub(crate) trait Extra: Send + Sync + 'static {
    /// What they have in common.
    type Means: Send + Sync;

    /// For a generation of so many panes that begins with this one.
    fn open(means: &Self::Means, first: u64, panes: usize) -> Self;

    /// Its generation has left. Calls under way may still use it.
    fn left(&self, means: &Self::Means);
}

impl Extra for () {
    type Means = ();

    fn open((): &(), _: u64, _: usize) -> Self {}

    fn left(&self, (): &()) {}
}

pub(crate) struct Generation<X> {
    pub(crate) table: Arc<Table>,
    totals: Totals,
    pub(crate) extra: X,
}

pub(crate) struct Core<X: Extra> {
    pub(super) time: Generations<Generation<X>>,
    pub(super) stock: Stock,
    /// Of a row.
    lines: usize,
    /// The rows of the table that was opened last, and how many they are: where to ask for memory before more is known. Relaxed, and they
    /// need not belong together.
    hint: (AtomicPtr<Line>, AtomicU64),
    pub(super) counts: Counts,
    pub(crate) means: X::Means,
}

#[derive(Default)]
pub(super) struct Counts {
    pub(super) late: Counter,
    pub(super) refused: Counter,
    pub(super) jumps: Counter,
    pub(super) saturated: Counter,
}

impl<X> Generation<X> {
    pub(super) fn new(table: Arc<Table>, panes: usize, extra: X) -> Generation<X> {
        Generation { table, totals: Totals::new(panes), extra }
    }

    pub(super) fn total(&self, pane: usize) -> u64 {
        self.totals.sum(pane..pane + 1)
    }

    pub(super) fn add_to_total(&self, pane: usize, n: u64) {
        self.totals.add(pane, n);
    }
}

impl<X: Extra> Core<X> {
    pub(super) fn new(spans: Spans, size: Size, stock: Stock, means: X::Means) -> Core<X> {
        Core {
            time: Generations::new(spans),
            stock,
            lines: size.lines,
            hint: (AtomicPtr::new(std::ptr::null_mut()), AtomicU64::new(1)),
            counts: Counts::default(),
            means,
        }
    }

    /// Asks for the row of a key that will soon be added to.
    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: KeyHash) {
        let (rows, n) = (self.hint.0.load(Relaxed), self.hint.1.load(Relaxed));
        prefetch_row(rows, Size { lines: self.lines, rows: n }, hash, WORDS - HEADER);
    }

    /// Changes when a generation is opened.
    #[inline(always)]
    pub(crate) fn opened_last(&self) -> *mut Line {
        self.hint.0.load(Relaxed)
    }

    /// Adds `n` to a key's count at `now`, and to the total. What was counted of it in that pane before.
    #[inline(always)]
    pub(crate) fn add<'g>(&'g self, hash: KeyHash, n: u64, now: u64, guard: &'g Guard) -> Result<u64, Added> {
        let place = self.enter(now, guard)?;
        // While the row is on its way.
        self.add_to_total(&place, n);
        self.add_to(&place, hash, n, guard)
    }

    /// The same for one of several: what it adds to the total is kept in `sums` for a while.
    #[inline(always)]
    pub(super) fn add_summed<'g>(
        &'g self,
        hash: KeyHash,
        n: u64,
        now: u64,
        sums: &mut Sums<'g, X>,
        guard: &'g Guard,
    ) -> Result<u64, Added> {
        let place = self.enter(now, guard)?;
        sums.add(&place, n);
        self.add_to(&place, hash, n, guard)
    }

    pub(crate) fn sums(&self) -> Sums<'_, X> {
        Sums { core: self, of: None, sum: 0 }
    }

    #[inline(always)]
    pub(crate) fn enter<'g>(&'g self, now: u64, guard: &'g Guard) -> Result<Place<'g, Generation<X>>, Added> {
        self.time.enter(now, guard, self).map_err(|missed| self.miss(missed))
    }

    #[inline(always)]
    pub(super) fn add_to<'g>(
        &'g self,
        place: &Place<'g, Generation<X>>,
        hash: KeyHash,
        n: u64,
        guard: &'g Guard,
    ) -> Result<u64, Added> {
        let Some(row) = self.claim(place, hash, guard) else { return Err(self.refuse()) };
        Ok(self.add_to_row(row, place.cell, n))
    }

    #[inline(always)]
    pub(crate) fn add_to_total(&self, place: &Place<'_, Generation<X>>, n: u64) {
        if place.generation.totals.add(place.cell, n) {
            self.counts.saturated.add(1);
        }
    }

    /// A key's row, if there is one or room for one.
    #[inline(always)]
    pub(crate) fn claim<'g>(
        &'g self,
        place: &Place<'g, Generation<X>>,
        hash: KeyHash,
        guard: &'g Guard,
    ) -> Option<Row<'g>> {
        place.generation.table.claim(hash, guard, &self.stock)
    }

    /// What was counted there before. (Of all adds to a cell one alone finds that.)
    #[inline(always)]
    pub(crate) fn add_to_row(&self, row: Row<'_>, pane: usize, n: u64) -> u64 {
        let cell = row.cell(pane);
        let before = saturating::add(cell, n);
        if saturating::is_saturated(before, n) {
            saturating::hold(cell);
            self.counts.saturated.add(1);
        }
        before
    }

    #[cold]
    #[inline(never)]
    fn miss(&self, missed: Missed) -> Added {
        let (count, answer) = match missed {
            Missed::Late => (&self.counts.late, Added::Late),
            Missed::Jump => (&self.counts.jumps, Added::Jump),
        };
        count.add(1);
        answer
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn refuse(&self) -> Added {
        self.counts.refused.add(1);
        Added::NoRoom
    }

    /// A key's count in these panes.
    #[inline(always)]
    pub(crate) fn count(&self, hash: KeyHash, panes: Range<u64>, guard: &Guard) -> u64 {
        // All rows are on their way before the first is looked at.
        self.prefetch_all(hash, panes.clone(), guard);
        self.count_fetched(hash, panes, guard)
    }

    /// Asks for a key's rows.
    #[inline(always)]
    pub(crate) fn prefetch_all(&self, hash: KeyHash, panes: Range<u64>, guard: &Guard) {
        self.time
            .with(panes, guard)
            .for_each(|(generation, _, cells)| generation.table.prefetch(hash, cells.start));
    }

    /// The generations with panes of these, the first of those, and which of theirs.
    pub(crate) fn parts<'g>(
        &'g self,
        panes: Range<u64>,
        guard: &'g Guard,
    ) -> impl Iterator<Item = (&'g Generation<X>, u64, Range<usize>)> + Clone {
        self.time.with(panes, guard)
    }

    /// Whether what was counted in this pane, and those after it, is still kept.
    pub(crate) fn keeps(&self, pane: u64) -> bool {
        self.time.keeps(pane)
    }

    /// See [`super::WindowedCounter::maintain_at`].
    pub(crate) fn maintain(&self, now: u64, budget: usize) -> bool {
        let guard = epoch::pin();
        let live = self.time.maintain(now, &guard, self);
        let newest = self.time.all(&guard).next_back().filter(|_| live);
        let table = newest.map(|newest| newest.table.clone());
        // What it keeps from coming back is what is to be cleared.
        drop(guard);
        self.stock.maintain(budget, table.as_deref())
    }

    /// Of a row.
    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    /// Bytes of all tables.
    pub(crate) fn bytes(&self) -> u64 {
        self.stock.bytes()
    }

    #[inline(always)]
    pub(crate) fn count_fetched(&self, hash: KeyHash, panes: Range<u64>, guard: &Guard) -> u64 {
        saturating::sum(self.time.with(panes, guard).map(|(generation, _, cells)| {
            generation.table.find(hash, guard).map_or(0, |row| saturating::sum(row.counts(cells)))
        }))
    }

    pub(crate) fn total(&self, panes: Range<u64>, guard: &Guard) -> u64 {
        saturating::sum(
            self.time.with(panes, guard).map(|(generation, _, cells)| generation.totals.sum(cells)),
        )
    }
}

/// What several adds in one pane have added to the total. It is put there at the latest when this is dropped.
pub(crate) struct Sums<'g, X: Extra> {
    core: &'g Core<X>,
    of: Option<(&'g Generation<X>, usize)>,
    sum: u64,
}

impl<'g, X: Extra> Sums<'g, X> {
    #[inline(always)]
    pub(crate) fn add(&mut self, place: &Place<'g, Generation<X>>, n: u64) {
        if !self.of.is_some_and(|(of, cell)| std::ptr::eq(of, place.generation) && cell == place.cell) {
            self.put();
            self.of = Some((place.generation, place.cell));
        }
        self.sum = self.sum.saturating_add(n);
    }

    fn put(&mut self) {
        if let Some((generation, cell)) = self.of
            && generation.totals.add(cell, std::mem::take(&mut self.sum))
        {
            self.core.counts.saturated.add(1);
        }
    }
}

impl<X: Extra> Drop for Sums<'_, X> {
    fn drop(&mut self) {
        self.put();
    }
}

impl<X: Extra> Keep<Generation<X>> for Core<X> {
    fn open(&self, first: u64, last: Option<&Generation<X>>) -> Generation<X> {
        let table = self.stock.take(last.map(|last| &*last.table));
        self.hint.0.store(table.address(), Relaxed);
        self.hint.1.store(table.size().rows, Relaxed);
        let cells = Size::cells(self.lines);
        Generation::new(table, cells, X::open(&self.means, first, cells))
    }

    fn unused(&self, generation: Generation<X>) {
        self.stock.give_back(generation.table);
    }

    fn left(&self, generation: Arc<Generation<X>>) {
        self.stock.left(&generation.table);
        generation.extra.left(&self.means);
    }
}

/// Rows that are looked at in each generation.
const SAMPLE: u64 = 2048;

impl<X: Extra> Core<X> {
    pub(crate) fn stats(&self) -> CounterStats {
        let guard = epoch::pin();
        let mut stats = CounterStats::default();
        for generation in self.time.all(&guard) {
            let taken = generation.table.chain(&guard).map(|table| table.taken(SAMPLE));
            (stats.newest_rows, stats.tables) =
                taken.fold((0, stats.tables), |(rows, tables), taken| (rows + taken, tables + 1));
            stats.rows += stats.newest_rows;
            stats.generations += 1;
            stats.capacity = generation.table.size().keys();
        }
        CounterStats {
            active_pane: self.time.newest().unwrap_or(0),
            memory_bytes: self.stock.bytes(),
            opened: self.stock.counts.opened.sum(),
            recycled: self.stock.counts.recycled.sum(),
            grown: self.stock.counts.further.sum(),
            late: self.counts.late.sum(),
            refused: self.counts.refused.sum(),
            jumps: self.counts.jumps.sum(),
            saturated: self.counts.saturated.sum(),
            ..stats
        }
    }
}
