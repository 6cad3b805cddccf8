//! Deduplication by its definition: a map that never forgets and a few rules, one caller at a time.

use std::collections::HashMap;

use windlass::{Refresh, Tick, Verdict};

/// The rules in ticks; nothing in it overflows.
#[derive(Clone, Debug)]
pub(crate) struct Twin {
    pub(crate) window: i128,
    pub(crate) lateness: i128,
    pub(crate) refresh: Refresh,
    /// A window of time; else of events.
    by_time: bool,
    /// The first tick ever, and the newest.
    span: Option<(i128, i128)>,
    ids: HashMap<u64, Admitted>,
    pub(crate) late: u64,
    resets: u32,
}

#[derive(Clone, Copy, Debug)]
struct Admitted {
    at: i128,
    /// Only claimed, under this lease.
    lease: Option<Lease>,
    forgotten: bool,
}

/// A lease, rounded up to 5 binary digits.
#[derive(Clone, Copy, Debug)]
struct Lease {
    ticks: i128,
    /// The how many-th there is.
    number: i128,
}

/// What a claim comes to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Claimed {
    Ours(Ticket),
    Duplicate(Tick),
    InProgress(Tick),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    id: u64,
    at: i128,
    resets: u32,
}

impl Twin {
    pub(crate) fn new(window: u64, lateness: u64, refresh: Refresh) -> Twin {
        let (window, lateness) = (i128::from(window), i128::from(lateness));
        Twin {
            window,
            lateness,
            refresh,
            by_time: false,
            span: None,
            ids: HashMap::new(),
            late: 0,
            resets: 0,
        }
    }

    /// The same for a window of nanoseconds.
    pub(crate) fn by_time(self) -> Twin {
        Twin { by_time: true, ..self }
    }

    /// The largest power of two that is no more than a 1024th of the window, and 1 at least: the step of the horizon.
    pub(crate) fn granule(&self) -> i128 {
        let mut granule = 1;
        while granule * 2 <= self.window / 1024 {
            granule *= 2;
        }
        granule
    }

    /// Whether a time has been seen.
    pub(crate) fn seen(&self) -> bool {
        self.span.is_some()
    }

    /// A time has been seen.
    pub(crate) fn see(&mut self, now: u64) {
        let now = i128::from(now);
        let (first, newest) = self.span.unwrap_or((now, now));
        self.span = Some((first, newest.max(now)));
    }

    /// Ticks below this count as this: the newest less the lateness, where the newest is known in steps from the first.
    fn floor(&self) -> i128 {
        let Some((first, newest)) = self.span else { return i128::MIN };
        first + (newest - first) / self.granule() * self.granule() - self.lateness
    }

    fn arrival(&self, now: u64) -> i128 {
        i128::from(now).max(self.floor())
    }

    /// Claims are made at every so many ticks.
    fn block(&self) -> i128 {
        let mut block = 1;
        while block < 1024 && (self.by_time || block << 37 < self.window + self.lateness) {
            block *= 2;
        }
        block
    }

    /// When a claim is made that comes at `at`.
    fn time_for_claim(&self, at: i128) -> i128 {
        let Some((first, _)) = self.span else { return at };
        // What comes before all that counts.
        let zero = first - self.window - self.lateness - self.granule();
        let up = (zero - at).rem_euclid(self.block());
        at + up + if self.granule() < self.block() { self.block() } else { 0 }
    }

    fn lease(lease: u64) -> Lease {
        let (mut digits, mut exponent) = (i128::from(lease), 0);
        while digits > 31 {
            digits = (digits + 1) / 2;
            exponent += 1;
        }
        Lease { ticks: digits << exponent, number: 16 * exponent + digits }
    }

    /// What is known of an id. What the horizon has passed is gone.
    fn known(&self, id: u64) -> Option<Admitted> {
        let horizon = self.floor().saturating_sub(self.window);
        let last = *self.ids.get(&id)?;
        let place = match last.lease {
            Some(lease) if self.granule() < self.block() => last.at - self.block() + lease.number,
            _ => last.at,
        };
        (place > horizon).then_some(last)
    }

    /// The first tick at which it can be fresh again.
    fn end(&self, last: &Admitted) -> i128 {
        last.at + last.lease.map_or(self.window, |lease| lease.ticks.min(self.window))
    }

