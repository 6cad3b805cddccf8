//! What `loom-tests` sees of candidates and sketch: the shipped slots, in the smallest sizes.

use super::{
    entry::Entry,
    names::NUMBER,
    pane::Tables,
    plan::Plan,
    saved::{MORE, PANE, Part, load_tables, more, save_tables},
    sketch::Sketch,
    slots::{Bucket, Carried},
};
use crate::{
    codec::{Header, Kind, Reader, Writer},
    hash::Seed,
    sync::{Budget, Portable, twin},
    time::Tick,
};
use std::time::Duration;

/// One bucket of two slots, before a sketch of so many lines, of two cells each.
pub struct Hot {
    tables: Tables,
    carried: Carried,
}

impl Hot {
    /// Nothing was counted yet.
    #[allow(clippy::panic)] // in models
    #[must_use]
    pub fn new(lines: u64) -> Hot {
        let plan = Plan { tables: 1, buckets: 1, lines, names: 0, parts: 1 };
        let tables = Tables::new(&plan, &Budget::new(u64::MAX)).unwrap_or_else(|| panic!("no memory"));
        Hot { tables, carried: Carried::default() }
    }

    /// The same, and the bucket begins with these keys.
    #[must_use]
    pub fn carried(lines: u64, keys: [u64; 2]) -> Hot {
        Hot { carried: keys.map(|key| Some(Entry::carried(key, key, 90))), ..Hot::new(lines) }
    }

    fn bucket(&self) -> Bucket<'_> {
        self.tables.slots.bucket(0)
    }

    /// Counts a key `n` times.
    pub fn add(&self, key: u64, n: u64) {
        self.bucket().add(Portable, key, n, &self.tables.sketch, || Some(NUMBER), || self.carried);
    }

    /// What a snapshot and its restoration make of it, while others go on.
    #[allow(clippy::panic)] // in models
    #[must_use]
    pub fn copy(&self) -> Hot {
        let header = Header {
            kind: Kind::BoundedTopK,
            counts_events: true,
            seed: Seed(0),
            wall: Duration::ZERO,
            now: Tick(0),
            settings: Vec::new(),
        };
        // In the order of the format, whatever that was of the reading.
        let mut parts = [Vec::new(), Vec::new(), Vec::new()];
        if twin!(SketchFirst) {
            save_tables(Portable, &self.tables, Part::Cells(0), &mut parts[1]);
        }
        let (mut next, mut entries) = (Some(Part::Buckets(0)), 0);
        while let Some(part) = next {
            let bytes = match part {
                Part::Buckets(_) => &mut parts[0],
                Part::Cells(_) if twin!(SketchFirst) => &mut Vec::new(),
                Part::Cells(_) => &mut parts[1],
                Part::Rest => &mut parts[2],
            };
            let more;
            (next, more) = save_tables(Portable, &self.tables, part, bytes);
            entries += more;
        }
        let mut bytes = Vec::new();
        let written = Writer::begin(&mut bytes, &header).and_then(|mut writer| {
            writer.section(PANE)?;
            writer.count(entries);
            for part in &parts {
                writer.u8(MORE)?;
                writer.put(part)?;
            }
            writer.finish()
        });
        written.unwrap_or_else(|error| panic!("{error}"));
        let copy = Hot::new(self.tables.sketch.len() as u64 / super::sketch::LINE as u64);
        let restored = Reader::begin(&bytes[..], Kind::BoundedTopK).and_then(|mut reader| {
            reader.section(PANE)?;
            more(&mut reader)?;
            load_tables(Portable, &copy.tables, &mut reader)?;
            reader.finish()
        });
        restored.unwrap_or_else(|error| panic!("{error}"));
        copy
    }

    /// How often it was seen at least, and at most.
    pub fn bounds(&self, key: u64) -> (u64, u64) {
        let sketched = || self.tables.sketch.estimate(key).upper;
        match self.bucket().find(Portable, key) {
            Some(entry) => {
                (entry.count(), entry.upper().unwrap_or_else(|| entry.count().saturating_add(sketched())))
            }
            None => (0, self.bucket().bar(Portable).min(sketched())),
        }
    }

    /// Whether two keys have the same cell of a line.
    pub fn share(a: u64, b: u64) -> bool {
        Sketch::cell_of(a) == Sketch::cell_of(b)
    }

    /// The keys that have slots, in order.
    pub fn keys(&self) -> Vec<u64> {
        let mut keys: Vec<u64> = self.bucket().entries(Portable).map(|entry| entry.lo()).collect();
        keys.sort_unstable();
        keys
    }
}
