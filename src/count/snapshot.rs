//! Snapshots of counters. What is in them: `saved`; the format: docs/snapshot-format.md.

use super::{
    CounterBuilder, Panes, TotalBuilder, WindowedCounter, WindowedTotal,
    builder::{Grid, Parts},
};
use crate::{
    codec::{Header, Kind, Reader, RestoreError, Restored, Setting, SnapshotSummary, Writer},
    hash::Seed,
    settings,
    time::{Tick, Window, wall},
};
use std::{
    io::{self, Read, Write},
    time::Duration,
};

impl WindowedCounter {
    /// Writes a snapshot: all counts, as of its clock's and the system's time. Callers go on meanwhile, and wait for nothing. A count in it is no
    /// less than what had been counted when it began, and no more than what had been when it ended. [`CounterBuilder::restore`] reads it.
    ///
    /// It takes some 20 bytes for each key and generation, and 8 for each pane in which it was seen.
    ///
    /// What a generation had that leaves meanwhile, since callers have brought a time by which it is behind the window, is not in it. What
    /// a [`Writer`](crate::Writer) holds back is not, either.
    ///
    /// # Errors
    /// Those of `out`. What has been written by then is no snapshot.
    pub fn snapshot(&self, out: impl Write) -> io::Result<SnapshotSummary> {
        self.snapshot_at(out, self.clock.now(), wall())
    }

    /// .. of what is said to be now, on the coordinate of the counter's ticks and by the system's clock (since 1970, UTC).
    ///
    /// # Errors
    /// See [`WindowedCounter::snapshot`].
    pub fn snapshot_at(&self, out: impl Write, now: Tick, wall: Duration) -> io::Result<SnapshotSummary> {
        let mut writer =
            Writer::begin(out, &header(Kind::Counter, self.panes, self.lateness, self.seed, now, wall))?;
        self.core.save(&mut writer)?;
        writer.finish()
    }
}

impl CounterBuilder {
    /// A counter as it was when a snapshot was taken of it. `wall`: the present by the system's clock, since 1970 (UTC). What is behind the
    /// window by then is gone. (Figures of what has been done, such as [`CounterStats::late`](crate::CounterStats::late), begin anew.)
    ///
    /// The builder must have the same window, pane and lateness; the same capacity, or a limit ([`CounterBuilder::max_memory`]) under which the
    /// tables fit that there were; and the same seed or none.
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass::{Tick, WindowedCounter};
    ///
    /// let (window, pane) = (Duration::from_secs(60), Duration::from_secs(10));
    /// let builder = WindowedCounter::builder(window, pane).capacity(1000);
    /// let (at, hour) = (|secs: u64| Tick(secs * 1_000_000_000), Duration::from_secs(3600));
    /// let counter = builder.clone().build()?;
    /// counter.add_at("/index.html", 3, at(5));
    /// let mut bytes = Vec::new();
    /// counter.snapshot_at(&mut bytes, at(8), 10 * hour)?;
    ///
    /// // Half a minute later, by the system's clock:
    /// let restored = builder.restore(&bytes[..], 10 * hour + Duration::from_secs(30))?;
    /// assert_eq!(restored.resumed, at(38));
    /// assert_eq!(restored.structure.count_at("/index.html", at(59)), 3);
    /// assert_eq!(restored.structure.count_at("/index.html", at(60)), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Says what is wrong with the settings or the input, and where; see [`RestoreError`].
    pub fn restore(
        self,
        input: impl Read,
        wall: Duration,
    ) -> Result<Restored<WindowedCounter>, RestoreError> {
        let mut reader = Reader::begin(input, Kind::Counter)?;
        let (builder, resumed, elapsed) = self.resumed(&reader, wall)?;
        let (vary, lateness) = (builder.grows(), builder.lateness_kept());
        let Parts { core, panes, seed, clock } = builder.parts(|_| ())?;
        core.load(&mut reader, vary)?;
        let entries = reader.finish()?;
        if !panes.counts_events && elapsed > Duration::ZERO {
            core.resume(resumed.0);
        }
        let structure = WindowedCounter { core, panes, lateness, seed, clock };
        Ok(Restored { structure, resumed, elapsed, entries })
    }

    /// One that goes on from what is read, if it may.
    pub(crate) fn resumed<R: Read>(
        mut self,
        reader: &Reader<R>,
        wall: Duration,
    ) -> Result<(CounterBuilder, Tick, Duration), RestoreError> {
        let (panes, lateness) = self.grid.kept()?;
        reader.agree(panes.counts_events, self.seed, &settings_of(panes, lateness))?;
        let (resumed, elapsed) = reader.header().resume(wall);
        self.seed = Some(reader.header().seed);
        self.clock = Some(settings::clock_from(self.clock, self.grid.window, resumed)?);
        Ok((self, resumed, elapsed))
    }
}

impl WindowedTotal {
    /// Writes a snapshot. See [`WindowedCounter::snapshot`].
    ///
    /// # Errors
    /// Those of `out`. What has been written by then is no snapshot.
    pub fn snapshot(&self, out: impl Write) -> io::Result<SnapshotSummary> {
        self.snapshot_at(out, self.clock.now(), wall())
    }

    /// .. of what is said to be now. See [`WindowedCounter::snapshot_at`].
    ///
    /// # Errors
    /// Those of `out`.
    pub fn snapshot_at(&self, out: impl Write, now: Tick, wall: Duration) -> io::Result<SnapshotSummary> {
        let mut writer =
            Writer::begin(out, &header(Kind::Total, self.panes, self.lateness, Seed(0), now, wall))?;
        self.ring.save(&mut writer)?;
        writer.finish()
    }
}

impl TotalBuilder {
    /// A total as it was when a snapshot was taken of it. See [`CounterBuilder::restore`].
    ///
    /// # Errors
    /// Says what is wrong with the settings or the input, and where; see [`RestoreError`].
    pub fn restore(
        mut self,
        input: impl Read,
        wall: Duration,
    ) -> Result<Restored<WindowedTotal>, RestoreError> {
        let mut reader = Reader::begin(input, Kind::Total)?;
        let (panes, lateness) = self.grid.kept()?;
        reader.agree(panes.counts_events, None, &settings_of(panes, lateness))?;
        let (resumed, elapsed) = reader.header().resume(wall);
        self.clock = Some(settings::clock_from(self.clock, self.grid.window, resumed)?);
        let structure = self.build()?;
        structure.ring.load(&mut reader)?;
        let entries = reader.finish()?;
        if !panes.counts_events && elapsed > Duration::ZERO {
            structure.ring.resume(resumed.0);
        }
        Ok(Restored { structure, resumed, elapsed, entries })
    }
}

impl Grid {
    /// What says what the counts mean.
    fn kept(&self) -> Result<(Panes, Window), RestoreError> {
        let (panes, _) = self.single_panes()?;
        Ok((panes, self.lateness))
    }
}

pub(crate) fn header(
    kind: Kind,
    panes: Panes,
    lateness: Window,
    seed: Seed,
    now: Tick,
    wall: Duration,
) -> Header {
    let settings = settings_of(panes, lateness);
    Header { kind, counts_events: panes.counts_events, seed, wall, now, settings }
}

fn settings_of(panes: Panes, lateness: Window) -> Vec<Setting> {
    vec![
        Setting::span("window", panes.of_window(panes.window)),
        Setting::span("pane", panes.of_window(1)),
        Setting::span("lateness", lateness),
    ]
}
