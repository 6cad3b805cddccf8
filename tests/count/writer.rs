//! Writers: what they hold back, and for how long; nothing is lost or counted twice.

use super::common::{Random, Together};
use std::{collections::HashMap, time::Duration};
use windlass::{Added, Seed, Tick, TopK, Window, WindowedCounter, Writer};

const PANE: u64 = 1000;
const PANES: u64 = 9;

/// What a writer holds back depends on whether keys share a place in its table: with this seed "a" and "b" do not.
const SEED: Seed = Seed(2);

fn counter() -> WindowedCounter {
    let builder = WindowedCounter::builder(Window::last_n(PANES * PANE), Window::last_n(PANE));
    builder.capacity(1000).seed(SEED).build().expect("valid")
}

#[test]
fn goes_to_another_thread() {
    fn goes<T: Send>(_: &T) {}
    goes(&counter().writer());
    let top = TopK::builder(Window::last_n(9), Window::last_n(3), 1).capacity(9).build().expect("valid");
    goes(&top.writer());
}

/// The first add of a key is not held back, the others are: until they are too many, too heavy, or the writer is dropped.
#[test]
fn by_count_and_on_drop() {
    let counter = counter();
    let mut writer = counter.writer();
    let now = Tick(7);
    for _ in 0..=Writer::MOST {
        assert_eq!(writer.add_at("a", 1, now), Added::Counted);
    }
    assert_eq!((writer.held(), counter.count_at("a", now)), (Writer::MOST, 1));
    writer.add_at("a", 1, now);
    assert_eq!((writer.held(), counter.count_at("a", now)), (1, 1 + Writer::MOST));
    // More than it may hold goes past it.
    writer.add_at("a", Writer::MOST + 1, now);
    assert_eq!(counter.count_at("a", now), 3 + 2 * Writer::MOST);
    writer.add_at("a", u64::MAX, now);
    assert_eq!((counter.count_at("a", now), counter.total_at(now)), (u64::MAX, u64::MAX));
    writer.add_at("b", 4, now);
    writer.add_at("b", 5, now);
    assert_eq!((writer.held(), counter.count_at("b", now)), (5, 4));
    drop(writer);
    assert_eq!(counter.count_at("b", now), 9);
}

/// All of it is of one pane: that of the newest add. What comes for an earlier one, or far too late, is told at once.
#[test]
fn by_pane() {
    let counter = counter();
    let mut writer = counter.writer();
    let [first, second] = [Tick(3 * PANE + 1), Tick(4 * PANE)];
    for _ in 0..3 {
        writer.add_at("a", 1, first);
    }
    assert_eq!(counter.count_at("a", first), 1);
    for _ in 0..3 {
        writer.add_at("a", 1, second);
    }
    assert_eq!((writer.held(), counter.count_at("a", first), counter.count_at("a", second)), (2, 3, 4));
    writer.add_at("a", 1, first);
    assert_eq!((writer.held(), counter.count_at("a", first)), (2, 4));
    let far = Tick(50 * PANE);
    counter.add_at("b", 1, far);
    assert_eq!(writer.add_at("a", 1, first), Added::Late);
    // What it holds is of a pane that has left meanwhile.
    assert_eq!((writer.held(), counter.stats().late), (2, 1));
    drop(writer);
    assert_eq!((counter.stats().late, counter.total_at(far)), (2, 1));
}

#[test]
fn by_age() {
    let now = |ns: u64| Tick(5_000_000_000 + ns);
    let pane = Duration::from_secs(10);
    let counter = WindowedCounter::builder(6 * pane, pane).capacity(10).seed(SEED).build();
    let counter = counter.expect("valid");
    let mut writer = counter.writer();
    for _ in 0..3 {
        writer.add_at("a", 1, now(0));
    }
    writer.add_at("a", 1, now(999_999));
    assert_eq!((writer.held(), counter.count_at("a", now(0))), (3, 1));
    // Any key will do.
    writer.add_at("b", 1, now(1_000_000));
    assert_eq!((writer.held(), counter.count_at("a", now(0))), (0, 4));
    // A clock that goes back within the pane does no harm.
    writer.add_at("a", 1, now(2_000_000));
    writer.add_at("a", 1, now(0));
    assert_eq!(writer.held(), 2);
    writer.flush();
    assert_eq!((writer.held(), counter.count_at("a", now(0))), (0, 6));
}

