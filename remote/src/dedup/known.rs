//! Ids that are known to be in the engine: their duplicates need no round trip.

use std::time::Duration;
use windlass::{Clock, ConfigError, Dedup, OnFull, Tick, Window};

/// What this process itself has put into the engine, by this process' monotonic clock.
///
/// The engine holds an id from some instant between the request and the answer on, for a window. Here it counts from the request, and for
/// less than a window, so that it is gone here before it is gone there; and an id that was crowded out is just asked for. The window here is shorter by a
/// thousandth (clocks do not run at the same pace) and 2 ms (the engine counts in milliseconds).
pub(crate) struct Known {
    ids: Dedup,
    clock: Clock,
    lateness: u64,
}

/// The window that an id is known for here; none if nothing is left of it.
pub(crate) fn shortened(window: Duration) -> Option<Duration> {
    window
        .checked_sub(window / 1000 + Duration::from_millis(2))
        .filter(|left| *left >= Duration::from_millis(1))
}

impl Known {
    /// For `ids` ids; `timeout` is how long an answer may take.
    pub(crate) fn new(
        ids: usize,
        window: Duration,
        timeout: Duration,
        clock: Clock,
    ) -> Result<Option<Known>, ConfigError> {
        let Some(window) = shortened(window).filter(|_| ids > 0) else { return Ok(None) };
        let lateness = timeout * 2;
        let ticks = Window::time(lateness).ticks().unwrap_or(Window::MAX_TICKS);
        let ids =
            Dedup::builder(window).lateness(lateness).capacity(ids).on_full(OnFull::EvictOldest).build()?;
        Ok(Some(Known { ids, clock, lateness: ticks }))
    }

    pub(crate) fn contains(&self, id: &[u8]) -> bool {
        self.ids.contains_at(id, self.clock.now())
    }

    /// The engine has admitted it, in answer to a request that went out at `asked`.
    pub(crate) fn put(&self, id: &[u8], asked: Tick) {
        if self.is_late(asked) {
            return;
        }
        // Refused if it is crowded: then it is not known.
        let _ = self.ids.observe_at(id, asked);
        // What is later than the lateness counts as later than it was, and so would be known for too long. Nobody's clock
        // was further on than this one is now.
        if self.is_late(asked) {
            self.ids.forget_at(id, self.clock.now());
        }
    }

    fn is_late(&self, asked: Tick) -> bool {
        self.clock.now().0.saturating_sub(asked.0) > self.lateness
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.ids.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Known from the request on, and gone before a window has passed since.
    #[test]
    fn it_is_gone_before_the_window_ends() {
        let (clock, time) = Clock::manual(Tick(0));
        let known = Known::new(1000, Duration::from_secs(10), Duration::from_secs(1), clock);
        let known = known.expect("valid").expect("there is one");
        time.set(Tick(SECOND / 2));
        assert!(!known.contains(b"a"));
        known.put(b"a", Tick(0));
        let mut last = 0;
        for ms in 500..10_100 {
            time.set(Tick(ms * 1_000_000));
            if known.contains(b"a") {
                last = ms;
            }
        }
        assert_eq!(last, 9_987, "10 s less 10 ms and 2 ms: to the millisecond before 9,988 ms");
    }

    /// An answer that took longer than answers may take is not known: its place in time is not.
    #[test]
    fn what_is_late_is_not_known() {
        let (clock, time) = Clock::manual(Tick(0));
        let known = Known::new(1000, Duration::from_secs(10), Duration::from_secs(1), clock);
        let known = known.expect("valid").expect("there is one");
        time.set(Tick(3 * SECOND));
        known.put(b"a", Tick(0));
        assert!(!known.contains(b"a"));
        known.put(b"a", Tick(SECOND));
        assert!(known.contains(b"a"));
    }

    #[test]
    fn nothing_is_left_of_a_short_window() {
        assert_eq!(shortened(Duration::from_millis(3)), None);
        assert_eq!(shortened(Duration::from_secs(1)), Some(Duration::from_millis(997)));
        let (clock, _) = Clock::manual(Tick(0));
        let second = Duration::from_secs(1);
        assert!(Known::new(0, second, second, clock).expect("valid").is_none());
    }
}
