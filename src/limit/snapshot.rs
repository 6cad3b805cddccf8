//! Limiters as bytes, and back. Format: docs/snapshot-format.md.

use super::{
    Algorithm, KeyedLimiter, KeyedLimiterBuilder, Limiter, LimiterBuilder, OnUnknown, Quota,
    algorithm::{Judges, with_judge},
    judge::Judge,
    keyed::Changed,
    meter::STATE_BITS,
    overrides::{Overrides, SHARDS},
    saved::{read_quota, read_terms, write_quota, write_terms},
};
use crate::{
    codec::{Header, Kind, Reader, RestoreError, Restored, Setting, SnapshotSummary, Writer},
    hash::{KeyHash, Seed},
    sync::{
        AtomicU64,
        Ordering::Acquire,
        epoch::{Link, pin},
    },
    table::KeyTable,
    time::{Tick, Window, wall},
};
use std::{io, time::Duration};

/// Sections.
const STATE: u32 = 1;
const OVERRIDES: u32 = 2;
const SHARED: u32 = 3;
const TERMS: u32 = 4;

/// A quota, whichever way it was said.
pub(super) fn named(quota: Quota) -> String {
    let burst = quota.burst.filter(|&burst| burst != quota.permits);
    Quota { burst, ..quota }.to_string()
}

fn settings(algorithm: Algorithm, quota: Quota) -> Vec<Setting> {
    let quota = crate::codec::Value::Text(named(quota).into());
    vec![Setting::word("algorithm", algorithm.name()), Setting::new("quota", quota)]
}

fn of_clients(algorithm: Algorithm, quota: Quota, lateness: Duration, shared: u64) -> Vec<Setting> {
    let mut settings = settings(algorithm, quota);
    settings.push(Setting::span("lateness", Window::time(lateness)));
    settings.push(Setting::number("shared cells", shared));
    settings
}

/// # Snapshots
/// ```
/// use std::time::Duration;
/// use windlass::{Limiter, Tick};
///
/// let builder = Limiter::builder("100/60s".parse()?);
/// let (limiter, second) = (builder.clone().build()?, 1_000_000_000);
/// assert!(limiter.check_at(100, Tick(0)).is_allowed());
/// let mut bytes = Vec::new();
/// let wall = Duration::from_secs(1_700_000_000);
/// limiter.snapshot_at(&mut bytes, Tick(10 * second), wall)?;
///
/// // 20 seconds later, elsewhere: half of what was taken is back.
/// let restored = builder.restore(&bytes[..], wall + Duration::from_secs(20))?;
/// let (limiter, now) = (restored.structure, restored.resumed);
/// assert!(!limiter.check_at(51, now).is_allowed());
/// assert!(limiter.check_at(50, now).is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// What [`KeyedLimiter`] says of snapshots is true here as well.
impl Limiter {
    /// Writes a snapshot, of now by its clock and the system's.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn snapshot(&self, out: impl io::Write) -> io::Result<SnapshotSummary> {
        self.snapshot_at(out, self.clock.now(), wall())
    }

    /// Writes a snapshot. `now` and `wall`, since 1970, are one time on two clocks.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn snapshot_at(&self, out: impl io::Write, now: Tick, wall: Duration) -> io::Result<SnapshotSummary> {
        let settings = settings(self.core.algorithm, self.core.terms.quota);
        let header = Header { kind: Kind::Limiter, counts_events: false, seed: Seed(0), wall, now, settings };
        let mut writer = Writer::begin(out, &header)?;
        writer.section(STATE)?;
        writer.entry();
        self.write(&mut writer)?;
        writer.finish()
    }
}

impl LimiterBuilder {
    /// Restores what [`Limiter::snapshot`] has written. `wall`: the time of the system, since 1970.
    ///
    /// Algorithm and quota must be those that it was built with. If the quota has changed since, it is what it was changed to.
    ///
    /// # Errors
    /// What is wrong with the snapshot, or which of the builder's settings differs.
    pub fn restore(self, input: impl io::Read, wall: Duration) -> Result<Restored<Limiter>, RestoreError> {
        let mut reader = Reader::begin(input, Kind::Limiter)?;
        reader.agree(false, None, &settings(self.algorithm, self.quota))?;
        let (resumed, elapsed) = reader.header().resume(wall);
        reader.section(STATE)?;
        reader.entry();
        let structure = self.starting(resumed)?.refilled(&mut reader)?;
        let entries = reader.finish()?;
        Ok(Restored { structure, resumed, elapsed, entries })
    }
}

