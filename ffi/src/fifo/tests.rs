//! The functions, called as C calls them.

#![allow(clippy::multiple_unsafe_ops_per_block)] // one call after the other, of the same kind

use std::ptr::{null, null_mut};

use super::{ask::*, batch::*, config::*, entry::*, pop::*, push::*, remove::*, stats::*, *};
use crate::{
    hash::windlass_hash,
    sized::Plain,
    status::{
        WINDLASS_E_ARG, WINDLASS_E_NULL, WINDLASS_E_OFFSETS, WINDLASS_E_RANGE, WINDLASS_E_STRUCT_SIZE,
        WINDLASS_E_TOO_SMALL, WINDLASS_OK,
    },
};

/// A handle that frees itself.
struct Handle(*mut windlass_fifo);

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: from `made`, freed here alone.
        unsafe { windlass_fifo_free(self.0) };
    }
}

fn config() -> windlass_fifo_config {
    let mut config = windlass_fifo_config::DEFAULT;
    // SAFETY: a config of that size.
    assert_eq!(unsafe { windlass_fifo_config_init(&raw mut config, 72) }, WINDLASS_OK);
    (config.capacity, config.seed) = (100, 7);
    config
}

fn made(config: &windlass_fifo_config) -> Handle {
    let mut handle = null_mut();
    // SAFETY: a valid config, a place for the handle.
    assert_eq!(unsafe { windlass_fifo_new(config, &raw mut handle, null_mut()) }, WINDLASS_OK);
    Handle(handle)
}

const ENTRY: windlass_fifo_entry =
    windlass_fifo_entry { seq: 77, pushed_at: 0, key_len: 0, value_len: 0, key_kind: 0, reserved0: 0 };

/// Values on both sides of what lies in the entry itself, in all sizes of room.
#[test]
fn values_come_back() {
    for len in [0, 1, 8, 21, 22, 23, 24, 1000] {
        let handle = made(&config());
        let value: Vec<u8> = (0..len).map(|i| u8::try_from(i % 251).expect("small")).collect();
        let (mut entry, mut place) = (ENTRY, windlass_fifo_place::default());
        let mut room = vec![9_u8; len + 1];
        // SAFETY: a live handle, slices, places to write to.
        unsafe {
            let f = handle.0;
            assert_eq!(windlass_fifo_push_u64(f, 5, value.as_ptr(), len, 3, null_mut()), WINDLASS_PUSHED_NEW);
            assert_eq!(
                windlass_fifo_find_u64(f, 5, room.as_mut_ptr(), len + 1, &raw mut place),
                WINDLASS_FOUND
            );
            assert_eq!((&room[..len], room[len], place.value_len), (&value[..], 9, len as u64));
            room.fill(9);
            if len > 0 {
                let at = room.as_mut_ptr();
                assert_eq!(windlass_fifo_find_u64(f, 5, at, len - 1, &raw mut place), WINDLASS_E_TOO_SMALL);
                let popped = windlass_fifo_pop(f, null_mut(), 0, at, len - 1, &raw mut entry);
                assert_eq!((popped, entry.value_len), (WINDLASS_E_TOO_SMALL, len as u64));
                assert_eq!(
                    windlass_fifo_peek(f, null_mut(), 0, at, len - 1, &raw mut entry),
                    WINDLASS_E_TOO_SMALL
                );
                assert_eq!(
                    windlass_fifo_pop_packed(f, 1, null_mut(), 0, at, len - 1, &raw mut entry),
                    WINDLASS_E_TOO_SMALL.into()
                );
                let removed = windlass_fifo_remove_u64(f, 5, at, len - 1, &raw mut entry);
                assert_eq!((removed, entry.value_len), (WINDLASS_E_TOO_SMALL, len as u64));
                assert_eq!((entry.seq, entry.key_len), (u64::MAX, 0));
                assert!(room.iter().all(|&byte| byte == 9));
            }
            // Another one, taken out by its key.
            let name = b"another";
            let pushed = windlass_fifo_push(f, name.as_ptr(), 7, value.as_ptr(), len, 4, null_mut());
            assert_eq!(pushed, WINDLASS_PUSHED_NEW);
            let at = room.as_mut_ptr();
            assert_eq!(windlass_fifo_remove(f, name.as_ptr(), 7, at, len, &raw mut entry), WINDLASS_FOUND);
            assert_eq!((entry.seq, entry.pushed_at, entry.value_len), (1, 4, len as u64));
            assert_eq!((&room[..len], room[len], entry.key_len, entry.key_kind), (&value[..], 9, 0, 0));
            assert_eq!(windlass_fifo_remove(f, name.as_ptr(), 7, at, len, &raw mut entry), WINDLASS_ABSENT);
            room.fill(9);
            let mut key = [0; 8];
            let popped = windlass_fifo_pop(f, key.as_mut_ptr(), 8, room.as_mut_ptr(), len, &raw mut entry);
            assert_eq!((popped, windlass_fifo_len(f)), (WINDLASS_FOUND, 0));
            assert_eq!((u64::from_le_bytes(key), &room[..len], room[len]), (5, &value[..], 9));
            assert_eq!((entry.seq, entry.pushed_at, entry.key_len, entry.key_kind), (0, 3, 8, 1));
        }
    }
}

