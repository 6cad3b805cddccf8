//! A clock for those who have none at hand.

use std::{
    sync::OnceLock,
    time::{Instant, SystemTime},
};

/// Nanoseconds of a clock that never goes back, since this library was first asked: a value for now
/// where windows are spans of time. It costs about as much as an observation: read it once for
/// several calls.
///
/// Threads: concurrent; all threads of a process have the same clock.
#[unsafe(no_mangle)]
pub extern "C" fn windlass_now_ns() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    u64::try_from(ORIGIN.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Nanoseconds since 1970 by the system's clock, which may be set: a value for wall_ns, where snapshots
/// are written and restored.
///
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn windlass_wall_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
