//! A thread's own way to add: repeats of a key are put together before they are counted.
//!
//! A small direct-mapped table of keys (by their hash) and what is held back of each, all in one pane. The first add of a key goes to the
//! counts at once, with the key; only what comes after it, while the key stands in the table, is held back. So whoever counts the rest needs
//! the hash alone: the key has its row in that generation. A key whose place is taken by one of which something is held back is
//! added directly, as if there were no table: hot keys stay, and the others cost what they cost anyway.

use super::{Added, WindowedCounter};
use crate::{
    hash::{Key, KeyHash, Seed},
    sync::epoch,
    time::{Clock, Tick},
};
use std::{cell::Cell, fmt, marker::PhantomData};

/// Keys of a table: 3 KiB.
const SLOTS: usize = 128;

/// What is held back, in nanoseconds at most.
const NANOSECONDS: u64 = 1_000_000;

/// A thread's own way to add to a [`WindowedCounter`] or a [`crate::TopK`]: holds back repeats of hot keys for a moment, so that threads with the same hot
/// key seldom meet. Made by `writer()`; each thread has its own.
///
/// ```
/// use std::time::Duration;
/// use windlass::{Tick, WindowedCounter};
///
/// let (window, pane) = (Duration::from_secs(60), Duration::from_secs(10));
/// let counter = WindowedCounter::builder(window, pane).capacity(1000).build()?;
/// let now = Tick(5_000_000_000);
/// std::thread::scope(|scope| {
///     for _ in 0..2 {
///         scope.spawn(|| {
///             let mut writer = counter.writer();
///             for _ in 0..10_000 {
///                 writer.add_at("/", 1, now);
///             }
///         }); // what it has held back is counted when it is dropped
///     }
/// });
/// assert_eq!(counter.count_at("/", now), 20_000);
/// # Ok::<(), windlass::ConfigError>(())
/// ```
///
/// # Staleness
/// It holds back at most [`Writer::MOST`] counts, all of one pane. Counts, totals and lists lack what writers hold back: no more than
/// [`Writer::MOST`] for each writer. Their guarantees, the certificate of a list among them, hold for what is not held back.
///
/// It is counted when that would be more; with the first add in a later pane; when it is held back for 1 ms by the ticks of the adds (for a window by events: so
/// many events as `MOST`); by [`Writer::flush`]; and on drop. A writer that is not called does nothing: `flush` before a pause.
///
/// What comes for an earlier pane than that of the newest add is not held back.
///
/// # Cost
/// A repeat: its hash and a look at one line of a table of 3 KiB that the thread has for itself. Nothing is allocated after `writer()`.
///
/// `Send`, and not `Sync`:
/// ```compile_fail
/// fn of_many<T: Sync>(_: T) {}
/// let counter = windlass::WindowedCounter::builder(windlass::Window::last_n(9), windlass::Window::last_n(3)).build().unwrap();
/// of_many(counter.writer());
/// ```
#[must_use]
pub struct Writer<'c, C: Counts = WindowedCounter> {
    of: &'c C,
    seed: Seed,
    slots: Box<[Slot; SLOTS]>,
    /// The first tick of the pane of what is held back, and of how many ticks from there on more may be. (None, if nothing is held back.)
    start: u64,
    open: u64,
    /// All of it.
    held: u64,
    _not_sync: PhantomData<Cell<()>>,
}

#[derive(Clone, Copy)]
struct Slot {
    hash: KeyHash,
    held: u64,
}

/// What a [`Writer`] adds to.
pub trait Counts {
    /// Adds at once.
    #[doc(hidden)]
    fn add_now(&self, key: impl Key, hash: KeyHash, n: u64, now: Tick) -> Added;

    /// Adds to a key that was counted in that pane before.
    #[doc(hidden)]
    fn add_more(&self, hash: KeyHash, n: u64, now: Tick, guard: &Hold);

    #[doc(hidden)]
    fn terms(&self) -> Terms<'_>;
}

/// The epoch, held for several adds.
#[doc(hidden)]
pub struct Hold(pub(crate) epoch::Guard);

/// What a writer has to know.
#[doc(hidden)]
pub struct Terms<'c> {
    pub(crate) seed: Seed,
    pub(crate) clock: &'c Clock,
    /// Ticks in a pane.
    pub(crate) pane: u64,
    pub(crate) counts_events: bool,
}

impl Writer<'_> {
    /// What a writer holds back at most.
    pub const MOST: u64 = 1024;
}

