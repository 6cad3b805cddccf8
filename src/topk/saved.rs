//! Snapshots of the hottest keys: of each row its key, of each pane its threshold and what was refused. Rows and counts: `count/saved`.
//!
//! Marks are not kept: those that there have to be follow from counts and thresholds, which are read after the counts. A key that was refused stays so
//! for the life of its generation, and so does its row.

use super::{
    TopK, TopKBuilder,
    add::mark,
    names::{LISTED, Means, NAME, NUMBER, Name, Names, REFUSED},
};
use crate::{
    codec::{Kind, Reader, RestoreError, Restored, SnapshotSummary, Writer},
    count::{Generation, Row, Saved, header},
    hash::{Key, number_of},
    sync::{
        Ordering::{Acquire, Relaxed},
        epoch::{self, Guard},
        saturating,
    },
    time::{Tick, wall},
};
use std::{
    io::{self, Read, Write},
    time::Duration,
};

/// The section with the threshold of panes that begin.
const NEXT: u32 = 3;

/// What a row's name is.
const NONE: u8 = 0;
const IS_REFUSED: u8 = 1;
const IS_NUMBER: u8 = 2;
const BYTES: u8 = 3;

impl TopK {
    /// Writes a snapshot: all keys and counts, as of its clock's and the system's time, to be read by [`TopKBuilder::restore`]. (What is called snapshot here
    /// is a list.) What is in it: see [`WindowedCounter::snapshot`](crate::WindowedCounter::snapshot). It takes as many bytes as that, and those of the keys.
    ///
    /// # Errors
    /// Those of `out`. What has been written by then is no snapshot.
    pub fn save(&self, out: impl Write) -> io::Result<SnapshotSummary> {
        self.save_at(out, self.clock.now(), wall())
    }

    /// .. of what is said to be now, on the coordinate of its ticks and by the system's clock (since 1970, UTC).
    ///
    /// # Errors
    /// See [`TopK::save`].
    pub fn save_at(&self, out: impl Write, now: Tick, wall: Duration) -> io::Result<SnapshotSummary> {
        let header = header(Kind::TopK, self.panes, self.lateness, self.seed, now, wall);
        let mut writer = Writer::begin(out, &header)?;
        self.core.save(&mut writer)?;
        writer.section(NEXT)?;
        writer.u64(self.next.load(Relaxed))?;
        writer.finish()
    }
}

impl TopKBuilder {
    /// The hottest keys as they were when [`TopK::save`] was called. `wall`: the present by the system's clock, since 1970 (UTC). See
    /// [`CounterBuilder::restore`](crate::CounterBuilder::restore): the same must be the same here. The length of lists may differ.
    ///
    /// Lists are what they were, certificates among them. The one that all read ([`TopK::snapshot`]) is made with the next
    /// refresh.
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass::{Tick, TopK};
    ///
    /// let builder = TopK::builder(Duration::from_secs(60), Duration::from_secs(10), 2).capacity(1000);
    /// let (at, hour) = (|secs: u64| Tick(secs * 1_000_000_000), Duration::from_secs(3600));
    /// let top = builder.clone().build()?;
    /// top.add_at("/index.html", 3, at(5));
    /// top.add_at("/login", 9, at(6));
    /// let mut bytes = Vec::new();
    /// top.save_at(&mut bytes, at(8), 10 * hour)?;
    ///
    /// let restored = builder.restore(&bytes[..], 10 * hour + Duration::from_secs(30))?;
    /// assert_eq!(restored.resumed, at(38));
    /// let list = restored.structure.top_at(restored.resumed);
    /// assert_eq!((list.rows[0].key.to_string(), list.rows[0].count), ("/login".into(), 9));
    /// assert!(list.certified);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Says what is wrong with the settings or the input, and where; see [`RestoreError`].
    pub fn restore(mut self, input: impl Read, wall: Duration) -> Result<Restored<TopK>, RestoreError> {
        let mut reader = Reader::begin(input, Kind::TopK)?;
        let (counter, resumed, elapsed) = self.counter.resumed(&reader, wall)?;
        self.counter = counter;
        let vary = self.counter.grows();
        let structure = self.build()?;
        structure.core.load(&mut reader, vary)?;
        reader.section(NEXT)?;
        structure.next.store(reader.u64("threshold")?.max(1), Relaxed);
        let entries = reader.finish()?;
        if !structure.panes.counts_events && elapsed > Duration::ZERO {
            structure.core.resume(resumed.0);
        }
        Ok(Restored { structure, resumed, elapsed, entries })
    }
}

