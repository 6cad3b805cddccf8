//! The event stream: a pure function of the event's number, so that it can be continued for ever, cut anywhere and
//! made again, and so that the right answer is known for every piece of it.
//!
//! Events bring a new id, or repeat one, drawn uniformly among the ids first seen in the last `window - clearance` events: well inside the window, so
//! that it is a duplicate whether or not old ids expire, and stays one when threads take the events slightly out of order.

use std::{fmt, ops::Range};

use super::{
    keys::{Event, key},
    mix::{GOLDEN, below, mix},
};
use windlass::Tick;

/// Which events bring a new id.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fresh {
    /// So many of a hundred, at random.
    Percent(u64),
    /// One of so many, and the others repeat it.
    OneOf(u64),
}

impl fmt::Display for Fresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fresh::Percent(percent) => write!(f, "{} % duplicates", 100 - percent),
            Fresh::OneOf(run) => write!(f, "{run} events of one id after the other"),
        }
    }
}

impl Fresh {
    const fn ids_in(self, events: u64) -> u64 {
        match self {
            Fresh::Percent(percent) => events * percent / 100,
            Fresh::OneOf(run) => events / run,
        }
    }

    fn brings(self, i: u64) -> bool {
        match self {
            Fresh::Percent(percent) => i == 0 || mix(i ^ 0x6475_706c_6963_6174) % 100 < percent,
            Fresh::OneOf(run) => i.is_multiple_of(run),
        }
    }
}

/// How large a benchmark is. All numbers are events unless they say otherwise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// The benchmark group.
    pub(crate) group: &'static str,
    /// The window: the last so many events.
    pub(crate) window: u64,
    /// Timed in one iteration, summed over the threads.
    pub(crate) timed: u64,
    pub(crate) fresh: Fresh,
}

impl Shape {
    /// A window that holds about `live` ids; of a hundred events `fresh` bring a new one.
    pub(crate) const fn with_live_ids(group: &'static str, live: u64, timed: u64, fresh: u64) -> Shape {
        Shape { group, window: live * 100 / fresh, timed, fresh: Fresh::Percent(fresh) }
    }

    /// All events timed in an iteration have the same id.
    pub(crate) const fn of_one_id(group: &'static str, timed: u64) -> Shape {
        Shape { group, window: 4 * timed, timed, fresh: Fresh::OneOf(timed) }
    }

    /// No thread works on an event further than this behind the newest that any thread has taken.
    pub(crate) const fn drift(&self) -> u64 {
        self.window / 16
    }

    /// What a duplicate keeps clear of the window's edge.
    const fn clearance(&self) -> u64 {
        2 * self.drift()
    }

    /// How many ids are in the window on average.
    pub(crate) const fn live_ids(&self) -> usize {
        self.ids_in(self.window)
    }

    /// Room for a structure that expires: the ids of the window and of the drift, and 1 % for chance.
    pub(crate) const fn expiring_room(&self) -> usize {
        let ids = self.ids_in(self.window + self.drift());
        ids + ids / 100
    }

    /// Room for a structure that does not expire: the ids of the window and of the timed part, and 1 % for chance.
    pub(crate) const fn growing_room(&self) -> usize {
        let ids = self.ids_in(self.window + self.timed);
        ids + ids / 100
    }

    #[allow(clippy::cast_possible_truncation)] // sizes of a benchmark
    const fn ids_in(&self, events: u64) -> usize {
        self.fresh.ids_in(events) as usize
    }

    /// Event number `i`.
    pub(crate) fn event(&self, i: u64) -> Event {
        (key(if self.fresh.brings(i) { i } else { self.origin(i) }), Tick(i))
    }

    /// The event whose id event `i` repeats.
    fn origin(&self, i: u64) -> u64 {
        if let Fresh::OneOf(run) = self.fresh {
            return i - i % run;
        }
        let choices = i.min(self.window - self.clearance());
        let mut random = mix(i ^ 0x6f72_6967_696e_2121);
        loop {
            random = mix(random.wrapping_add(GOLDEN));
            let candidate = i - 1 - below(random, choices);
            if self.fresh.brings(candidate) {
                return candidate;
            }
        }
    }

    /// Replaces the content of `events` with the numbers in `range`; returns how many of them bring a new id.
    pub(crate) fn write(&self, range: Range<u64>, events: &mut Vec<Event>) -> u64 {
        events.clear();
        events.extend(range.clone().map(|i| self.event(i)));
        range.map(|i| u64::from(self.fresh.brings(i))).sum()
    }

    /// The events in `range` that bring a new id: what is left of it in a structure.
    pub(crate) fn new_ids(&self, range: Range<u64>) -> impl Iterator<Item = Event> {
        let fresh = self.fresh;
        range.filter(move |&i| fresh.brings(i)).map(|i| (key(i), Tick(i)))
    }
}
