//! What reading any structure's settings has in common.

use std::time::Duration;

use windlass::{ConfigError, Window};

use crate::{
    boundary::Failure,
    dedup::config::{WINDLASS_UNIT_EVENTS, WINDLASS_UNIT_NS},
    status::WINDLASS_E_NOMEM,
};

/// The failure for a setting out of its range.
pub(crate) fn wrong<T>(field: &'static str, value: impl Into<u64>, limit: &str) -> Result<T, Failure> {
    let value = value.into().to_string();
    Err(Failure::from(ConfigError { field, value, limit: limit.to_owned() }))
}

/// What no release has given a meaning has to be 0: a later one may.
pub(crate) fn unused(flags: u32, reserved: impl IntoIterator<Item = u64>) -> Result<(), Failure> {
    if flags != 0 {
        return wrong("flags", flags, "0, as none are known");
    }
    match reserved.into_iter().find(|&value| value != 0) {
        Some(other) => wrong("reserved", other, "0"),
        None => Ok(()),
    }
}

/// How a number of ticks becomes a window.
pub(crate) fn span_of(unit: u32) -> Result<fn(u64) -> Window, Failure> {
    match unit {
        WINDLASS_UNIT_NS => Ok(|ticks| Window::time(Duration::from_nanos(ticks))),
        WINDLASS_UNIT_EVENTS => Ok(Window::last_n),
        other => wrong("unit", other, "WINDLASS_UNIT_NS (0) or WINDLASS_UNIT_EVENTS (1)"),
    }
}

/// How many of something there are to be.
pub(crate) fn many(field: &'static str, value: u64) -> Result<usize, Failure> {
    usize::try_from(value).or_else(|_| wrong(field, value, "what the machine can address"))
}

/// What a builder has made after its settings have been checked. Some errors can then only mean that there `is_no_memory`.
pub(crate) fn built<T>(
    made: Result<T, ConfigError>,
    is_no_memory: impl FnOnce(&ConfigError) -> bool,
) -> Result<T, Failure> {
    made.map_err(|error| {
        let no_memory = is_no_memory(&error);
        let failure = Failure::from(error);
        if no_memory { Failure { status: WINDLASS_E_NOMEM, ..failure } } else { failure }
    })
}
