//! All entries, read while callers go on, and put into a table of their own later.
//!
//! **What is read.** Of every change that ended before the reading began: it is there, or one that came after it, or the horizon which is read
//! *last* has passed it. A cell that was taken over meanwhile was taken by a thread that had seen a horizon at least as high as what was there; so who
//! has seen the cell as it is now, and then looks at the horizon, sees that (twin `HorizonFirst`). Entries are loaded as a whole: a key
//! beside another's state was never there (twin `ReadByHalves`).
//!
//! **In stretches.** Nothing is pinned for long: else no structure's memory came back while a slow pipe takes what is written. What stretches are cut by
//! is not groups but the keys' place, which is the same in tables of all sizes. Under one pin all tables are looked at for it, and *which tables there are* is
//! known before the first is looked at: what lay in one of them can have come up since, and the table be taken out (twin `BelowAfterwards`). It is not emptied
//! into a table that is not among them: for that every call has to have ended which found the newest of them on top, and this is one.
//!
//! A key may be read twice, from two tables: its greater state counts. Model: loom-tests/tests/snapshot.rs.

use super::{
    Full, Geometry, KeyTable, Pinned, Plan, STRETCH,
    entry::Entry,
    geometry::{self, Spot},
    group::{Decision, Ground},
    id::{self, Exact, Hashed},
    size::Sizes,
    tables::Table,
};
use crate::{
    codec::{Reader, RestoreError, Writer},
    sync::{Wide, epoch, twin, with_wide},
};
use std::{cell::Cell, io, ops::Range};

/// Sections.
const SIZE: u32 = 0x100;
const ENTRIES: u32 = 0x101;
const HORIZON: u32 = 0x102;

/// Bytes of a stretch, about: what is kept in memory. (One group's keys may have more.)
const BYTES: usize = 1 << 17;

/// What was read in one stretch. Encoded as runs of one part each: part (8), number of entries (4), entries; an entry is its key (8) and its state
/// (8), and with bytes label (4), length (4), bytes.
#[derive(Default)]
struct Runs {
    out: Vec<u8>,
    /// The part of the last run, and where its number of entries stands.
    run: Option<(u64, usize)>,
    in_run: u32,
    entries: u64,
    /// The bytes of one key.
    bytes: Vec<u8>,
}

impl Runs {
    fn push(&mut self, part: usize, key: u64, state: u64, label: Option<u32>) {
        let part = part as u64;
        let count_at = match self.run {
            Some((last, at)) if last == part => at,
            _ => {
                self.out.extend_from_slice(&part.to_le_bytes());
                self.out.extend_from_slice(&[0; 4]);
                self.in_run = 0;
                self.out.len() - 4
            }
        };
        self.run = Some((part, count_at));
        self.in_run += 1;
        self.entries += 1;
        self.out[count_at..count_at + 4].copy_from_slice(&self.in_run.to_le_bytes());
        self.out.extend_from_slice(&key.to_le_bytes());
        self.out.extend_from_slice(&state.to_le_bytes());
        if let Some(label) = label {
            let len = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
            self.out.extend_from_slice(&label.to_le_bytes());
            self.out.extend_from_slice(&len.to_le_bytes());
            self.out.extend_from_slice(&self.bytes);
        }
    }

    fn clear(&mut self) {
        self.out.clear();
        (self.run, self.entries) = (None, 0);
    }
}

impl<const BUCKETS: usize, const CELLS: usize> KeyTable<BUCKETS, CELLS> {
    /// Writes all that is not gone, and the horizon.
    pub(crate) fn write<W: io::Write>(&self, writer: &mut Writer<W>) -> io::Result<()> {
        let factor = match self.sizes.vary {
            true => with_wide!(self.wide, wide => self.pinned(wide, &epoch::pin()).factor_for_all()),
            false => 1,
        };
        writer.section(SIZE)?;
        writer.u64(self.geometry.parts() as u64)?;
        writer.u64(factor as u64)?;
        writer.section(ENTRIES)?;
        let horizon = self.read_all(|runs| {
            writer.count(runs.entries);
            writer.put(&runs.out)
        })?;
        writer.section(HORIZON)?;
        writer.u64(horizon)
    }

