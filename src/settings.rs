//! Settings that several builders check alike.

use crate::{
    error::ConfigError,
    mem::physical_memory,
    time::{Clock, Tick, Window},
};
use std::time::Duration;

/// A stretch of nothing, of the window's kind.
pub(crate) fn nothing(window: Window) -> Window {
    of_same_kind(window, 0)
}

/// So many ticks of the window's kind.
pub(crate) fn of_same_kind(window: Window, ticks: u64) -> Window {
    if window.counts_events() { Window::last_n(ticks) } else { Window::time(Duration::from_nanos(ticks)) }
}

/// The ticks of a setting that has to be of the window's kind, and `least` at least.
pub(crate) fn ticks(
    field: &'static str,
    span: Window,
    window: Window,
    least: u64,
) -> Result<u64, ConfigError> {
    if span.counts_events() != window.counts_events() {
        let wants = if window.counts_events() { "a number of events" } else { "a span of time" };
        return Err(ConfigError::new(
            field,
            span,
            format_args!("the window is {wants}, so this must be one"),
        ));
    }
    let unit = if span.counts_events() { "events" } else { "ns" };
    let limit = || format!("{least} to {} {unit}", Window::MAX_TICKS);
    span.ticks().filter(|&t| t >= least).ok_or_else(|| ConfigError::new(field, span, limit()))
}

/// The ticks of a window and of the lateness before it.
pub(crate) fn reach(window: Window, lateness: Window) -> Result<(u64, u64), ConfigError> {
    let (ticks, late) =
        (self::ticks("window", window, window, 1)?, self::ticks("lateness", lateness, window, 0)?);
    if ticks + late > Window::MAX_TICKS {
        let limit = format!("at most {} ticks less the window ({ticks})", Window::MAX_TICKS);
        return Err(ConfigError::new("lateness", lateness, limit));
    }
    Ok((ticks, late))
}

/// The clock that was given, if it counts what the window does, or one that does.
pub(crate) fn clock(given: Option<Clock>, window: Window) -> Result<Clock, ConfigError> {
    clock_from(given, window, Tick(0))
}

/// .. and begins at `start`.
pub(crate) fn clock_from(given: Option<Clock>, window: Window, start: Tick) -> Result<Clock, ConfigError> {
    let by_events = window.counts_events();
    match given {
        Some(clock) if clock.counts_events().is_some_and(|events| events != by_events) => {
            let (has, wants) = if by_events { ("time", "events") } else { ("events", "time") };
            Err(ConfigError::new("clock", format_args!("a clock of {has}"), format_args!("one of {wants}")))
        }
        Some(clock) => Ok(clock),
        None if by_events => Ok(Clock::events_from(start)),
        None => Ok(Clock::monotonic_from(start)),
    }
}

/// How far a table of `least` bytes may grow: no further than three quarters of the machine's memory.
pub(crate) fn max_memory(given: Option<u64>, least: u64) -> Result<Option<u64>, ConfigError> {
    let most = given.map(|most| most.min(physical_memory().unwrap_or(u64::MAX) / 4 * 3));
    match most {
        Some(most) if most < least => {
            let limit = format!("{least} bytes or more, for the capacity");
            Err(ConfigError::new("max_memory", format_args!("{most} bytes"), limit))
        }
        most => Ok(most),
    }
}