impl Saved for Names {
    fn save_row(&self, row: Row<'_>, means: &Means, guard: &Guard, out: &mut Vec<u8>) -> bool {
        // Acquire: with the release of who gave it; see `name_of`.
        let note = row.note().load(Acquire);
        let Some((name, _)) = self.name_of_note(note) else {
            out.push(if note & NAME == REFUSED { IS_REFUSED } else { NONE });
            return false;
        };
        let mut bytes = Vec::new();
        match name {
            Name::Number => out.push(IS_NUMBER),
            Name::Put { .. } => {
                let lo = row.fingerprint();
                let (Some(kind), Some(hi)) =
                    (means.read(name, lo, &mut bytes, guard), means.hi(name, lo, guard))
                else {
                    // The generation has left, as will be seen.
                    out.push(NONE);
                    return false;
                };
                out.push(BYTES);
                out.extend_from_slice(&kind.to_le_bytes());
                out.extend_from_slice(&hi.to_le_bytes());
                out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
                out.extend_from_slice(&bytes);
            }
        }
        true
    }

    fn save(&self, panes: usize, out: &mut Vec<u8>) {
        for pane in 0..panes {
            for number in [self.threshold_now(pane), self.refused(pane..pane + 1)] {
                out.extend_from_slice(&number.to_le_bytes());
            }
        }
    }

    fn load_row<R: Read>(
        &self,
        row: Row<'_>,
        means: &Means,
        reader: &mut Reader<R>,
    ) -> Result<(), RestoreError> {
        let lo = row.fingerprint();
        let note = match reader.u8("name")? {
            NONE => 0,
            IS_REFUSED => REFUSED,
            IS_NUMBER => note(number_of(lo, means.seed()).key_hash(means.seed()).hi, NUMBER),
            BYTES => {
                let (kind, hi, len) =
                    (reader.u32("kind of key")?, reader.u64("hash")?, reader.u32("length of key")?);
                let len = usize::try_from(len).ok().filter(|&len| len <= TopK::MAX_LEN);
                let len = len.ok_or_else(|| reader.wrong("length of key", "more than a key may have"))?;
                let mut bytes = Vec::new();
                reader.bytes(len, "key", &mut bytes)?;
                note(hi, self.put(means, kind, hi, &bytes)?)
            }
            _ => return Err(reader.wrong("name", "of no kind that there is")),
        };
        row.note().store(note, Relaxed);
        Ok(())
    }

    fn load<R: Read>(
        generation: &Generation<Names>,
        panes: usize,
        reader: &mut Reader<R>,
    ) -> Result<(), RestoreError> {
        let names = &generation.extra;
        for pane in 0..panes {
            let (threshold, refused) = (reader.u64("threshold")?, reader.u64("refused")?);
            names.put_pane(pane, threshold, refused.min(saturating::SATURATED));
        }
        let guard = epoch::pin();
        for row in generation.table.rows(0, &guard) {
            // (Of a pane without a threshold, since its first adds had not ended, all are marked.)
            let is_hot = |(pane, count)| count >= names.threshold_now(pane).max(1);
            if names.name_of(row).is_some() && row.counts(0..panes).enumerate().any(is_hot) {
                mark(generation, row, &guard);
            }
        }
        Ok(())
    }
}

/// A note of a row that is not marked.
fn note(hi: u64, name: u64) -> u64 {
    hi >> 1 & !(LISTED | NAME) | name
}
