//! What cannot be built, and what is refused later.

use std::time::Duration;
use windlass::{Added, Clock, CounterBuilder, Seed, Tick, Window, WindowedCounter, WindowedTotal};

const SECOND: Duration = Duration::from_secs(1);

#[track_caller]
fn refused(builder: &CounterBuilder, field: &str, limit: &str) {
    let error = builder.clone().build().expect_err("out of range");
    assert_eq!(error.field, field, "{error}");
    assert!(error.limit.contains(limit), "{error}");
}

#[test]
fn settings() {
    let seconds = |window, pane| {
        WindowedCounter::builder(Duration::from_secs(window), Duration::from_secs(pane)).capacity(10)
    };
    assert!(seconds(60, 10).build().is_ok());
    refused(&seconds(60, 7), "pane", "a divisor of the window");
    refused(&seconds(60, 120), "pane", "a divisor of the window");
    refused(&seconds(60, 0), "pane", "1 to");
    refused(&seconds(0, 1), "window", "1 to");
    refused(&seconds(2000, 1), "pane", "at most 1024 panes");
    refused(&seconds(1000, 1).lateness(SECOND * 24), "pane", "these are 1025");
    assert!(seconds(1000, 1).lateness(SECOND * 23).build().is_ok());
    refused(&seconds(60, 10).capacity(0), "capacity", "1 to");
    refused(&seconds(60, 10).capacity(usize::MAX), "capacity", "1 to");
    refused(&seconds(60, 10).max_memory(1000), "max_memory", "for the capacity");
    refused(&seconds(60, 10).lateness(Window::last_n(3)), "lateness", "a span of time");
    refused(&seconds(60, 10).max_jump(Duration::ZERO), "max_jump", "1 to");
    refused(&seconds(60, 10).clock(Clock::events()), "clock", "one of time");
    let mixed = WindowedCounter::builder(SECOND, Window::last_n(1));
    refused(&mixed, "pane", "a span of time");
    assert_eq!(WindowedTotal::builder(SECOND * 60, SECOND * 7).build().expect_err("wrong").field, "pane");
    let small = seconds(60, 10);
    assert!(
        small.clone().capacity(1000).memory_bytes().expect("valid") > small.memory_bytes().expect("valid")
    );
}

#[test]
fn what_it_was_built_as() {
    let counter = WindowedCounter::builder(SECOND * 60, SECOND * 10).capacity(10).seed(Seed(3)).build();
    let counter = counter.expect("valid");
    assert_eq!((counter.window(), counter.pane()), (Window::time(SECOND * 60), Window::time(SECOND * 10)));
    assert_eq!(counter.seed(), Seed(3));
    assert_eq!(counter.count_at("a", Tick(7)), 0);
    assert_eq!(counter.total_at(Tick(u64::MAX)), 0);
    assert!(counter.panes_at("a", Tick(0)).is_empty());
    assert!(!counter.maintain_at(Tick(u64::MAX), 10));
    assert!(format!("{counter:?}").contains("WindowedCounter"));
}

/// More keys than there is room for: in the total, and counted. Those that have a row go on.
#[test]
fn no_room() {
    let counter = WindowedCounter::builder(Window::last_n(60), Window::last_n(10)).capacity(60).build();
    let counter = counter.expect("valid");
    let added =
        |now, from: u64| (from..from + 2000).map(|key| counter.add_at(key, 2, Tick(now))).collect::<Vec<_>>();
    let first = added(5, 0);
    let refused = first.iter().filter(|&&added| added == Added::NoRoom).count();
    assert!(first[..60].iter().all(|&added| added == Added::Counted), "the capacity");
    assert!((1800..1900).contains(&refused), "{refused}");
    assert_eq!(added(6, 0), first, "the same keys have room");
    assert_eq!(counter.total_at(Tick(6)), 8000);
    let counts = |now| (0..2000).map(|key: u64| counter.count_at(key, Tick(now))).collect::<Vec<_>>();
    for (added, count) in first.iter().zip(counts(6)) {
        assert_eq!(count, if *added == Added::Counted { 4 } else { 0 });
    }
    let stats = counter.stats();
    assert_eq!((stats.refused, stats.rows), (2 * refused as u64, 2000 - refused as u64));
    // The next generation has room for others.
    let later = added(65, 5000);
    assert!(later[..60].iter().all(|&added| added == Added::Counted), "the capacity");
    assert!(counter.memory_bytes() <= 5 * 64 * 400);
}

