//! The rings of clients, read while callers go on, and put back later.
//!
//! They are read after the table, and the horizon once more after them. A ring that an entry led to, and that another client has by now, was taken away
//! because the horizon had passed that entry: whoever has seen what the other put into it sees this horizon. So with the last horizon each entry that lives has
//! a ring of its own, with all that was in it when the entry was read.
//!
//! What has been put into it since may be later than the entry will live. Those times count as the last one for which it does: they are no earlier than those of
//! permits that were there before.

use super::{FREE, Life, Logs, OF_A_RING, RING, RING_BITS};
use crate::{
    codec::{Reader, RestoreError, Writer},
    limit::{
        ring::MICROS,
        saved::{read_ring, write_ring},
    },
    sync::{
        Ordering::{Acquire, Relaxed},
        twin,
    },
    table::KeyTable,
};
use std::io::{self, Read, Write};

/// Sections.
const RINGS: u32 = 0x110;
const HORIZON: u32 = 0x111;

/// Of a ring's first word, while a snapshot is restored: an entry leads to it.
const FOUND: u64 = 1 << 63;

/// The table of the clients, as far as their rings go by it.
pub(in crate::limit) trait Entries {
    /// Calls `each` with the state of each entry, gone or not.
    fn each_state(&self, each: &mut dyn FnMut(u64));

    /// Every state up to here is gone. Acquire.
    fn horizon(&self) -> u64;

    fn advance(&self, horizon: u64);
}

impl Entries for KeyTable {
    fn each_state(&self, each: &mut dyn FnMut(u64)) {
        let each = std::cell::RefCell::new(each);
        self.count(None, |state| {
            (each.borrow_mut())(state);
            false
        });
    }

    fn horizon(&self) -> u64 {
        KeyTable::horizon(self)
    }

    fn advance(&self, horizon: u64) {
        KeyTable::advance(self, horizon);
    }
}

impl Logs {
    /// The rings in use: number, and what it has. After the table. Model: loom-tests/tests/limit.rs.
    pub(in crate::limit) fn write<W: Write>(
        &self,
        table: &impl Entries,
        writer: &mut Writer<W>,
    ) -> io::Result<()> {
        let early = twin!(HorizonBeforeRings).then(|| table.horizon());
        writer.section(RINGS)?;
        let mut times = Vec::new();
        // Acquire: an entry that was read has a ring with a lower number.
        for ring in 0..self.pool.unused.load(Acquire) {
            if matches!(Life::of(self.pool.life(ring).load(Acquire)), Life::Used { .. }) {
                writer.u64(ring)?;
                write_ring(self.ring(ring), &mut times, writer)?;
            }
        }
        writer.section(HORIZON)?;
        writer.u64(early.unwrap_or_else(|| table.horizon()))
    }

    /// Into rings that are new, for a table that was restored.
    pub(in crate::limit) fn restore<R: Read>(
        &self,
        table: &impl Entries,
        reader: &mut Reader<R>,
    ) -> Result<(), RestoreError> {
        let pool = &self.pool;
        let rings = pool.rings;
        // Of a ring that two entries lead to the later one counts: if the earlier one lives, that is found below.
        let horizon = table.horizon();
        let mut used = 0;
        let mut wrong = None;
        self.each_entry(table, horizon, |age, ring| match ring < rings {
            true => {
                // Relaxed, here and below: nobody knows the rings as yet.
                let life = pool.life(ring);
                life.store(Life::used(age).max(life.load(Relaxed)), Relaxed);
                used = used.max(ring + 1);
            }
            false => wrong = Some(ring),
        });
        if let Some(ring) = wrong {
            return Err(reader.wrong("state", format!("ring {ring}, where there are {rings}")));
        }
        reader.section(RINGS)?;
        let mut times = Vec::new();
        let mut next = 0;
        while reader.has_more()? {
            let ring = reader.u64("ring")?;
            if ring < next || ring >= rings {
                return Err(reader.wrong("ring", format!("{ring}, where {next} to {rings} are possible")));
            }
            next = ring + 1;
            let given_back = read_ring(pool.stride - OF_A_RING, &mut times, reader)?;
            // (Of a client that is not in the table, it came later.)
            if let Life::Used { age } = Life::of(pool.life(ring).load(Relaxed)) {
                let latest = age.saturating_mul(self.unit).saturating_sub(1) / MICROS;
                times.iter_mut().for_each(|time| *time = latest.min(*time));
                self.ring(ring).put_back(&times, given_back);
            }
        }
        reader.section(HORIZON)?;
        let horizon = reader.u64("horizon")?;
        if horizon < table.horizon() || horizon > crate::limit::judge::Judge::last(self) {
            return Err(reader.wrong("horizon", "before that of the table, or too late"));
        }
        table.advance(horizon);
        let mut twice = None;
        self.each_entry(table, horizon, |age, ring| {
            let life = pool.life(ring);
            match life.load(Relaxed) == Life::used(age) {
                true => life.store(Life::used(age) | FOUND, Relaxed),
                false => twice = Some(ring),
            }
        });
        if let Some(ring) = twice {
            return Err(reader.wrong("state", format!("ring {ring} of two clients")));
        }
        // The others are free, the first one first.
        let mut free = 0;
        for ring in (0..used).rev() {
            let life = pool.life(ring);
            match life.load(Relaxed) {
                word if word & FOUND > 0 => life.store(word & !FOUND, Relaxed),
                _ => {
                    life.store(free << 2 | FREE, Relaxed);
                    free = ring + 1;
                }
            }
        }
        pool.free.store(free, Relaxed);
        pool.unused.store(used, Relaxed);
        Ok(())
    }

    /// Age and ring of each entry above the horizon.
    fn each_entry(&self, table: &impl Entries, horizon: u64, mut each: impl FnMut(u64, u64)) {
        table.each_state(&mut |state| {
            if state > horizon {
                each(state >> RING_BITS, state & RING);
            }
        });
    }
}
