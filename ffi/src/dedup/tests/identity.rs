//! Ids that are told apart by their bytes. (Ids whose hashes collide: tests/c/identity.c.)

use super::*;
use crate::status::WINDLASS_E_TOO_LONG;

const LONGEST: usize = WINDLASS_MAX_ID_LEN;

fn exact() -> Handle {
    made(|config| config.identity = WINDLASS_IDENTITY_BYTES)
}

/// Bytes and a number, and hashes that are the same as theirs to a table of hashes.
#[test]
fn three_kinds_of_ids() {
    let (hash, number) = (windlass_hash::from(Seed(7).hash("a")), windlass_hash::from(Seed(7).hash(1_u64)));
    let verdicts = |dedup: &Handle| {
        // SAFETY: a handle.
        unsafe {
            let observe = |hash| windlass_dedup_observe_hash(dedup.0, hash, 5);
            let first = [dedup.observe(b"a", 5), windlass_dedup_observe_u64(dedup.0, 1, 5)];
            [first[0], first[1], observe(hash), observe(number), observe(hash)]
        }
    };
    assert_eq!(verdicts(&made(|_| {})), [0, 0, 1, 1, 1]);
    assert_eq!(verdicts(&exact()), [0, 0, 0, 0, 1]);
}

#[test]
fn of_a_hash_all_bits_count() {
    let hashes = [(1, 1), (1, 2), (1, 1), (2, 1), (1, 2)].map(|(hi, lo)| windlass_hash { lo, hi });
    let mut verdicts = [9; 5];
    let (dedup, out) = (exact(), verdicts.as_mut_ptr());
    // SAFETY: as many as stated.
    let fresh = unsafe { windlass_dedup_observe_hashes(dedup.0, hashes.as_ptr(), 5, 1, null(), out) };
    assert_eq!((fresh, verdicts), (3, [0, 0, 1, 0, 1]));
}

/// Each batch finds what single calls have brought, and so has brought the bytes themselves.
#[test]
fn batches_and_single_calls_mean_the_same_ids() {
    let (bytes, offsets, numbers) = (b"aabbaacc", [0, 2, 4, 6, 8], [1, 2, 1, 3]);
    let dedup = exact();
    let (d, p, none) = (dedup.0, null(), null_mut());
    // SAFETY: a handle, and as many of each as stated.
    unsafe {
        assert_eq!(dedup.observe(b"bb", 1), WINDLASS_FRESH);
        let packed = windlass_dedup_observe_packed(d, bytes.as_ptr(), 8, offsets.as_ptr(), 4, 1, p, none);
        assert_eq!((packed, dedup.observe(b"cc", 1)), (2, WINDLASS_DUPLICATE));
        assert_eq!(windlass_dedup_observe_fixed(d, bytes.as_ptr(), 2, 2, 4, 1, p, none), 0);

        assert_eq!(windlass_dedup_observe_u64(d, 2, 1), WINDLASS_FRESH);
        assert_eq!(windlass_dedup_observe_u64s(d, numbers.as_ptr(), 4, 1, p, none), 2);
        assert_eq!(windlass_dedup_contains_u64(d, 3, 1), 1);
        assert_eq!(windlass_dedup_forget(d, b"aa".as_ptr(), 2, 1), 1);
        assert_eq!(dedup.observe(b"aa", 1), WINDLASS_FRESH);
    }
}

#[test]
fn an_id_that_is_too_long() {
    let id = vec![7; LONGEST + 1];
    let dedup = exact();
    let (d, at) = (dedup.0, id.as_ptr());
    let (mut ticket, mut when) = (windlass_ticket { words: [9; 4] }, 9);
    assert_eq!(dedup.observe(&id, 0), WINDLASS_E_TOO_LONG);
    // SAFETY: a handle, bytes of that length.
    unsafe {
        assert_eq!(windlass_dedup_contains(d, at, LONGEST + 1, 0), 0);
        assert_eq!(windlass_dedup_forget(d, at, LONGEST + 1, 0), 0);
    }
    assert!(dedup.is_untouched());
    // SAFETY: a handle, bytes of that length, places to write to.
    unsafe {
        let claim = |len, ticket: &mut _, when| windlass_dedup_claim(d, at, len, 0, 1, ticket, when);
        assert_eq!(claim(LONGEST + 1, &mut ticket, &raw mut when), WINDLASS_E_TOO_LONG);
        assert_eq!((ticket.words, when), ([9; 4], 9));
        assert_eq!(claim(LONGEST, &mut ticket, null_mut()), WINDLASS_FRESH);
        assert_eq!(windlass_dedup_commit(d, &raw const ticket), 1);
    }
    assert_eq!(dedup.observe(&id[1..], 0), WINDLASS_DUPLICATE);
    // Told apart by their hashes ids may have any length.
    assert_eq!(made(|_| {}).observe(&id, 0), WINDLASS_FRESH);
}

/// The rest of its batch is observed.
#[test]
fn one_that_is_too_long_in_a_batch() {
    let bytes = vec![7; 2 * LONGEST + 1];
    let (at, len) = (bytes.as_ptr(), bytes.len());
    let mut verdicts = [9; 3];
    let (dedup, out) = (exact(), verdicts.as_mut_ptr());
    let offsets = [0, LONGEST, len, len].map(|offset| u32::try_from(offset).expect("small"));
    // SAFETY: a handle, and as many of each as stated.
    let fresh =
        unsafe { windlass_dedup_observe_packed(dedup.0, at, len, offsets.as_ptr(), 3, 1, null(), out) };
    assert_eq!((fresh, verdicts.map(i32::from)), (2, [WINDLASS_FRESH, WINDLASS_E_TOO_LONG, WINDLASS_FRESH]));
    let out = verdicts.as_mut_ptr();
    // SAFETY: a handle, and an id of that length.
    let fresh =
        unsafe { windlass_dedup_observe_fixed(dedup.0, at, LONGEST + 1, LONGEST + 1, 1, 1, null(), out) };
    assert_eq!((fresh, i32::from(verdicts[0])), (0, WINDLASS_E_TOO_LONG));
}

/// They count for the limit, and without one they are only the system's to refuse.
#[test]
fn bytes_count_as_memory() {
    const MOST: u64 = 4 << 20;
    let fill = |max_memory| {
        let dedup = made(|config| {
            (config.identity, config.capacity, config.max_memory) =
                (WINDLASS_IDENTITY_BYTES, 1000, max_memory);
        });
        let before = dedup.stats().memory_bytes;
        let mut id = vec![0; 30_000];
        let refused = (0..400_u64).filter(|number| {
            id[..8].copy_from_slice(&number.to_le_bytes());
            dedup.observe(&id, 1) == WINDLASS_E_FULL
        });
        let refused = refused.count() as u64;
        let stats = dedup.stats();
        assert_eq!((stats.refused, stats.memory_bytes > before), (refused, true), "{stats:?}");
        (refused, stats.memory_bytes)
    };
    let (refused, bytes) = fill(MOST);
    assert!(refused > 200 && bytes <= MOST, "{refused} refused, {bytes} bytes");
    let (refused, bytes) = fill(0);
    assert!(refused == 0 && bytes > 400 * 30_000, "{refused} refused, {bytes} bytes");
}
