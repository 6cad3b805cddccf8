//! The events of a generated stream: which id, and when. docs/gen.md is the definition.

use super::{
    names::Names,
    random::Random,
    shape::{NANOS, Shape},
};
use crate::args::Share;

/// An event as it comes over the wire. What belongs to its id is in [`Names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// Which of the stream's ids, counted from 0 in the order of their first events.
    pub(crate) id: u64,
    /// Nanoseconds since 1970.
    pub(crate) time: u64,
}

/// The events of a [`Shape`], the same for the same seed.
#[derive(Debug)]
pub(crate) struct Stream {
    names: Names,
    left: u64,
    ids: Ids,
    clock: Clock,
    lateness: Lateness,
}

impl Stream {
    pub(crate) fn new(shape: &Shape) -> Stream {
        // Each trait has random numbers of its own, so that changing one of them leaves the others as they were.
        let mut seeds = Random::new(shape.seed);
        let [names, clients, keys, repeats, lateness] = std::array::from_fn(|_| Random::new(seeds.next()));
        Stream {
            names: Names::new(shape, names, clients, keys),
            left: shape.events,
            ids: Ids::new(shape, repeats),
            clock: Clock::new(shape),
            lateness: Lateness { random: lateness, share: shape.late, most: shape.lateness, late: 0 },
        }
    }

    /// What the ids of the events stand for.
    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// How many different ids there were so far.
    pub(crate) fn ids(&self) -> u64 {
        self.ids.next
    }

    /// How many events were late so far.
    pub(crate) fn late(&self) -> u64 {
        self.lateness.late
    }
}

impl Iterator for Stream {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        self.left = self.left.checked_sub(1)?;
        let time = self.clock.next();
        Some(Event { id: self.ids.next(), time: time - self.lateness.next() })
    }
}

/// New ids, and repeats of those that were new in the last `distance` events.
#[derive(Debug)]
struct Ids {
    random: Random,
    repeats: Share,
    /// The next new id.
    next: u64,
    /// The oldest id that may be repeated.
    oldest: u64,
    /// One bit for each of the last `distance` events, in a ring: whether it brought a new id.
    recent: Vec<u64>,
    distance: u64,
    /// The event's place in the ring.
    at: u64,
}

impl Ids {
    fn new(shape: &Shape, random: Random) -> Ids {
        // A ring for more than all events is never used a second time.
        let distance = shape.distance.min(shape.events).max(1);
        let words = usize::try_from(distance.div_ceil(64)).unwrap_or(usize::MAX);
        Ids { random, repeats: shape.duplicates, next: 0, oldest: 0, recent: vec![0; words], distance, at: 0 }
    }

    fn next(&mut self) -> u64 {
        let choices = self.next - self.oldest;
        let repeat = self.random.chance(self.repeats) && choices > 0;
        let id = if repeat { self.oldest + self.random.below(choices) } else { self.next };
        self.next += u64::from(!repeat);
        self.remember(!repeat);
        id
    }

    /// Puts the event in the place of the one that is now too far back.
    #[allow(clippy::cast_possible_truncation)] // the ring is in memory
    fn remember(&mut self, new: bool) {
        let (word, bit) = (&mut self.recent[(self.at / 64) as usize], self.at % 64);
        self.oldest += *word >> bit & 1;
        *word = *word & !(1 << bit) | u64::from(new) << bit;
        self.at += 1;
        if self.at == self.distance {
            self.at = 0;
        }
    }
}

/// Event i comes at `start + i / rate` seconds, cut to nanoseconds.
#[derive(Debug)]
struct Clock {
    now: u64,
    rate: u64,
    /// What was cut off, in nanoseconds times the rate.
    rest: u64,
}

impl Clock {
    fn new(shape: &Shape) -> Clock {
        Clock { now: shape.start, rate: shape.rate, rest: 0 }
    }

    fn next(&mut self) -> u64 {
        let now = self.now;
        self.now += NANOS / self.rate;
        self.rest += NANOS % self.rate;
        if self.rest >= self.rate {
            self.rest -= self.rate;
            self.now += 1;
        }
        now
    }
}

/// How far behind its place in the stream an event's time is.
#[derive(Debug)]
struct Lateness {
    random: Random,
    share: Share,
    most: u64,
    late: u64,
}

