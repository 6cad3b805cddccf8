//! A queue as bytes, and back. Format: docs/snapshot-format.md.
//!
//! **What is read.** Slots from the head to the tail of the beginning. What has been moved since to where the reading will not come is written as it was (twin
//! `LeaveOutTheMoved`); what was moved before stands further on. If the head overtakes the reading, what it has passed was popped, or moved to behind
//! the tail: then that is read as well (twin `BeOvertaken`). So a key may come twice; the later one counts. Model: loom-tests/tests/fifo.rs.

use super::{
    FifoBuilder, FifoIndex, Places,
    entry::{OnPresent, PushRefused, Pushed},
    queue::{Found, Keys, LIVE, MOVED, Named, Queue, WRITTEN},
};
use crate::{
    codec::{Header, Kind, Reader, RestoreError, Restored, SnapshotSummary, Writer},
    hash::KeyHash,
    sync::{Look, Wide, epoch, twin, with_wide},
    time::{Tick, wall},
};
use std::{io, time::Duration};

/// The entries; the next number.
const ENTRIES: u32 = 1;
const NEXT: u32 = 2;

/// Slots that are read under one pin, and bytes after which there are no more.
const SLOTS: usize = 256;
const BYTES: usize = 1 << 17;

/// No number is as great.
const MOST: u64 = 1 << 58;

/// Where the reading stands.
pub(super) struct Reading {
    at: u64,
    /// Read up to here.
    end: u64,
    overtaken: bool,
}

impl Reading {
    /// The number after the last that was read.
    pub(super) fn end(&self) -> u64 {
        self.end
    }
}

impl<V: Clone + Send + Sync + 'static> Queue<V> {
    /// The head before the tail: what is between them was there.
    pub(super) fn begin_reading(&self, wide: impl Wide) -> Reading {
        let at = self.log.head();
        Reading { at, end: self.log.tail(wide), overtaken: false }
    }

    /// The next slot, and the entry that is or was in it. `None`: that was all.
    pub(super) fn read_next<'g>(
        &'g self,
        keys: &impl Keys,
        wide: impl Wide,
        reading: &mut Reading,
        guard: &'g epoch::Guard,
    ) -> Option<Option<Found<'g, V>>> {
        let head = self.log.head();
        if head > reading.at {
            reading.overtaken |= !twin!(BeOvertaken);
            reading.at = head;
        }
        if reading.at >= reading.end {
            let further = std::mem::take(&mut reading.overtaken);
            let tail = if further { self.log.tail(wide) } else { reading.end };
            reading.end = tail.max(reading.end);
            if reading.at >= reading.end {
                return None;
            }
        }
        let number = reading.at;
        reading.at += 1;
        loop {
            return Some(match self.log.look(number, guard) {
                Some(Look::Filled(LIVE, record)) => Some(Found { number, record }),
                Some(Look::Filled(WRITTEN, _)) => {
                    self.finish(keys, number, guard);
                    continue;
                }
                Some(Look::Filled(word, record))
                    if word.checked_sub(MOVED).is_some_and(|to| to >= reading.end)
                        && !twin!(LeaveOutTheMoved) =>
                {
                    Some(Found { number, record })
                }
                // Its segment has gone: the head has overtaken this.
                None if self.log.head() > number => {
                    reading.overtaken |= !twin!(BeOvertaken);
                    None
                }
                _ => None,
            });
        }
    }
}