/// # Snapshots
/// ```
/// use std::time::Duration;
/// use windlass::{KeyedLimiter, Tick};
///
/// let builder = KeyedLimiter::builder("100/60s".parse()?).clients(1000);
/// let (limiter, second) = (builder.clone().build()?, 1_000_000_000);
/// assert!(limiter.check_at("203.0.113.7", 100, Tick(0)).is_allowed());
///
/// // Ticks are this process's own. What both processes know is the time of the system, since 1970.
/// let (now, wall) = (Tick(10 * second), Duration::from_secs(1_700_000_000));
/// let mut bytes = Vec::new();
/// limiter.snapshot_at(&mut bytes, now, wall)?;
///
/// // 20 seconds later, elsewhere: half of what was taken is back.
/// let restored = builder.restore(&bytes[..], wall + Duration::from_secs(20))?;
/// let (limiter, now) = (restored.structure, restored.resumed);
/// assert!(!limiter.check_at("203.0.113.7", 51, now).is_allowed());
/// assert!(limiter.check_at("203.0.113.7", 50, now).is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A snapshot is written while callers go on, who wait for nothing: all that was admitted or forgotten, and all quotas that were changed, before it began are in
/// it, and of what happens meanwhile some. So nobody has more permits of what is restored than without the restart. (But for a client whose own quota is
/// being cleared by a call that is under way when it begins: what it has used of that may not be in it.) It has 16 bytes a client, and with
/// [`Algorithm::SlidingLog`] 24 and 8 for each of its permits.
///
/// **Restored**, what was taken is as long ago as it is, by the system's clock: see [`Restored`]. Quotas are what they were changed to, those of single clients too.
/// The first call after it is never too far ahead. Figures ([`KeyedLimiter::stats`]) begin at 0.
impl KeyedLimiter {
    /// Writes a snapshot, of now by its clock and the system's.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn snapshot(&self, out: impl io::Write) -> io::Result<SnapshotSummary> {
        self.snapshot_at(out, self.clock.now(), wall())
    }

    /// Writes a snapshot. `now` and `wall`, since 1970, are one time on two clocks.
    ///
    /// Clients are counted in the summary as they are written: one of which a larger table has taken over the newer state, twice; and one with a quota of its own,
    /// once for each.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn snapshot_at(&self, out: impl io::Write, now: Tick, wall: Duration) -> io::Result<SnapshotSummary> {
        let lateness = Duration::from_nanos(self.lateness);
        let settings = of_clients(self.algorithm, self.terms.quota, lateness, self.shared.len() as u64);
        let header =
            Header { kind: Kind::KeyedLimiter, counts_events: false, seed: self.seed, wall, now, settings };
        let mut writer = Writer::begin(out, &header)?;
        self.write(&mut writer)?;
        writer.finish()
    }

    /// Quotas of single clients first: a client that loses its own meanwhile has it still, with what it has used of it. The terms after the states: see `saved`.
    pub(super) fn write<W: io::Write>(&self, writer: &mut Writer<W>) -> io::Result<()> {
        writer.section(OVERRIDES)?;
        for shard in 0..SHARDS {
            let own = self.overrides.get(&pin()).map(|overrides| overrides.of_shard(shard));
            for (hash, limiter) in own.into_iter().flatten() {
                writer.entry();
                writer.u64(hash.hi)?;
                writer.u64(hash.lo)?;
                write_quota(limiter.core.terms.quota, writer)?;
                limiter.write(writer)?;
            }
        }
        writer.section(SHARED)?;
        // Acquire; pairs with the release in `word::update`: see `saved`.
        self.shared.iter().try_for_each(|cell| writer.u64(cell.load(Acquire)))?;
        self.table.write(writer)?;
        if let Judges::Log(logs) = &self.judges {
            logs.write(&self.table, writer)?;
        }
        writer.section(TERMS)?;
        let saved = self.changed.get(&pin()).map(|changed| changed.terms.saved());
        write_terms(saved, writer)?;
        // After the table: what is there has an origin. Relaxed: who has seen an entry has acquired what came before it.
        writer.u64(self.origin.saved())
    }
}

