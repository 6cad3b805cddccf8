//! Holds: what has been reserved and not settled.
//!
//! A hold is an entry of a table, under a number of its own. Its state is the end of its lease, and whether it has been settled: that only
//! rises, by one publication, and whoever makes it has settled the hold. With the end of its lease the entry goes by itself. What was charged,
//! and where, is in the ticket alone.

use super::{admit::MOST, answer::Settled};
use crate::{
    codec::{Reader, RestoreError, Writer},
    error::ConfigError,
    hash::{Key, KeyHash, Seed},
    limit::{judge::Clients, meter::Charge},
    origin::{MAX_STAMP, Origin},
    sync::{
        AtomicU64,
        Ordering::{AcqRel, Acquire},
        epoch, twin, with_wide,
    },
    table::{Decision, Full, Geometry, KeyTable, Plan},
    time::Tick,
};
use std::io;

/// A hold on permits: what is needed to settle or cancel it, once, at the [`super::LimitSet`] that gave it.
///
/// It can be copied, and sent to whoever gets to know what it was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    pub(super) number: u64,
    pub(super) estimate: u64,
    pub(super) parts: [Option<Held>; MOST],
}

/// .. of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) hash: KeyHash,
    pub(super) charge: Charge,
    /// See [`super::refunds::Refunds::done`].
    pub(super) before: u64,
}

impl Reservation {
    /// Permits that it holds, of each limit.
    #[must_use]
    pub fn estimate(&self) -> u64 {
        self.estimate
    }
}

/// To hand it to other languages.
impl From<Reservation> for [u64; WORDS] {
    fn from(ticket: Reservation) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        let (first, parts) = words.split_at_mut(WORDS - MOST * PART);
        first[0] = ticket.number;
        first[1] = ticket.estimate;
        for (i, (part, to)) in ticket.parts.iter().zip(parts.chunks_exact_mut(PART)).enumerate() {
            if let Some(Held { hash, charge, before }) = part {
                first[2] |= 1 << i;
                to.copy_from_slice(&[hash.hi, hash.lo, charge.from, charge.to, *before]);
            }
        }
        words
    }
}

/// Of words that were never a ticket it makes one that has expired, short of a guess.
impl From<[u64; WORDS]> for Reservation {
    fn from(words: [u64; WORDS]) -> Reservation {
        let (first, rest) = words.split_at(WORDS - MOST * PART);
        let (number, estimate, mut parts) = (first[0], first[1], [None; MOST]);
        for (i, (part, from)) in parts.iter_mut().zip(rest.chunks_exact(PART)).enumerate() {
            let (hash, charge) =
                (KeyHash { hi: from[0], lo: from[1] }, Charge { from: from[2], to: from[3], cost: estimate });
            *part = (first[2] >> i & 1 == 1).then_some(Held { hash, charge, before: from[4] });
        }
        Reservation { number, estimate, parts }
    }
}

/// Of each limit, and in all.
const PART: usize = 5;
const WORDS: usize = 4 + MOST * PART;

/// A section.
const NUMBERS: u32 = 0x32;

/// Holds that can be made while a snapshot is written, so that it is known which they are.
const MOST_MADE: u64 = 1 << 20;

pub(super) struct Holds {
    table: KeyTable,
    origin: Origin,
    seed: Seed,
    next: AtomicU64,
}

/// Opens a hold that ends at a stamp.
pub(crate) fn open(table: &impl Clients, hash: KeyHash, until: u64) -> Result<(), Full> {
    table.update(hash, |_, gone| Decision::Publish((until << 1).max((gone + 1) & !1).max(2), ()))
}

/// Ends it, if nothing has. Model: loom-tests/tests/sets.rs.
pub(crate) fn close(table: &impl Clients, hash: KeyHash, at: u64) -> Settled {
    let closed = table.update(hash, |state, _| match state {
        Some(state) if state >> 1 <= at => Decision::Keep(Settled::Expired),
        Some(_) if twin!(SettleBlindly) => Decision::Keep(Settled::Settled { uncharged: 0 }),
        Some(state) if state & 1 == 1 => Decision::Keep(Settled::Before),
        Some(state) => Decision::Publish(state | 1, Settled::Settled { uncharged: 0 }),
        None => Decision::Keep(Settled::Expired),
    });
    closed.unwrap_or(Settled::Expired)
}

/// Ends those of these numbers, as far as they are there: so many from the first on.
pub(super) fn close_made(table: &impl Clients, (first, made): (u64, u64), hash: impl Fn(u64) -> KeyHash) {
    for number in (0..made).map(|i| first.wrapping_add(i)) {
        let _ = close(table, hash(number), 0);
    }
}

