//! The rows of one generation: one for each key, with a cell for each pane.
//!
//! ```text
//! +-------------+------+--------+--------+-- -- --+
//! | fingerprint | note | pane 0 | pane 1 |  ..    |   8, 16 or 32 words
//! +-------------+------+--------+--------+-- -- --+
//! ```
//! Rows are only ever taken, never given back as long as the table lives. So a key takes the *first empty* row of its neighbourhood, by a CAS of the
//! fingerprint from 0, and whoever loses that CAS sees whose row it is now: all agree on one row for a key (twin `PassOver`). A
//! neighbourhood that is full stays full, so its keys go to the *outer* rows, an 8th as many, and from there to a further table, if there may be one, which
//! is linked by one CAS (twin `LinkTwice`). A cell belongs to one pane for as long as the table lives: an add is one `fetch_add`.
//!
//! Everything here is Relaxed, but for what snapshots need (`saved`): a table comes and goes by the directory of generations; and of what one thread did and another sees afterwards
//! nothing is asked but that it sees each word no older than it was, which any atomic promises. What is published along with a row's note
//! is the business of who does that.

use super::marks::Marks;
use crate::{
    hash::{KeyHash, mix},
    mem::{Line, Slab, WORDS},
    pane::below,
    sync::{
        AtomicU64, Budget,
        Ordering::{Acquire, Relaxed, Release},
        epoch::{self, Guard, Link},
        prefetch, prefetch_to_write, twin,
    },
};
use std::{ops::Range, sync::Arc};

/// Rows in a neighbourhood.
const NEAR: u64 = if cfg!(windlass_loom) { 2 } else { 16 };

/// Words of a row that are not cells.
pub(super) const HEADER: usize = 2;
const FINGERPRINT: usize = 0;
const NOTE: usize = 1;

/// Lines that are cleared together.
const BLOCK: usize = if cfg!(windlass_loom) { 1 } else { 16 };

/// Of how many keys a table is made for a table has rows: 5 for 3. (Then 2 in 1000 keys have an outer row, and of twice as many
/// keys there would be room for nearly all.)
const ROWS_FOR_KEYS: (u64, u64) = (5, 3);

/// How many lines there are to a row, and rows in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// 1, 2 or 4.
    pub(super) lines: usize,
    /// 0: next to none, since there was no memory.
    pub(super) rows: u64,
}

impl Size {
    /// For so many keys.
    pub(super) fn for_keys(lines: usize, keys: u64) -> Size {
        let rows = u128::from(keys) * u128::from(ROWS_FOR_KEYS.0) / u128::from(ROWS_FOR_KEYS.1);
        Size { lines, rows: u64::try_from(rows).unwrap_or(u64::MAX).clamp(LEAST, u64::MAX >> 16) }
    }

    /// Keys that it is meant for.
    pub(super) fn keys(self) -> u64 {
        self.rows / ROWS_FOR_KEYS.0 * ROWS_FOR_KEYS.1
    }

    /// This one, half of it, and so on.
    pub(super) fn and_smaller(self) -> impl Iterator<Item = Size> {
        std::iter::successors(Some(self), |size| {
            (size.rows > LEAST).then(|| Size { rows: (size.rows / 2).max(LEAST), ..*size })
        })
    }

    /// Panes of a row.
    pub(super) fn cells(lines: usize) -> usize {
        lines * WORDS - HEADER
    }

    fn outer(self) -> u64 {
        self.rows.div_ceil(8)
    }

    /// The last one is for the key whose fingerprint is 0. And no neighbourhood wraps around.
    fn all(self) -> u64 {
        self.rows + NEAR - 1 + self.outer() + NEAR - 1 + 1
    }

    pub(super) fn bytes(self) -> u64 {
        self.all().saturating_mul((self.lines * WORDS * size_of::<AtomicU64>()) as u64)
    }
}

/// Rows of the smallest table.
pub(super) const LEAST: u64 = if cfg!(windlass_loom) { 1 } else { 64 };

