//! A [`LimitSet`] as bytes, and back. Format: docs/snapshot-format.md.
//!
//! **Order.** First the number that the next hold gets, then what was charged, then what was given back, then the holds, and the next number once more. So of a
//! hold from before the first number what was charged is in it. One that is settled meanwhile may be charged whole and settled, never given back and open. One
//! that is made meanwhile has a number between the two: its charge may be missing, and so it is closed when it is restored.

use super::{LimitRule, LimitSet, LimitSetBuilder, Member, hold::Holds};
use crate::{
    codec::{Header, Kind, Reader, RestoreError, Restored, Setting, SnapshotSummary, Value, Writer},
    hash::Seed,
    limit::snapshot::named,
    sync::{AtomicU64, Ordering::Relaxed, twin},
    time::{Tick, Window, wall},
};
use std::{io, time::Duration};

/// Sections: limit i, and behind all of them what was given back, and the rest.
const LIMIT: u32 = 0x20;
const REFUNDS: u32 = 0x30;
const REST: u32 = 0x31;

/// # Snapshots
/// ```
/// use std::time::Duration;
/// use windlass::{LimitRule, LimitSet, Reserved, Settled, Tick};
///
/// let rule = LimitRule::keyed("tokens", "1000/60s".parse()?).clients(1000);
/// let builder = LimitSet::builder().limit(rule).reservations(100);
/// let (set, lease, second) = (builder.clone().build()?, Duration::from_secs(60), 1_000_000_000);
/// let Reserved::Held(ticket) = set.reserve_at(&["ann"], 800, lease, Tick(0)) else { panic!() };
/// let mut bytes = Vec::new();
/// let wall = Duration::from_secs(1_700_000_000);
/// set.snapshot_at(&mut bytes, Tick(0), wall)?;
///
/// // 30 seconds later, elsewhere. The ticket is good there.
/// let restored = builder.restore(&bytes[..], wall + Duration::from_secs(30))?;
/// let (set, now) = (restored.structure, restored.resumed);
/// assert_eq!(now, Tick(30 * second));
/// assert!(!set.check_at(&["ann"], 800, now).is_allowed());
/// assert_eq!(set.cancel_at(ticket, now), Settled::Settled { uncharged: 0 });
/// assert!(set.check_at(&["ann"], 800, now).is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A snapshot is written while callers go on, as that of a [`crate::KeyedLimiter`]; all quotas that were changed are in it. Tickets of holds that were made before it
/// began, and not settled when it was over, are good for what is restored, for the rest of their lease. Those of holds that were made meanwhile are not: what they hold
/// stays charged, if it is in the snapshot; nor is any ticket if more than a million were. A call that is under way when it begins may be charged by some limits and not
/// by others.
impl LimitSet {
    /// Writes a snapshot, of now by its clock and the system's.
    ///
    /// # Errors
    /// Those of `out`; or names are too long for a snapshot: 60,000 bytes in all.
    pub fn snapshot(&self, out: impl io::Write) -> io::Result<SnapshotSummary> {
        self.snapshot_at(out, self.clock.now(), wall())
    }

    /// Writes a snapshot. `now` and `wall`, since 1970, are one time on two clocks.
    ///
    /// Clients are counted in the summary as they are written, for each limit, and holds.
    ///
    /// # Errors
    /// As [`LimitSet::snapshot`].
    pub fn snapshot_at(&self, out: impl io::Write, now: Tick, wall: Duration) -> io::Result<SnapshotSummary> {
        let settings = self.settings.clone();
        let header =
            Header { kind: Kind::LimitSet, counts_events: false, seed: self.seed, wall, now, settings };
        let mut writer = Writer::begin(out, &header)?;
        in_order(&mut Written { set: self, writer: &mut writer })?;
        writer.section(REST)?;
        // Relaxed, both: whoever has charged something has raised them before.
        for limit in &self.limits {
            writer.u64(limit.most.load(Relaxed))?;
        }
        writer.u64(self.newest.load(Relaxed))?;
        writer.finish()
    }
}

/// What has to be read of a set in one order.
pub(super) trait Parts {
    /// The number that the next hold gets.
    fn next(&self) -> u64;

    /// What was charged.
    fn charges(&mut self) -> io::Result<()>;

    /// What was given back.
    fn refunds(&mut self) -> io::Result<()>;

    /// Holds. `first`: the number of the first one whose charge may be missing.
    fn holds(&mut self, first: u64) -> io::Result<()>;
}

/// That order: see above. Model: loom-tests/tests/sets.rs.
pub(super) fn in_order(parts: &mut impl Parts) -> io::Result<()> {
    let first = parts.next();
    if twin!(HoldsFirst) {
        parts.holds(first)?;
    }
    parts.charges()?;
    parts.refunds()?;
    match () {
        () if twin!(HoldsFirst) => Ok(()),
        () if twin!(NumberAfterwards) => parts.holds(parts.next()),
        () => parts.holds(first),
    }
}

