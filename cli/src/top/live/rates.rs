//! How fast it goes.

use std::{collections::VecDeque, time::Duration};

/// A rate is that of so long.
const STEP: Duration = Duration::from_millis(500);

/// Rates that are kept.
const KEPT: usize = 120;

/// So many events, and of them so many duplicates and denials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) events: u64,
    pub(super) duplicates: u64,
    pub(super) denied: u64,
}

impl Seen {
    fn since(self, before: Seen) -> Seen {
        Seen {
            events: self.events.saturating_sub(before.events),
            duplicates: self.duplicates.saturating_sub(before.duplicates),
            denied: self.denied.saturating_sub(before.denied),
        }
    }

    fn and(self, other: Seen) -> Seen {
        Seen {
            events: self.events + other.events,
            duplicates: self.duplicates + other.duplicates,
            denied: self.denied + other.denied,
        }
    }
}

/// Events as they came over the time of the run.
#[derive(Default)]
pub(super) struct Rates {
    /// Of each step, the newest last.
    steps: VecDeque<(Duration, Seen)>,
    /// Where the step began that goes on.
    from: (Duration, Seen),
}

impl Rates {
    /// What has been seen up to that time.
    pub(super) fn note(&mut self, at: Duration, seen: Seen) {
        let long = at.saturating_sub(self.from.0);
        if long < STEP {
            return;
        }
        self.steps.push_back((long, seen.since(self.from.1)));
        self.from = (at, seen);
        if self.steps.len() > KEPT {
            self.steps.pop_front();
        }
    }

    /// Of the last two steps; before there is one, none.
    pub(super) fn now(&self) -> Option<(Duration, Seen)> {
        let last = self.steps.iter().rev().take(2);
        last.copied().reduce(|sum, step| (sum.0 + step.0, sum.1.and(step.1)))
    }

    /// Events per second of each step.
    pub(super) fn all(&self) -> Vec<u64> {
        let per_second = |(long, seen): &(Duration, Seen)| {
            let rate = u128::from(seen.events) * 1_000_000_000 / long.as_nanos().max(1);
            u64::try_from(rate).unwrap_or(u64::MAX)
        };
        self.steps.iter().map(per_second).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_step_and_of_the_last_two() {
        let (mut rates, millis) = (Rates::default(), Duration::from_millis);
        let seen = |events| Seen { events, duplicates: events / 2, denied: events / 4 };
        rates.note(millis(100), seen(50));
        assert_eq!((rates.now(), rates.all()), (None, vec![]));
        for (at, events) in [(500, 100), (900, 100), (1000, 200), (2000, 1200)] {
            rates.note(millis(at), seen(events));
        }
        assert_eq!(rates.all(), [200, 200, 1000]);
        assert_eq!(rates.now(), Some((millis(1500), seen(1100))));
        (0..1000).for_each(|i| rates.note(millis(3000 + 500 * i), seen(2000)));
        assert_eq!((rates.all().len(), rates.all()[KEPT - 1]), (KEPT, 0));
    }
}
