//! How many are ahead? A queue that tells by key.
//!
//! `queue` is the protocol, `log` where entries are, `entry` what they are, `batch` many calls in one, `builder` the settings.

mod batch;
mod builder;
mod entry;
mod log;
#[cfg(windlass_loom)]
pub(crate) mod model;
mod queue;
mod snapshot;

use crate::{
    hash::{Key, KeyHash, Seed},
    maintain::Maintain,
    sync::{
        Counter, Wide,
        epoch::{self, Guard},
        with_wide,
    },
    table::{Decision, Full, KeyTable, Pinned},
    time::{Clock, Tick},
};
pub use builder::FifoBuilder;
use entry::Record;
pub use entry::{Entry, EntryKey, OnPresent, Place, PushRefused, Pushed};
use queue::{Found, Front, Keys, Named, Queue};
use std::fmt;

/// A queue of keys with values that tells, for any key, how many are before it: without a tree, in constant time.
///
/// Entries are numbered as they come; the head is the number of the oldest. A table finds the number of a key, and the difference is its
/// rank. What lies behind the head is gone, and its memory is used again.
///
/// ```
/// use windlass::{FifoIndex, Pushed};
///
/// let waiting = FifoIndex::builder().capacity(1000).build()?;
/// assert_eq!(waiting.push("ann", 1), Ok(Pushed::New(0)));
/// assert_eq!(waiting.push("bob", 2), Ok(Pushed::New(1)));
/// assert_eq!(waiting.push("ann", 3), Ok(Pushed::Present(0)));
///
/// assert_eq!(waiting.rank("bob"), Some(1));
/// let first = waiting.pop().expect("two are waiting");
/// assert_eq!((first.key.as_str(), first.value), (Some("ann"), 1));
/// assert_eq!((waiting.rank("ann"), waiting.rank("bob")), (None, Some(0)));
/// # Ok::<(), windlass::ConfigError>(())
/// ```
///
/// # Guarantees
/// - A key is there once. Of each key [`FifoIndex::push`], [`FifoIndex::pop`], [`FifoIndex::remove`], [`FifoIndex::get`] and [`FifoIndex::peek`] are linearizable. Each entry is popped
///   or removed once at most, and entries are popped in the order of their numbers. A push takes its number within the call: of two of which one ended before the other began the
///   first has the lesser. (Of several keys together they are not linearizable: while a push is under way its number may be before that of another that is done, and its
///   key not yet there.)
/// - No call waits for another. A push that has stalled between its number and its entry is passed over by pops, and takes another number. Reads
///   go through a fixed number of steps, but for one that meets a cell of the table just while it changes, or follows an entry that is being moved
///   for the second time: it looks again.
/// - A rank is exact when nobody writes. While others do it is how many were ahead at a moment within the call, and up to one more for each push,
///   move, removal or pop that is under way: a push counts from its number on. It is never negative, and never more than the entries and the
///   pushes under way. [`FifoIndex::len`] is exact in the same sense.
///
/// # Keys
/// They are told apart by their bytes. Two keys with the same 64 bits of hash and the same place in the table cannot be there at one
/// time: the second is refused ([`PushRefused::Collision`]), and never taken for the first. `u64` keys do not collide.
///
/// # Values
/// They are handed out as clones, and dropped when the segment that they are in has been passed (up to 4,096 entries later) and nobody
/// looks at it.
///
/// # Time
/// An entry has the tick of its push, or that of the entry before it if that was later: so they never go back, and
/// [`FifoIndex::count_before`] is a binary search. Where queues are sharded, the rank of all is the sum over the shards.
///
/// # Cost
/// A rank and a value are two cache misses one after the other: the table's bucket (two adjacent lines), and the entry, which is one line
/// with values of up to 8 bytes and keys of up to 21. A longer key takes memory of its own, and one more. With holes between head and entry (entries that were moved or removed, pushes that
/// were passed over) a rank also adds up 64 to 4,096 entries at a time.
///
/// # Memory
/// 40 bytes in the table for each entry of the capacity, and for each that is there 56 and its value: 104 with values of 8 bytes. An entry that
/// is moved or removed leaves a hole until the head has passed it. There may be as many holes as the capacity has entries; then a push finds
/// it full. A segment that the head has passed is freed when the calls have ended that may look at it.
pub struct FifoIndex<V: Clone + Send + Sync + 'static> {
    table: KeyTable,
    queue: Queue<V>,
    /// The table's horizon follows the head in steps of this, a power of two.
    granule: u64,
    seed: Seed,
    clock: Clock,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    full: Counter,
    collisions: Counter,
}

