//! Snapshots of the hottest keys in bounded memory, taken while calls go on.
//!
//! **Order.** Of a pane the slots are read first, each bucket's head after its slots; then the sketch, then the total. What is displaced is put into the sketch before its slot is taken: so a key is found in a slot
//! or in the sketch, or in both, which makes bounds wider and not wrong. A key that was displaced and has come back while its bucket was read is
//! there twice; the later one counts.
//!
//! A pane may leave meanwhile; then it is left out. The newest pane is read at the end. The epoch is held for a few buckets at a time, and never while
//! something is written.

use super::{
    BoundedTopK, BoundedTopKBuilder,
    entry::Entry,
    names::{NONE, NUMBER, Stored},
    pane::{Pane, Tables},
    slots::SLOTS,
};
use crate::{
    codec::{Kind, Reader, RestoreError, Restored, Setting, SnapshotSummary, Writer},
    count::header,
    settings,
    sync::{Wide, epoch, saturating, twin, with_wide},
    time::{Tick, wall},
    topk::TopK,
};
use std::{
    io::{self, Read, Write},
    time::Duration,
};

/// Sections: how many panes; a pane each from `PANE` on; the newest pane.
const HEAD: u32 = 1;
const NEWEST: u32 = 2;
pub(super) const PANE: u32 = 16;
const END: u32 = u32::MAX;

/// Before each part of a pane: there is more; the pane has left.
pub(super) const MORE: u8 = 1;
const LEFT: u8 = 0;

/// What a key's name is.
const IS_NONE: u8 = 0;
const IS_NUMBER: u8 = 1;
const IS_BYTES: u8 = 2;

/// Buckets, and cells of the sketch, that are read while the epoch is held.
const BUCKETS: usize = 64;
const CELLS: usize = 4096;

impl BoundedTopK {
    /// Writes a snapshot, as of its clock's and the system's time, to be read by [`BoundedTopKBuilder::restore`]. (What is called snapshot here is a list.) All adds that have ended before are in
    /// it, those under way may be; bounds hold for them as they do here. Nobody waits for it. It takes as many bytes as the memory that is in use, or fewer.
    ///
    /// # Errors
    /// Those of `out`. What has been written by then is no snapshot.
    pub fn save(&self, out: impl Write) -> io::Result<SnapshotSummary> {
        self.save_at(out, self.clock.now(), wall())
    }

    /// .. of what is said to be now, on the coordinate of its ticks and by the system's clock (since 1970, UTC).
    ///
    /// # Errors
    /// See [`BoundedTopK::save`].
    pub fn save_at(&self, out: impl Write, now: Tick, wall: Duration) -> io::Result<SnapshotSummary> {
        let mut header = header(Kind::BoundedTopK, self.panes, self.lateness, self.seed, now, wall);
        header.settings.extend(self.sizes());
        let mut writer = Writer::begin(out, &header)?;
        let firsts = self.time.firsts(&epoch::pin());
        writer.section(HEAD)?;
        writer.u64(firsts.len() as u64)?;
        for (section, &first) in (PANE..END).zip(&firsts) {
            writer.section(section)?;
            writer.u64(first)?;
            self.save_pane(first, &mut writer)?;
        }
        writer.section(NEWEST)?;
        // Read last: whoever finds a pane gone finds a newest one that is past it.
        writer.u64(self.time.newest().map_or(0, |newest| newest + 1))?;
        writer.finish()
    }

    fn sizes(&self) -> [Setting; 2] {
        let plan = self.pool.plan();
        let cells = plan.lines * super::sketch::LINE as u64;
        [Setting::number("slots", plan.slots()), Setting::number("cells", cells)]
    }

