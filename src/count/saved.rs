//! Generations of rows as a snapshot has them, taken while calls go on.
//!
//! **Rows** are kept as they lie, since a row does not tell the whole hash of its key: the tables that are restored are of the same sizes. They are read from the
//! last to the first, the outer ones before the others, the tables that are further on before those that are full. So whoever took a row had seen those
//! before it taken, and they are in the snapshot as well: a row of a key that is in it is found from the key (twins `RowsUpwards`, `RelaxedRow`).
//!
//! **Counts.** What a row has beside its counts is read before these, so a count that is in the snapshot has a name. Totals are read after the rows, and are
//! restored as no less than what the rows have together.
//!
//! **Time.** A generation may leave meanwhile; then it is left out. The newest pane is read at the end, and is one by which that has left.
//!
//! The epoch is held for a few rows at a time, and never while something is written.

use super::{
    core::{Core, Extra, Generation},
    table::{Row, Size, Table},
};
use crate::{
    codec::{Reader, RestoreError, Writer},
    sync::{
        Ordering::Relaxed,
        epoch::{self, Guard},
        saturating, twin,
    },
};
use std::{
    io::{self, Read, Write},
    ops::Range,
    sync::Arc,
};

/// What a structure on top of this keeps in a snapshot.
pub(crate) trait Saved: Extra {
    /// Appends what a row has beside its counts. Whether these count.
    fn save_row(&self, row: Row<'_>, means: &Self::Means, guard: &Guard, out: &mut Vec<u8>) -> bool;

    /// .. and what a generation has beside its rows. (They have been read.)
    fn save(&self, panes: usize, out: &mut Vec<u8>);

    /// Reads what `save_row` has written, into a row without a name.
    fn load_row<R: Read>(
        &self,
        row: Row<'_>,
        means: &Self::Means,
        reader: &mut Reader<R>,
    ) -> Result<(), RestoreError>;

    /// .. and `save`, into a generation that has all its rows.
    fn load<R: Read>(
        generation: &Generation<Self>,
        panes: usize,
        reader: &mut Reader<R>,
    ) -> Result<(), RestoreError>
    where
        Self: Sized;
}

impl Saved for () {
    fn save_row(&self, _: Row<'_>, (): &(), _: &Guard, _: &mut Vec<u8>) -> bool {
        true
    }

    fn save(&self, _: usize, _: &mut Vec<u8>) {}

    fn load_row<R: Read>(&self, _: Row<'_>, (): &(), _: &mut Reader<R>) -> Result<(), RestoreError> {
        Ok(())
    }

    fn load<R: Read>(_: &Generation<()>, _: usize, _: &mut Reader<R>) -> Result<(), RestoreError> {
        Ok(())
    }
}

/// Sections: what there is; a generation each from `GENERATION` on; the newest pane.
const HEAD: u32 = 1;
const NEWEST: u32 = 2;
const GENERATION: u32 = 16;
const END: u32 = u32::MAX;

/// In the place of a row's number: there are no more in this table; the generation has left.
const NO_MORE: u64 = u64::MAX;
const LEFT: u64 = u64::MAX - 1;
/// In the place of a table's rows: it has none, and never gets any.
const CLOSED: u64 = u64::MAX;

/// Rows that are looked at while the epoch is held.
const ROWS: u64 = if cfg!(windlass_loom) { 2 } else { 512 };

/// Rows that are taken, from the last to the first: place, fingerprint, row. The caller is pinned since before it knew that the table's generation is there: till then
/// it is not cleared. Model: loom-tests/tests/{count,epoch}.rs.
pub(super) fn taken_rows(table: &Table, rows: Range<u64>) -> impl Iterator<Item = (u64, u64, Row<'_>)> {
    rows.rev().filter_map(|at| {
        let at = if twin!(RowsUpwards) { table.all() - 1 - at } else { at };
        let row = table.row(at);
        let lo = row.fingerprint_whole();
        // That of fingerprint 0 is the last, and is taken when it has something.
        let is_taken = lo != 0 || (at + 1 == table.all() && !row.is_clear());
        is_taken.then_some((at, lo, row))
    })
}

impl<X: Saved> Core<X> {
    pub(crate) fn save<W: Write>(&self, writer: &mut Writer<W>) -> io::Result<()> {
        let firsts = self.time.firsts(&epoch::pin());
        writer.section(HEAD)?;
        writer.u64(self.stock.least().rows)?;
        writer.u64(firsts.len() as u64)?;
        for (section, &first) in (GENERATION..END).zip(&firsts) {
            writer.section(section)?;
            writer.u64(first)?;
            self.save_generation(first, writer)?;
        }
        writer.section(NEWEST)?;
        // Read last: whoever finds a generation gone finds a newest pane that is past it.
        writer.u64(self.time.newest().map_or(0, |newest| newest + 1))
    }

