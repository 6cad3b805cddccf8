//! The functions, called as C calls them. (How they answer is compared with Rust in tests/decisions.rs, what a user relies on in
//! tests/c/limiter.c.)

#![allow(clippy::multiple_unsafe_ops_per_block)] // one call after the other, of the same kind

use std::ptr::{null, null_mut};

use windlass::Seed;

use super::{admission::*, batch::*, check::*, config::*, global::*, stats::*, upkeep::*, *};
use crate::{
    hash::windlass_hash,
    sized::Plain,
    status::{
        WINDLASS_E_ARG, WINDLASS_E_NULL, WINDLASS_E_OFFSETS, WINDLASS_E_RANGE, WINDLASS_E_STRUCT_SIZE,
        WINDLASS_OK,
    },
};

const CONFIG: u32 = windlass_limiter_config::DEFAULT.struct_size;
const STATS: u32 = windlass_limiter_stats::DEFAULT.struct_size;

/// A handle that frees itself.
struct Handle(*mut windlass_limiter);

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: from `made`, freed here alone.
        unsafe { windlass_limiter_free(self.0) };
    }
}

/// 10 a second.
fn config(change: impl FnOnce(&mut windlass_limiter_config)) -> windlass_limiter_config {
    let mut config = windlass_limiter_config::DEFAULT;
    // SAFETY: a config of that size.
    assert_eq!(unsafe { windlass_limiter_config_init(&raw mut config, CONFIG) }, WINDLASS_OK);
    (config.permits, config.per_ns) = (10, 1_000_000_000);
    config.clients = 1000;
    config.seed = 7;
    change(&mut config);
    config
}

fn made(change: impl FnOnce(&mut windlass_limiter_config)) -> Handle {
    let mut handle = null_mut();
    // SAFETY: a valid config, a place for the handle.
    assert_eq!(unsafe { windlass_limiter_new(&config(change), &raw mut handle, null_mut()) }, WINDLASS_OK);
    Handle(handle)
}

fn fresh_error() -> windlass_error {
    windlass_error { struct_size: 256, code: WINDLASS_OK, detail: [0; 248] }
}

fn detail(error: &windlass_error) -> String {
    // SAFETY: ends with NUL.
    let text = unsafe { std::ffi::CStr::from_ptr(error.detail.as_ptr()) };
    text.to_str().expect("UTF-8").to_owned()
}

/// What `windlass_limiter_new` says, and the detail. The handle stays NULL.
fn refused_with(change: impl FnOnce(&mut windlass_limiter_config)) -> (windlass_status, String) {
    let (mut handle, mut error) = (null_mut(), fresh_error());
    // SAFETY: a config, a place for the handle, an error.
    let status = unsafe { windlass_limiter_new(&config(change), &raw mut handle, &raw mut error) };
    assert!(handle.is_null());
    (status, detail(&error))
}

/// And of the global one.
fn global_refused_with(change: impl FnOnce(&mut windlass_limiter_config)) -> (windlass_status, String) {
    let (mut handle, mut error) = (null_mut(), fresh_error());
    // SAFETY: a config, a place for the handle, an error.
    let status = unsafe { windlass_global_limiter_new(&config(change), &raw mut handle, &raw mut error) };
    assert!(handle.is_null());
    (status, detail(&error))
}

fn clients(limiter: &Handle) -> u64 {
    let mut stats = windlass_limiter_stats::DEFAULT;
    // SAFETY: a handle, and a place of that size.
    assert_eq!(unsafe { windlass_limiter_get_stats(limiter.0, &raw mut stats, STATS) }, WINDLASS_OK);
    assert_eq!(stats.struct_size, STATS);
    stats.clients
}

