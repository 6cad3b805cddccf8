//! Structures written, and restored of what was written, damaged or of another kind.

use std::{
    ffi::c_void,
    ptr::{null, null_mut},
};

use super::{
    Source,
    calls::{World, call},
};
use crate::{
    bloom::{config::*, snapshot::*, windlass_bloom_free},
    bounded_topk::{config::*, snapshot::*, windlass_bounded_topk_free},
    counter::{config::*, snapshot::*, windlass_counter_free},
    dedup::{config::*, snapshot::*, windlass_dedup_free},
    fifo::{config::*, snapshot::*, windlass_fifo_free},
    limiter::{config::*, global::windlass_global_limiter_free, snapshot::*, windlass_limiter_free},
    limitset::{config::*, snapshot::*, windlass_limitset_free},
    ring::{config::*, snapshot::*, windlass_ring_free},
    sized::Plain,
    status::*,
    topk::{config::*, snapshot::*, windlass_topk_free},
};

/// The settings that a structure was made with, the last snapshot of one of its kind, and the settings of that one.
pub(super) struct Snapshot<C> {
    pub(super) of: C,
    bytes: Vec<u8>,
    settings: C,
}

impl<C: Plain> Snapshot<C> {
    fn none() -> Snapshot<C> {
        Snapshot { of: C::DEFAULT, bytes: Vec::new(), settings: C::DEFAULT }
    }
}

/// Settings of a set, and its limits: the first so many.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) config: windlass_limitset_config,
    pub(super) rules: [windlass_limit_rule; 3],
    pub(super) n: usize,
}

impl Limits {
    fn none() -> Limits {
        let rule = windlass_limit_rule {
            name: null(),
            permits: 0,
            per_ns: 0,
            burst: 0,
            clients: 0,
            algorithm: 0,
            on_unknown: 0,
            reserved: [0; 2],
        };
        Limits { config: windlass_limitset_config::DEFAULT, rules: [rule; 3], n: 0 }
    }
}

pub(super) struct Kept {
    pub(super) dedup: Snapshot<windlass_dedup_config>,
    pub(super) blooms: [Snapshot<windlass_bloom_config>; 2],
    pub(super) counter: Snapshot<windlass_counter_config>,
    pub(super) topk: Snapshot<windlass_topk_config>,
    pub(super) bounded: Snapshot<windlass_bounded_topk_config>,
    pub(super) fifo: Snapshot<windlass_fifo_config>,
    pub(super) ring: Snapshot<windlass_ring_config>,
    pub(super) limiter: Snapshot<windlass_limiter_config>,
    pub(super) global: Snapshot<windlass_limiter_config>,
    pub(super) set: Snapshot<Limits>,
    /// Of any of them.
    last: Vec<u8>,
    /// How many of each were restored.
    pub(super) restored: [u64; 10],
}

impl Kept {
    pub(super) fn new() -> Kept {
        Kept {
            dedup: Snapshot::none(),
            blooms: [Snapshot::none(), Snapshot::none()],
            counter: Snapshot::none(),
            topk: Snapshot::none(),
            bounded: Snapshot::none(),
            fifo: Snapshot::none(),
            ring: Snapshot::none(),
            limiter: Snapshot::none(),
            global: Snapshot::none(),
            set: Snapshot { of: Limits::none(), bytes: Vec::new(), settings: Limits::none() },
            last: Vec::new(),
            restored: [0; 10],
        }
    }
}

/// Bytes that are written or read, so many at a time, and how many there may be.
struct Stream {
    bytes: Vec<u8>,
    at: usize,
    step: usize,
    most: usize,
}

unsafe extern "C" fn write(context: *mut c_void, bytes: *const u8, len: usize) -> i32 {
    // SAFETY: a Stream, by what the calls below pass; the bytes are there.
    let (stream, bytes) = unsafe { (&mut *context.cast::<Stream>(), std::slice::from_raw_parts(bytes, len)) };
    if bytes.len() > stream.most - stream.bytes.len() {
        return -1;
    }
    stream.bytes.extend_from_slice(bytes);
    0
}

unsafe extern "C" fn read(context: *mut c_void, bytes: *mut u8, capacity: usize) -> i64 {
    // SAFETY: a Stream, by what the calls below pass.
    let stream = unsafe { &mut *context.cast::<Stream>() };
    if stream.at >= stream.most {
        return if stream.most % 2 == 0 { -1 } else { i64::MAX };
    }
    let rest = &stream.bytes[stream.at..];
    let len = rest.len().min(capacity).min(stream.step);
    // SAFETY: there is room for so many.
    unsafe { bytes.copy_from_nonoverlapping(rest.as_ptr(), len) };
    stream.at += len;
    i64::try_from(len).expect("few")
}

/// A stream of these bytes, that fails seldom.
fn stream(s: &mut Source<'_>, bytes: Vec<u8>) -> Stream {
    let most = if s.seldom() { s.number() as usize } else { usize::MAX };
    let step = if s.seldom() { 1 + s.below(100) } else { usize::MAX };
    Stream { bytes, at: 0, step, most }
}

/// Some other bytes than these, as a rule.
fn damaged(s: &mut Source<'_>, mut bytes: Vec<u8>, other: &[u8]) -> Vec<u8> {
    match s.below(8) {
        0 if !bytes.is_empty() => {
            let at = (s.number() as usize).wrapping_mul(0x9e37) % bytes.len();
            bytes[at] ^= s.byte();
        }
        1 => bytes.truncate(s.number() as usize),
        2 => return other.to_vec(),
        _ => {}
    }
    bytes
}

/// A function that may be NULL.
fn function<F>(s: &mut Source<'_>, function: F) -> Option<F> {
    if s.seldom() {
        s.is_wrong(WINDLASS_E_NULL);
        return None;
    }
    Some(function)
}

