//! Upkeep: lists that stay fresh, memory that comes back.

use std::{sync::Arc, time::Duration};
use windlass::{Clock, Maintainer, Tick, TopK, Window};

#[test]
fn the_interval() {
    let (clock, hand) = Clock::manual(Tick(0));
    let top = TopK::builder(Duration::from_secs(60), Duration::from_secs(10), 3).capacity(100).clock(clock);
    let top = top.build().expect("valid");
    let millis = |ms| Tick::from_millis(ms).expect("in range");
    top.add("a", 2);
    assert!(!top.maintain_at(millis(5), 100));
    assert_eq!(top.snapshot().as_of, millis(5), "the first");
    top.add("a", 2);
    top.maintain_at(millis(104), 100);
    assert_eq!((top.snapshot().as_of, top.snapshot().rows[0].count), (millis(5), 2));
    top.maintain_at(millis(105), 100);
    assert_eq!((top.snapshot().as_of, top.snapshot().rows[0].count), (millis(105), 4));
    hand.set(millis(200));
    assert_eq!(top.refresh().as_of, millis(200));
    assert_eq!(top.snapshot().age(millis(250)), 50_000_000);
    assert!(Arc::ptr_eq(&top.snapshot(), &top.snapshot()));
}

/// Over many generations keys' bytes come and go; after a silence all goes back.
#[test]
fn bytes_come_back() {
    let top = TopK::builder(Window::last_n(600), Window::last_n(100), 3).capacity(2000);
    let top = top.max_memory(64 << 20).build().expect("valid");
    for now in 0..60_000_u64 {
        top.add_at(format!("a key of some length, number {now}"), 1, Tick(now));
        if now % 100 == 0 {
            top.maintain_at(Tick(now), 100);
            comes_down_to(&top, 16 << 20, now);
        }
    }
    assert_eq!(top.stats().counter.refused, 0, "{:?}", top.stats());
    comes_down_to(&top, 0, 1_000_000);
    assert_eq!(top.stats().key_bytes, 0);
    assert!(top.snapshot().rows.is_empty() && top.snapshot().certified);
}

/// At once, but that other tests may hold back the epoch for a while.
fn comes_down_to(top: &TopK, bytes: u64, now: u64) {
    let mut looks = 0;
    while top.memory_bytes() > bytes {
        top.maintain_at(Tick(now), 1000);
        std::thread::yield_now();
        looks += 1;
        assert!(looks < 1_000_000, "{:?}", top.stats());
    }
}

#[test]
fn a_maintainer() {
    let (clock, hand) = Clock::manual(Tick(0));
    let top = TopK::builder(Window::last_n(60), Window::last_n(10), 3).capacity(100).clock(clock);
    let top = Arc::new(top.build().expect("valid"));
    top.add("a", 3);
    hand.set(Tick(50));
    let maintainer = Maintainer::start(Duration::from_millis(1)).expect("a thread");
    maintainer.add(&top);
    while top.snapshot().as_of < Tick(50) {
        std::thread::yield_now();
    }
    assert_eq!(top.snapshot().rows[0].count, 3);
}
