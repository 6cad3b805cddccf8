//! Tables that grow and shrink.

use super::*;

const MOST: u64 = 1 << 20;

impl Handle {
    fn bytes(&self) -> i64 {
        // SAFETY: a handle.
        unsafe { windlass_dedup_memory_bytes(self.0) }
    }

    /// Upkeep until there is no more to do and it takes no more than this. Other tests of this process hold memory up.
    fn settle(&self, now: u64, bytes: i64) {
        for _ in 0..1_000_000 {
            // SAFETY: a handle.
            let more = unsafe { windlass_dedup_maintain(self.0, now, 64) };
            assert!((0..=1).contains(&more));
            if more == 0 && self.bytes() <= bytes {
                return;
            }
            std::thread::yield_now();
        }
        panic!("{} bytes, not {bytes}: {:?}", self.bytes(), self.stats());
    }
}

#[test]
fn up_to_a_ceiling_and_back() {
    let dedup = made(|config| (config.capacity, config.max_memory) = (10, MOST));
    let (first, capacity) = (dedup.bytes(), dedup.stats().capacity);
    let mut refused = 0;
    for id in 0..100_000_u64 {
        // SAFETY: a handle.
        match unsafe { windlass_dedup_observe_u64(dedup.0, id, 1) } {
            WINDLASS_FRESH => {}
            WINDLASS_E_FULL => refused += 1,
            other => panic!("{other}"),
        }
        assert!(dedup.bytes() <= MOST as i64);
    }
    dedup.settle(1, MOST as i64);
    let stats = dedup.stats();
    assert_eq!(stats.refused, refused);
    assert!(refused > 0 && stats.grown > 0 && stats.shrunk == 0 && stats.capacity > capacity, "{stats:?}");
    assert!(stats.memory_bytes >= MOST / 9 * 4 && stats.forwarded > 0, "{stats:?}");

    // A window later all are gone, and so is the memory.
    dedup.settle(1 + 100, first);
    let stats = dedup.stats();
    assert_eq!((stats.live, stats.tables, stats.capacity), (0, 1, capacity), "{stats:?}");
    assert!(stats.shrunk > 0, "{stats:?}");
}

/// As many as the machine has memory for.
#[test]
fn without_a_limit_to_speak_of() {
    let dedup = made(|config| (config.capacity, config.max_memory) = (10, WINDLASS_NO_LIMIT));
    let ids: Vec<u64> = (0..100_000).collect();
    // SAFETY: a handle, and as many ids.
    let fresh =
        unsafe { windlass_dedup_observe_u64s(dedup.0, ids.as_ptr(), ids.len(), 1, null(), null_mut()) };
    assert_eq!((fresh, dedup.stats().refused), (100_000, 0));
    // SAFETY: a handle.
    assert_eq!(unsafe { windlass_dedup_reset(dedup.0) }, WINDLASS_OK);
    assert_eq!(dedup.stats().live, 0);
}
