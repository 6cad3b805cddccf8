//! Snapshots of filters. The protocol is in `pane/keep.rs`, the format in docs/snapshot-format.md.

use super::{
    BloomBuilder, BloomPlan, RotatingBloom,
    columns::{Columns, with_columns},
};
use crate::{
    codec::{Header, Kind, Reader, RestoreError, Restored, Setting, SnapshotSummary, Value, Writer},
    pane::{Bloom, Kept, PaneRing, PutBack, Words},
    settings,
    time::{Tick, Window, wall},
};
use std::{
    io::{self, Read, Write},
    time::Duration,
};

/// Sections: the view by which columns were read, their words, the ring at the end.
const VIEW: u32 = 1;
const WORDS: u32 = 2;
const RING: u32 = 3;

/// Blocks that are read and written at a time.
const BLOCKS: u64 = 64;

impl RotatingBloom {
    /// Writes a snapshot: all that was put in before it began, as of its clock's and the system's time. Callers go on meanwhile, and wait for
    /// nothing. What they put in may be in the snapshot or not. [`BloomBuilder::restore`] reads it.
    ///
    /// A pane that goes while it is written, since callers have brought a time by which it has expired, is not in it; and if they move on to another
    /// pane, what is put in from then on is not. Bits that are set meanwhile in the pane that was current may be in it: it is then as much
    /// fuller, and errs as much more as it does with the ids they belong to.
    ///
    /// It takes as many bytes as the live panes. A [`BufWriter`](std::io::BufWriter) is of no use: it writes 64 KiB at a time.
    ///
    /// # Errors
    /// Those of `out`. What has been written by then is no snapshot.
    pub fn snapshot(&self, out: impl Write) -> io::Result<SnapshotSummary> {
        self.snapshot_at(out, self.clock.now(), wall())
    }

    /// .. of what is said to be now, on the coordinate of the filter's ticks and by the system's clock (since 1970, UTC).
    ///
    /// # Errors
    /// See [`RotatingBloom::snapshot`].
    pub fn snapshot_at(&self, out: impl Write, now: Tick, wall: Duration) -> io::Result<SnapshotSummary> {
        with_columns!(&self.columns, columns => self.write(columns, out, now, wall))
    }

    fn write<C: Bloom>(
        &self,
        columns: &C,
        out: impl Write,
        now: Tick,
        wall: Duration,
    ) -> io::Result<SnapshotSummary> {
        let header = Header {
            kind: Kind::Bloom,
            counts_events: self.window.counts_events(),
            seed: self.seed,
            wall,
            now,
            settings: settings_of(self.window, self.lateness, &self.plan),
        };
        let mut writer = Writer::begin(out, &header)?;
        let begun = self.ring.begin_to_keep();
        writer.section(VIEW)?;
        writer.u64(begun.turn(self.plan.panes))?;
        writer.u64(begun.live() as u64)?;
        writer.section(WORDS)?;
        let (all, mut bytes) = (columns.blocks(), Vec::new());
        for from in (0..all).step_by(usize::try_from(BLOCKS).unwrap_or(1)) {
            bytes.clear();
            self.ring.read(columns, begun, from..all.min(from + BLOCKS), |word| {
                bytes.extend_from_slice(&word.to_le_bytes());
            });
            writer.put(&bytes)?;
        }
        let Kept { turn, cleared, due, labels } = self.ring.keep(begun);
        writer.section(RING)?;
        for word in [turn, cleared, due, labels.len() as u64] {
            writer.u64(word)?;
        }
        for (first, last) in labels {
            writer.entry();
            writer.u64(first)?;
            writer.u64(last)?;
        }
        writer.finish()
    }
}

