//! The event stream: a pure function of the event's number, so that it can be continued for ever, cut anywhere and
//! made again, and so that the right answer is known for every piece of it.
//!
//! Four events of five bring a new id. The fifth repeats one, drawn uniformly among the ids first seen in the last
//! `window - clearance` events: well inside the window, so that it is a duplicate whether or not old ids expire, and
//! stays one when threads take the events slightly out of order.

use std::ops::Range;

use super::{
    keys::{Event, key},
    mix::{GOLDEN, below, mix},
};
use windlass::Tick;

/// One event of this many repeats an id.
const DUPLICATE_EVERY: u64 = 5;

/// How large a benchmark is. All numbers are events unless they say otherwise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// The benchmark group.
    pub(crate) group: &'static str,
    /// The window: the last so many events.
    pub(crate) window: u64,
    /// Timed in one iteration, summed over the threads.
    pub(crate) timed: u64,
}

impl Shape {
    /// A window that holds about `live` ids.
    pub(crate) const fn with_live_ids(group: &'static str, live: u64, timed: u64) -> Shape {
        Shape { group, window: live / (DUPLICATE_EVERY - 1) * DUPLICATE_EVERY, timed }
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
        Shape::ids_in(self.window)
    }

    /// Room for a structure that expires: the ids of the window and of the drift, and 1 % for chance.
    pub(crate) const fn expiring_room(&self) -> usize {
        let ids = Shape::ids_in(self.window + self.drift());
        ids + ids / 100
    }

    /// Room for a structure that does not expire: the ids of the window and of the timed part, and 1 % for chance.
    pub(crate) const fn growing_room(&self) -> usize {
        let ids = Shape::ids_in(self.window + self.timed);
        ids + ids / 100
    }

    #[allow(clippy::cast_possible_truncation)] // sizes of a benchmark
    const fn ids_in(events: u64) -> usize {
        (events / DUPLICATE_EVERY * (DUPLICATE_EVERY - 1)) as usize
    }

    /// Event number `i`.
    pub(crate) fn event(&self, i: u64) -> Event {
        (key(if brings_new_id(i) { i } else { self.origin(i) }), Tick(i))
    }

    /// The event whose id event `i` repeats.
    fn origin(&self, i: u64) -> u64 {
        let choices = i.min(self.window - self.clearance());
        let mut random = mix(i ^ 0x6f72_6967_696e_2121);
        loop {
            random = mix(random.wrapping_add(GOLDEN));
            let candidate = i - 1 - below(random, choices);
            if brings_new_id(candidate) {
                return candidate;
            }
        }
    }

    /// Replaces the content of `events` with the numbers in `range`; returns how many of them bring a new id.
    pub(crate) fn write(&self, range: Range<u64>, events: &mut Vec<Event>) -> u64 {
        events.clear();
        events.extend(range.clone().map(|i| self.event(i)));
        range.map(|i| u64::from(brings_new_id(i))).sum()
    }
}

/// The ids that events in `range` brought.
pub(crate) fn new_ids(range: Range<u64>) -> impl Iterator<Item = [u8; 16]> {
    range.filter(|&i| brings_new_id(i)).map(key)
}

fn brings_new_id(i: u64) -> bool {
    i == 0 || !mix(i ^ 0x6475_706c_6963_6174).is_multiple_of(DUPLICATE_EVERY)
}