/// # Snapshots
/// ```
/// use std::time::Duration;
/// use windlass::{FifoIndex, Tick};
///
/// let waiting = FifoIndex::builder().capacity(1000).build::<String>()?;
/// waiting.push_at("ann", "window seat".to_owned(), Tick(5))?;
/// waiting.push_at("bob", "aisle".to_owned(), Tick(7))?;
/// let (mut bytes, wall) = (Vec::new(), Duration::from_secs(1_700_000_000));
/// waiting.snapshot_at(&mut bytes, Tick(9), wall)?;
///
/// let builder = FifoIndex::builder().capacity(1000);
/// let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
/// let restored = builder.restore_with(&bytes[..], wall, text)?.structure;
/// assert_eq!((restored.rank("bob"), restored.get("ann").as_deref()), (Some(1), Some("window seat")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A snapshot is written while callers go on, who wait for nothing: what was pushed and not popped before it began is in it, or has been popped meanwhile. Entries keep
/// their order, numbers and times. Each has 48 bytes, its key and its value.
impl<V: Clone + Send + Sync + 'static> FifoIndex<V> {
    /// Writes a snapshot, of now by its clock and the system's.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn snapshot(&self, out: impl io::Write) -> io::Result<SnapshotSummary>
    where
        V: AsRef<[u8]>,
    {
        self.snapshot_at(out, self.clock.now(), wall())
    }

    /// Writes a snapshot. `now` and `wall`, since 1970, are one time on two clocks.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn snapshot_at(&self, out: impl io::Write, now: Tick, wall: Duration) -> io::Result<SnapshotSummary>
    where
        V: AsRef<[u8]>,
    {
        self.snapshot_with(out, now, wall, |value, out| out.extend_from_slice(value.as_ref()))
    }

    /// The same for values of any type: `encode` appends the bytes of one.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn snapshot_with(
        &self,
        out: impl io::Write,
        now: Tick,
        wall: Duration,
        encode: impl Fn(&V, &mut Vec<u8>),
    ) -> io::Result<SnapshotSummary> {
        let header = Header {
            kind: Kind::Fifo,
            counts_events: false,
            seed: self.seed,
            wall,
            now,
            settings: Vec::new(),
        };
        let mut writer = Writer::begin(out, &header)?;
        writer.section(ENTRIES)?;
        let (mut bytes, mut value) = (Vec::new(), Vec::new());
        let mut reading = with_wide!(self.table.wide(), wide => self.queue.begin_reading(wide));
        loop {
            bytes.clear();
            let (mut count, mut done) = (0, false);
            with_wide!(self.table.wide(), wide => {
                let guard = epoch::pin();
                let places: Places<'_, _> = self.places(wide, &guard);
                for _ in 0..SLOTS {
                    let Some(found) = self.queue.read_next(&places, wide, &mut reading, &guard) else {
                        done = true;
                        break;
                    };
                    let Some(found) = found else { continue };
                    value.clear();
                    encode(&found.record.value, &mut value);
                    push(&found, &value, &mut bytes);
                    count += 1;
                    if bytes.len() > BYTES {
                        break;
                    }
                }
            });
            writer.count(count);
            writer.put(&bytes)?;
            if done {
                break;
            }
        }
        writer.section(NEXT)?;
        writer.u64(reading.end())?;
        writer.finish()
    }

    /// An entry with the number it had, of one that only this call knows. Later than all there are.
    fn put_back(
        &mut self,
        number: u64,
        named: Named<'_>,
        value: V,
        stamp: u64,
    ) -> Result<Pushed, PushRefused> {
        self.skip_to(number)?;
        with_wide!(self.table.wide(), wide => {
            let guard = epoch::pin();
            let places = self.places(wide, &guard);
            self.queue.push(&places, wide, named, value, stamp, &guard)
        })
    }

    /// The next number is this; those before are holes.
    fn skip_to(&mut self, number: u64) -> Result<(), PushRefused> {
        let wide = self.table.wide();
        let tail = with_wide!(wide, wide => self.queue.log.tail(wide));
        if self.queue.log.head() == tail {
            self.queue.log.begin_at(number);
            // The table's horizon is the head or less.
            self.table.advance(number);
            return Ok(());
        }
        let guard = epoch::pin();
        for _ in tail..number {
            // (Room for a hole, as there is for what is moved.)
            let taken = with_wide!(wide, wide => self.queue.log.take(wide, 0, true));
            let taken = taken.ok_or(PushRefused::Full)?;
            self.queue.log.skip(taken.value(), &guard);
        }
        Ok(())
    }
}

