//! Time as a coordinate: ticks, windows, clocks.
//!
//! A [`Tick`] is a position on any coordinate that does not go back by itself: nanoseconds, or the number of an
//! event in its stream. Every operation of every structure takes one (`.._at(.., now)`); the short forms read the
//! structure's [`Clock`] and delegate.

use crate::sync::{Arc, AtomicU64, Ordering::Relaxed};
use std::{
    fmt,
    time::{Duration, Instant, SystemTime},
};

/// A position on a monotone coordinate: nanoseconds since any fixed origin, or an event's number.
///
/// All ticks given to one structure must count the same thing from the same origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(pub u64);

impl Tick {
    /// A time as nanoseconds since the origin; `None` beyond 584 years.
    #[must_use]
    pub fn from_duration(since_origin: Duration) -> Option<Tick> {
        u64::try_from(since_origin.as_nanos()).ok().map(Tick)
    }

    /// `millis` milliseconds since the origin; `None` beyond 584 years.
    #[must_use]
    pub fn from_millis(millis: u64) -> Option<Tick> {
        millis.checked_mul(1_000_000).map(Tick)
    }
}

impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A stretch of the coordinate: a span of time, or a number of events.
///
/// Limits are checked when a structure is built: a window is 1 tick at least, and window and lateness together are
/// [`Window::MAX_TICKS`] at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    ticks: u128,
    events: bool,
}

impl Window {
    /// 2^57 ticks: 4.5 years of nanoseconds.
    pub const MAX_TICKS: u64 = 1 << 57;

    /// The last `span` of time; ticks are nanoseconds.
    #[must_use]
    pub const fn time(span: Duration) -> Window {
        Window { ticks: span.as_nanos(), events: false }
    }

    /// The last `n` events; ticks are event numbers (0, 1, 2 ...).
    #[must_use]
    pub const fn last_n(n: u64) -> Window {
        Window { ticks: n as u128, events: true }
    }

    /// Its length in ticks, `None` above [`Window::MAX_TICKS`].
    #[must_use]
    pub fn ticks(self) -> Option<u64> {
        u64::try_from(self.ticks).ok().filter(|&t| t <= Self::MAX_TICKS)
    }

    /// Whether it counts events rather than nanoseconds.
    #[must_use]
    pub const fn counts_events(self) -> bool {
        self.events
    }
}

impl From<Duration> for Window {
    fn from(span: Duration) -> Window {
        Window::time(span)
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.ticks, if self.events { "events" } else { "ns" })
    }
}

/// Where the short forms (`observe`, `contains` ..) take their tick from. Clones share the same clock.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    /// Since when, and the tick then.
    Monotonic(Instant, u64),
    Coarse(u64, u64),
    Manual(Arc<AtomicU64>),
    Events(Arc<AtomicU64>),
}

impl Clock {
    /// Nanoseconds since the clock was made, by [`Instant`] (about 20 ns a reading).
    #[must_use]
    pub fn monotonic() -> Clock {
        Clock::monotonic_from(Tick(0))
    }

    /// [`Clock::monotonic`], and `start` more: to go on where another clock stood.
    #[must_use]
    pub fn monotonic_from(start: Tick) -> Clock {
        Clock(Source::Monotonic(Instant::now(), start.0))
    }

    /// Nanoseconds since the clock was made, by the system's coarse monotonic clock where there is one: a few times
    /// cheaper to read, moves in steps of 1 to 4 ms. Elsewhere the same as [`Clock::monotonic`].
    #[must_use]
    pub fn coarse() -> Clock {
        Clock::coarse_from(Tick(0))
    }

    /// [`Clock::coarse`], and `start` more.
    #[must_use]
    pub fn coarse_from(start: Tick) -> Clock {
        match coarse_nanos() {
            Some(origin) => Clock(Source::Coarse(origin, start.0)),
            None => Clock::monotonic_from(start),
        }
    }

    /// A clock that stands still until it is set: for tests and replays.
    #[must_use]
    pub fn manual(start: Tick) -> (Clock, ManualClock) {
        let ticks = Arc::new(AtomicU64::new(start.0));
        (Clock(Source::Manual(ticks.clone())), ManualClock(ticks))
    }

    /// Numbers events from 0: each arrival takes the next number. The default for [`Window::last_n`].
    #[must_use]
    pub fn events() -> Clock {
        Clock::events_from(Tick(0))
    }

    /// Numbers events from `next`.
    #[must_use]
    pub fn events_from(next: Tick) -> Clock {
        Clock(Source::Events(Arc::new(AtomicU64::new(next.0))))
    }

    /// The present, without an arrival.
    #[must_use]
    pub fn now(&self) -> Tick {
        self.arrivals(0)
    }

    /// The tick of the first of `n` arrivals. Where events are numbered the others have the numbers after it.
    pub(crate) fn arrivals(&self, n: u64) -> Tick {
        Tick(match &self.0 {
            Source::Monotonic(origin, start) => {
                u64::try_from(origin.elapsed().as_nanos()).unwrap_or(u64::MAX).saturating_add(*start)
            }
            Source::Coarse(origin, start) => {
                coarse_nanos().unwrap_or(0).saturating_sub(*origin).saturating_add(*start)
            }
            Source::Manual(ticks) => ticks.load(Relaxed),
            // Relaxed: the number is all that is taken; order between events is not promised.
            Source::Events(next) if n > 0 => next.fetch_add(n, Relaxed),
            Source::Events(next) => next.load(Relaxed),
        })
    }

    /// What to add per event within a batch of arrivals.
    pub(crate) fn step(&self) -> u64 {
        u64::from(matches!(self.0, Source::Events(_)))
    }

    pub(crate) fn counts_events(&self) -> Option<bool> {
        match self.0 {
            Source::Monotonic(..) | Source::Coarse(..) => Some(false),
            Source::Events(_) => Some(true),
            Source::Manual(_) => None,
        }
    }
}

/// The system's clock, since 1970: what is the same before and after a restart.
pub(crate) fn wall() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Sets the time of a [`Clock::manual`].
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// Sets the time. It may go back: structures must cope with that.
    pub fn set(&self, now: Tick) {
        self.0.store(now.0, Relaxed);
    }

    /// Moves the time on by `ticks`.
    pub fn advance(&self, ticks: u64) {
        self.0.fetch_add(ticks, Relaxed);
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
#[allow(unsafe_code)]
fn coarse_nanos() -> Option<u64> {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec to write to; the call keeps no pointer.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut now) } != 0;
    let nanos = u64::try_from(now.tv_sec).ok()?.checked_mul(1_000_000_000)?;
    (!failed).then_some(nanos + u64::try_from(now.tv_nsec).ok()?)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn coarse_nanos() -> Option<u64> {
    None
}
