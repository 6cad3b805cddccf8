//! A generated stream: new ids, repeats of recent ones, and events that come late. The same for the same seed.

use std::time::Duration;

use crate::output;

/// An event as it would come over the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) id: [u8; 16],
    /// Nanoseconds.
    pub(super) time: u64,
}

/// What the stream is like.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) events: u64,
    /// Between two events.
    pub(super) gap: Duration,
    /// Of 100 events so many repeat an id.
    pub(super) repeats: u64,
    /// Of 100 events so many come late, by up to ..
    pub(super) late: u64,
    pub(super) lateness: Duration,
    /// How many events back an id is repeated at most.
    pub(super) reach: u64,
}

impl Shape {
    pub(super) fn new(events: u64) -> Shape {
        Shape {
            events,
            gap: Duration::from_micros(10),
            repeats: 25,
            late: 10,
            lateness: Duration::from_secs(1),
            reach: 1_200_000,
        }
    }

    pub(super) fn describe(&self, seed: u64) -> String {
        let span = self.gap * u32::try_from(self.events).unwrap_or(u32::MAX);
        format!(
            "A generated stream (seed {seed}): {} events in {:.0} s of event time.\n{} % of them repeat an id up to {:.0} s \
             old, {} % come late by up to {:.0} s.",
            output::count(self.events),
            span.as_secs_f64(),
            self.repeats,
            (self.gap * u32::try_from(self.reach).unwrap_or(u32::MAX)).as_secs_f64(),
            self.late,
            self.lateness.as_secs_f64(),
        )
    }
}

/// The events of a [`Shape`].
#[derive(Clone, Debug)]
pub(super) struct Stream {
    shape: Shape,
    random: Random,
    /// Keeps ids of different seeds apart.
    base: u64,
    next: u64,
    /// Which id each recent event had, by its number.
    recent: Vec<u64>,
    ids: u64,
}

impl Stream {
    pub(super) fn new(shape: &Shape, seed: u64) -> Stream {
        let mut random = Random(seed);
        Stream { shape: shape.clone(), base: random.next(), random, next: 0, recent: Vec::new(), ids: 0 }
    }

    fn id(&mut self) -> u64 {
        let reach = self.recent.len() as u64;
        if reach > 0 && self.random.below(100) < self.shape.repeats {
            // Most repeats come soon (a retry), some late: the square of a uniform number.
            let (a, b) = (self.random.below(reach), self.random.below(reach));
            let back = u64::try_from(u128::from(a) * u128::from(b) / u128::from(reach)).unwrap_or(0);
            let ring = self.shape.reach;
            let slot = usize::try_from((self.next + ring - 1 - back) % ring).unwrap_or(0);
            return self.recent[slot];
        }
        self.ids += 1;
        self.base.wrapping_add(self.ids)
    }
}

impl Iterator for Stream {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        if self.next == self.shape.events {
            return None;
        }
        let id = self.id();
        if (self.recent.len() as u64) < self.shape.reach {
            self.recent.push(id);
        } else {
            let slot = usize::try_from(self.next % self.shape.reach).unwrap_or(0);
            self.recent[slot] = id;
        }
        let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        // It starts late enough for the first events to be late.
        let mut time = nanos(self.shape.lateness) + self.next * nanos(self.shape.gap);
        if self.random.below(100) < self.shape.late {
            time -= self.random.below(nanos(self.shape.lateness));
        }
        self.next += 1;
        Some(Event { id: hex(id), time })
    }
}

fn hex(id: u64) -> [u8; 16] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    std::array::from_fn(|i| DIGITS[usize::try_from(id >> (60 - 4 * i) & 15).unwrap_or(0)])
}

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    /// Uniform below `n` (to within n / 2^64).
    fn below(&mut self, n: u64) -> u64 {
        u64::try_from((u128::from(self.next()) * u128::from(n)) >> 64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn as_described_and_repeatable() {
        let shape = Shape::new(100_000);
        let events: Vec<Event> = Stream::new(&shape, 7).collect();
        assert!(events.iter().eq(&Stream::new(&shape, 7).collect::<Vec<_>>()));
        assert!(!events.iter().eq(&Stream::new(&shape, 8).collect::<Vec<_>>()));
        assert_eq!(events.len(), 100_000);
        let ids: HashSet<_> = events.iter().map(|e| e.id).collect();
        assert!((74_000..76_000).contains(&ids.len()), "{}", ids.len());
        let (mut newest, mut late, mut latest) = (0, 0, 0);
        for event in &events {
            newest = newest.max(event.time);
            late += usize::from(event.time < newest);
            latest = latest.max(newest - event.time);
        }
        assert!((9_500..10_500).contains(&late), "{late}");
        assert!(latest < 1_000_000_000, "{latest}");
        assert!(latest > 990_000_000, "{latest}");
    }

    #[test]
    fn random_numbers_are_the_published_ones() {
        // The first outputs of SplitMix64 for seed 1234567, as in many test suites.
        let mut random = Random(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }
}
