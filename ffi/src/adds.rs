//! What counters and lists of the hottest keys have in common: adds, and questions with a number for an answer.

use windlass::{Added, BoundedTopK, Key, Tally, Tick, TopK, WindowedCounter};

use crate::{
    boundary::{guard, optional, put},
    counter::{WINDLASS_COUNTED, WINDLASS_LATE, WINDLASS_NO_ROOM, batch::windlass_tally},
    handle::{Handle, core},
    status::{WINDLASS_E_JUMP, WINDLASS_OK, windlass_status},
    topk::WINDLASS_TOO_LONG,
};

/// What can be added to.
pub(crate) trait Adds {
    fn add_at(&self, key: impl Key, n: u64, now: Tick) -> Added;

    fn add_each<K: Key>(&self, n: usize, event: impl Fn(usize) -> (K, u64, Tick)) -> Tally;
}

macro_rules! adds {
    ($($core:ty),+) => {$(
        impl Adds for $core {
            #[inline(always)]
            fn add_at(&self, key: impl Key, n: u64, now: Tick) -> Added {
                <$core>::add_at(self, key, n, now)
            }

            #[inline(always)]
            fn add_each<K: Key>(&self, n: usize, event: impl Fn(usize) -> (K, u64, Tick)) -> Tally {
                <$core>::add_each(self, n, event)
            }
        }
    )+};
}
adds!(WindowedCounter, TopK, BoundedTopK);

/// What C gets for an add.
fn code(added: Added) -> i32 {
    match added {
        Added::Counted => WINDLASS_COUNTED,
        Added::NoRoom => WINDLASS_NO_ROOM,
        Added::TooLong => WINDLASS_TOO_LONG,
        Added::Late => WINDLASS_LATE,
        // What the core adds to them gets a code here.
        _ => WINDLASS_E_JUMP,
    }
}

/// # Safety
/// `handle` as `core` has it.
#[inline(always)]
pub(crate) unsafe fn one<H: Handle<Core: Adds>>(
    handle: *mut H,
    key: Result<impl Key, windlass_status>,
    times: u64,
    now: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    guard(|| Ok::<_, i32>(code(unsafe { core(handle) }?.add_at(key?, times, Tick(now)))))
}

/// Checks all arguments, then counts.
///
/// # Safety
/// `handle` as `core` has it, `times` and `ticks` as `slice`, of `n` each; `tally` is NULL or may be written to.
#[inline(always)]
pub(crate) unsafe fn batch<H: Handle<Core: Adds>, K: Key>(
    handle: *mut H,
    keys: Result<impl Fn(usize) -> K, windlass_status>,
    n: usize,
    times: *const u64,
    now: u64,
    ticks: *const u64,
    tally: *mut windlass_tally,
) -> windlass_status {
    guard(|| {
        let key = keys?;
        // SAFETY: the caller's promise.
        let core = unsafe { core(handle) }?;
        // SAFETY: the caller's promise.
        let times = unsafe { optional(times, n) }?;
        // SAFETY: the caller's promise.
        let ticks = unsafe { optional(ticks, n) }?;
        let times = |i: usize| times.map_or(1, |times| times[i]);
        let tick = |i: usize| Tick(ticks.map_or(now, |ticks| ticks[i]));
        let added = core.add_each(n, |i| (key(i), times(i), tick(i)));
        if !tally.is_null() {
            // SAFETY: the caller's promise.
            unsafe { tally.write(added.into()) };
        }
        Ok::<_, windlass_status>(WINDLASS_OK)
    })
}

/// # Safety
/// `handle` as `core` has it, `out` as `put`.
#[inline(always)]
pub(crate) unsafe fn ask<H: Handle, K>(
    handle: *const H,
    key: Result<K, windlass_status>,
    out: *mut u64,
    question: impl FnOnce(&H::Core, K) -> u64,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let core = unsafe { core(handle) }?;
        let answer = question(core, key?);
        // SAFETY: the caller's promise.
        unsafe { put(out, answer) }
    })
}