    fn live_at(&self, id: u64, at: i128) -> Option<Admitted> {
        self.known(id).filter(|last| !last.forgotten && at < self.end(last))
    }

    pub(crate) fn observe(&mut self, id: u64, now: u64) -> Verdict {
        self.see(now);
        self.late += u64::from(i128::from(now) < self.floor());
        self.judge(id, now)
    }

    /// The same without a look at what it does to time.
    pub(crate) fn judge(&mut self, id: u64, now: u64) -> Verdict {
        let at = self.arrival(now);
        if let Some(last) = self.live_at(id, at) {
            if self.refresh == Refresh::OnDuplicate && last.lease.is_none() {
                self.ids.insert(id, Admitted { at: last.at.max(at), ..last });
            }
            return Verdict::Duplicate { first_seen: Some(tick(last.at)) };
        }
        // What is admitted after it was forgotten is a tick later at least than what was forgotten.
        let at = self.known(id).filter(|last| last.forgotten).map_or(at, |last| at.max(last.at + 1));
        self.ids.insert(id, Admitted { at, lease: None, forgotten: false });
        Verdict::Fresh
    }

    pub(crate) fn claim(&mut self, id: u64, now: u64, lease: u64) -> Claimed {
        self.see(now);
        self.late += u64::from(i128::from(now) < self.floor());
        let at = self.arrival(now);
        match self.live_at(id, at) {
            Some(last) if last.lease.is_some() => return Claimed::InProgress(tick(self.end(&last))),
            Some(_) => {
                let Verdict::Duplicate { first_seen: Some(at) } = self.judge(id, now) else {
                    panic!("{id} is live")
                };
                return Claimed::Duplicate(at);
            }
            None => {}
        }
        let mut at = self.time_for_claim(at);
        if let Some(last) = self.known(id).filter(|last| last.forgotten) {
            // A block later at least, and all of it.
            let short = last.at + self.block() - at;
            at += short.max(0).div_euclid(self.block()) * self.block();
            at += if at < last.at + self.block() { self.block() } else { 0 };
        }
        self.ids.insert(id, Admitted { at, lease: Some(Self::lease(lease)), forgotten: false });
        Claimed::Ours(Ticket { id, at, resets: self.resets })
    }

    /// What is claimed by this ticket, or was committed by it.
    fn claimed(&mut self, ticket: Ticket) -> Option<&mut Admitted> {
        let last = self.known(ticket.id)?;
        let same = ticket.resets == self.resets && last.at == ticket.at && !last.forgotten;
        self.ids.get_mut(&ticket.id).filter(|_| same)
    }

    pub(crate) fn commit(&mut self, ticket: Ticket) -> bool {
        self.claimed(ticket).map(|last| last.lease = None).is_some()
    }

    pub(crate) fn abort(&mut self, ticket: Ticket) -> bool {
        self.claimed(ticket).filter(|last| last.lease.is_some()).map(|last| last.forgotten = true).is_some()
    }

    pub(crate) fn contains(&self, id: u64, now: u64) -> bool {
        self.live_at(id, self.arrival(now)).is_some()
    }

    pub(crate) fn first_seen(&self, id: u64, now: u64) -> Option<Tick> {
        self.live_at(id, self.arrival(now)).map(|last| tick(last.at))
    }

    pub(crate) fn forget(&mut self, id: u64, now: u64) -> bool {
        let there = self.contains(id, now);
        if there && let Some(last) = self.ids.get_mut(&id) {
            last.forgotten = true;
        }
        there
    }

    pub(crate) fn live(&self, now: u64) -> u64 {
        self.ids.keys().filter(|&&id| self.contains(id, now)).count() as u64
    }

    /// Ids that some observation could find to be duplicates.
    pub(crate) fn kept(&self) -> u64 {
        self.ids.keys().filter(|&&id| self.live_at(id, self.floor()).is_some()).count() as u64
    }

    pub(crate) fn reset(&mut self) {
        self.ids.clear();
        self.resets += 1;
    }
}

pub(crate) fn tick(at: i128) -> Tick {
    Tick(u64::try_from(at).expect("no stamp lies before 0"))
}