/// Plain figures about a [`FifoIndex`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FifoStats {
    /// Entries.
    pub len: u64,
    /// The number of the oldest entry, or of the next if there is none.
    pub head: u64,
    /// The next number.
    pub tail: u64,
    /// Numbers between head and tail that are no entries: moved, or passed over.
    pub holes: u64,
    /// Entries that it may hold. (Of a limit in bytes: for which the table is meant at its present size.)
    pub capacity: u64,
    /// Bytes of tables and segments: see [`FifoIndex::memory_bytes`].
    pub memory_bytes: u64,
    /// Segments of entries.
    pub segments: u64,
    /// Tables in use: 1, or more while one takes the place of another.
    pub tables: u64,
    /// Pushes refused for want of room.
    pub refused: u64,
    /// Pushes refused since another key has the same hash.
    pub collisions: u64,
    /// Buckets of the table.
    pub buckets: u64,
    /// How often a bucket has overflowed.
    pub overflows: u64,
    /// Buckets that have overflowed and not yet come back: their calls look at two more cache lines, seldom at all of the group.
    pub overflown_buckets: u64,
    /// Whether 128-bit atomic operations are lock-free on this machine.
    pub lock_free: bool,
}

impl FifoStats {
    /// Entries, or holes if there are more, as a share of the capacity: at 1 pushes are refused.
    #[must_use]
    pub fn load(&self) -> f64 {
        crate::math::share(self.len.max(self.holes), self.capacity)
    }
}

/// The table under a pin.
struct Places<'g, W> {
    pinned: Pinned<'g, W>,
    wide: W,
    table: &'g KeyTable,
    granule: u64,
}

impl<W: Wide> Keys for Places<'_, W> {
    #[inline(always)]
    fn update<R>(
        &self,
        hash: KeyHash,
        decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
    ) -> Result<R, Full> {
        self.pinned.update(hash, decide)
    }

    #[inline(always)]
    fn state(&self, hash: KeyHash) -> Option<u64> {
        let keep = |state, _: u64| Decision::Keep(state);
        // Almost all are where they should be: a look at one cell.
        match self.table.update_at_home(self.wide, hash, keep) {
            Some(state) => state,
            None => self.pinned.update(hash, keep).ok().flatten(),
        }
    }

    #[inline(always)]
    fn passed(&self, head: u64) {
        if head & (self.granule - 1) == 0 {
            self.table.advance(head);
            self.table.maintain_a_share();
        }
    }
}

/// Calls `$body` with the table pinned for it.
macro_rules! pinned {
    ($index:expr, $guard:ident, $wide:ident, $places:ident => $body:expr) => {
        with_wide!($index.table.wide(), $wide => {
            let $guard = epoch::pin();
            let $places = $index.places($wide, &$guard);
            $body
        })
    };
}

impl FifoIndex<()> {
    /// A builder.
    pub fn builder() -> FifoBuilder {
        FifoBuilder::new()
    }
}