    fn save_pane<W: Write>(&self, first: u64, writer: &mut Writer<W>) -> io::Result<()> {
        let (mut bytes, mut at) = (Vec::new(), Some(Part::Buckets(0)));
        while let Some(part) = at {
            bytes.clear();
            let guard = epoch::pin();
            let Some(pane) = self.time.of(first, &guard) else { return writer.u8(LEFT) };
            let entries;
            (at, entries) = self.save_part(pane, part, &mut bytes);
            drop(guard);
            writer.u8(MORE)?;
            writer.count(entries);
            writer.put(&bytes)?;
        }
        Ok(())
    }

    /// Some of a pane. What comes next, and how many entries there were.
    fn save_part(&self, pane: &Pane, part: Part, out: &mut Vec<u8>) -> (Option<Part>, u64) {
        let Some(tables) = &pane.tables else {
            out.push(0);
            out.extend_from_slice(&pane.unkept().to_le_bytes());
            return (None, 0);
        };
        if matches!(part, Part::Buckets(0)) {
            out.push(1);
            out.extend_from_slice(&pane.unkept().to_le_bytes());
        }
        with_wide!(self.pool.wide(), wide => save_tables(wide, tables, part, out))
    }
}

/// What of a pane comes next.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Buckets(usize),
    Cells(usize),
    Rest,
}

/// Some of a pane's tables. What comes next, and how many entries there were. Model: loom-tests/tests/bounded.rs.
pub(super) fn save_tables(
    wide: impl Wide,
    tables: &Tables,
    part: Part,
    out: &mut Vec<u8>,
) -> (Option<Part>, u64) {
    match part {
        Part::Buckets(from) => {
            let to = tables.slots.len().min(from + BUCKETS);
            let entries = (from..to).map(|bucket| save_bucket(wide, tables, bucket, out)).sum();
            (Some(if to < tables.slots.len() { Part::Buckets(to) } else { Part::Cells(0) }), entries)
        }
        Part::Cells(from) => {
            let to = tables.sketch.len().min(from + CELLS);
            tables.sketch.values(from..to).for_each(|cell| out.extend_from_slice(&cell.to_le_bytes()));
            (Some(if to < tables.sketch.len() { Part::Cells(to) } else { Part::Rest }), 0)
        }
        Part::Rest => {
            let rest = tables.sketch.spilled().into_iter().chain([tables.total()]);
            rest.for_each(|count| out.extend_from_slice(&count.to_le_bytes()));
            (None, 0)
        }
    }
}

/// How many entries it has.
fn save_bucket(wide: impl Wide, tables: &Tables, bucket: usize, out: &mut Vec<u8>) -> u64 {
    let bucket = tables.slots.bucket(bucket);
    let early = twin!(BarFirst).then(|| bucket.bar(wide));
    let entries: Vec<Entry> = bucket.entries(wide).collect();
    // After the slots: it is raised before a key has none.
    let bar = early.unwrap_or_else(|| bucket.bar(wide));
    let is_last = |(at, entry): &(usize, &Entry)| {
        twin!(KeepBoth) || entries[at + 1..].iter().all(|later| later.lo() != entry.lo())
    };
    let entries: Vec<&Entry> = entries.iter().enumerate().filter(is_last).map(|(_, entry)| entry).collect();
    out.extend_from_slice(&bar.to_le_bytes());
    #[allow(clippy::cast_possible_truncation)] // a few
    out.push(entries.len() as u8);
    for entry in &entries {
        out.extend_from_slice(&entry.lo().to_le_bytes());
        out.extend_from_slice(&entry.nameless().to_le_bytes());
        match tables.names.stored(entry.name()) {
            Stored::None => out.push(IS_NONE),
            Stored::Number => out.push(IS_NUMBER),
            Stored::Bytes(kind, bytes) => {
                out.push(IS_BYTES);
                out.extend_from_slice(&kind.to_le_bytes());
                out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
                out.extend_from_slice(&bytes);
            }
        }
    }
    entries.len() as u64
}

