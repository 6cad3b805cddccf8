//! A clock for those who have none at hand.

use std::{sync::OnceLock, time::Instant};

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