/// Keys for which there is no room, with the names of keys that are in the way of each other, and with the hash that looks like none.
#[test]
fn odd_keys() {
    let hash = |hi, lo| windlass::KeyHash { hi, lo };
    let counter = counter();
    let mut writer = counter.writer();
    let keys: Vec<_> =
        [0, 1, 127, 128, 129, 256].into_iter().flat_map(|lo| [hash(0, lo), hash(1, lo)]).collect();
    // (Keys of one fingerprint are one in a small table: so by fingerprint.)
    let mut counts = HashMap::new();
    for i in 0..5000_usize {
        let key = keys[i * i % 101 % keys.len()];
        assert_eq!(writer.add_at(key, 1, Tick(1)), Added::Counted);
        *counts.entry(key.lo).or_insert(0_u64) += 1;
    }
    drop(writer);
    assert_eq!(counter.total_at(Tick(1)), 5000);
    for (lo, count) in counts {
        assert_eq!(counter.count_at(hash(0, lo), Tick(1)), count, "{lo}");
    }

    let full =
        WindowedCounter::builder(Window::last_n(9), Window::last_n(3)).capacity(1).build().expect("valid");
    let mut writer = full.writer();
    let told: Vec<Added> = (0..1000_u64).map(|i| writer.add_at(i / 2, 1, Tick(1))).collect();
    drop(writer);
    let refused = told.iter().filter(|told| **told == Added::NoRoom).count() as u64;
    assert!(refused > 0 && told.iter().all(|told| [Added::Counted, Added::NoRoom].contains(told)));
    assert_eq!((full.stats().refused, full.total_at(Tick(1))), (refused, 1000));
    let found: u64 = (0..500_u64).map(|key| full.count_at(key, Tick(1))).sum();
    assert_eq!(found + refused, 1000);
}

/// Writers of several threads, whose panes change under each other, beside direct adds: all is counted in its pane when they are gone, and
/// never does more lack than they may hold.
#[test]
fn with_others() {
    const THREADS: usize = 3;
    let counter = counter();
    let top = TopK::builder(Window::last_n(PANES * PANE), Window::last_n(PANE), 5)
        .capacity(1000)
        .build()
        .expect("valid");
    let (together, adds) = (Together::new(THREADS), 40_000_u64);
    std::thread::scope(|scope| {
        for thread in 0..THREADS as u64 {
            let (counter, top, together) = (&counter, &top, &together);
            scope.spawn(move || {
                let (mut random, mut writer, mut writer_of_top) =
                    (Random(thread), counter.writer(), top.writer());
                together.wait();
                for i in 0..adds {
                    let key = random.below(300).min(random.below(300)).min(random.below(300));
                    let now = Tick(i * (PANES - 1) * PANE / adds);
                    assert_eq!(writer.add_at(key, 2, now), Added::Counted);
                    assert_eq!(writer_of_top.add_at(key, 2, now), Added::Counted);
                    if i % 100 == 0 {
                        let total = counter.total_at(now) + writer.held();
                        assert!(total >= 2 * i, "{total} of {i}");
                        counter.add_at(key, 1, now);
                        top.add_at(key, 1, now);
                    }
                }
            });
        }
    });
    let end = Tick((PANES - 1) * PANE);
    let all = THREADS as u64 * (2 * adds + adds / 100);
    assert_eq!((counter.total_at(end), top.total_at(end)), (all, all));
    let counts: Vec<u64> = (0..300_u64).map(|key| counter.count_at(key, end)).collect();
    assert_eq!(counts.iter().sum::<u64>(), all);
    let list = top.top_at(end);
    let mut order: Vec<u64> = (0..300).collect();
    order.sort_by_key(|&key| (std::cmp::Reverse(counts[key as usize]), key));
    let rows: Vec<_> = list.rows.iter().filter_map(|row| Some((row.key.number()?, row.count))).collect();
    let right: Vec<_> = order[..5].iter().map(|&key| (key, counts[key as usize])).collect();
    assert_eq!((rows, list.certified), (right, true));
    assert_eq!(top.stats().counter.refused + top.stats().counter.late, 0);
}