impl BoundedTopKBuilder {
    /// The hottest keys as they were when [`BoundedTopK::save`] was called, in as much memory. `wall`: the present by the system's clock, since 1970 (UTC). See
    /// [`CounterBuilder::restore`](crate::CounterBuilder::restore): the same must be the same here, and the number of slots and cells that follow from `memory`, `key_bytes` and, in little memory, `k`.
    ///
    /// Lists have the same bounds. The one that all read ([`BoundedTopK::snapshot`]) is made with the next refresh.
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass::{BoundedTopK, Tick};
    ///
    /// let builder = BoundedTopK::builder(Duration::from_secs(60), Duration::from_secs(10), 2).memory(64 << 10);
    /// let (at, hour) = (|secs: u64| Tick(secs * 1_000_000_000), Duration::from_secs(3600));
    /// let top = builder.clone().build()?;
    /// top.add_at("/login", 9, at(6));
    /// let mut bytes = Vec::new();
    /// top.save_at(&mut bytes, at(8), 10 * hour)?;
    ///
    /// let restored = builder.restore(&bytes[..], 10 * hour + Duration::from_secs(30))?;
    /// assert_eq!(restored.resumed, at(38));
    /// assert_eq!(restored.structure.bounds_at("/login", restored.resumed), (9, 9));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Says what is wrong with the settings or the input, and where; see [`RestoreError`].
    pub fn restore(
        mut self,
        input: impl Read,
        wall: Duration,
    ) -> Result<Restored<BoundedTopK>, RestoreError> {
        let mut reader = Reader::begin(input, Kind::BoundedTopK)?;
        let (seed, window) = (self.seed, self.grid.window);
        let (resumed, elapsed) = reader.header().resume(wall);
        self.seed = Some(reader.header().seed);
        self.clock = Some(settings::clock_from(self.clock, window, resumed)?);
        let structure = self.build()?;
        let (panes, lateness) = (structure.panes, structure.lateness);
        let mut settings = header(Kind::BoundedTopK, panes, lateness, structure.seed, resumed, wall).settings;
        settings.extend(structure.sizes());
        reader.agree(panes.counts_events, seed, &settings)?;
        structure.load(&mut reader)?;
        let entries = reader.finish()?;
        if !panes.counts_events && elapsed > Duration::ZERO {
            structure.time.resume(resumed.0);
            structure.time.maintain(resumed.0, &epoch::pin(), &structure);
        }
        Ok(Restored { structure, resumed, elapsed, entries })
    }
}

impl BoundedTopK {
    fn load<R: Read>(&self, reader: &mut Reader<R>) -> Result<(), RestoreError> {
        reader.section(HEAD)?;
        let count = reader.u64("panes")?;
        if count > self.time.most() {
            return Err(reader.wrong("panes", "more than there may be"));
        }
        let (mut all, mut next) = (Vec::new(), 0);
        for section in (PANE..END).take(usize::try_from(count).unwrap_or(usize::MAX)) {
            reader.section(section)?;
            let first = reader.u64("pane")?;
            if first < next || !self.time.begins_with(first) {
                return Err(reader.wrong("pane", "not one that comes next"));
            }
            next = first + 1;
            if let Some(pane) = with_wide!(self.pool.wide(), wide => self.load_pane(wide, first, reader))? {
                all.push((first, pane));
            }
        }
        reader.section(NEWEST)?;
        match reader.u64("newest pane")?.checked_sub(1) {
            Some(newest) if next <= newest.saturating_add(1) && newest < u64::MAX - 1 => {
                self.time.put_back(newest, all, self);
                Ok(())
            }
            None if next == 0 => Ok(()),
            _ => Err(reader.wrong("newest pane", "before one that there is")),
        }
    }