pub(crate) struct Table {
    lines: Slab<Line>,
    size: Size,
    /// Whether keys may have rows here.
    open: bool,
    /// A bit for each block in which a row has been taken.
    touched: Box<[AtomicU64]>,
    /// Where keys go for which there is no row here.
    further: Link<Table>,
    /// Rows that a structure on top wants to find again.
    marks: Link<Marks>,
}

/// A key's row.
#[derive(Clone, Copy)]
pub(crate) struct Row<'t>(&'t [AtomicU64]);

impl<'t> Row<'t> {
    #[inline(always)]
    pub(crate) fn fingerprint(self) -> u64 {
        self.0[FINGERPRINT].load(Relaxed)
    }

    /// .. for whoever wants to see those that were taken before it as well. Acquire; pairs with the release in `take`. Model:
    /// loom-tests/tests/count.rs.
    pub(super) fn fingerprint_whole(self) -> u64 {
        self.0[FINGERPRINT].load(if twin!(RelaxedRow) { Relaxed } else { Acquire })
    }

    /// Nothing has been put there.
    pub(super) fn is_clear(self) -> bool {
        self.0.iter().all(|word| word.load(Relaxed) == 0)
    }

    /// (That of the key with the fingerprint 0 never looks it.)
    pub(super) fn is_taken(self) -> bool {
        self.fingerprint() != 0
    }

    /// For a structure on top. 0 to begin with.
    #[inline(always)]
    pub(crate) fn note(self) -> &'t AtomicU64 {
        &self.0[NOTE]
    }

    #[inline(always)]
    pub(crate) fn cell(self, pane: usize) -> &'t AtomicU64 {
        &self.0[HEADER + pane]
    }

    #[inline(always)]
    pub(crate) fn counts(self, panes: Range<usize>) -> impl Iterator<Item = u64> + 't {
        self.0[HEADER + panes.start..HEADER + panes.end].iter().map(|cell| cell.load(Relaxed))
    }
}

/// Where a key's row is.
enum Found<'t> {
    Row(Row<'t>),
    /// There is none, and this is where it would be.
    Empty(u64),
    /// There is none, and no room for one.
    Full,
}

impl Table {
    /// `None`: there may not be so much memory.
    pub(super) fn new(size: Size, budget: &Arc<Budget>) -> Option<Table> {
        let lines = usize::try_from(size.all()).ok()?.checked_mul(size.lines)?;
        // First what is in the budget: what is restored may ask for any size.
        let slab = Slab::new(lines, budget)?;
        let mut touched = Vec::new();
        touched.try_reserve_exact(lines.div_ceil(BLOCK * 64)).ok()?;
        touched.extend((0..lines.div_ceil(BLOCK * 64)).map(|_| AtomicU64::new(0)));
        Some(Table {
            lines: slab,
            size,
            open: true,
            touched: touched.into(),
            further: Link::none(),
            marks: Link::none(),
        })
    }

    /// A small one, with hardly a row, for when there may be no memory. `None`: there is none at all.
    pub(super) fn small(lines: usize) -> Option<Table> {
        Table::new(Size { lines, rows: 0 }, &Budget::new(u64::MAX))
    }

    /// One that has no room for any key, for when there is no memory: it is never written to.
    pub(super) fn closed(lines: usize) -> Option<Table> {
        Some(Table { open: false, ..Table::small(lines)? })
    }

    pub(super) fn size(&self) -> Size {
        self.size
    }

    /// Whether keys may have rows here.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Its rows.
    pub(super) fn all(&self) -> u64 {
        self.size.all()
    }