    fn save_generation<W: Write>(&self, first: u64, writer: &mut Writer<W>) -> io::Result<()> {
        let sizes = |generation: &Generation<X>, guard: &Guard| -> Vec<u64> {
            let tables = generation.table.chain(guard);
            tables.map(|table| if table.is_open() { table.size().rows } else { CLOSED }).collect()
        };
        let guard = epoch::pin();
        let sizes = self.time.of(first, &guard).map_or(Vec::new(), |generation| sizes(generation, &guard));
        drop(guard);
        writer.u64(sizes.len() as u64)?;
        for &rows in &sizes {
            writer.u64(rows)?;
        }
        let mut bytes = Vec::new();
        for table in (0..sizes.len()).rev() {
            let mut left = u64::MAX;
            while left > 0 {
                bytes.clear();
                let Some((rest, entries)) = self.save_rows(first, table, left, &mut bytes) else {
                    return writer.u64(LEFT);
                };
                left = rest;
                (0..entries).for_each(|_| writer.entry());
                writer.put(&bytes)?;
            }
            writer.u64(NO_MORE)?;
        }
        bytes.clear();
        let guard = epoch::pin();
        let Some(generation) = self.time.of(first, &guard) else { return writer.u64(LEFT) };
        let panes = Size::cells(self.lines());
        for pane in 0..panes {
            bytes.extend_from_slice(&generation.total(pane).to_le_bytes());
        }
        generation.extra.save(panes, &mut bytes);
        drop(guard);
        writer.u64(NO_MORE)?;
        writer.put(&bytes)
    }

    /// Some of the rows of a table before row `left`, from the last to the first. Where to go on, and how many there were. `None`: the
    /// generation has left.
    fn save_rows(&self, first: u64, table: usize, left: u64, out: &mut Vec<u8>) -> Option<(u64, u64)> {
        let guard = epoch::pin();
        let generation = self.time.of(first, &guard)?;
        let table = generation.table.chain(&guard).nth(table)?;
        let (from, mut entries) = (left.min(table.all()), 0);
        let to = from.saturating_sub(ROWS);
        for (at, lo, row) in taken_rows(table, to..from) {
            entries += 1;
            out.extend_from_slice(&at.to_le_bytes());
            out.extend_from_slice(&lo.to_le_bytes());
            // First what gives the counts a name: whoever has counted had given it.
            let counts = generation.extra.save_row(row, &self.means, &guard, out);
            let (mask_at, mut mask) = (out.len(), 0_u32);
            out.extend_from_slice(&mask.to_le_bytes());
            for (cell, count) in row.counts(0..Size::cells(self.lines())).enumerate() {
                if counts && count > 0 {
                    mask |= 1 << cell;
                    out.extend_from_slice(&count.to_le_bytes());
                }
            }
            out[mask_at..mask_at + 4].copy_from_slice(&mask.to_le_bytes());
        }
        Some((to, entries))
    }

    /// Reads what `save` has written, into one that is new. `vary`: tables may be of any size for which there is memory.
    pub(crate) fn load<R: Read>(&self, reader: &mut Reader<R>, vary: bool) -> Result<(), RestoreError> {
        reader.section(HEAD)?;
        let (least, count) = (reader.u64("rows")?, reader.u64("generations")?);
        if least != self.stock.least().rows && !vary {
            return Err(RestoreError::Setting {
                name: "capacity, as rows".into(),
                snapshot: least.to_string(),
                builder: self.stock.least().rows.to_string(),
            });
        }
        if count > self.time.most() {
            return Err(reader.wrong("generations", "more than there may be"));
        }
        let mut generations: Vec<(u64, Generation<X>)> = Vec::new();
        let mut next = 0;
        for section in (GENERATION..END).take(usize::try_from(count).unwrap_or(usize::MAX)) {
            reader.section(section)?;
            let first = reader.u64("first pane")?;
            if first < next || !self.time.begins_with(first) {
                return Err(reader.wrong("first pane", "not one that comes next"));
            }
            next = first + 1;
            if let Some(generation) = self.load_generation(first, reader, vary)? {
                generations.push((first, generation));
            }
        }
        reader.section(NEWEST)?;
        match reader.u64("newest pane")?.checked_sub(1) {
            Some(newest) if next <= newest.saturating_add(1) && newest < u64::MAX - 1 => {
                self.time.put_back(newest, generations, self);
                Ok(())
            }
            None if next == 0 => Ok(()),
            _ => Err(reader.wrong("newest pane", "before one that there is")),
        }
    }

