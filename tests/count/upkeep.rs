//! Memory: what leaves is used again, what is not needed goes back.

use std::{sync::Arc, time::Duration};
use windlass::{Added, Clock, Maintainer, Namespaced, Tick, Window, WindowedCounter};

const PANE: u64 = 1000;

fn counter(keys: usize, max_memory: Option<u64>) -> WindowedCounter {
    let builder = WindowedCounter::builder(Window::last_n(6 * PANE), Window::last_n(PANE)).capacity(keys);
    let builder = if let Some(bytes) = max_memory { builder.max_memory(bytes) } else { builder };
    builder.build().expect("valid")
}

/// Over many generations the tables go round, also if nobody does any upkeep.
#[test]
fn tables_go_round() {
    let counter = counter(2000, None);
    let most = WindowedCounter::builder(Window::last_n(6 * PANE), Window::last_n(PANE)).capacity(2000);
    let most = most.memory_bytes().expect("valid");
    for now in 0..300 * PANE {
        assert_eq!(counter.add_at(now * 7919 % 2000, 1, Tick(now)), Added::Counted);
        if now % PANE == 0 {
            // All tests of a process have one epoch: those that hold it back go on meanwhile.
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut looks = 0;
        // (Calls let the epoch move on. Other tests may hold it back for a while.)
        while counter.memory_bytes() > most * 6 {
            let _ = counter.count_at(0, Tick(now));
            std::thread::yield_now();
            looks += 1;
            assert!(looks < 1_000_000, "at {now}: {:?}", counter.stats());
        }
    }
    let stats = counter.stats();
    assert_eq!(stats.opened, 50, "{stats:?}");
    assert!(stats.recycled >= 10, "{stats:?}");
    assert_eq!(counter.total_at(Tick(300 * PANE - 1)), 6 * PANE);
}

/// Few new keys, and so few calls that clear: tables that are not yet clear are given up for fresh ones. Nothing is refused.
#[test]
fn bursts_and_quiet_generations() {
    let counter = counter(5000, None);
    for generation in 0..60 {
        let keys = if generation % 3 == 0 { 4900 } else { 2 };
        for key in 0..keys {
            assert_eq!(counter.add_at(key, 1, Tick(generation * 6 * PANE)), Added::Counted, "{generation}");
        }
    }
    assert_eq!(counter.stats().refused, 0);
}

/// Sizes follow what comes: up in a burst, also within its own generation, and down again.
#[test]
fn grows_and_shrinks() {
    let counter = counter(100, Some(64 << 20));
    let begun = counter.memory_bytes();
    let fill = |from: u64, to: u64, keys: u64| {
        for generation in from..to {
            for key in 0..keys {
                assert_eq!(counter.add_at(key, 1, Tick(generation * 6 * PANE + key % PANE)), Added::Counted);
            }
        }
    };
    fill(0, 3, 50);
    let few = counter.stats();
    assert_eq!((few.capacity, few.grown), (99, 0), "{few:?}");
    fill(3, 4, 50_000);
    assert!(counter.stats().grown > 3, "{:?}", counter.stats());
    assert_eq!(counter.count_at(49_999_u64, Tick(4 * 6 * PANE - 1)), 1);
    let grown = counter.stats().grown;
    fill(4, 8, 50_000);
    let many = counter.stats();
    assert_eq!(many.grown, grown, "generations after it have room: {many:?}");
    assert!(many.capacity >= 50_000, "{many:?}");
    fill(8, 20, 50);
    while counter.maintain_at(Tick(20 * 6 * PANE), 1000) {}
    let few = counter.stats();
    assert!(few.capacity < 1000, "{few:?}");
    // A window of silence: all of it goes. (When the epoch has moved on, which other tests may hold back for a moment.)
    let mut looks = 0;
    while counter.memory_bytes() > begun && looks < 1_000_000 {
        counter.maintain_at(Tick(40 * 6 * PANE), 1000);
        std::thread::yield_now();
        looks += 1;
    }
    assert!(counter.memory_bytes() <= begun, "{:?}", counter.stats());
    assert_eq!(counter.total_at(Tick(40 * 6 * PANE)), 0);
    fill(41, 42, 50);
}

#[test]
fn after_a_silence_all_go_at_once() {
    let counter = counter(100, None);
    for now in 0..20 * PANE {
        counter.add_at("a", 1, Tick(now));
    }
    assert!(counter.stats().generations >= 2);
    counter.add_at("a", 1, Tick(1_000_000 * PANE));
    assert_eq!(counter.stats().generations, 1);
    assert_eq!(counter.count_at("a", Tick(1_000_000 * PANE)), 1);
}

#[test]
fn short_forms_names_and_a_maintainer() {
    let (clock, hand) = Clock::manual(Tick(0));
    let counter = WindowedCounter::builder(Duration::from_secs(60), Duration::from_secs(10))
        .capacity(100)
        .clock(clock)
        .build()
        .expect("valid");
    let counter = Arc::new(counter);
    let maintainer = Maintainer::start(Duration::from_secs(60)).expect("a thread");
    maintainer.add(&counter);
    counter.add("a", 2);
    counter.add(Namespaced("x", "a"), 5);
    hand.advance(30_000_000_000);
    counter.add_batch(&["a", "b", "a"]);
    assert_eq!(["a", "b", "c"].map(|key| counter.count(key)), [4, 1, 0]);
    assert_eq!(counter.count(Namespaced("x", "a")), 5);
    assert_eq!(counter.count(counter.seed().namespace("x").hash("a")), 5);
    let panes = counter.panes_at("a", Tick(59_999_999_999));
    let told: Vec<_> = panes.iter().map(|pane| (pane.start.0, pane.end.0, pane.count)).collect();
    assert_eq!(told, [(30_000_000_000, 40_000_000_000, 2), (0, 10_000_000_000, 2)]);
}