    /// `None`: it had left.
    fn load_pane<R: Read>(
        &self,
        wide: impl Wide,
        first: u64,
        reader: &mut Reader<R>,
    ) -> Result<Option<Pane>, RestoreError> {
        if !more(reader)? {
            return Ok(None);
        }
        let has_tables = match reader.u8("tables")? {
            known @ (0 | 1) => known == 1,
            _ => return Err(reader.wrong("tables", "neither there nor not")),
        };
        let pane = if has_tables { self.pool.open(first) } else { Pane::without(first) };
        pane.add_unkept(reader.u64("sum")?.min(saturating::SATURATED));
        let Some(tables) = &pane.tables else {
            return if has_tables {
                Err(reader.wrong("panes", "more than there is memory for"))
            } else {
                Ok(Some(pane))
            };
        };
        if load_tables(wide, tables, reader)? {
            return Ok(Some(pane));
        }
        self.pool.left(&pane);
        Ok(None)
    }
}

/// `false`: the pane had left.
pub(super) fn load_tables<R: Read>(
    wide: impl Wide,
    tables: &Tables,
    reader: &mut Reader<R>,
) -> Result<bool, RestoreError> {
    for bucket in 0..tables.slots.len() {
        if bucket > 0 && bucket.is_multiple_of(BUCKETS) && !more(reader)? {
            return Ok(false);
        }
        load_bucket(wide, tables, bucket, reader)?;
    }
    for cell in 0..tables.sketch.len() {
        if cell.is_multiple_of(CELLS) && !more(reader)? {
            return Ok(false);
        }
        tables.sketch.put_cell(cell, reader.u32("cell")?);
    }
    if !more(reader)? {
        return Ok(false);
    }
    for row in 0..tables.sketch.spilled().len() {
        tables.sketch.put_spilled(row, reader.u64("spilled")?.min(saturating::SATURATED));
    }
    tables.add_to_total(reader.u64("total")?.min(saturating::SATURATED));
    Ok(true)
}

fn load_bucket<R: Read>(
    wide: impl Wide,
    tables: &Tables,
    at: usize,
    reader: &mut Reader<R>,
) -> Result<(), RestoreError> {
    let bucket = tables.slots.bucket(at);
    let bar = reader.u64("bar")?;
    let entries = usize::from(reader.u8("entries")?);
    if entries > SLOTS {
        return Err(reader.wrong("entries", "more than a bucket has slots"));
    }
    for slot in 0..entries {
        reader.entry();
        let (lo, rest) = (reader.u64("fingerprint")?, reader.u64("count")?);
        if bucket.find(wide, lo).is_some() {
            return Err(reader.wrong("fingerprint", "there already"));
        }
        let name = load_name(tables, reader)?;
        let Some(entry) = Entry::named(lo, name, rest) else {
            return Err(reader.wrong("count", "not one of an entry"));
        };
        bucket.put(wide, slot, entry);
    }
    bucket.put_bar(wide, bar);
    Ok(())
}

fn load_name<R: Read>(tables: &Tables, reader: &mut Reader<R>) -> Result<u64, RestoreError> {
    match reader.u8("name")? {
        IS_NONE => Ok(NONE),
        IS_NUMBER => Ok(NUMBER),
        IS_BYTES => {
            let (kind, len) = (reader.u32("kind of key")?, reader.u32("length of key")?);
            let len = usize::try_from(len).ok().filter(|&len| len <= TopK::MAX_LEN);
            let len = len.ok_or_else(|| reader.wrong("length of key", "more than a key may have"))?;
            let mut bytes = Vec::new();
            reader.bytes(len, "key", &mut bytes)?;
            Ok(tables.names.put_bytes(kind, &bytes).unwrap_or(NONE))
        }
        _ => Err(reader.wrong("name", "of no kind that there is")),
    }
}

pub(super) fn more<R: Read>(reader: &mut Reader<R>) -> Result<bool, RestoreError> {
    match reader.u8("part of a pane")? {
        MORE => Ok(true),
        LEFT => Ok(false),
        _ => Err(reader.wrong("part of a pane", "neither there nor gone")),
    }
}
