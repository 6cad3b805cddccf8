//! Ids that come more than once in a batch.

use std::sync::LazyLock;
use windlass::Seed;

/// Finds, for each id of a batch, the one before it with the same bytes.
///
/// A table with open addressing, never more than half full. The seed is the process' own, so nobody can choose ids that all come to lie in one place.
pub(super) struct Firsts<'a, I> {
    ids: &'a [I],
    cells: Vec<Cell>,
}

/// The number of an id, from 1 on, and a part of its hash. 0: empty.
#[derive(Clone, Copy, Default)]
struct Cell {
    number: u32,
    tag: u32,
}

impl<'a, I> Firsts<'a, I> {
    /// Of a single one there are none.
    pub(super) fn of(ids: &'a [I]) -> Firsts<'a, I> {
        let cells = if ids.len() > 1 { (ids.len() * 2).next_power_of_two() } else { 0 };
        Firsts { ids, cells: vec![Cell::default(); cells] }
    }

    /// The first one that has come with the bytes of the one at `index`; if there is none, that is this one from now on.
    pub(super) fn before(&mut self, index: usize, bytes: impl Fn(&'a I) -> &'a [u8]) -> Option<usize> {
        static SEED: LazyLock<Seed> = LazyLock::new(Seed::random);
        if self.cells.is_empty() {
            return None;
        }
        let id = bytes(&self.ids[index]);
        let hash = SEED.hash(id);
        #[allow(clippy::cast_possible_truncation)] // parts of a hash; and a batch is not that long
        let (mut at, tag, number) = (hash.hi as usize, hash.lo as u32, index as u32 + 1);
        loop {
            at &= self.cells.len() - 1;
            let cell = &mut self.cells[at];
            if cell.number == 0 {
                *cell = Cell { number, tag };
                return None;
            }
            let earlier = cell.number as usize - 1;
            if cell.tag == tag && bytes(&self.ids[earlier]) == id {
                return Some(earlier);
            }
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// As a map would.
    #[test]
    fn each_is_found() {
        for (count, different) in [(0, 1), (1, 1), (2, 1), (2, 2), (100, 7), (1024, 1024), (1024, 500)] {
            let ids: Vec<String> = (0..count).map(|i| format!("id{}", i * 7919 % different)).collect();
            let (mut firsts, mut map) = (Firsts::of(&ids), HashMap::new());
            for (index, id) in ids.iter().enumerate() {
                let earlier = map.get(id).copied();
                map.entry(id).or_insert(index);
                assert_eq!(firsts.before(index, |id| id.as_bytes()), earlier, "{index} of {count}");
            }
        }
    }
}