impl KeyedLimiterBuilder {
    /// Restores what [`KeyedLimiter::snapshot`] has written. `wall`: the time of the system, since 1970.
    ///
    /// The settings are the builder's, and algorithm, quota, lateness and the number of shared cells must be those that it was built with. If quotas have changed
    /// since, they are what they were changed to. The seed is the snapshot's, and a builder that has another is wrong. So is one for another number of clients,
    /// unless it has a [`KeyedLimiterBuilder::max_memory`]: then the table is of the size that it had, within that. The rest may differ.
    ///
    /// # Errors
    /// What is wrong with the snapshot, which of the builder's settings differs, or that there is no room. Whatever the input is, no more memory is taken than
    /// the builder allows, and for clients with quotas of their own what they take: some times as much as of the input they are.
    pub fn restore(
        mut self,
        input: impl io::Read,
        wall: Duration,
    ) -> Result<Restored<KeyedLimiter>, RestoreError> {
        let mut reader = Reader::begin(input, Kind::KeyedLimiter)?;
        let shared = if let OnUnknown::Share(cells) = self.on_unknown { cells as u64 } else { 0 };
        let settings = of_clients(self.algorithm, self.quota, self.lateness, shared);
        reader.agree(false, self.seed, &settings)?;
        self.seed = Some(reader.header().seed);
        let (resumed, elapsed) = reader.header().resume(wall);
        let structure = self.refilled(&mut reader, resumed)?;
        let entries = reader.finish()?;
        Ok(Restored { structure, resumed, elapsed, entries })
    }

    /// What [`KeyedLimiter::write`] has written.
    pub(super) fn refilled<R: io::Read>(
        self,
        reader: &mut Reader<R>,
        resumed: Tick,
    ) -> Result<KeyedLimiter, RestoreError> {
        let algorithm = self.algorithm;
        reader.section(OVERRIDES)?;
        let mut own = Vec::new();
        if self.in_set && reader.has_more()? {
            return Err(reader.wrong("quota of a client", "in a set"));
        }
        while reader.has_more()? {
            let hash = KeyHash { hi: reader.u64("client")?, lo: reader.u64("client")? };
            let quota = read_quota(reader)?;
            if algorithm.rule(quota).is_err() {
                return Err(reader.wrong("quota of a client", "not one that there can be"));
            }
            own.push((hash, Limiter::of(algorithm, quota, reader)?));
            reader.entry();
        }
        reader.section(SHARED)?;
        let mut shared = Vec::new();
        while reader.has_more()? {
            let state = reader.u64("shared cell")?;
            if state >> STATE_BITS > 0 {
                return Err(reader.wrong("shared cell", "longer than there are"));
            }
            shared.push(AtomicU64::new(state));
        }
        let mut limiter = self.make(resumed, |plan, judges| {
            let table = KeyTable::restore(plan, reader, with_judge!(judges, judge => judge.last()));
            let table = table.map_err(of_capacity)?;
            if let Judges::Log(logs) = judges {
                logs.restore(&table, reader)?;
            }
            Ok::<_, RestoreError>(table)
        })?;
        if shared.len() != limiter.shared.len() {
            return Err(reader.wrong("shared cells", format!("{}", shared.len())));
        }
        limiter.shared = shared.into();
        if !own.is_empty() {
            let own = Overrides::of(own).ok_or_else(|| reader.wrong("client", "there twice"))?;
            limiter.overrides = Link::new(own);
        }
        reader.section(TERMS)?;
        if let Some(saved) = read_terms(reader)? {
            let terms = limiter.terms.resumed((algorithm, limiter.in_set), saved);
            let terms = terms.ok_or_else(|| reader.wrong("change of quota", "not one that there can be"))?;
            let (judges, unknown) =
                (terms.rule.beside(&limiter.judges), limiter.on_unknown.admission(terms.quota));
            limiter.changed = Link::new(Changed { judges, terms, unknown });
        }
        let origin = reader.u64("origin")?;
        limiter.origin = limiter.origin.resumed(origin).ok_or_else(|| reader.wrong("origin", "not one"))?;
        Ok(limiter)
    }
}

/// What a table calls capacity.
fn of_capacity(error: RestoreError) -> RestoreError {
    match error {
        RestoreError::Setting { name, snapshot, builder } if name == "capacity" => {
            RestoreError::Setting { name: "clients".into(), snapshot, builder }
        }
        error => error,
    }
}