struct Written<'a, W: io::Write> {
    set: &'a LimitSet,
    writer: &'a mut Writer<W>,
}

impl<W: io::Write> Parts for Written<'_, W> {
    fn next(&self) -> u64 {
        self.set.holds.as_ref().map_or(0, Holds::next)
    }

    fn charges(&mut self) -> io::Result<()> {
        for (section, limit) in (LIMIT..).zip(&self.set.limits) {
            self.writer.section(section)?;
            match &limit.member {
                Member::Keyed(keyed) => keyed.write(self.writer)?,
                Member::Sole(sole) => {
                    self.writer.entry();
                    sole.write(self.writer)?;
                }
            }
        }
        Ok(())
    }

    fn refunds(&mut self) -> io::Result<()> {
        self.writer.section(REFUNDS)?;
        let limits = &self.set.limits;
        limits.iter().flat_map(|limit| limit.refunds.saved()).try_for_each(|sum| self.writer.u64(sum))
    }

    fn holds(&mut self, first: u64) -> io::Result<()> {
        self.set.holds.as_ref().map_or(Ok(()), |holds| holds.write(first, self.writer))
    }
}

impl LimitSetBuilder {
    /// Restores what [`LimitSet::snapshot`] has written. `wall`: the time of the system, since 1970.
    ///
    /// The limits must be those that it was built with: names, in their order, algorithms, quotas and clients; so must lateness and reservations. If quotas have
    /// changed since, they are what they were changed to. The seed is the snapshot's, and a builder that has another is wrong.
    ///
    /// # Errors
    /// What is wrong with the snapshot, or which of the builder's settings differs. Whatever the input is, no more memory is taken than the builder allows.
    pub fn restore(
        mut self,
        input: impl io::Read,
        wall: Duration,
    ) -> Result<Restored<LimitSet>, RestoreError> {
        let mut reader = Reader::begin(input, Kind::LimitSet)?;
        reader.agree(false, self.seed, &self.settings())?;
        self.seed = Some(reader.header().seed);
        let (resumed, elapsed) = reader.header().resume(wall);
        let reader_of_all = &mut reader;
        let mut section = LIMIT;
        let mut set = self.make(resumed, |builder, rule, seed| {
            reader_of_all.section(section)?;
            section += 1;
            builder.refilled(rule, seed, reader_of_all, resumed)
        })?;
        reader.section(REFUNDS)?;
        for limit in &mut set.limits {
            limit.refunds.put_back(|| reader.u64("sum of refunds"))?;
        }
        if let Some(holds) = &mut set.holds {
            *holds = Holds::restored(self.reservations, &mut reader)?;
        }
        reader.section(REST)?;
        for limit in &mut set.limits {
            let most = reader.u64("most permits")?;
            if most < limit.quota.capacity().max(limit.quota().capacity()) {
                return Err(reader.wrong("most permits", "less than there are"));
            }
            limit.most = AtomicU64::new(most);
        }
        set.newest = crate::sync::CachePadded::new(AtomicU64::new(reader.u64("newest tick")?));
        let entries = reader.finish()?;
        Ok(Restored { structure: set, resumed, elapsed, entries })
    }

    fn refilled<R: io::Read>(
        &self,
        rule: &LimitRule,
        seed: Seed,
        reader: &mut Reader<R>,
        resumed: Tick,
    ) -> Result<Member, RestoreError> {
        match self.keyed(rule, seed) {
            Some(keyed) => Ok(Member::Keyed(Box::new(keyed.refilled(reader, resumed)?))),
            None => {
                reader.entry();
                Ok(Member::Sole(Box::new(Self::sole(rule).build()?.refilled(reader)?)))
            }
        }
    }

    /// What must be the same where a snapshot is restored.
    pub(super) fn settings(&self) -> Vec<Setting> {
        let text = |text: String| Value::Text(text.into());
        let mut settings = vec![
            Setting::number("limits", self.rules.len() as u64),
            Setting::span("lateness", Window::time(self.lateness)),
            Setting::number("reservations", self.reservations as u64),
        ];
        for (i, LimitRule { name, quota, algorithm, clients, .. }) in (1..).zip(&self.rules) {
            settings.push(Setting::new(format!("limit {i}"), text(name.clone())));
            settings.push(Setting::new(format!("quota of limit {i}"), text(named(*quota))));
            settings.push(Setting::new(format!("algorithm of limit {i}"), text(algorithm.name().into())));
            let clients = clients.map_or(0, |clients| clients as u64);
            settings.push(Setting::new(format!("clients of limit {i}"), Value::Number(clients)));
        }
        settings
    }
}
