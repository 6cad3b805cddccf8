//! How long a run may be, by its events' times.

use std::time::Duration;

use windlass::{KeyHash, Tick};

/// Somewhat less than any algorithm has stamps for, in nanoseconds: the log for 2^48 microseconds, others for 2^58 ns.
const STAMPS: u64 = (1 << 48) * 1000 - (1 << 43);

/// The times so far, and those that limits surely have stamps for.
pub(crate) struct Reach {
    pub(super) first: Option<Tick>,
    pub(super) newest: Tick,
    /// Nanoseconds after the first event.
    range: u64,
}

impl Reach {
    /// Of limits, the longest of which is one of so many in `per`.
    pub(crate) fn new(lateness: Duration, per: Duration) -> Reach {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        // Less what they keep for late events and for the windows before the first.
        let before = nanos(lateness).saturating_add(nanos(per).max(1000).saturating_mul(5));
        Reach { first: None, newest: Tick(0), range: STAMPS.saturating_sub(before) }
    }

    /// Where a run before ended.
    pub(super) fn go_on(self, first: Option<u64>, newest: u64) -> Reach {
        Reach { first: first.map(Tick), newest: Tick(newest), ..self }
    }

    /// The events up to the first whose time lies too far from the first of all, and what is wrong with that one.
    pub(crate) fn take<'a>(
        &mut self,
        events: &'a [(KeyHash, Tick)],
    ) -> (&'a [(KeyHash, Tick)], Option<String>) {
        let Some(&(_, at)) = events.first() else { return (events, None) };
        let first = *self.first.get_or_insert(at);
        let beyond = events.iter().position(|(_, at)| at.0.saturating_sub(first.0) > self.range);
        let events = &events[..beyond.unwrap_or(events.len())];
        self.newest = events.iter().fold(self.newest, |newest, &(_, at)| newest.max(at));
        let days = self.range / 86_400_000_000_000;
        let wrong =
            beyond.map(|_| format!("its time is more than {days} days after that of the first event"));
        (events, wrong)
    }
}
