//! What is driven out while there is no memory for the bytes of keys.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use super::{Decision, Geometry, KeyTable, Plan};
use crate::{
    hash::Seed,
    sync::{AnyWide, epoch, with_wide},
};

/// Slices of 64 states.
const SPAN: u64 = 1024;

/// With a key in each slice, 1 to `last`.
fn keys(last: u64) -> KeyTable {
    let plan = Plan {
        geometry: Geometry::for_keys(1000).expect("valid"),
        span: SPAN,
        evict_within: Some(SPAN / 2),
        limit: None,
        bytes: Some(0),
    };
    let keys = KeyTable::new(plan).expect("valid");
    with_wide!(AnyWide::detect(), wide => for i in 1..=last {
        let (key, guard) = (i.to_le_bytes(), epoch::pin());
        let insert = |_: Option<u64>, _: u64| Decision::Publish(64 * i, ());
        let put = keys.pinned(wide, &guard).update_exact(Seed(1).hash(i), (7, &key), None, insert);
        assert!(put.is_ok());
    });
    keys
}

/// A slice at a time, as long as its memory has not come back.
#[test]
fn no_more_than_is_needed() {
    let keys = keys(6);
    let held = epoch::pin();
    for _ in 0..5 {
        keys.drive_out(&held);
    }
    assert_eq!(keys.evicted(), 1);
    drop(held);
    // (Other tests may hold memory back for a while.)
    for _ in 0..10_000_000 {
        epoch::collect();
        keys.drive_out(&epoch::pin());
        if keys.evicted() == 6 {
            return;
        }
        std::thread::yield_now();
    }
    panic!("{} driven out", keys.evicted());
}