impl Lateness {
    fn next(&mut self) -> u64 {
        if !self.random.chance(self.share) {
            return 0;
        }
        self.late += 1;
        1 + self.random.below(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(text: &str) -> Share {
        text.parse().unwrap()
    }

    /// The definition, with all that ever happened at hand.
    fn plain_ids(shape: &Shape, mut random: Random) -> Vec<u64> {
        let mut ids: Vec<u64> = Vec::new();
        let mut first_at: Vec<u64> = Vec::new(); // by id
        for event in 0..shape.events {
            let near: Vec<u64> = (0..first_at.len())
                .filter(|&id| first_at[id] + shape.distance >= event)
                .map(|id| id as u64)
                .collect();
            if random.chance(shape.duplicates) && !near.is_empty() {
                ids.push(near[usize::try_from(random.below(near.len() as u64)).unwrap()]);
            } else {
                ids.push(first_at.len() as u64);
                first_at.push(event);
            }
        }
        ids
    }

    #[test]
    fn ids_are_those_of_the_definition() {
        for duplicates in ["0", "0.2", "0.7", "0.999", "1"].map(share) {
            for distance in [1, 2, 63, 64, 65, 130, 1999, 2000, 2001, 1_000_000_000] {
                let shape = Shape { events: 2000, duplicates, distance, ..Shape::default() };
                let mut ids = Ids::new(&shape, Random::new(distance));
                let got: Vec<u64> = (0..shape.events).map(|_| ids.next()).collect();
                assert_eq!(got, plain_ids(&shape, Random::new(distance)), "{duplicates:?} {distance}");
                assert_eq!(ids.next, 1 + got.iter().max().unwrap());
            }
        }
    }

    #[test]
    fn repeats_are_evenly_spread_over_the_distance() {
        let shape = Shape { events: 500_000, distance: 1000, duplicates: share("0.3"), ..Shape::default() };
        let (mut first_at, mut bins, mut repeats) = (Vec::new(), [0_u32; 10], 0);
        for (number, event) in Stream::new(&shape).enumerate() {
            let id = usize::try_from(event.id).unwrap();
            if id == first_at.len() {
                first_at.push(number);
                continue;
            }
            repeats += 1;
            bins[(number - first_at[id] - 1) / 100] += 1; // a distance of 1001 would be out of bounds
        }
        // Three standard deviations: sqrt(n p (1 - p)).
        assert!(
            (f64::from(repeats) - 150_000.0).abs() < 3.0 * (500_000.0 * 0.3 * 0.7_f64).sqrt(),
            "{repeats}"
        );
        let expected = f64::from(repeats) / 10.0;
        let chi_square: f64 = bins.iter().map(|&bin| (f64::from(bin) - expected).powi(2) / expected).sum();
        assert!(chi_square < 27.9, "one in 1000 at 9 degrees of freedom: {chi_square} {bins:?}");
    }

    #[test]
    fn times_are_exact() {
        for rate in [1, 3, 7, 1000, 99_999, 100_000, 999_999_999, NANOS] {
            let mut clock = Clock::new(&Shape { rate, start: 5, ..Shape::default() });
            for i in 0..10_000_u64 {
                let time = 5 + u128::from(i) * u128::from(NANOS) / u128::from(rate);
                assert_eq!(u128::from(clock.next()), time, "{i} at {rate}");
            }
        }
    }

    #[test]
    fn late_events() {
        let timely = Shape { events: 100_000, ..Shape::default() };
        let late = Shape { late: share("0.1"), lateness: 3000, ..timely.clone() };
        let mut stream = Stream::new(&late);
        let mut delays = Vec::new();
        for (event, other) in Stream::new(&timely).zip(stream.by_ref()) {
            assert_eq!(event.id, other.id, "lateness changes nothing else");
            delays.push(event.time - other.time);
        }
        delays.retain(|&delay| delay > 0);
        assert_eq!(delays.len() as u64, stream.late());
        // Three standard deviations.
        assert!(delays.len().abs_diff(10_000) < 285, "{}", delays.len());
        assert_eq!((delays.iter().min(), delays.iter().max()), (Some(&1), Some(&3000)));
        let mean = delays.iter().sum::<u64>() / delays.len() as u64;
        assert!(mean.abs_diff(1500) < 27, "{mean}");
    }

    #[test]
    fn another_seed_another_stream() {
        let of = |seed| {
            let stream = Stream::new(&Shape { seed, events: 1000, ..Shape::default() });
            let names = stream.names().clone();
            stream.map(move |event| names.id(event.id)).collect::<Vec<_>>()
        };
        assert_eq!(of(1), of(1));
        let ones: std::collections::HashSet<_> = of(1).into_iter().collect();
        assert!(of(2).iter().all(|id| !ones.contains(id)));
    }
}