    /// Takes a row as it was taken in another of the same size, which nobody has seen.
    pub(super) fn put_row(&self, at: u64, lo: u64) -> Row<'_> {
        let row = self.row(at);
        row.0[FINGERPRINT].store(lo, Relaxed);
        self.touch(at);
        row
    }

    /// Goes on with this one.
    pub(super) fn link(&mut self, further: Table) {
        self.further = Link::new(further);
    }

    /// Takes up to so many blocks from the system ahead of their use, from block `from` on. Where to go on, or `None` if it has all.
    pub(super) fn touch_ahead(&mut self, from: usize, budget: &mut usize) -> Option<usize> {
        let blocks = self.lines.len().div_ceil(BLOCK);
        let to = from.saturating_add(*budget).min(blocks);
        self.lines.touch(from * BLOCK..to * BLOCK);
        *budget -= to - from;
        (to < blocks).then_some(to)
    }

    /// Where its rows begin, for [`prefetch_row`].
    pub(super) fn address(&self) -> *mut Line {
        self.lines.as_ptr().cast_mut()
    }

    #[inline(always)]
    pub(super) fn row(&self, row: u64) -> Row<'_> {
        let words = self.size.lines * WORDS;
        #[allow(clippy::cast_possible_truncation)] // it was allocated
        Row(&self.lines.words()[row as usize * words..][..words])
    }

    /// Asks for the line with a key's fingerprint, and for that with the cell.
    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: KeyHash, cell: usize) {
        let first = first_line(self.lines.as_ptr(), self.size, hash);
        prefetch(first);
        if self.size.lines > 1 {
            prefetch(first.wrapping_add((HEADER + cell) / WORDS));
        }
    }

    /// The key's row, if it has one.
    #[inline(always)]
    pub(crate) fn find<'g>(&'g self, hash: KeyHash, guard: &'g Guard) -> Option<Row<'g>> {
        let home = self.home(hash);
        let row = self.row(home);
        if row.fingerprint() == hash.lo && hash.lo != 0 {
            return Some(row);
        }
        self.find_further(hash, home, guard)
    }

    #[inline(never)]
    fn find_further<'g>(&'g self, hash: KeyHash, home: u64, guard: &'g Guard) -> Option<Row<'g>> {
        if !self.open {
            return None;
        }
        if hash.lo == 0 {
            return Some(self.of_zero());
        }
        for first in [home, self.outside(hash)] {
            match self.look(hash.lo, first..first + NEAR) {
                Found::Row(row) => return Some(row),
                Found::Empty(_) => return None,
                Found::Full => {}
            }
        }
        self.further.get(guard)?.find(elsewhere(hash), guard)
    }

    /// The key's row: the one that it has, or takes now. `None`: there is no room, and `more` gives no further table.
    #[inline(always)]
    pub(crate) fn claim<'g>(&'g self, hash: KeyHash, guard: &'g Guard, shop: &impl Shop) -> Option<Row<'g>> {
        // Most keys have the first row they look at.
        let home = self.home(hash);
        let row = self.row(home);
        if row.fingerprint() == hash.lo && hash.lo != 0 {
            return Some(row);
        }
        self.claim_further(hash, home, guard, shop)
    }

    #[inline(never)]
    fn claim_further<'g>(
        &'g self,
        hash: KeyHash,
        home: u64,
        guard: &'g Guard,
        shop: &impl Shop,
    ) -> Option<Row<'g>> {
        if !self.open {
            return None;
        }
        if hash.lo == 0 {
            self.touch(self.size.all() - 1);
            return Some(self.of_zero());
        }
        for first in [home, self.outside(hash)] {
            if let Some(row) = self.take(hash.lo, first..first + NEAR, shop) {
                return Some(row);
            }
        }
        self.further_on(guard, shop)?.claim(elsewhere(hash), guard, shop)
    }

    /// The first of these rows that is the key's or can be.
    fn take(&self, lo: u64, mut rows: Range<u64>, shop: &impl Shop) -> Option<Row<'_>> {
        loop {
            let at = match self.look(lo, rows.clone()) {
                Found::Row(row) => return Some(row),
                Found::Full => return None,
                Found::Empty(at) => at,
            };
            let row = self.row(at);
            // Release: whoever takes a snapshot, and finds this one, finds those before it taken.
            match row.0[FINGERPRINT].compare_exchange(0, lo, Release, Relaxed) {
                Ok(_) => {
                    self.touch(at);
                    shop.taken();
                    return Some(row);
                }
                Err(other) if other == lo && !twin!(PassOver) => return Some(row),
                // Another key's, for good.
                Err(_) => rows.start = at + 1,
            }
        }
    }

    #[inline(always)]
    fn look(&self, lo: u64, rows: Range<u64>) -> Found<'_> {
        for at in rows {
            let row = self.row(at);
            match row.fingerprint() {
                0 => return Found::Empty(at),
                other if other == lo => return Found::Row(row),
                _ => {}
            }
        }
        Found::Full
    }

    /// The next table, made now if there is none and there may be one.
    fn further_on<'g>(&'g self, guard: &'g Guard, shop: &impl Shop) -> Option<&'g Table> {
        loop {
            if let Some(table) = self.further.get(guard)
                && !twin!(LinkTwice)
            {
                return Some(table);
            }
            let found = if twin!(LinkTwice) { self.further.get(guard) } else { None };
            // Another may have had the memory for it in hand.
            let Some(table) = shop.further(self.size) else { return self.further.get(guard) };
            if self.further.exchange(found, Some(table), guard).is_ok() && twin!(LinkTwice) {
                return self.further.get(guard);
            }
        }
    }

    #[inline(always)]
    fn home(&self, hash: KeyHash) -> u64 {
        below(hash.hi, self.size.rows)
    }

    /// The first of a key's outer rows. Mixed: keys of one crowded neighbourhood are to part.
    fn outside(&self, hash: KeyHash) -> u64 {
        self.size.rows + NEAR - 1 + below(mix(hash.hi), self.size.outer())
    }

    fn of_zero(&self) -> Row<'_> {
        self.row(self.size.all() - 1)
    }

    /// A row has been taken.
    #[allow(clippy::cast_possible_truncation)] // it was allocated
    fn touch(&self, row: u64) {
        let block = row as usize * self.size.lines / BLOCK;
        let (word, bit) = (&self.touched[block / 64], 1 << (block % 64));
        if word.load(Relaxed) & bit == 0 {
            word.fetch_or(bit, Relaxed);
        }
    }

    /// For one thread, when no other uses the table: clears up to `budget` blocks in which rows were taken, from word `from` of them
    /// on. Where to go on, or `None` if all is clear.
    pub(super) fn clear(&self, from: usize, budget: &mut usize) -> Option<usize> {
        for (at, word) in self.touched.iter().enumerate().skip(from) {
            let mut left = word.load(Relaxed);
            while left != 0 {
                if *budget == 0 {
                    return Some(at);
                }
                *budget -= 1;
                let block = at * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                let lines = block * BLOCK..self.lines.len().min((block + 1) * BLOCK);
                for word in self.lines[lines].iter().flat_map(|line| line.iter()) {
                    word.store(0, Relaxed);
                }
                word.store(left, Relaxed);
            }
        }
        if let Some(marks) = self.marks.get(&epoch::pin()) {
            marks.clear();
        }
        None
    }

    /// Marks a row, of this table or one further on.
    pub(crate) fn mark(&self, row: Row<'_>, guard: &Guard) {
        if let Some((table, at)) = self.chain(guard).find_map(|table| Some((table, table.number(row)?))) {
            table.marks(guard).set(at);
        }
    }

    fn marks<'g>(&'g self, guard: &'g Guard) -> &'g Marks {
        loop {
            if let Some(marks) = self.marks.get(guard) {
                return marks;
            }
            let _ = self.marks.exchange(None, Some(Marks::new(self.size.all())), guard);
        }
    }

    /// Which of this table's it is.
    fn number(&self, row: Row<'_>) -> Option<u64> {
        let bytes = row.0.as_ptr().addr().checked_sub(self.lines.as_ptr().addr())?;
        let number = (bytes / size_of::<Line>() / self.size.lines) as u64;
        (number < self.size.all()).then_some(number)
    }

    /// The rows that were marked, here and further on.
    pub(crate) fn marked<'g>(&'g self, guard: &'g Guard) -> impl Iterator<Item = Row<'g>> {
        let marks = self.chain(guard).filter_map(|table| Some((table, table.marks.get(guard)?)));
        marks.flat_map(|(table, marks)| marks.each().map(|at| table.row(at)))
    }

    /// All rows, here and further on, but for so many.
    pub(crate) fn rows<'g>(&'g self, mut but: u64, guard: &'g Guard) -> impl Iterator<Item = Row<'g>> {
        self.chain(guard).flat_map(move |table| {
            let all = table.size.all();
            let first = but.min(all);
            but -= first;
            (first..all).map(|at| table.row(at))
        })
    }

    /// Whether it is the only one of its generation.
    pub(crate) fn is_alone(&self, guard: &Guard) -> bool {
        self.further.get(guard).is_none()
    }

    /// This one, and those further on.
    pub(super) fn chain<'g>(&'g self, guard: &'g Guard) -> impl Iterator<Item = &'g Table> {
        std::iter::successors(Some(self), |table| table.further.get(guard))
    }

    /// How many rows are taken: counted if there are not more than `sample`, else estimated from as many.
    pub(super) fn taken(&self, sample: u64) -> u64 {
        // The last row is that of the key with the fingerprint 0: there is one if something has been counted in it.
        let rows = self.size.all() - 1;
        let last = u64::from(!self.row(rows).is_clear());
        let step = rows.div_ceil(sample.max(1)).max(1);
        let (stride, run) = (step * NEAR, NEAR.min(rows));
        if step == 1 {
            return last + (0..rows).map(|at| u64::from(self.row(at).is_taken())).sum::<u64>();
        }
        let starts = (0..rows - run).step_by(usize::try_from(stride).unwrap_or(usize::MAX));
        let (mut seen, mut taken) = (0, 0);
        for start in starts {
            seen += run;
            taken += (start..start + run).map(|at| u64::from(self.row(at).is_taken())).sum::<u64>();
        }
        let taken = u64::try_from(u128::from(taken) * u128::from(rows) / u128::from(seen.max(1)));
        taken.unwrap_or(u64::MAX).saturating_add(last)
    }
}

