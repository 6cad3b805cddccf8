//! Many threads: nothing is lost, nothing counted twice.

use super::common::{Random, Together};
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
};
use windlass::{Added, Tick, Window, WindowedCounter};

const THREADS: usize = 4;
const PANE: u64 = 1000;
const PANES: u64 = 9;
const KEYS: u64 = 200;

/// Threads whose clocks differ move time on over many generations. Every add is told as counted, late or refused; what is in the total by
/// pane is what was told, and a key's panes are its total.
fn conservation(builder: windlass::CounterBuilder, batches: bool) {
    let counter = builder.lateness(Window::last_n(3 * PANE)).build().expect("valid");
    let (together, clock) = (Together::new(THREADS), AtomicU64::new(0));
    // What was counted of each key in each pane, and refused in each pane.
    let last = 60_u64;
    let counted: Vec<AtomicU64> = (0..KEYS * (last + 1)).map(|_| AtomicU64::new(0)).collect();
    let [late, refused, offered] = [(); 3].map(|()| AtomicU64::new(0));
    thread::scope(|scope| {
        for t in 0..THREADS as u64 {
            let (counter, together, clock, counted) = (&counter, &together, &clock, &counted);
            let (late, refused, offered) = (&late, &refused, &offered);
            scope.spawn(move || {
                let mut random = Random(t);
                together.wait();
                loop {
                    let now = clock.fetch_add(7, Relaxed);
                    if now >= last * PANE {
                        break;
                    }
                    // Some come late, by up to 15 panes: 13 are kept.
                    let behind =
                        if random.below(10) == 0 { random.below(15 * PANE) } else { random.below(PANE) };
                    let (key, now) = (random.below(KEYS), now.saturating_sub(behind));
                    offered.fetch_add(1, Relaxed);
                    let added = if batches {
                        let tally = counter.add_events(&[(key, 1, Tick(now))]);
                        match (tally.counted, tally.late, tally.refused) {
                            (1, 0, 0) => Added::Counted,
                            (0, 1, 0) => Added::Late,
                            (0, 0, 1) => Added::NoRoom,
                            _ => panic!("{tally:?}"),
                        }
                    } else {
                        counter.add_at(key, 1, Tick(now))
                    };
                    match added {
                        Added::Counted => counted[(now / PANE * KEYS + key) as usize].fetch_add(1, Relaxed),
                        Added::Late => late.fetch_add(1, Relaxed),
                        Added::NoRoom => refused.fetch_add(1, Relaxed),
                        other => panic!("{other:?}"),
                    };
                }
            });
        }
    });
    let all: u64 = counted.iter().map(|n| n.load(Relaxed)).sum();
    assert_eq!(all + late.load(Relaxed) + refused.load(Relaxed), offered.load(Relaxed));
    let stats = counter.stats();
    assert_eq!((stats.late, stats.refused), (late.load(Relaxed), refused.load(Relaxed)));
    assert!(late.load(Relaxed) > 0 && stats.opened >= 6, "{stats:?}");
    // The window as it stands: with each key as often as was told.
    let now = Tick((last - 1) * PANE);
    let mut sum = 0;
    for key in 0..KEYS {
        let panes = last - PANES..last;
        let told: u64 = panes.map(|pane| counted[(pane * KEYS + key) as usize].load(Relaxed)).sum();
        assert_eq!(counter.count_at(key, now), told, "key {key}");
        sum += told;
    }
    assert!(counter.total_at(now) >= sum);
    if refused.load(Relaxed) == 0 {
        assert_eq!(counter.total_at(now), sum);
    }
}

fn builder() -> windlass::CounterBuilder {
    WindowedCounter::builder(Window::last_n(PANES * PANE), Window::last_n(PANE))
}

#[test]
fn with_room() {
    conservation(builder().capacity(KEYS as usize), false);
    conservation(builder().capacity(KEYS as usize), true);
}

#[test]
fn that_grows() {
    conservation(builder().capacity(1).max_memory(1 << 24), false);
}

#[test]
fn without_room() {
    conservation(builder().capacity(1), false);
}

/// Readers, while a key is added to: what they find never goes back within a window, and lies between what had ended and what had begun.
#[test]
fn readers_between() {
    let counter = builder().capacity(1).max_memory(1 << 24).build().expect("valid");
    let (together, begun, ended) = (Together::new(3), AtomicU64::new(0), AtomicU64::new(0));
    let n = 20_000_u64;
    thread::scope(|scope| {
        for writer in 0..2_u64 {
            let (counter, together, begun, ended) = (&counter, &together, &begun, &ended);
            scope.spawn(move || {
                together.wait();
                for i in 0..n {
                    // All within one window; beside it come other keys, in new panes and generations.
                    let now = Tick(i * PANE * (PANES - 1) / n);
                    begun.fetch_add(1, Relaxed);
                    assert_eq!(counter.add_at("a", 1, now), Added::Counted);
                    ended.fetch_add(1, Relaxed);
                    counter.add_at(1 + writer + i % 500 * 2, 1, now);
                }
            });
        }
        together.wait();
        let mut before = 0;
        while before < 2 * n {
            let at_least = ended.load(std::sync::atomic::Ordering::SeqCst);
            let count = counter.count_at("a", Tick((PANES - 1) * PANE));
            let at_most = begun.load(std::sync::atomic::Ordering::SeqCst);
            assert!(
                (at_least.max(before)..=at_most).contains(&count),
                "{at_least} {before} {count} {at_most}"
            );
            before = count;
        }
    });
}