    /// Calls `each` with what was read, stretch by stretch and not pinned, and gives the horizon.
    fn read_all(&self, mut each: impl FnMut(&Runs) -> io::Result<()>) -> io::Result<u64> {
        let early = if twin!(HorizonFirst) { Some(self.horizon()) } else { None };
        let (mut at, end) = (0, (self.geometry.parts() as u128) << 64);
        let (mut groups, mut runs) = (STRETCH, Runs::default());
        while at < end {
            at = with_wide!(self.wide, wide => self.pinned(wide, &epoch::pin()).read(at, end, groups, &mut runs));
            each(&runs)?;
            // Long keys: fewer of them at a time.
            groups = if runs.out.len() > BYTES { (groups / 2).max(1) } else { (groups * 2).min(STRETCH) };
            runs.clear();
        }
        Ok(early.unwrap_or_else(|| self.horizon()))
    }

    /// Calls `each` with the name of every key that is not gone (its part, what its cell has of it, and its bytes if they are kept) and its state. A key may
    /// come twice, from two tables: its greater state counts.
    pub(crate) fn each(&self, mut each: impl FnMut(&[u8], u64)) {
        let mut name = Vec::new();
        // (Nothing fails that is not written anywhere.)
        drop(self.read_all(|runs| {
            let mut rest = &runs.out[..];
            while let Some((part, after)) = rest.split_first_chunk::<8>() {
                let Some((count, after)) = after.split_first_chunk::<4>() else { break };
                rest = after;
                for _ in 0..u32::from_le_bytes(*count) {
                    let Some((key, after)) = rest.split_first_chunk::<8>() else { break };
                    let Some((state, after)) = after.split_first_chunk::<8>() else { break };
                    rest = after;
                    name.clear();
                    name.extend_from_slice(part);
                    name.extend_from_slice(key);
                    if self.bytes.is_some() {
                        let Some((label, after)) = rest.split_first_chunk::<4>() else { break };
                        let Some((len, after)) = after.split_first_chunk::<4>() else { break };
                        let len = u32::from_le_bytes(*len) as usize;
                        let Some((bytes, after)) = after.split_at_checked(len) else { break };
                        rest = after;
                        name.extend_from_slice(label);
                        name.extend_from_slice(bytes);
                    }
                    each(&name, u64::from_le_bytes(*state));
                }
            }
            Ok(())
        }));
    }

    /// A table as one was written: of the same parts, and of its size, or smaller if the plan has a limit that this would pass.
    ///
    /// Nobody knows the table as yet, so states that are older than what calls would publish may come into it. `most`: the greatest state.
    pub(crate) fn restore<R: io::Read>(
        plan: Plan,
        reader: &mut Reader<R>,
        most: u64,
    ) -> Result<Self, RestoreError> {
        reader.section(SIZE)?;
        let (parts, factor) = (reader.u64("parts")?, reader.u64("size")?);
        let mut keys = Self::of_size(&plan, parts, factor, |problem| reader.wrong("size", problem))?;
        // What was there may lie anywhere above 0 until the horizon is known; so it is evicted for what is younger, and for nothing else.
        keys.ground.evict_within = None;
        reader.section(ENTRIES)?;
        let mut bytes = Vec::new();
        while reader.has_more()? {
            let part = reader.u64("part")?;
            let part = usize::try_from(part).ok().filter(|&part| part < keys.geometry.parts());
            let Some(part) = part else { return Err(reader.wrong("part", "there are not so many")) };
            for _ in 0..reader.u32("number of entries")? {
                let (key, state) = (reader.u64("key")?, reader.u64("state")?);
                if state == 0 || state > most {
                    return Err(reader.wrong("state", format!("{state}, where 1 to {most} are possible")));
                }
                let mut label = None;
                if keys.bytes.is_some() {
                    label = Some(reader.u32("label")?);
                    let len = reader.u32("length of key")?;
                    let len = usize::try_from(len).ok().filter(|&len| len <= super::MAX_LEN);
                    let Some(len) = len else { return Err(reader.wrong("length of key", "too long")) };
                    bytes.clear();
                    reader.bytes(len, "key", &mut bytes)?;
                }
                if !keys.keep(Spot { part, key }, state, label.map(|label| (label, &bytes[..])), &plan) {
                    return Err(RestoreError::Full { entries: reader.entries(), memory: keys.bytes() });
                }
                reader.count(1);
            }
        }
        reader.section(HORIZON)?;
        let horizon = reader.u64("horizon")?;
        if horizon > most {
            return Err(reader.wrong("horizon", format!("{horizon}, where {most} is the most")));
        }
        keys.advance(horizon);
        let evicted = keys.ground.evicted.sum();
        keys.ground = Ground::new(plan.evict_within);
        keys.ground.advance(horizon);
        keys.ground.evicted.add(evicted);
        if plan.limit.is_none() {
            keys.ground.begin_to_evict();
        }
        Ok(keys)
    }