#[test]
fn what_is_not_there() {
    let handle = made(&config());
    let f = handle.0;
    let (mut entry, mut place, mut rank, mut ranks) = (ENTRY, windlass_fifo_place::default(), 5, [0, 0]);
    let hash = windlass_hash { lo: 1, hi: 2 };
    // SAFETY: a live handle, places to write to.
    unsafe {
        assert_eq!(windlass_fifo_pop(f, null_mut(), 0, null_mut(), 0, &raw mut entry), WINDLASS_ABSENT);
        assert_eq!(windlass_fifo_peek(f, null_mut(), 0, null_mut(), 0, &raw mut entry), WINDLASS_ABSENT);
        assert_eq!(
            windlass_fifo_at_rank(f, u64::MAX, null_mut(), 0, null_mut(), 0, &raw mut entry),
            WINDLASS_ABSENT
        );
        assert_eq!(
            windlass_fifo_next(f, u64::MAX, null_mut(), 0, null_mut(), 0, &raw mut entry),
            WINDLASS_ABSENT
        );
        assert_eq!(windlass_fifo_rank(f, b"a".as_ptr(), 1, &raw mut rank), WINDLASS_ABSENT);
        assert_eq!(windlass_fifo_rank_hash(f, hash, &raw mut rank), WINDLASS_ABSENT);
        assert_eq!(windlass_fifo_find_hash(f, hash, null_mut(), 0, &raw mut place), WINDLASS_ABSENT);
        assert_eq!(windlass_fifo_remove_hash(f, hash, null_mut(), 0, &raw mut entry), WINDLASS_ABSENT);
        assert_eq!(windlass_fifo_rank_u64s(f, [1, 2].as_ptr(), 2, ranks.as_mut_ptr()), WINDLASS_OK);
        assert_eq!(windlass_fifo_pop_packed(f, 0, null_mut(), 0, null_mut(), 0, null_mut()), 0);
        assert_eq!(windlass_fifo_pop_packed(f, 1, null_mut(), 0, null_mut(), 0, &raw mut entry), 0);
    }
    assert_eq!((entry, place, rank, ranks), (ENTRY, windlass_fifo_place::default(), 5, [-1, -1]));
}