/// In batches: all kinds of answers, counted.
#[test]
fn tally() {
    let counter = WindowedCounter::builder(Window::last_n(60), Window::last_n(10))
        .capacity(60)
        .max_jump(Window::last_n(100))
        .build()
        .expect("valid");
    let mut events: Vec<(u64, u64, Tick)> = (0..2000).map(|key| (key, 1, Tick(200))).collect();
    events.push((1, 1, Tick(10)));
    events.push((1, 1, Tick(1000)));
    let tally = counter.add_events(&events);
    assert_eq!((tally.late, tally.jumps, tally.counted + tally.refused), (1, 1, 2000));
    let stats = counter.stats();
    assert_eq!((stats.late, stats.jumps, stats.refused), (1, 1, tally.refused));
    assert_eq!(counter.total_at(Tick(200)), 2000);
}

#[test]
fn saturation() {
    let counter = WindowedCounter::builder(Window::last_n(60), Window::last_n(10)).capacity(60).build();
    let counter = counter.expect("valid");
    counter.add_at("a", u64::MAX, Tick(0));
    counter.add_at("b", (1 << 63) - 1, Tick(0));
    assert_eq!(counter.count_at("a", Tick(0)), u64::MAX);
    assert_eq!(counter.count_at("b", Tick(0)), (1 << 63) - 1);
    for _ in 0..1000 {
        counter.add_at("a", 1 << 32, Tick(1));
    }
    assert_eq!(counter.count_at("a", Tick(59)), u64::MAX);
    assert!(counter.stats().saturated >= 1001);
    assert_eq!(counter.count_at("a", Tick(60)), 0);
    counter.add_at("b", 1, Tick(1));
    assert_eq!(counter.count_at("b", Tick(1)), u64::MAX);
    assert_eq!(counter.panes_at("b", Tick(1))[0].count, u64::MAX);
    assert_eq!(counter.total_at(Tick(1)), u64::MAX);
    let total = WindowedTotal::builder(Window::last_n(60), Window::last_n(10)).build().expect("valid");
    total.add_at(u64::MAX, Tick(3));
    assert_eq!((total.total_at(Tick(3)), total.total_at(Tick(60))), (u64::MAX, 0));
}

/// Of a table that is too large to be looked at as a whole, too.
#[test]
fn the_row_of_fingerprint_0() {
    let of = |capacity| WindowedCounter::builder(Window::last_n(3), Window::last_n(1)).capacity(capacity);
    for capacity in [60, 100_000] {
        let counter = of(capacity).build().expect("valid");
        assert_eq!(counter.stats().rows, 0);
        counter.add_at(windlass::KeyHash { hi: 5, lo: 0 }, 1, Tick(0));
        assert_eq!(counter.stats().rows, 1);
    }
    // It is clear when its table is used again.
    let counter = of(60).build().expect("valid");
    let (mut opened, mut keys) = (0, std::collections::HashSet::new());
    let mut tick = 0;
    // (Until that is so, however long other tests hold it back.)
    while tick < 200 || counter.stats().recycled == 0 {
        let lo = tick * 7 % 11;
        counter.add_at(windlass::KeyHash { hi: 5, lo }, 1, Tick(tick));
        let stats = counter.stats();
        if stats.opened > opened {
            opened = stats.opened;
            keys.clear();
        }
        keys.insert(lo);
        assert_eq!(stats.newest_rows, keys.len() as u64, "{tick}");
        counter.maintain_at(Tick(tick), 1 << 20);
        tick += 1;
        std::thread::yield_now();
    }
}

/// Every key, also that with the fingerprint 0, the last tick and one that is far ahead.
#[test]
fn at_the_borders() {
    let counter = WindowedCounter::builder(Window::last_n(3), Window::last_n(1)).capacity(60).build();
    let counter = counter.expect("valid");
    for hi in [0, 1, u64::MAX] {
        let zero = windlass::KeyHash { hi, lo: 0 };
        assert_eq!(counter.add_at(zero, 1, Tick(0)), Added::Counted);
    }
    assert_eq!(counter.count_at(windlass::KeyHash { hi: 7, lo: 0 }, Tick(0)), 3);
    // One row for all that have it, which is counted as the others are.
    assert_eq!((counter.stats().rows, counter.stats().newest_rows), (1, 1));
    counter.add_at("b", 1, Tick(0));
    assert_eq!(counter.stats().rows, 2);
    for now in [u64::MAX - 2, u64::MAX - 1, u64::MAX] {
        assert_eq!(counter.add_at("a", 1, Tick(now)), Added::Counted);
    }
    assert_eq!(counter.count_at("a", Tick(u64::MAX)), 3);
    assert_eq!(counter.count_at(windlass::KeyHash { hi: 7, lo: 0 }, Tick(0)), 0);
    assert_eq!(counter.add_at("a", 1, Tick(u64::MAX - 5)), Added::Late);
    assert_eq!(counter.stats().late, 1);
}
