//! What `loom-tests` sees of the queue.

use super::{
    entry::{OnPresent, PushRefused, Pushed},
    log::Log,
    queue::{Front, Keys, Named, Queue},
};
use crate::{
    hash::KeyHash,
    sync::{Portable, epoch},
    table::{Decision, Full, model::Table},
};

/// A queue whose keys are numbers from 1 on, over a table of one bucket. Each call is pinned by itself.
pub struct Fifo<V: Clone + Send + Sync + 'static> {
    queue: Queue<V>,
    table: Known,
}

struct Known {
    table: Table<1, 2>,
    granule: u64,
}

impl Keys for Known {
    fn update<R>(
        &self,
        hash: KeyHash,
        decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
    ) -> Result<R, Full> {
        self.table.change(hash.lo, decide).map_err(|_| Full)
    }

    fn passed(&self, head: u64) {
        if head.is_multiple_of(self.granule) {
            self.table.advance(head);
        }
    }
}

impl<V: Clone + Send + Sync + 'static> Fifo<V> {
    /// Segments have 2^`bits` slots; the table's horizon follows the head in steps of `granule`.
    pub fn new(moves: bool, bits: u32, granule: u64) -> Self {
        let on_present = if moves { OnPresent::MoveToTail } else { OnPresent::Keep };
        Fifo {
            queue: Queue::new(Log::new(bits, Log::ring(4).unwrap_or_default(), 4, u64::MAX), on_present),
            table: Known { table: Table::new([[(0, 0); 2]], 0), granule },
        }
    }

    /// `FifoIndex::push`.
    pub fn push(&self, key: u64, value: V) -> Result<Pushed, PushRefused> {
        self.queue.push(&self.table, Portable, named(key, &key.to_le_bytes()), value, 0, &epoch::pin())
    }

    /// `FifoIndex::pop`: the value.
    pub fn pop(&self) -> Option<V> {
        self.front(Front::Take)
    }

    /// `FifoIndex::peek`: the value.
    pub fn peek(&self) -> Option<V> {
        self.front(Front::Look)
    }

    /// `FifoIndex::remove`: the value.
    pub fn remove(&self, key: u64) -> Option<V> {
        let guard = epoch::pin();
        let key = key.to_le_bytes();
        let named = named(u64::from_le_bytes(key), &key);
        let found = self.queue.remove(&self.table, Portable, named, |_| true, &guard)?;
        Some(found.record.value.clone())
    }

    fn front(&self, what: Front) -> Option<V> {
        let guard = epoch::pin();
        let found = self.queue.front(&self.table, Portable, what, |_| true, &guard)?;
        Some(found.record.value.clone())
    }

    /// `FifoIndex::rank`.
    pub fn rank(&self, key: u64) -> Option<u64> {
        let guard = epoch::pin();
        self.queue.rank(&self.table, named(key, &key.to_le_bytes()), &guard).map(|(_, rank)| rank)
    }

    /// `FifoIndex::get`.
    pub fn get(&self, key: u64) -> Option<V> {
        let guard = epoch::pin();
        let found = self.queue.find(&self.table, named(key, &key.to_le_bytes()), &guard)?;
        Some(found.record.value.clone())
    }

    /// Whether something happens between a look at a key's entry and the end of the call.
    pub fn meanwhile(&self, key: u64, happens: impl FnOnce() -> bool) -> bool {
        let guard = epoch::pin();
        self.queue.find(&self.table, named(key, &key.to_le_bytes()), &guard).is_some_and(|_| happens())
    }

    /// What `FifoIndex::snapshot` would write: keys and values.
    pub fn snapshot(&self) -> Vec<(u64, V)> {
        let (mut entries, guard) = (Vec::new(), epoch::pin());
        let mut reading = self.queue.begin_reading(Portable);
        while let Some(found) = self.queue.read_next(&self.table, Portable, &mut reading, &guard) {
            entries.extend(
                found.map(|found| (found.record.key.as_u64().unwrap_or(0), found.record.value.clone())),
            );
        }
        entries
    }

    /// `FifoIndex::len`.
    pub fn length(&self) -> u64 {
        self.queue.log.len(Portable)
    }

    /// Helps to free what was let go.
    pub fn collect(&self) {
        epoch::collect();
    }
}

fn named(key: u64, bytes: &[u8]) -> Named<'_> {
    Named { hash: KeyHash { hi: 0, lo: key }, bytes: (1, bytes) }
}