#[test]
fn batches() {
    let handle = made(&config());
    let f = handle.0;
    let (mut results, mut seqs, mut ranks) = ([9; 4], [9; 4], [9; 4]);
    let (keys, offsets) = (b"abbcccabb", [0, 1, 3, 6, 7]);
    let (values, value_offsets) = (b"123456", [0, 3, 3, 5, 6]);
    let mut stats = windlass_fifo_stats::DEFAULT;
    // SAFETY: a live handle, slices, places to write to.
    unsafe {
        let status = windlass_fifo_push_packed(
            f,
            keys.as_ptr(),
            keys.len(),
            offsets.as_ptr(),
            4,
            values.as_ptr(),
            values.len(),
            value_offsets.as_ptr(),
            50,
            results.as_mut_ptr(),
            seqs.as_mut_ptr(),
        );
        assert_eq!((status, results, seqs), (WINDLASS_OK, [0, 0, 0, 1], [0, 1, 2, 0]));
        assert_eq!(
            windlass_fifo_rank_packed(f, keys.as_ptr(), 9, offsets.as_ptr(), 4, ranks.as_mut_ptr()),
            WINDLASS_OK
        );
        assert_eq!(ranks, [0, 1, 2, 0]);
        assert_eq!(windlass_fifo_rank_fixed(f, keys.as_ptr(), 2, 3, 3, ranks.as_mut_ptr()), WINDLASS_OK);
        assert_eq!(ranks[..3], [-1, -1, -1]);
        let mut entries = [ENTRY; 4];
        let (mut keys_out, mut values_out) = ([0; 6], [0; 5]);
        let n = windlass_fifo_pop_packed(
            f,
            4,
            keys_out.as_mut_ptr(),
            6,
            values_out.as_mut_ptr(),
            5,
            entries.as_mut_ptr(),
        );
        assert_eq!((n, &keys_out, &values_out, entries[3]), (3, b"abbccc", b"12345", ENTRY));
        assert_eq!(entries.map(|entry| entry.value_len)[..3], [3, 0, 2]);
        // More than there is room for.
        let numbers: Vec<u64> = (0..1000).collect();
        let mut results = vec![9; 1000];
        assert_eq!(
            windlass_fifo_push_u64s(
                f,
                numbers.as_ptr(),
                1000,
                null(),
                0,
                null(),
                0,
                results.as_mut_ptr(),
                null_mut()
            ),
            WINDLASS_OK
        );
        assert!(results[..100].iter().all(|&result| result == WINDLASS_PUSHED_NEW));
        assert!(results[100..].iter().all(|&result| result == WINDLASS_E_FULL));
        assert_eq!(windlass_fifo_get_stats(f, &raw mut stats, 88), WINDLASS_OK);
    }
    assert_eq!((stats.len, stats.head, stats.tail, stats.refused, stats.capacity), (100, 3, 103, 900, 100));
}

#[test]
fn settings_that_are_refused() {
    let with = |change: fn(&mut windlass_fifo_config)| {
        let mut config = config();
        change(&mut config);
        let mut error = windlass_error { struct_size: 256, code: WINDLASS_OK, detail: [0; 248] };
        let mut handle = null_mut();
        // SAFETY: a config of its size, places to write to.
        let status = unsafe { windlass_fifo_new(&config, &raw mut handle, &raw mut error) };
        assert!(handle.is_null());
        // SAFETY: ends with NUL.
        let detail = unsafe { std::ffi::CStr::from_ptr(error.detail.as_ptr()) };
        (status, detail.to_str().expect("UTF-8").to_owned())
    };
    let says = |change: fn(&mut windlass_fifo_config), text: &str| {
        let (status, detail) = with(change);
        assert_eq!((status, detail.get(..text.len())), (WINDLASS_E_ARG, Some(text)), "{detail}");
    };
    says(|c| c.capacity = 0, "capacity: 0 is out of range: 1 to ");
    says(|c| c.capacity = u64::MAX, "capacity: 18446744073709551615 is out of range: ");
    says(|c| c.max_memory = 10, "max_memory: 10 bytes is out of range: ");
    says(|c| c.flags = 2, "flags: 2 is out of range: 0, as none are known");
    says(|c| c.reserved[3] = 9, "reserved: 9 is out of range: 0");
    says(|c| c.on_present = 5, "on_present: 5 is out of range: WINDLASS_ON_PRESENT_KEEP (0) or ");
    assert_eq!(with(|c| c.struct_size = 12).0, WINDLASS_E_STRUCT_SIZE);
    // SAFETY: a config of its size.
    assert!(unsafe { windlass_fifo_config_memory_bytes(&config(), null_mut()) } > 100 * 64);
}