/// Asks for the line with a key's fingerprint, and for that with the cell, which is added to, in a table at `rows`.
#[inline(always)]
pub(super) fn prefetch_row(rows: *const Line, size: Size, hash: KeyHash, cell: usize) {
    let first = first_line(rows, size, hash);
    prefetch(first);
    if size.lines > 1 {
        prefetch_to_write(first.wrapping_add((HEADER + cell) / WORDS));
    }
}

#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // only a hint
fn first_line(rows: *const Line, size: Size, hash: KeyHash) -> *const Line {
    rows.wrapping_add(below(hash.hi, size.rows) as usize * size.lines)
}

/// Keys of one crowded neighbourhood are to part.
fn elsewhere(hash: KeyHash) -> KeyHash {
    KeyHash { hi: mix(!hash.hi), ..hash }
}

/// What a table that is written to needs of who has it.
pub(crate) trait Shop {
    /// A row has been taken.
    fn taken(&self);

    /// A table to go on where one of this size is full, if there may be one.
    fn further(&self, full: Size) -> Option<Table>;
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;

    struct Never;

    impl Shop for Never {
        fn taken(&self) {
            unreachable!("no row is taken");
        }

        fn further(&self, _: Size) -> Option<Table> {
            unreachable!("none is asked for");
        }
    }

    /// Of any key, also the one whose fingerprint is that of an empty row.
    #[test]
    fn a_closed_one_has_no_rows() {
        let (table, guard) = (Table::closed(1).expect("a few bytes"), epoch::pin());
        for hash in [KeyHash { hi: 0, lo: 0 }, KeyHash { hi: 5, lo: 9 }, KeyHash { hi: u64::MAX, lo: 1 }] {
            assert!(table.claim(hash, &guard, &Never).is_none());
            assert!(table.find(hash, &guard).is_none());
        }
        assert_eq!((table.taken(1000), table.rows(0, &guard).filter(|row| row.is_taken()).count()), (0, 0));
    }
}