#[test]
fn wrong_settings() {
    type Change = fn(&mut windlass_limiter_config);
    let says = |change: Change, text: &str| {
        let (status, detail) = refused_with(change);
        assert_eq!(status, WINDLASS_E_ARG, "{detail}");
        assert!(detail.starts_with(text), "{detail}");
        detail
    };
    // What is about the quota the global one refuses as well.
    let both_say = |change: Change, text: &str| {
        let detail = says(change, text);
        assert_eq!(global_refused_with(change), (WINDLASS_E_ARG, detail));
    };
    both_say(|c| c.permits = 0, "quota: 0/s is out of range: 1 permit at least");
    both_say(|c| c.per_ns = 0, "quota: 10/0ns is out of range: a time of 1 ns at least");
    both_say(|c| c.per_ns = u64::MAX, "quota: 10/18446744073709551615ns is out of range: a time of 366 days");
    both_say(
        |c| c.permits = u64::MAX,
        "quota: 18446744073709551615/s is out of range: a permit in 4 ns at most",
    );
    both_say(|c| c.burst = u64::MAX, "quota: 10/s burst 18446744073709551615 is out of range: ");
    both_say(|c| (c.algorithm, c.burst) = (3, 9), "burst: 9 is out of range: 10, the quota's, or none");
    both_say(|c| (c.algorithm, c.permits) = (4, 1 << 20), "quota: 1048576/s is out of range: ");
    both_say(|c| c.algorithm = 6, "algorithm: 6 is out of range: a WINDLASS_ALGORITHM_ (0 to 5)");
    both_say(|c| c.on_unknown = 3, "on_unknown: 3 is out of range: WINDLASS_ON_UNKNOWN_DENY (0), ");
    both_say(|c| c.shared_cells = 5, "shared_cells: 5 is out of range: 0, but with ");
    says(|c| c.on_unknown = 2, "on_unknown: 0 cells is out of range: 1 to 2^28 cells");
    says(
        |c| (c.on_unknown, c.shared_cells) = (2, (1 << 28) + 1),
        "on_unknown: 268435457 cells is out of range: ",
    );
    says(
        |c| (c.on_unknown, c.shared_cells, c.algorithm) = (2, 1, 5),
        "on_unknown: shared cells is out of range: ",
    );
    both_say(|c| c.flags = 1, "flags: 1 is out of range: 0");
    both_say(|c| c.reserved[2] = 5, "reserved: 5 is out of range: 0");
    says(|c| c.clients = 0, "clients: 0 is out of range: 1 to ");
    says(|c| c.clients = u64::MAX, "clients: 18446744073709551615 is out of range: 1 to ");
    says(|c| c.lateness_ns = u64::MAX, "lateness: ");
    says(|c| c.max_jump_ns = 0, "max_jump: 0 ns is out of range: 1 to ");
    says(
        |c| (c.algorithm, c.max_memory) = (5, 1 << 30),
        "max_memory: 1073741824 bytes is out of range: none",
    );
    says(|c| (c.algorithm, c.clients) = (5, 1 << 31), "clients: 2147483648");
    says(|c| c.max_memory = 1, "max_memory: 1 bytes is out of range: ");
    for size in [0, 111, 4097, u32::MAX] {
        assert_eq!(refused_with(|c| c.struct_size = size).0, WINDLASS_E_STRUCT_SIZE);
        assert_eq!(global_refused_with(|c| c.struct_size = size).0, WINDLASS_E_STRUCT_SIZE);
    }
    let (status, text) = global_refused_with(|c| c.max_jump_ns = 5);
    assert_eq!(
        (status, text.starts_with("max_jump_ns: 5 is out of range: WINDLASS_NO_LIMIT")),
        (WINDLASS_E_ARG, true)
    );
}

