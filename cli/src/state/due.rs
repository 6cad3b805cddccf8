//! When it is time to save.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

/// How long nobody looks whether the run is to end, while there is no input.
pub(super) const PATIENCE: Duration = Duration::from_millis(50);

pub(super) struct Due {
    every: Duration,
    next: Instant,
    /// There was something since.
    changed: Cell<bool>,
}

impl Due {
    pub(super) fn new(every: Duration, now: Instant) -> Due {
        Due { every, next: now + every, changed: Cell::new(false) }
    }

    /// There is something new.
    pub(super) fn change(&self) {
        self.changed.set(true);
    }

    /// It is time to save, and there is something new.
    pub(super) fn is_at(&self, now: Instant) -> bool {
        self.changed.get() && now >= self.next
    }

    /// How long to wait for input at most.
    pub(super) fn patience(&self, now: Instant) -> Duration {
        let next = self.next.saturating_duration_since(now).max(Duration::from_millis(1));
        if self.changed.get() { PATIENCE.min(next) } else { PATIENCE }
    }

    /// All is saved.
    pub(super) fn saved(&mut self, now: Instant) {
        self.next = now + self.every;
        self.changed.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run as it goes, by a clock that stands still while nothing waits: whatever comes is saved no later than the interval after the save before it, and
    /// not sooner.
    #[test]
    fn after_the_interval_and_not_before() {
        let millis = Duration::from_millis;
        for (every, pause) in [(0, 0), (0, 7), (5, 3), (10, 1000), (70, 20), (10_000, 130)] {
            let (begin, every) = (Instant::now(), millis(every));
            let (mut due, mut now, mut last) = (Due::new(every, begin), begin, begin);
            // When what is not saved yet came, and when the next comes.
            let (mut unsaved, mut comes) = (None, begin + millis(pause));
            let mut saves = 0;
            while saves < 50 {
                // Waits for input.
                let until = now + due.patience(now);
                if comes <= until {
                    now = now.max(comes);
                    due.change();
                    unsaved.get_or_insert(now);
                    comes += millis(pause).max(millis(1));
                } else {
                    now = until;
                }
                if due.is_at(now) {
                    let Some(came) = unsaved.take() else { panic!("saved, and nothing had changed") };
                    assert!(now >= last + every, "{every:?}: {:?} after the last", now - last);
                    let latest = (last + every).max(came) + millis(1);
                    assert!(now <= latest, "{every:?}: {:?} too late", now - latest);
                    due.saved(now);
                    last = now;
                    saves += 1;
                }
            }
        }
    }
}