/// Keeps what was written, if all of it was.
macro_rules! written {
    ($s:ident, $world:ident, $kept:expr, $handle:expr, $snapshot:ident ( $($now:expr),* )) => {{
        let (handle, wall, error) = ($s.handle($handle), $s.number(), $s.error());
        let mut to = stream($s, Vec::new());
        let function = function($s, write as unsafe extern "C" fn(*mut c_void, *const u8, usize) -> i32);
        let context = (&raw mut to).cast();
        let code = call!($s, &[WINDLASS_E_IO], $snapshot(handle $(, $now)*, wall, function, context, error));
        if code == i64::from(WINDLASS_OK) {
            $world.kept.last.clone_from(&to.bytes);
            ($kept.bytes, $kept.settings) = (to.bytes, $kept.of);
        }
    }};
}

/// Puts in what was restored, if it was.
macro_rules! restored {
    ($s:ident, $world:ident, $number:literal, $kept:expr, $place:expr, $free:ident, $restore:ident) => {
        restored!($s, $world, $number, $kept, $place, $free, $restore, settings => settings, ())
    };
    // .. with what its config is of the settings that were kept, and the arguments behind it.
    ($s:ident, $world:ident, $number:literal, $kept:expr, $place:expr, $free:ident, $restore:ident,
     $settings:ident => $config:expr, ($($argument:expr),*)) => {{
        let bytes = damaged($s, $kept.bytes.clone(), &$world.kept.last);
        let mut from = stream($s, bytes);
        let ($settings, wall) = (if $s.seldom() { $kept.of } else { $kept.settings }, $s.number());
        let config = $s.config($config);
        let function = function($s, read as unsafe extern "C" fn(*mut c_void, *mut u8, usize) -> i64);
        let context = (&raw mut from).cast();
        let (out, restored, error) = ($s.out(false), $s.sized_out(), $s.error());
        // SAFETY: arguments that were made for it; what was there before is freed once.
        unsafe {
            let code = $restore(config $(, $argument)*, wall, function, context, out, restored, error);
            let handle = if code == WINDLASS_OK { *out } else { null_mut() };
            $s.returned(stringify!($restore), code, RESTORED);
            if code == WINDLASS_OK {
                $free($place);
                $place = handle;
                $kept.of = $settings;
                $world.kept.restored[$number] += 1;
            }
        }
    }};
}

/// What a restored structure may say.
const RESTORED: &[windlass_status] =
    &[WINDLASS_E_ARG, WINDLASS_E_NOMEM, WINDLASS_E_SNAPSHOT, WINDLASS_E_IO, WINDLASS_E_FULL];

pub(super) fn any(world: &mut World, s: &mut Source<'_>) {
    let (now, which) = (s.now(), s.below(2));
    match s.below(20) {
        0 => written!(s, world, world.kept.dedup, world.dedup, windlass_dedup_snapshot(now)),
        1 => written!(s, world, world.kept.blooms[which], world.blooms[which], windlass_bloom_snapshot(now)),
        2 => written!(s, world, world.kept.counter, world.counter, windlass_counter_snapshot(now)),
        3 => written!(s, world, world.kept.topk, world.topk, windlass_topk_save(now)),
        4 => written!(s, world, world.kept.fifo, world.fifo, windlass_fifo_snapshot(now)),
        5 => written!(s, world, world.kept.ring, world.ring, windlass_ring_snapshot()),
        6 => {
            restored!(
                s,
                world,
                0,
                world.kept.dedup,
                world.dedup,
                windlass_dedup_free,
                windlass_dedup_restore
            );
        }
        7 => {
            restored!(
                s,
                world,
                1,
                world.kept.blooms[which],
                world.blooms[which],
                windlass_bloom_free,
                windlass_bloom_restore
            );
        }
        8 => {
            restored!(
                s,
                world,
                2,
                world.kept.counter,
                world.counter,
                windlass_counter_free,
                windlass_counter_restore
            );
        }
        9 => restored!(s, world, 3, world.kept.topk, world.topk, windlass_topk_free, windlass_topk_restore),
        10 => restored!(s, world, 4, world.kept.fifo, world.fifo, windlass_fifo_free, windlass_fifo_restore),
        11 => written!(s, world, world.kept.bounded, world.bounded, windlass_bounded_topk_save(now)),
        12 => {
            restored!(
                s,
                world,
                6,
                world.kept.bounded,
                world.bounded,
                windlass_bounded_topk_free,
                windlass_bounded_topk_restore
            );
        }
        13 => {
            written!(s, world, world.kept.limiter, world.limiter, windlass_limiter_snapshot(now));
        }
        14 => {
            restored!(
                s,
                world,
                7,
                world.kept.limiter,
                world.limiter,
                windlass_limiter_free,
                windlass_limiter_restore
            );
        }
        15 => {
            written!(s, world, world.kept.global, world.global, windlass_global_limiter_snapshot(now));
        }
        16 => {
            restored!(
                s,
                world,
                8,
                world.kept.global,
                world.global,
                windlass_global_limiter_free,
                windlass_global_limiter_restore
            );
        }
        17 => written!(s, world, world.kept.set, world.set, windlass_limitset_snapshot(now)),
        18 => {
            // (The ticket of the last hold stays: it may be good there, or be of another set.)
            restored!(
                s,
                world,
                9,
                world.kept.set,
                world.set,
                windlass_limitset_free,
                windlass_limitset_restore,
                limits => limits.config,
                (limits.rules.as_ptr(), limits.n)
            );
        }
        _ => restored!(s, world, 5, world.kept.ring, world.ring, windlass_ring_free, windlass_ring_restore),
    }
}