impl BloomBuilder {
    /// A filter as it was when a snapshot was taken of it. `wall`: the present by the system's clock, since 1970 (UTC).
    ///
    /// It gives the answers that the one would have given. What has expired since by the system's clock is gone: the panes are moved on to
    /// [`Restored::resumed`]. (Figures of what has been done, such as [`BloomStats::rotations`](crate::BloomStats::rotations), begin anew.)
    ///
    /// The builder must have the settings that the other was built with, as far as they say what bits mean: window, lateness, panes, and layout,
    /// probes and bits, given or found by the expected ids and the error. Memory is bounded by what it says, whatever the input is. `max_jump` and rotation may differ. The seed is
    /// that of the snapshot, and may be left out.
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass::{RotatingBloom, Tick};
    ///
    /// let builder = RotatingBloom::builder(Duration::from_secs(60)).expected_ids(10_000);
    /// let (at, hour) = (|secs: u64| Tick(secs * 1_000_000_000), Duration::from_secs(3600));
    /// let seen = builder.clone().build()?;
    /// seen.insert_at("order-4711", at(10));
    /// let mut bytes = Vec::new();
    /// seen.snapshot_at(&mut bytes, at(15), 10 * hour)?;
    ///
    /// // Half a minute later, by the system's clock:
    /// let restored = builder.restore(&bytes[..], 10 * hour + Duration::from_secs(30))?;
    /// assert_eq!(restored.resumed, at(45));
    /// assert!(restored.structure.contains_at("order-4711", restored.resumed));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Says what is wrong with the settings or the input, and where; see [`RestoreError`].
    pub fn restore(self, input: impl Read, wall: Duration) -> Result<Restored<RotatingBloom>, RestoreError> {
        let plan = self.plan()?;
        let reader = Reader::begin(input, Kind::Bloom)?;
        let events = self.window.counts_events();
        reader.agree(events, self.seed, &settings_of(self.window, self.lateness, &plan))?;
        let (resumed, elapsed) = reader.header().resume(wall);
        let (seed, clock) =
            (reader.header().seed, settings::clock_from(self.clock.clone(), self.window, resumed)?);
        let columns = Columns::new(&plan.choice()).ok_or_else(|| no_memory(&plan))?;
        let (ring, entries) = with_columns!(&columns, columns => self.read(reader, &plan, columns)?);
        let lateness = self.lateness;
        let structure = RotatingBloom {
            ring,
            columns,
            plan,
            window: self.window,
            lateness,
            seed,
            clock,
            #[cfg(all(feature = "mmap", unix, not(windlass_loom)))]
            file: None,
        };
        if !events && elapsed > Duration::ZERO {
            structure.advance_to(resumed);
        }
        Ok(Restored { structure, resumed, elapsed, entries })
    }

    /// The ring, with what its columns have; and how many.
    fn read<C: Bloom>(
        &self,
        mut reader: Reader<impl Read>,
        plan: &BloomPlan,
        columns: &C,
    ) -> Result<(PaneRing, u64), RestoreError> {
        reader.section(VIEW)?;
        let (turn, live) = (reader.u64("view")?, reader.u64("view")?);
        let back = usize::try_from(live).ok().and_then(|live| PutBack::new(plan.panes, turn, live));
        let back = back.ok_or_else(|| reader.wrong("view", "there is no such one of so many panes"))?;
        reader.section(WORDS)?;
        let (len, mut bytes) = (8 * back.words(columns.words(0, 0).len()), Vec::new());
        for block in 0..columns.blocks() {
            bytes.clear();
            reader.bytes(len, "words", &mut bytes)?;
            let words = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
            back.put(columns, block, words);
        }
        reader.section(RING)?;
        let [turn, cleared, due, live] =
            [reader.u64("ring")?, reader.u64("ring")?, reader.u64("ring")?, reader.u64("ring")?];
        if live > plan.panes as u64 {
            return Err(reader.wrong("ring", "not as one is written"));
        }
        let mut labels = Vec::new();
        for _ in 0..live {
            reader.entry();
            labels.push((reader.u64("labels")?, reader.u64("labels")?));
        }
        let words = Words::new(plan.panes).ok_or_else(|| no_memory(plan))?;
        let kept = Kept { turn, cleared, due, labels };
        let ring = back.finish(columns, self.ring_of(plan), words, &kept);
        let ring = ring.ok_or_else(|| reader.wrong("ring", "there is no such one of these panes"))?;
        Ok((ring, reader.finish()?))
    }
}

fn no_memory(plan: &BloomPlan) -> RestoreError {
    RestoreError::Memory { needed: plan.bytes, limit: crate::mem::physical_memory().unwrap_or(u64::MAX) }
}

/// What says what its bits mean.
pub(super) fn settings_of(window: Window, lateness: Window, plan: &BloomPlan) -> Vec<Setting> {
    vec![
        Setting::span("window", window),
        Setting::span("lateness", lateness),
        Setting::number("panes", plan.panes as u64),
        Setting::span("pane", plan.pane),
        Setting::new("layout", Value::Text(plan.layout.to_string().into())),
        Setting::number("probes", plan.probes.into()),
        Setting::number("bits", plan.bits),
    ]
}
