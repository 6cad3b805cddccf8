//! A [`Dedup`] as bytes, and back. Format: docs/snapshot-format.md.

use super::{Dedup, DedupBuilder, Identity, Refresh, state::last_of};
use crate::{
    codec::{Header, Kind, Reader, RestoreError, Restored, Setting, SnapshotSummary, Writer},
    origin::MAX_STAMP,
    sync::{AtomicU64, Ordering::Relaxed},
    table::KeyTable,
    time::{Tick, Window, wall},
};
use std::{io, time::Duration};

/// The section with what is not in the table.
const STATE: u32 = 1;

/// No state is as great. (What is claimed or admitted again after it was forgotten may be later than [`MAX_STAMP`], by a block each time.)
const MOST: u64 = last_of(MAX_STAMP + (1 << 41));

/// # Snapshots
/// ```
/// use std::time::Duration;
/// use windlass::{Dedup, Tick, Verdict};
///
/// let builder = Dedup::builder(Duration::from_secs(60)).capacity(1000);
/// let (dedup, second) = (builder.clone().build()?, 1_000_000_000);
/// assert_eq!(dedup.observe_at("order-4711", Tick(0)), Ok(Verdict::Fresh));
///
/// // Ticks are this process's own. What both processes know is the time of the system, since 1970.
/// let (now, wall) = (Tick(10 * second), Duration::from_secs(1_700_000_000));
/// let mut bytes = Vec::new();
/// dedup.snapshot_at(&mut bytes, now, wall)?;
///
/// // 20 seconds later, elsewhere.
/// let restored = builder.restore(&bytes[..], wall + Duration::from_secs(20))?;
/// let (dedup, now) = (restored.structure, restored.resumed);
/// assert_eq!(now, Tick(30 * second));
/// assert_eq!(dedup.observe_at("order-4711", now), Ok(Verdict::Duplicate { first_seen: Some(Tick(0)) }));
/// assert_eq!(dedup.observe_at("order-4711", Tick(60 * second)), Ok(Verdict::Fresh));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A snapshot is written while callers go on, who wait for nothing: all that was admitted, claimed, settled or forgotten before it began is in it, and of what
/// happens meanwhile some. It has 16 bytes an id, and with [`Identity::Bytes`] 24 and the id.
///
/// **Restored**, ids and claims are as old as they are, by the system's clock: see [`Restored`]. Tickets from before are good for what is claimed, unless ids are
/// told apart by their bytes: then such claims end with their lease. Figures ([`Dedup::stats`]) begin at 0.
impl Dedup {
    /// Writes a snapshot, of now by its clock and the system's.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn snapshot(&self, out: impl io::Write) -> io::Result<SnapshotSummary> {
        self.snapshot_at(out, self.clock.now(), wall())
    }

    /// Writes a snapshot. `now` and `wall`, since 1970, are one time on two clocks.
    ///
    /// Ids are counted in the summary as they are written: one of which a larger table has taken over the newer state, twice.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn snapshot_at(&self, out: impl io::Write, now: Tick, wall: Duration) -> io::Result<SnapshotSummary> {
        let header = Header {
            kind: Kind::Dedup,
            counts_events: self.window.counts_events(),
            seed: self.seed,
            wall,
            now,
            settings: settings(self.window, self.lateness, self.identity(), self.rule.refresh),
        };
        let mut writer = Writer::begin(out, &header)?;
        self.table.write(&mut writer)?;
        // After the table: what is there has an origin. Relaxed: who has seen an entry has acquired what came before it.
        writer.section(STATE)?;
        writer.u64(self.origin.saved())?;
        writer.u64(self.resets.load(Relaxed))?;
        writer.finish()
    }

    fn identity(&self) -> Identity {
        if self.table.is_exact() { Identity::Bytes } else { Identity::Hash }
    }
}

impl DedupBuilder {
    /// Restores what [`Dedup::snapshot`] has written. `wall`: the time of the system, since 1970.
    ///
    /// The settings are the builder's, and window, lateness, identity and refresh must be as they were. The seed is the snapshot's, and a builder that has another
    /// is wrong. So is one for another capacity, unless it has a [`DedupBuilder::max_memory`]: then the table is of the size that it had, within that. The rest may
    /// differ.
    ///
    /// # Errors
    /// What is wrong with the snapshot, which of the builder's settings differs, or that there is no room. Whatever the input is, no more memory is taken than
    /// the builder allows.
    pub fn restore(mut self, input: impl io::Read, wall: Duration) -> Result<Restored<Dedup>, RestoreError> {
        let mut reader = Reader::begin(input, Kind::Dedup)?;
        let settings = settings(self.window, self.lateness, self.identity, self.refresh);
        reader.agree(self.window.counts_events(), self.seed, &settings)?;
        self.seed = Some(reader.header().seed);
        let (resumed, elapsed) = reader.header().resume(wall);
        let mut dedup = self.make(resumed, |plan| KeyTable::restore(plan, &mut reader, MOST))?;
        reader.section(STATE)?;
        let (origin, resets) = (reader.u64("origin")?, reader.u64("resets")?);
        dedup.origin = dedup.origin.resumed(origin).ok_or_else(|| reader.wrong("origin", "not one"))?;
        // A ticket of a key that is known by where its bytes lay: they lie elsewhere.
        dedup.resets = AtomicU64::new(resets.wrapping_add(u64::from(dedup.table.is_exact())));
        let entries = reader.finish()?;
        Ok(Restored { structure: dedup, resumed, elapsed, entries })
    }
}

fn settings(window: Window, lateness: Window, identity: Identity, refresh: Refresh) -> Vec<Setting> {
    let identity = match identity {
        Identity::Hash => "hash",
        Identity::Bytes => "bytes",
    };
    let refresh = match refresh {
        Refresh::Never => "never",
        Refresh::OnDuplicate => "on duplicate",
    };
    vec![
        Setting::span("window", window),
        Setting::span("lateness", lateness),
        Setting::word("identity", identity),
        Setting::word("refresh", refresh),
    ]
}