impl<V: Clone + Send + Sync + 'static> FifoIndex<V> {
    #[inline(always)]
    fn places<'g, W: Wide>(&'g self, wide: W, guard: &'g Guard) -> Places<'g, W> {
        Places { pinned: self.table.pinned(wide, guard), wide, table: &self.table, granule: self.granule }
    }

    /// Calls `f` with the table pinned, for one key.
    #[inline(always)]
    fn named<R>(&self, key: impl Key, f: impl FnOnce(Named<'_>) -> R) -> R {
        let hash = key.key_hash(self.seed);
        self.table.prefetch(hash);
        key.with_bytes(|kind, bytes| f(Named { hash, bytes: (kind, bytes) }))
    }

    /// Puts an entry at the tail at `now`; of a key that is there as [`FifoBuilder::on_present`] says.
    ///
    /// # Errors
    /// If there is no room for it, or another key has the same hash. Then nothing has changed.
    #[inline]
    pub fn push_at(&self, key: impl Key, value: V, now: Tick) -> Result<Pushed, PushRefused> {
        let pushed = self.named(key, |named| {
            pinned!(self, guard, wide, places => self.queue.push(&places, wide, named, value, now.0, &guard))
        });
        self.counted(pushed)
    }

    /// Puts an entry at the tail now.
    ///
    /// # Errors
    /// As [`FifoIndex::push_at`].
    #[inline]
    pub fn push(&self, key: impl Key, value: V) -> Result<Pushed, PushRefused> {
        self.push_at(key, value, self.clock.now())
    }

    #[inline(always)]
    fn counted(&self, pushed: Result<Pushed, PushRefused>) -> Result<Pushed, PushRefused> {
        match pushed {
            Err(PushRefused::Full) => {
                self.counts.full.add(1);
                // If memory was short: what has been passed may come back.
                epoch::collect();
            }
            Err(PushRefused::Collision) => self.counts.collisions.add(1),
            Ok(_) => {}
        }
        pushed
    }

    /// The value of a key. `None`: it was never put in, or has been popped or removed.
    #[inline]
    #[must_use]
    pub fn get(&self, key: impl Key) -> Option<V> {
        self.named(key, |named| {
            pinned!(self, guard, _wide, places => {
                self.queue.find(&places, named, &guard).map(|found| found.record.value.clone())
            })
        })
    }

    /// How many entries are before a key's: 0 for the one that is popped next. `None`: it was never put in, or has been popped or removed.
    #[inline]
    #[must_use]
    pub fn rank(&self, key: impl Key) -> Option<u64> {
        self.named(key, |named| {
            pinned!(self, guard, _wide, places => self.queue.rank(&places, named, &guard).map(|(_, rank)| rank))
        })
    }

    /// Number, rank, value and time of a key, in one look.
    #[inline]
    #[must_use]
    pub fn find(&self, key: impl Key) -> Option<Place<V>> {
        self.named(
            key,
            |named| pinned!(self, guard, _wide, places => self.queue.rank(&places, named, &guard).map(place)),
        )
    }

    /// Takes the oldest entry out. `None`: there is none.
    #[inline]
    #[must_use = "the entry is gone"]
    pub fn pop(&self) -> Option<Entry<V>> {
        self.front(Front::Take, |_| true)
    }

    /// Takes the oldest entry out if it was put in at `now` or before. (To be called until there is none.)
    #[must_use = "the entry is gone"]
    pub fn pop_until(&self, now: Tick) -> Option<Entry<V>> {
        self.front(Front::Take, |record| record.stamp <= now.0)
    }

    /// Takes the oldest entry out if it is `wanted`, by its key, value and time: which is asked of it alone, now and then more than once, and is to
    /// answer at once.
    #[must_use = "the entry is gone"]
    pub fn pop_if(&self, wanted: impl Fn(&EntryKey, &V, Tick) -> bool) -> Option<Entry<V>> {
        self.front(Front::Take, |record| wanted(&record.key, &record.value, Tick(record.stamp)))
    }

    /// Takes the entry of a key out, wherever it is. `None`: it was never put in, or is there no more. Costs what [`FifoIndex::find`] does, and an exchange.
    ///
    /// ```
    /// use windlass::FifoIndex;
    ///
    /// let waiting = FifoIndex::builder().capacity(1000).build()?;
    /// for (key, value) in [("ann", 1), ("bob", 2), ("eve", 3)] {
    ///     waiting.push(key, value).expect("there is room");
    /// }
    /// assert_eq!(waiting.remove("bob").map(|entry| entry.value), Some(2));
    /// assert_eq!((waiting.rank("bob"), waiting.rank("eve"), waiting.len()), (None, Some(1), 2));
    /// # Ok::<(), windlass::ConfigError>(())
    /// ```
    #[must_use = "the entry is gone"]
    pub fn remove(&self, key: impl Key) -> Option<Entry<V>> {
        self.remove_if(key, |_, _| true)
    }

    /// Takes the entry of a key out if it is `wanted`, by its value and time: which is asked of it alone, now and then more than once, and is to
    /// answer at once.
    #[must_use = "the entry is gone"]
    pub fn remove_if(&self, key: impl Key, wanted: impl Fn(&V, Tick) -> bool) -> Option<Entry<V>> {
        let wanted = |record: &Record<V>| wanted(&record.value, Tick(record.stamp));
        self.named(key, |named| {
            pinned!(self, guard, wide, places => {
                self.queue.remove(&places, wide, named, wanted, &guard).map(entry)
            })
        })
    }

    /// The oldest entry.
    #[must_use]
    pub fn peek(&self) -> Option<Entry<V>> {
        self.front(Front::Look, |_| true)
    }

    #[inline(always)]
    fn front(&self, what: Front, wanted: impl Fn(&Record<V>) -> bool) -> Option<Entry<V>> {
        pinned!(self, guard, wide, places => self.queue.front(&places, wide, what, wanted, &guard).map(entry))
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        with_wide!(self.table.wide(), wide => self.queue.log.len(wide))
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key of an entry by its number. `None`: it has been popped, moved or removed, or was never given.
    #[must_use]
    pub fn key_at(&self, seq: u64) -> Option<EntryKey> {
        self.queue.entry(seq, &epoch::pin()).map(|record| record.key.clone())
    }

    /// The entry that has `rank` others before it. (While others write: one that had about as many.) With holes before it their bits are looked
    /// through.
    #[must_use]
    pub fn at_rank(&self, rank: u64) -> Option<Entry<V>> {
        with_wide!(self.table.wide(), wide => {
            self.queue.at_rank(wide, rank, &epoch::pin()).map(entry)
        })
    }

    /// Entries from the number `seq` on, or from the oldest if that is later, as they are when they are come to: each once, in order. What is put in
    /// meanwhile comes too. Nothing is held between two of them.
    pub fn iter_from(&self, seq: u64) -> impl Iterator<Item = Entry<V>> {
        let mut next = seq;
        std::iter::from_fn(move || {
            let entry =
                with_wide!(self.table.wide(), wide => self.queue.next(wide, next, &epoch::pin()).map(entry))?;
            next = entry.seq + 1;
            Some(entry)
        })
    }

    /// Entries from the oldest on.
    pub fn iter(&self) -> impl Iterator<Item = Entry<V>> {
        self.iter_from(0)
    }

    /// How many entries were put in before `time`: for a key that waits in another shard since then, how many of this one are before it.
    /// O(log n) steps, a cache miss each.
    #[must_use]
    pub fn count_before(&self, time: Tick) -> u64 {
        with_wide!(self.table.wide(), wide => self.queue.count_before(wide, time.0, &epoch::pin()))
    }

    /// Upkeep, most of which calls do by themselves: has the table forget what was popped, looks after `budget` groups of it, and helps to give
    /// back memory. `true`: there is more that can be done now. (The time does not matter.)
    pub fn maintain_at(&self, _: Tick, budget: usize) -> bool {
        self.table.advance(self.queue.log.head());
        if budget == 0 {
            return false;
        }
        epoch::collect();
        self.table.maintain(budget)
    }

    /// Plain figures. Costs a look at the list of segments.
    #[must_use]
    pub fn stats(&self) -> FifoStats {
        let (log, figures) = (&self.queue.log, self.table.figures());
        let head = log.head();
        let tail = with_wide!(self.table.wide(), wide => log.tail(wide));
        let holes = log.holes().min(tail - head);
        FifoStats {
            len: tail - head - holes,
            head,
            tail,
            holes,
            capacity: log.capacity.min(figures.capacity),
            memory_bytes: self.memory_bytes(),
            segments: log.segments(&epoch::pin()),
            tables: figures.tables,
            refused: self.counts.full.sum(),
            collisions: self.counts.collisions.sum(),
            buckets: figures.buckets,
            overflows: self.table.overflows(),
            overflown_buckets: figures.overflown_buckets,
            lock_free: crate::sync::is_lock_free(),
        }
    }

    /// Bytes that it takes now, of tables and segments, also of segments that have been passed and are held back by calls under way. (What
    /// values and keys of more than 21 bytes have allocated is not counted.)
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.table.bytes() + self.queue.log.bytes()
    }

    /// The seed in use: to hash keys beforehand ([`Seed::hash`]), or to let another node agree.
    #[must_use]
    pub fn seed(&self) -> Seed {
        self.seed
    }
}

fn entry<V: Clone>(found: Found<'_, V>) -> Entry<V> {
    let Record { stamp, key, value, .. } = found.record;
    Entry { seq: found.number, key: key.clone(), value: value.clone(), pushed_at: Tick(*stamp) }
}

fn place<V: Clone>((found, rank): (Found<'_, V>, u64)) -> Place<V> {
    let Record { stamp, value, .. } = found.record;
    Place { seq: found.number, rank, value: value.clone(), pushed_at: Tick(*stamp) }
}

impl<V: Clone + Send + Sync + 'static> Maintain for FifoIndex<V> {
    fn maintain_at(&self, now: Tick, budget: usize) -> bool {
        FifoIndex::maintain_at(self, now, budget)
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

impl<V: Clone + Send + Sync + 'static> fmt::Debug for FifoIndex<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FifoIndex").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