/// number, stamp, hash (hi, lo; 8 each) | kind, length of key (4 each) | length of value (8) | key | value
fn push<V>(found: &Found<'_, V>, value: &[u8], out: &mut Vec<u8>) {
    let record = found.record;
    let key = record.key.as_bytes();
    for word in [found.number, record.stamp, record.hash.hi, record.hash.lo] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(&record.key.kind().to_le_bytes());
    out.extend_from_slice(&u32::try_from(key.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(&(value.len() as u64).to_le_bytes());
    out.extend_from_slice(key);
    out.extend_from_slice(value);
}

impl FifoBuilder {
    /// Restores what [`FifoIndex::snapshot`] has written. `wall`: the time of the system, since 1970.
    ///
    /// # Errors
    /// As [`FifoBuilder::restore_with`].
    pub fn restore<V: Clone + Send + Sync + From<Vec<u8>> + 'static>(
        self,
        input: impl io::Read,
        wall: Duration,
    ) -> Result<Restored<FifoIndex<V>>, RestoreError> {
        self.restore_with(input, wall, |value| Some(value.to_vec().into()))
    }

    /// The same for values of any type: `decode` makes one of its bytes, or says that these are none.
    ///
    /// The settings are the builder's; the seed is the snapshot's, and a builder that has another is wrong.
    ///
    /// # Errors
    /// What is wrong with the snapshot, or that there is no room for it. Whatever the input is, no more memory is taken than the builder allows; and what
    /// one key and one value of the input have.
    pub fn restore_with<V: Clone + Send + Sync + 'static>(
        mut self,
        input: impl io::Read,
        wall: Duration,
        decode: impl Fn(&[u8]) -> Option<V>,
    ) -> Result<Restored<FifoIndex<V>>, RestoreError> {
        let mut reader = Reader::begin(input, Kind::Fifo)?;
        reader.agree(false, self.seed, &[])?;
        self.seed = Some(reader.header().seed);
        let (resumed, elapsed) = reader.header().resume(wall);
        let on_present = self.on_present;
        let mut index = self.make::<V>(resumed)?;
        // A key that comes twice was moved.
        index.queue.on_present = OnPresent::MoveToTail;
        reader.section(ENTRIES)?;
        let (mut key, mut value, mut next) = (Vec::new(), Vec::new(), 0);
        while reader.has_more()? {
            let (number, stamp) = (reader.u64("number")?, reader.u64("time")?);
            if number < next || number >= MOST {
                return Err(reader.wrong("number", format!("{number}, where {next} is the least")));
            }
            next = number + 1;
            let hash = KeyHash { hi: reader.u64("hash")?, lo: reader.u64("hash")? };
            let (kind, len) = (reader.u32("kind")?, reader.u32("length of key")?);
            let value_len = usize::try_from(reader.u64("length of value")?).unwrap_or(usize::MAX);
            key.clear();
            value.clear();
            reader.bytes(usize::try_from(len).unwrap_or(usize::MAX), "key", &mut key)?;
            reader.bytes(value_len, "value", &mut value)?;
            let Some(value) = decode(&value) else { return Err(reader.wrong("value", "not one")) };
            match index.put_back(number, Named { hash, bytes: (kind, &key) }, value, stamp) {
                Ok(_) => reader.entry(),
                Err(PushRefused::Collision) => return Err(reader.wrong("key", "another has its hash")),
                Err(_) => return Err(full(&reader, &index)),
            }
        }
        reader.section(NEXT)?;
        let after = reader.u64("next number")?;
        if after < next || after > MOST {
            return Err(reader.wrong("next number", format!("{after}, where {next} is the least")));
        }
        index.skip_to(after).map_err(|_| full(&reader, &index))?;
        index.queue.on_present = on_present;
        let entries = reader.finish()?;
        Ok(Restored { structure: index, resumed, elapsed, entries })
    }
}

fn full<V: Clone + Send + Sync + 'static>(
    reader: &Reader<impl io::Read>,
    index: &FifoIndex<V>,
) -> RestoreError {
    RestoreError::Full { entries: reader.entries(), memory: index.memory_bytes() }
}