impl<'c, C: Counts> Writer<'c, C> {
    pub(crate) fn new(of: &'c C) -> Self {
        Writer {
            of,
            seed: of.terms().seed,
            slots: Box::new(empty()),
            start: 0,
            open: 0,
            held: 0,
            _not_sync: PhantomData,
        }
    }

    /// Counts a key `n` times at `now`. What is held back is told as [`Added::Counted`]. (If all writers and callers but this one move on by a whole window
    /// before it is counted, it is late then.)
    #[inline]
    pub fn add_at(&mut self, key: impl Key, n: u64, now: Tick) -> Added {
        let hash = key.key_hash(self.seed);
        let slot = &mut self.slots[place(hash)];
        let held = self.held.saturating_add(n);
        if slot.hash == hash && now.0.wrapping_sub(self.start) < self.open && held <= Writer::MOST {
            slot.held += n;
            self.held = held;
            return Added::Counted;
        }
        self.add_otherwise(key, hash, n, now)
    }

    /// Counts a key `n` times now, by the structure's clock.
    #[inline]
    pub fn add(&mut self, key: impl Key, n: u64) -> Added {
        let now = self.of.terms().clock.arrivals(1);
        self.add_at(key, n, now)
    }

    /// Counts what is held back.
    pub fn flush(&mut self) {
        if self.held > 0 {
            let (guard, start) = (Hold(epoch::pin()), Tick(self.start));
            for slot in self.slots.iter_mut().filter(|slot| slot.held > 0) {
                self.of.add_more(slot.hash, std::mem::take(&mut slot.held), start, &guard);
            }
        }
        (self.held, self.open) = (0, 0);
    }

    /// What is held back: at most [`Writer::MOST`].
    #[must_use]
    pub fn held(&self) -> u64 {
        self.held
    }

    #[inline(never)]
    fn add_otherwise(&mut self, key: impl Key, hash: KeyHash, n: u64, now: Tick) -> Added {
        let pane = self.of.terms().pane;
        // (The last tick there is counts as the one before it.)
        let tick = now.0.min(u64::MAX - 1);
        let start = tick - tick % pane;
        if start < self.start {
            return self.of.add_now(key, hash, n, now);
        }
        if start > self.start {
            self.flush();
            (self.start, *self.slots) = (start, empty());
        } else if self.held.saturating_add(n) > Writer::MOST || tick - start >= self.open {
            self.flush();
        }
        let slot = &mut self.slots[place(hash)];
        if slot.hash == hash && n <= Writer::MOST {
            if self.held == 0 {
                let long = if self.of.terms().counts_events { Writer::MOST } else { NANOSECONDS };
                self.open = (tick - start).saturating_add(long).min(pane);
            }
            slot.held += n;
            self.held += n;
            return Added::Counted;
        }
        let added = self.of.add_now(key, hash, n, now);
        if added == Added::Counted && slot.held == 0 {
            slot.hash = hash;
        }
        added
    }
}

#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // the lowest bits
fn place(hash: KeyHash) -> usize {
    hash.lo as usize % SLOTS
}

/// No key has the place of what stands there.
fn empty() -> [Slot; SLOTS] {
    std::array::from_fn(|i| Slot { hash: KeyHash { hi: 0, lo: i as u64 + 1 }, held: 0 })
}

impl<C: Counts> Drop for Writer<'_, C> {
    fn drop(&mut self) {
        self.flush();
    }
}

impl<C: Counts> fmt::Debug for Writer<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("held", &self.held).finish_non_exhaustive()
    }
}

impl Counts for WindowedCounter {
    #[inline(always)]
    fn add_now(&self, _: impl Key, hash: KeyHash, n: u64, now: Tick) -> Added {
        self.add_at(hash, n, now)
    }

    fn add_more(&self, hash: KeyHash, n: u64, now: Tick, guard: &Hold) {
        // (Late, it is counted as that.)
        let _ = self.core.add(hash, n, now.0, &guard.0);
    }

    fn terms(&self) -> Terms<'_> {
        let WindowedCounter { panes, seed, clock, .. } = self;
        Terms { seed: *seed, clock, pane: panes.pane, counts_events: panes.counts_events }
    }
}

impl WindowedCounter {
    /// A thread's own way to add, for hot keys: see [`Writer`].
    pub fn writer(&self) -> Writer<'_> {
        Writer::new(self)
    }
}