    /// `None`: it had left.
    fn load_generation<R: Read>(
        &self,
        first: u64,
        reader: &mut Reader<R>,
        vary: bool,
    ) -> Result<Option<Generation<X>>, RestoreError> {
        let panes = Size::cells(self.lines());
        let (mut tables, mut closed) = (Vec::new(), None);
        let count = reader.u64("tables")?;
        for _ in 0..count {
            match reader.u64("rows")? {
                CLOSED if count == 1 => closed = Some(self.stock.closed().clone()),
                // Without a limit there are those of the capacity, and what stands in for them.
                rows if !vary && rows >= self.stock.least().rows.saturating_mul(2) => {
                    return Err(reader.wrong("rows", "more than there is a table of"));
                }
                rows => tables.push(self.load_table(rows)?),
            }
        }
        let extra = X::open(&self.means, first, panes);
        let (mut sums, mut further) = (vec![0; panes], None);
        while let Some(mut table) = tables.pop() {
            let mut last = table.all();
            loop {
                match reader.u64("row")? {
                    LEFT => return Ok(None),
                    NO_MORE => break,
                    at if at < last || twin!(RowsUpwards) => last = at,
                    _ => return Err(reader.wrong("row", "none that comes next")),
                }
                reader.entry();
                self.load_row(last, &table, &extra, &mut sums, reader)?;
            }
            if let Some(further) = further.take() {
                table.link(further);
            }
            further = Some(table);
        }
        let table = match (further.map(Arc::new).or(closed), reader.u64("generation")?) {
            (_, LEFT) => return Ok(None),
            (Some(table), NO_MORE) => table,
            _ => return Err(reader.wrong("generation", "not as one is written")),
        };
        let generation = Generation::new(table, panes, extra);
        for (pane, &sum) in sums.iter().enumerate() {
            // In what was read while others added a total may lag behind.
            let total = reader.u64("totals")?.max(sum);
            generation.add_to_total(pane, total.min(saturating::SATURATED));
        }
        X::load(&generation, panes, reader)?;
        Ok(Some(generation))
    }

    fn load_table(&self, rows: u64) -> Result<Table, RestoreError> {
        let size = Size { lines: self.lines(), rows: rows.min(u64::MAX >> 16) };
        let no_memory = || RestoreError::Memory { needed: size.bytes(), limit: self.stock.budget().left() };
        Table::new(size, self.stock.budget()).ok_or_else(no_memory)
    }

    fn load_row<R: Read>(
        &self,
        at: u64,
        table: &Table,
        extra: &X,
        sums: &mut [u64],
        reader: &mut Reader<R>,
    ) -> Result<(), RestoreError> {
        let lo = reader.u64("fingerprint")?;
        if (lo == 0) != (at + 1 == table.all()) {
            return Err(reader.wrong("fingerprint", "not one of this row"));
        }
        let row = table.put_row(at, lo);
        extra.load_row(row, &self.means, reader)?;
        let mask = reader.u32("panes")?;
        if mask.checked_shr(u32::try_from(sums.len()).unwrap_or(u32::MAX)).is_some_and(|more| more != 0) {
            return Err(reader.wrong("panes", "more than a row has"));
        }
        for (cell, sum) in sums.iter_mut().enumerate().filter(|(cell, _)| mask >> cell & 1 != 0) {
            let count = reader.u64("count")?.min(saturating::SATURATED);
            row.cell(cell).store(count, Relaxed);
            *sum = saturating::sum([*sum, count].into_iter());
        }
        Ok(())
    }

    /// After a time without calls: goes on to `now`, however far that is, and lets go what is behind the window by then.
    pub(crate) fn resume(&self, now: u64) {
        self.time.resume(now);
        self.maintain(now, 0);
    }
}