    /// An empty one of so many parts, and as many groups for each as there were, or there is room for.
    fn of_size(
        plan: &Plan,
        parts: u64,
        factor: u64,
        wrong: impl Fn(&'static str) -> RestoreError,
    ) -> Result<Self, RestoreError> {
        let room = |parts: u64| format!("{} keys", geometry::capacity::<BUCKETS, CELLS>(parts));
        let own = plan.geometry.parts() as u64;
        let one = geometry::bytes::<BUCKETS, CELLS>(parts);
        let count = usize::try_from(parts).ok().filter(|&parts| parts > 0);
        let (Some(count), 1..) = (count, factor) else { return Err(wrong("not one of a table")) };
        let Some(limit) = plan.limit else {
            if (parts, factor) != (own, 1) {
                let (snapshot, builder) = (room(parts.saturating_mul(factor)), room(own));
                return Err(RestoreError::Setting { name: "capacity".into(), snapshot, builder });
            }
            return Ok(KeyTable::new(*plan)?);
        };
        if one > limit {
            return Err(RestoreError::Memory { needed: one, limit });
        }
        let plan = Plan { geometry: Geometry::of_parts(count), ..*plan };
        // (Keys' bytes have to go somewhere as well.)
        let room = if plan.bytes.is_some() { limit / 4 * 3 / one } else { limit / one };
        let factor = usize::try_from(factor.min(room.max(1))).unwrap_or(usize::MAX);
        let sizes = Sizes::new(plan.limit);
        let first = Table::new(count, factor, &sizes.budget);
        let first = first.ok_or(RestoreError::Memory { needed: one.saturating_mul(factor as u64), limit })?;
        Ok(KeyTable::with(plan, sizes, first))
    }

    /// Puts a key into it, if it has no later state there. `false`: there is no room, and the plan is to say so.
    fn keep(&mut self, spot: Spot, state: u64, bytes: Option<(u32, &[u8])>, plan: &Plan) -> bool {
        loop {
            if self.put_back(spot, state, bytes).is_ok() {
                return true;
            }
            if !self.enlarge(spot) {
                break;
            }
        }
        if plan.evict_within.is_none() {
            return false;
        }
        // The horizon stands at 0: what is older may be evicted.
        self.ground.evict_within = Some(state);
        self.ground.at_ceiling.set(true);
        if self.put_back(spot, state, bytes).is_err() {
            self.ground.evicted.add(1);
        }
        self.ground.at_ceiling.set(false);
        self.ground.evict_within = None;
        true
    }

    /// What is put in comes group by group: how many live in others does not say how crowded it will be. Whether there is more room in this one.
    fn enlarge(&self, spot: Spot) -> bool {
        with_wide!(self.wide, wide => {
            let guard = epoch::pin();
            let pinned = self.pinned(wide, &guard);
            pinned.newest.group(spot).states(wide).all(|state| state > 0) && pinned.enlarge()
        })
    }

    fn put_back(&self, spot: Spot, state: u64, bytes: Option<(u32, &[u8])>) -> Result<(), Full> {
        let decide = move |there: Option<u64>, gone| match there {
            Some(there) if there >= state => Decision::Keep(()),
            _ if state <= gone => Decision::Keep(()),
            _ => Decision::Publish(state, ()),
        };
        with_wide!(self.wide, wide => {
            let guard = epoch::pin();
            let pinned = self.pinned(wide, &guard);
            match (&self.bytes, bytes) {
                (Some(keys), Some(bytes)) => {
                    let put = Cell::new(None);
                    let id = Exact::new(spot.key, bytes, keys, &guard, &put);
                    pinned.update_spot(Spot { key: id::tag(spot.key), ..spot }, id, decide)
                }
                _ => pinned.update_spot(spot, Hashed(spot.key), decide),
            }
        })
    }

    /// For models: what a snapshot has.
    #[cfg(windlass_loom)]
    pub(super) fn read_entries(&self) -> (Vec<(u64, u64)>, u64) {
        let mut entries = Vec::new();
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        let horizon = self.read_all(|runs| {
            // (One part.)
            let cells = runs.out.get(12..).unwrap_or(&[]).chunks_exact(16);
            entries.extend(cells.map(|cell| (word(&cell[..8]), word(&cell[8..]))));
            Ok(())
        });
        (entries, horizon.unwrap_or(0))
    }
}

impl<W: Wide, const BUCKETS: usize, const CELLS: usize> Pinned<'_, W, BUCKETS, CELLS> {
    /// Reads about so many groups from this place on. Where it has come to.
    fn read(&self, from: u128, end: u128, groups: usize, runs: &mut Runs) -> u128 {
        let newest = self.newest;
        // Before the first cell.
        let below: Vec<_> =
            if twin!(BelowAfterwards) { Vec::new() } else { newest.older(self.guard).collect() };
        let factors: usize = newest.factor + below.iter().map(|table| table.factor).sum::<usize>();
        let length = ((groups as u128) << 64) / factors as u128;
        let to = from.saturating_add(length.max(1)).min(end);
        let gone = self.horizon();
        self.read_table(newest, from..to, gone, runs);
        for table in below {
            self.read_table(table, from..to, gone, runs);
        }
        if twin!(BelowAfterwards) {
            newest.older(self.guard).for_each(|table| self.read_table(table, from..to, gone, runs));
        }
        to
    }