#[test]
fn arguments_that_are_refused() {
    let handle = made(&config());
    let (f, ab, hash) = (handle.0, b"ab".as_ptr(), windlass_hash { lo: 1, hi: 2 });
    let (mut entry, mut place, mut number, mut made) = (ENTRY, windlass_fifo_place::default(), 5, null_mut());
    let (mut result, mut answer) = (5, 5);
    let (none, no_room) = (null_mut::<u8>(), null_mut::<u64>());
    // SAFETY: NULL where it is refused, else a live handle and places to write to.
    unsafe {
        let (entry, place, number) = (&raw mut entry, &raw mut place, &raw mut number);
        let (result, answer) = (&raw mut result, &raw mut answer);
        assert_eq!(windlass_fifo_config_init(null_mut(), 72), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_new(null(), &raw mut made, null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_new(&config(), null_mut(), null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_push(null_mut(), ab, 2, ab, 2, 0, number), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_push(f, null(), 2, ab, 2, 0, number), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_push(f, ab, 2, null(), 2, 0, number), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_push(f, ab, usize::MAX, ab, 2, 0, number), WINDLASS_E_RANGE);
        assert_eq!(windlass_fifo_push_u64(f, 1, ab, usize::MAX, 0, number), WINDLASS_E_RANGE);
        assert_eq!(windlass_fifo_push_hash(null_mut(), hash, ab, 2, 0, number), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_rank(null(), ab, 2, number), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_rank(f, null(), 2, number), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_rank(f, ab, 2, no_room), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_rank_u64(f, 1, no_room), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_find(f, ab, 2, none, 0, null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_find_u64(null(), 1, none, 0, place), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_len(null()), WINDLASS_E_NULL.into());
        assert_eq!(windlass_fifo_count_before(f, 0, no_room), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_at_rank(null(), 0, none, 0, none, 0, entry), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_next(f, 0, none, 0, none, 0, null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_peek(null(), none, 0, none, 0, entry), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_pop(f, none, 0, none, 0, null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_remove(f, null_mut(), 1, none, 0, entry), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_remove(null_mut(), none, 0, none, 0, entry), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_remove_u64(f, 1, none, 0, null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_pop_until(null_mut(), 0, none, 0, none, 0, entry), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_pop_packed(f, 1, none, 0, none, 0, null_mut()), WINDLASS_E_NULL.into());
        assert_eq!(windlass_fifo_push_u64s(f, null(), 1, ab, 0, null(), 0, result, number), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_push_u64s(f, &1, 1, ab, 0, null(), 0, null_mut(), number), WINDLASS_E_NULL);
        let wrong = [0, 3].as_ptr();
        assert_eq!(windlass_fifo_push_u64s(f, &1, 1, ab, 2, wrong, 0, result, number), WINDLASS_E_OFFSETS);
        assert_eq!(
            windlass_fifo_push_packed(f, ab, 2, wrong, 1, ab, 0, null(), 0, result, number),
            WINDLASS_E_OFFSETS
        );
        assert_eq!(windlass_fifo_rank_hashes(f, null(), 1, answer), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_rank_u64s(f, &1, 1, null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_rank_fixed(f, ab, 2, 1, 1, answer), WINDLASS_E_RANGE);
        assert_eq!(windlass_fifo_rank_packed(f, ab, 2, wrong, 1, answer), WINDLASS_E_OFFSETS);
        assert_eq!(windlass_fifo_rank_hashes(f, null(), 0, null_mut()), WINDLASS_OK);
        assert_eq!(windlass_fifo_get_stats(f, null_mut(), 88), WINDLASS_E_NULL);
        assert_eq!(windlass_fifo_maintain(null_mut(), 1), WINDLASS_E_NULL);
        windlass_fifo_free(null_mut());
        assert_eq!(windlass_fifo_len(f), 0);
    }
    assert_eq!((entry, place, number, made.is_null()), (ENTRY, windlass_fifo_place::default(), 5, true));
    assert_eq!((result, answer), (5, 5), "left alone");
}