#[test]
fn texts_of_quotas() {
    let parse = |text: &[u8], config: &mut windlass_limiter_config| {
        let mut error = fresh_error();
        // SAFETY: a config, a text of that length, an error.
        let status = unsafe {
            windlass_limiter_config_quota(config, text.as_ptr().cast(), text.len(), &raw mut error)
        };
        (status, detail(&error))
    };
    let mut c = config(|c| c.clients = 5);
    for (text, quota) in [
        ("100/60s", (100, 60_000_000_000, 0)),
        ("10/s burst 20", (10, 1_000_000_000, 20)),
        (" 3 / 250us ", (3, 250_000, 0)),
        ("7/d burst 7", (7, 86_400_000_000_000, 0)),
    ] {
        assert_eq!(parse(text.as_bytes(), &mut c), (WINDLASS_OK, String::new()), "{text}");
        assert_eq!((c.permits, c.per_ns, c.burst), quota, "{text}");
        assert_eq!((c.struct_size, c.clients, c.seed), (CONFIG, 5, 7), "{text}");
    }
    for text in [&b""[..], b"10", b"10/0s", b"-1/s", b"10/s burst 0", b"10/s\0", b"10/s\xff", b"\xff\xfe/s"] {
        let (status, detail) = parse(text, &mut c);
        assert_eq!(status, WINDLASS_E_ARG, "{text:?}");
        assert!(detail.starts_with("quota: ") || detail.starts_with("burst: "), "{detail}");
        assert_eq!((c.permits, c.per_ns, c.burst), (7, 86_400_000_000_000, 0));
    }
    let text = b"9/s".as_ptr().cast();
    // SAFETY: refused, all of them.
    unsafe {
        assert_eq!(windlass_limiter_config_quota(null_mut(), text, 3, null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_limiter_config_quota(&raw mut c, null(), 3, null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_limiter_config_quota(&raw mut c, text, usize::MAX, null_mut()), WINDLASS_E_RANGE);
        c.struct_size = 8;
        assert_eq!(windlass_limiter_config_quota(&raw mut c, text, 3, null_mut()), WINDLASS_E_STRUCT_SIZE);
    }
    assert_eq!(c.permits, 7);
}

/// A program with a newer header, whose struct is longer.
#[test]
fn a_longer_config() {
    #[repr(C)]
    struct Longer(windlass_limiter_config, u64);
    let mut longer = Longer(windlass_limiter_config::DEFAULT, u64::MAX);
    let longer = &raw mut longer;
    let at = longer.cast::<windlass_limiter_config>();
    let mut handle = null_mut();
    // SAFETY: structs of that size, in all of these.
    unsafe {
        assert_eq!(windlass_limiter_config_init(at, CONFIG + 8), WINDLASS_OK);
        assert_eq!(((*longer).0.struct_size, (*longer).1), (CONFIG + 8, 0));
        assert_eq!(windlass_limiter_config_quota(at, c"9/s".as_ptr(), 3, null_mut()), WINDLASS_OK);
        assert_eq!(((*longer).0.struct_size, (*longer).0.permits), (CONFIG + 8, 9));
        (*longer).1 = 1;
        assert_eq!(windlass_limiter_new(at, &raw mut handle, null_mut()), WINDLASS_E_STRUCT_SIZE);
        assert_eq!(windlass_limiter_config_quota(at, c"8/s".as_ptr(), 3, null_mut()), WINDLASS_E_STRUCT_SIZE);
        (*longer).1 = 0;
        (*longer).0.clients = 10;
        assert_eq!(windlass_limiter_new(at, &raw mut handle, null_mut()), WINDLASS_OK);
        assert_eq!(windlass_limiter_check_u64(handle, 1, 9, 0, null_mut()), WINDLASS_ALLOWED);
        windlass_limiter_free(handle);
    }
}

#[test]
fn the_three_kinds_of_keys() {
    let limiter = made(|_| {});
    let l = limiter.0;
    let (of_a, of_1) = (Seed(7).hash("a").into(), Seed(7).hash(1_u64).into());
    let mut peeked = windlass_admission::default();
    // SAFETY: a handle, and bytes of that length, in all of these.
    unsafe {
        assert_eq!(windlass_limiter_check(l, b"a".as_ptr(), 1, 10, 5, null_mut()), WINDLASS_ALLOWED);
        assert_eq!(windlass_limiter_check_hash(l, of_a, 1, 5, null_mut()), WINDLASS_DENIED);
        assert_eq!(windlass_limiter_peek(l, b"a".as_ptr(), 1, 1, 5, null_mut()), WINDLASS_DENIED);
        assert_eq!(windlass_limiter_peek_hash(l, of_a, 1, 5, &raw mut peeked), WINDLASS_DENIED);
        assert_eq!((peeked.kind, peeked.remaining), (WINDLASS_DENIED, 0));
        assert_eq!(windlass_limiter_check_u64(l, 1, 10, 5, null_mut()), WINDLASS_ALLOWED);
        assert_eq!(windlass_limiter_check_hash(l, of_1, 1, 5, null_mut()), WINDLASS_DENIED);
        assert_eq!(windlass_limiter_peek_u64(l, 1, 1, 5, null_mut()), WINDLASS_DENIED);
        assert_eq!(windlass_limiter_peek_u64(l, 2, 11, 5, null_mut()), WINDLASS_NEVER);
        assert_eq!(clients(&limiter), 2);

        assert_eq!(windlass_limiter_forget(l, b"a".as_ptr(), 1, 5), 1);
        assert_eq!(windlass_limiter_forget_hash(l, of_a, 5), 0);
        assert_eq!(windlass_limiter_check_hash(l, of_a, 10, 5, null_mut()), WINDLASS_ALLOWED);
        assert_eq!(windlass_limiter_forget_hash(l, of_a, 5), 1);
        assert_eq!(windlass_limiter_forget_u64(l, 1, 5), 1);
        assert_eq!(windlass_limiter_forget_u64(l, 1, 5), 0);
    }
}

#[test]
fn what_a_batch_may_leave_out() {
    let keys = [1_u64, 2, 1, 1];
    let (costs, ticks) = ([10_u64, 3, 1, 1], [0_u64, 0, 0, 200_000_000]);
    let (k, c, t, none) = (keys.as_ptr(), costs.as_ptr(), ticks.as_ptr(), null_mut());
    let kinds = |costs, ticks| {
        let limiter = made(|c| c.burst = 10);
        let mut admissions = [windlass_admission::default(); 4];
        let out = admissions.as_mut_ptr();
        // SAFETY: a handle, and four of each.
        let allowed = unsafe { windlass_limiter_check_u64s(limiter.0, k, 4, costs, 5, ticks, out) };
        let quiet = made(|c| c.burst = 10);
        // SAFETY: the same, without a place for answers.
        let counted = unsafe { windlass_limiter_check_u64s(quiet.0, k, 4, costs, 5, ticks, none) };
        assert_eq!(allowed, counted);
        (allowed, admissions.map(|a| a.kind))
    };
    assert_eq!(kinds(null(), null()), (4, [0; 4]));
    assert_eq!(kinds(c, null()), (2, [0, 0, 1, 1]));
    assert_eq!(kinds(c, t), (3, [0, 0, 1, 0]));
    assert_eq!(kinds(null(), t), (4, [0; 4]));
    let limiter = made(|_| {});
    // SAFETY: nothing is read where n is 0.
    unsafe {
        let l = limiter.0;
        assert_eq!(windlass_limiter_check_hashes(l, null(), 0, null(), 0, null(), none), 0);
        assert_eq!(windlass_limiter_check_u64s(l, null(), 0, null(), 0, null(), none), 0);
        assert_eq!(windlass_limiter_check_fixed(l, null(), 1, 1, 0, null(), 0, null(), none), 0);
        assert_eq!(windlass_limiter_check_packed(l, null(), 0, null(), 0, null(), 0, null(), none), 0);
    }
}

#[test]
fn what_cannot_be_changes_nothing() {
    let limiter = made(|_| {});
    let (l, none, key) = (limiter.0, null_mut(), b"abcdefgh".as_ptr());
    let hash = windlass_hash { lo: 1, hi: 1 };
    let untouched = windlass_admission { kind: 9, ..Default::default() };
    let mut admissions = [untouched; 4];
    let a = admissions.as_mut_ptr();
    let (mut stats, mut seed) = (windlass_limiter_stats::DEFAULT, 9);
    // SAFETY: refused, all of them.
    unsafe {
        for status in [
            windlass_limiter_check(none, key, 1, 1, 0, a),
            windlass_limiter_check(l, null(), 1, 1, 0, a),
            windlass_limiter_check_hash(none, hash, 1, 0, a),
            windlass_limiter_check_u64(none, 1, 1, 0, a),
            windlass_limiter_peek(none, key, 1, 1, 0, a),
            windlass_limiter_peek(l, null(), 1, 1, 0, a),
            windlass_limiter_peek_hash(none, hash, 1, 0, a),
            windlass_limiter_peek_u64(none, 1, 1, 0, a),
            windlass_limiter_forget(none, key, 1, 0),
            windlass_limiter_forget(l, null(), 1, 0),
            windlass_limiter_forget_hash(none, hash, 0),
            windlass_limiter_forget_u64(none, 1, 0),
            windlass_limiter_get_stats(none, &raw mut stats, STATS),
            windlass_limiter_get_stats(l, null_mut(), STATS),
            windlass_limiter_config_init(null_mut(), CONFIG),
            windlass_limiter_new(null(), &mut null_mut(), null_mut()),
            windlass_limiter_new(&config(|_| {}), null_mut(), null_mut()),
            windlass_limiter_maintain_at(none, 0, 1),
            windlass_limiter_seed(none, &raw mut seed),
            windlass_limiter_seed(l, null_mut()),
            windlass_global_limiter_new(null(), &mut null_mut(), null_mut()),
            windlass_global_limiter_new(&config(|_| {}), null_mut(), null_mut()),
            windlass_global_limiter_check(null_mut(), 1, 0, a),
            windlass_global_limiter_peek(null(), 1, 0, a),
            windlass_global_limiter_forget(null_mut(), 0),
        ] {
            assert_eq!(status, WINDLASS_E_NULL);
        }
        for status in [
            windlass_limiter_memory_bytes(none),
            windlass_limiter_config_memory_bytes(null(), null_mut()),
            windlass_limiter_check_u64s(none, null(), 0, null(), 0, null(), a),
            windlass_limiter_check_u64s(l, null(), 2, null(), 0, null(), a),
            windlass_limiter_check_hashes(l, null(), 2, null(), 0, null(), a),
            windlass_limiter_check_fixed(l, null(), 1, 1, 2, null(), 0, null(), a),
            windlass_limiter_check_packed(l, key, 8, null(), 2, null(), 0, null(), a),
            windlass_limiter_check_packed(l, null(), 8, [0, 1, 2].as_ptr(), 2, null(), 0, null(), a),
        ] {
            assert_eq!(status, WINDLASS_E_NULL.into());
        }
        let items = [1_u64, 2, 3, 4].as_ptr();
        let odd = items.cast::<u8>().wrapping_add(1).cast();
        for status in [
            windlass_limiter_check_u64s(l, items, usize::MAX, null(), 0, null(), a),
            windlass_limiter_check_u64s(l, odd, 2, null(), 0, null(), a),
            windlass_limiter_check_u64s(l, items, 2, odd, 0, null(), a),
            windlass_limiter_check_u64s(l, items, 2, null(), 0, odd, a),
            windlass_limiter_check_u64s(l, items, 2, null(), 0, null(), a.wrapping_byte_add(1)),
            windlass_limiter_check_fixed(l, key, 3, 2, 2, null(), 0, null(), a),
            windlass_limiter_check_fixed(l, key, 0, 2, 2, null(), 0, null(), a),
        ] {
            assert_eq!(status, WINDLASS_E_RANGE.into());
        }
        let offsets = [0, 9, 9].as_ptr();
        let status = windlass_limiter_check_packed(l, key, 8, offsets, 2, null(), 0, null(), a);
        assert_eq!(status, WINDLASS_E_OFFSETS.into());
        assert_eq!(windlass_limiter_check(l, key, usize::MAX, 1, 0, a), WINDLASS_E_RANGE);
        assert_eq!(windlass_limiter_get_stats(l, &raw mut stats, 8), WINDLASS_E_STRUCT_SIZE);
    }
    assert_eq!((admissions, stats, seed), ([untouched; 4], windlass_limiter_stats::DEFAULT, 9));
    assert_eq!(clients(&limiter), 0);
}