    /// The keys of one table that belong to these places, but for those that are gone.
    fn read_table(&self, table: &Table<BUCKETS, CELLS>, places: Range<u128>, gone: u64, runs: &mut Runs) {
        #[allow(clippy::cast_possible_truncation)] // a group
        let group_of = |place: u128| ((place * table.factor as u128) >> 64) as usize;
        for group in group_of(places.start)..=group_of(places.end - 1) {
            let Some(cells) = table.groups.get(group) else { return };
            for entry in cells.cells().map(|cell| self.read_cell(cell)) {
                if entry.state() <= gone {
                    continue;
                }
                let key = self.keys.bytes.as_ref().map_or(entry.key(), |_| id::tag(entry.key()));
                let spot = Spot::of(group, table.factor, key);
                if !places.contains(&((spot.part as u128) << 64 | u128::from(key))) {
                    continue;
                }
                let label = match &self.keys.bytes {
                    None => None,
                    // Buried, or let go: nobody who brings this key would find it.
                    Some(keys) => match keys.read(entry, &mut runs.bytes, self.guard) {
                        None => continue,
                        label => label,
                    },
                };
                runs.push(spot.part, key, entry.state(), label);
            }
        }
    }

    /// Acquire; pairs with the release of the CAS that wrote the entry, and with the horizon that came before that.
    fn read_cell(&self, cell: &crate::sync::AtomicPair) -> Entry {
        if twin!(ReadByHalves) {
            return Entry { low: self.wide.low(cell), high: self.wide.high(cell) };
        }
        self.wide.load(cell)
    }
}
