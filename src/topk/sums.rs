//! What keys of an aggregator come to: found by their hash, kept in the order in which they came.

use super::TopKey;
use crate::hash::{Key, Seed, mix};

/// What is known of a key.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    pub(super) lower: u64,
    pub(super) upper: u64,
    /// Of the shards that have told of it.
    pub(super) tails: u128,
}

#[derive(Clone, Debug)]
pub(super) struct Sums {
    /// Nobody else knows it: exports may come from anywhere, with keys that somebody has chosen.
    seed: Seed,
    /// By hash, in open addressing: a row's number and 1, or 0. A power of two, and at most half of it is taken.
    index: Vec<u32>,
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
struct Row {
    hash: u64,
    key: TopKey,
    sum: Sum,
}

impl Sum {
    /// Saturating, so the order does not matter.
    pub(super) fn add(&mut self, more: Sum) {
        self.lower = self.lower.saturating_add(more.lower);
        self.upper = self.upper.saturating_add(more.upper);
        self.tails += more.tails;
    }
}

impl Sums {
    pub(super) fn new() -> Sums {
        Sums { seed: Seed::random(), index: Vec::new(), rows: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn each(&self) -> impl Iterator<Item = (&TopKey, Sum)> {
        self.rows.iter().map(|row| (&row.key, row.sum))
    }

    /// For so many keys that may be new.
    pub(super) fn reserve(&mut self, more: usize) {
        self.rows.reserve(more);
        let least = (self.rows.len().saturating_add(more)).saturating_mul(2).next_power_of_two();
        if least > self.index.len() {
            self.index = vec![0; least];
            for at in 0..self.rows.len() {
                self.list(at);
            }
        }
    }

    pub(super) fn add(&mut self, key: &TopKey, more: Sum) {
        let hash = hash(key, self.seed);
        if (self.rows.len() + 1) * 2 > self.index.len() {
            self.reserve(self.rows.len().max(8));
        }
        for place in places(hash, self.index.len()) {
            match self.index[place] {
                0 => break,
                taken => {
                    let row = &mut self.rows[taken as usize - 1];
                    if row.hash == hash && row.key == *key {
                        return row.sum.add(more);
                    }
                }
            }
        }
        self.rows.push(Row { hash, key: key.clone(), sum: more });
        self.list(self.rows.len() - 1);
    }

    fn list(&mut self, at: usize) {
        // (More rows than have a number would be 2^32, of 80 bytes: those are found no more, and stand in the list twice.)
        let Ok(number) = u32::try_from(at + 1) else { return };
        let free = places(self.rows[at].hash, self.index.len()).find(|&place| self.index[place] == 0);
        if let Some(free) = free {
            self.index[free] = number;
        }
    }
}

/// Where it may be, one after the other.
#[allow(clippy::cast_possible_truncation)] // less than the length
fn places(hash: u64, len: usize) -> impl Iterator<Item = usize> {
    let mask = len.wrapping_sub(1);
    (0..len).map(move |step| (hash as usize).wrapping_add(step) & mask)
}

fn hash(key: &TopKey, seed: Seed) -> u64 {
    match key {
        TopKey::Bytes(bytes) => bytes.key_hash(seed).lo,
        TopKey::Number(number) => number.key_hash(seed).lo,
        // Chosen by whoever has sent it.
        TopKey::Hash(hi, lo) => mix(lo.key_hash(seed).lo ^ hi),
        TopKey::Namespaced(name, key) => mix(hash(key, seed).wrapping_add(name.key_hash(seed).lo)),
    }
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;

    #[test]
    fn as_a_map() {
        let key = |n: u64| match n % 4 {
            0 => TopKey::Number(n),
            1 => TopKey::Bytes(n.to_le_bytes().into()),
            2 => TopKey::Hash(n / 8, 7),
            _ => TopKey::Namespaced(n.to_le_bytes()[..1].into(), Box::new(TopKey::Number(n / 8))),
        };
        let (mut sums, mut map) = (Sums::new(), std::collections::BTreeMap::<TopKey, (u64, u64)>::new());
        for i in 0..20_000_u64 {
            let n = mix(i) % 5000;
            sums.add(&key(n), Sum { lower: i, upper: u64::MAX / 8, tails: 1 });
            let sum = map.entry(key(n)).or_default();
            *sum = (sum.0 + i, sum.1.saturating_add(u64::MAX / 8));
        }
        assert_eq!(sums.len(), map.len());
        assert!(sums.each().all(|(key, sum)| map.get(key) == Some(&(sum.lower, sum.upper))));
        assert_eq!(sums.each().map(|(_, sum)| sum.tails).sum::<u128>(), 20_000);
    }
}
