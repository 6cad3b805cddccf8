//! What this process admits while the engine is down, and has to tell it afterwards.

use super::token::Token;
use std::{
    collections::VecDeque,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use windlass::{Clock, ConfigError, Dedup, Tick, Verdict, Window};

/// An id that was admitted without the engine.
#[derive(Clone, Debug)]
pub(crate) struct Admitted {
    pub(crate) id: Vec<u8>,
    pub(crate) token: Token,
    pub(crate) at: Tick,
}

/// An exact window of this process' own, and a queue of what is in it that the engine does not know. Both are bounded: what finds no
/// room is not admitted.
pub(crate) struct Alone {
    ids: Dedup,
    clock: Clock,
    window: u64,
    capacity: usize,
    queue: Mutex<VecDeque<Admitted>>,
    /// When the last id was admitted, and 1 more: 0 is never. (Relaxed: whoever has admitted one may tell others of it only after the store, by
    /// whatever orders that; and who races with it may as well have come before.)
    last: AtomicU64,
    /// Somebody is telling the engine. (Relaxed: it guards nothing but the work being done twice. The queue has a lock.)
    telling: AtomicBool,
}

impl Alone {
    pub(crate) fn new(capacity: usize, window: Duration, clock: Clock) -> Result<Alone, ConfigError> {
        let ids = Dedup::builder(window).capacity(capacity).build()?;
        let window = Window::time(window).ticks().unwrap_or(Window::MAX_TICKS);
        let (queue, last, telling) = (Mutex::default(), AtomicU64::new(0), AtomicBool::new(false));
        Ok(Alone { ids, clock, window, capacity, queue, last, telling })
    }

    /// Whether this process has admitted it by itself within the window.
    pub(crate) fn contains(&self, id: &[u8]) -> bool {
        let last = self.last.load(Relaxed);
        if last == 0 {
            return false;
        }
        let now = self.clock.now();
        now.0 < (last - 1).saturating_add(self.window) && self.ids.contains_at(id, now)
    }

    /// Judges an id, which is a duplicate if it is `known` otherwise; none if there is no room for a new one.
    pub(crate) fn observe(&self, id: &[u8], token: Token, known: impl FnOnce() -> bool) -> Option<Verdict> {
        let mut queue = self.lock();
        let duplicate = Verdict::Duplicate { first_seen: None };
        if known() {
            return Some(duplicate);
        }
        let at = self.clock.now();
        if queue.len() >= self.capacity {
            return self.ids.contains_at(id, at).then_some(duplicate);
        }
        let verdict = self.ids.observe_at(id, at).ok()?;
        if !verdict.is_fresh() {
            return Some(duplicate); // its ticks mean nothing to anybody else
        }
        queue.push_back(Admitted { id: id.to_vec(), token, at });
        self.last.store(at.0 + 1, Relaxed);
        Some(verdict)
    }

    /// Does `admitted`, unless this process has admitted the id by itself in the meantime; whether it did. (The lock is what decides between the two.)
    pub(crate) fn unless_here(&self, id: &[u8], admitted: impl FnOnce()) -> bool {
        let _queue = self.lock();
        if self.contains(id) {
            return false;
        }
        admitted();
        true
    }

    /// How long an id that was admitted at `at` still counts; none if no longer.
    pub(crate) fn left(&self, at: Tick) -> Option<Duration> {
        let gone = self.clock.now().0.saturating_sub(at.0);
        self.window.checked_sub(gone).filter(|&left| left > 0).map(Duration::from_nanos)
    }

    pub(crate) fn waiting(&self) -> usize {
        self.lock().len()
    }

    /// The oldest that wait. They stay in the window.
    pub(crate) fn take(&self, most: usize) -> Vec<Admitted> {
        let mut queue = self.lock();
        let most = most.min(queue.len());
        queue.drain(..most).collect()
    }

    /// Those that the engine could not be told of: they are first again.
    pub(crate) fn give_back(&self, admitted: Vec<Admitted>) {
        let mut queue = self.lock();
        for one in admitted.into_iter().rev() {
            queue.push_front(one);
        }
    }

    /// Whether the caller is the one who tells; if so, until what it gets is dropped.
    pub(crate) fn begin(&self) -> Option<Telling<'_>> {
        self.telling.compare_exchange(false, true, Relaxed, Relaxed).is_ok().then_some(Telling(&self.telling))
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.ids.memory_bytes()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Admitted>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct Telling<'a>(&'a AtomicBool);

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        self.0.store(false, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn it_is_exact_and_bounded() {
        let (clock, time) = Clock::manual(Tick(0));
        let alone = Alone::new(3, Duration::from_secs(10), clock).expect("valid");
        assert!(!alone.contains(b"a"));
        let fresh = |id: &[u8]| alone.observe(id, Token::new(), || false).map(Verdict::is_fresh);
        assert_eq!(
            [fresh(b"a"), fresh(b"a"), fresh(b"b"), fresh(b"c")],
            [Some(true), Some(false), Some(true), Some(true)]
        );
        // No room, but what is there is still known.
        assert_eq!([fresh(b"d"), fresh(b"a")], [None, Some(false)]);
        let taken = alone.take(2);
        assert_eq!((taken.len(), alone.waiting()), (2, 1));
        assert!(alone.contains(b"a"), "what is taken stays in the window");
        alone.give_back(taken);
        assert_eq!(alone.take(1)[0].id, b"a");

        time.set(Tick(10 * SECOND - 1));
        assert!(alone.contains(b"b") && alone.left(Tick(0)) == Some(Duration::from_nanos(1)));
        time.set(Tick(10 * SECOND));
        assert!(!alone.contains(b"b") && alone.left(Tick(0)).is_none());
    }

    /// An id that engine and process are about to admit at the same time is admitted by one of them.
    #[test]
    fn one_of_both_admits() {
        let (clock, _) = Clock::manual(Tick(0));
        let alone = Alone::new(3, Duration::from_secs(10), clock).expect("valid");
        let mut put = false;
        assert!(alone.unless_here(b"a", || put = true) && put);
        assert_eq!(alone.observe(b"a", Token::new(), || put).map(Verdict::is_fresh), Some(false));
        assert_eq!(alone.observe(b"b", Token::new(), || false), Some(Verdict::Fresh));
        assert!(!alone.unless_here(b"b", || panic!("it is here")));
    }

    #[test]
    fn one_tells() {
        let (clock, _) = Clock::manual(Tick(0));
        let alone = Alone::new(3, Duration::from_secs(10), clock).expect("valid");
        let first = alone.begin();
        assert!(first.is_some() && alone.begin().is_none());
        drop(first);
        assert!(alone.begin().is_some());
    }
}