/// The number of a new hold. Release: of a snapshot that knows the number what was charged is known (`next_of`). Else numbers only have to differ.
pub(super) fn number_of(next: &AtomicU64) -> u64 {
    next.fetch_add(1, AcqRel)
}

/// The number of the next one. Acquire; pairs with the release in `number_of`: what those before were charged is there. Model: loom-tests/tests/sets.rs.
pub(super) fn next_of(next: &AtomicU64) -> u64 {
    next.load(Acquire)
}

fn plan(holds: usize) -> Result<Plan, ConfigError> {
    let geometry = Geometry::for_keys(holds).map_err(of_reservations)?;
    // (The span is for tables that grow.)
    Ok(Plan { geometry, span: 1 << 40, evict_within: None, limit: None, bytes: None })
}

fn of_reservations(error: ConfigError) -> ConfigError {
    ConfigError { field: "reservations", ..error }
}

impl Holds {
    pub(super) fn new(holds: usize) -> Result<Holds, ConfigError> {
        let table = KeyTable::new(plan(holds)?).map_err(of_reservations)?;
        Ok(Self::of(table, Origin::new(2, 0, 1), Seed::random()))
    }

    fn of(table: KeyTable, origin: Origin, seed: Seed) -> Holds {
        // (So that those of another set are not taken for one of this.)
        Holds { table, origin, seed, next: AtomicU64::new(Seed::random().0) }
    }

    pub(super) fn next(&self) -> u64 {
        next_of(&self.next)
    }

    /// Those that are open. `first`: the number of the first one that was made while all else was read.
    pub(super) fn write<W: io::Write>(&self, first: u64, writer: &mut Writer<W>) -> io::Result<()> {
        self.table.write(writer)?;
        writer.section(NUMBERS)?;
        // Behind the table: whoever is there has its number, and its stamp.
        let rest = [first, self.next(), self.seed.0, self.origin.saved()];
        rest.into_iter().try_for_each(|word| writer.u64(word))
    }

    /// .. those that were made before all else was read.
    pub(super) fn restored<R: io::Read>(holds: usize, reader: &mut Reader<R>) -> Result<Holds, RestoreError> {
        let plan = plan(holds)?;
        let table = KeyTable::restore(plan, reader, (MAX_STAMP << 1) + 3)?;
        reader.section(NUMBERS)?;
        let (first, next) = (reader.u64("number of a hold")?, reader.u64("number of a hold")?);
        let (seed, origin) = (Seed(reader.u64("seed of holds")?), reader.u64("origin of holds")?);
        let origin = Origin::new(2, 0, 1).resumed(origin);
        let origin = origin.ok_or_else(|| reader.wrong("origin of holds", "not one"))?;
        let made = next.wrapping_sub(first);
        if made > MOST_MADE {
            return Ok(Self::new(holds)?);
        }
        let holds = Self::of(table, origin, seed);
        with_wide!(holds.table.wide(), wide => {
            let guard = epoch::pin();
            let hash = |number: u64| number.key_hash(seed);
            close_made(&holds.table.pinned(wide, &guard), (first, made), hash);
        });
        Ok(holds)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.table.bytes()
    }

    fn stamp(&self, now: Tick) -> u64 {
        self.origin.at(now).unwrap_or(MAX_STAMP)
    }

    /// Every hold that ends up to here has ended.
    pub(super) fn advance(&self, now: Tick) {
        self.table.advance(self.stamp(now) << 1 | 1);
        self.table.maintain_a_share();
    }

    pub(super) fn maintain(&self, budget: usize) -> bool {
        self.table.maintain(budget)
    }

    /// A new one for so many nanoseconds from now on: its number.
    pub(super) fn open(&self, now: Tick, lease: u64) -> Result<u64, Full> {
        let number = number_of(&self.next);
        let until = self.stamp(now).saturating_add(lease).min(MAX_STAMP);
        with_wide!(self.table.wide(), wide => {
            open(&self.table.pinned(wide, &epoch::pin()), number.key_hash(self.seed), until)
        })?;
        Ok(number)
    }

    pub(super) fn close(&self, number: u64, now: Tick) -> Settled {
        let at = self.stamp(now);
        with_wide!(self.table.wide(), wide => {
            close(&self.table.pinned(wide, &epoch::pin()), number.key_hash(self.seed), at)
        })
    }

    /// Those that have neither been settled nor ended, of a sample of groups.
    pub(super) fn open_ones(&self, sample: usize) -> u64 {
        let gone = self.table.horizon();
        self.table.count(Some(sample), |state| state > gone && state & 1 == 0)
    }
}
