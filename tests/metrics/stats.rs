//! Figures beside what is known of a structure. (The others are tested with their structures.)

use crate::every::{Every, SECOND};
use std::time::Duration;
use windlass::{
    Added, BoundedTopK, Dedup, FifoIndex, HashRing, KeyedLimiter, LimitRule, LimitSet, Node, Quota, Reserved,
    Seed, Tick, WindowedCounter,
};

#[test]
fn loads() {
    let dedup = Dedup::builder(Duration::from_secs(60)).capacity(1000).seed(Seed(1)).build().expect("valid");
    assert_eq!(dedup.stats().load(), 0.0);
    (0..500_u64).for_each(|id| assert!(dedup.observe_at(id, Tick(0)).is_ok()));
    let stats = dedup.stats();
    assert_eq!((stats.live, stats.load()), (500, 500.0 / stats.capacity as f64));

    let limiter = KeyedLimiter::builder(Quota::new(1, Duration::from_secs(1))).clients(1000).seed(Seed(1));
    let limiter = limiter.build().expect("valid");
    (0..250_u64).for_each(|client| assert!(limiter.check_at(client, 1, Tick(0)).is_allowed()));
    let stats = limiter.stats();
    assert_eq!((stats.clients, stats.load()), (250, 250.0 / stats.capacity as f64));
    assert!(stats.buckets > 0);

    let queue = FifoIndex::builder().capacity(1000).seed(Seed(1)).build().expect("valid");
    (0..100_u64).for_each(|key| assert!(queue.push_at(key, (), Tick(0)).is_ok()));
    assert_eq!(queue.stats().load(), 0.1);
}

/// Tables that are too small for what is put in: buckets overflow, and the figures say so.
#[test]
fn overflows() {
    let limiter = KeyedLimiter::builder(Quota::new(1, Duration::from_secs(1))).clients(10).seed(Seed(1));
    let limiter = limiter.build().expect("valid");
    for client in 0..1000_u64 {
        limiter.check_at(client, 1, Tick(0));
    }
    let stats = limiter.stats();
    assert!(stats.overflows > 0 && stats.overflown_buckets > 0 && stats.unknown > 0, "{stats:?}");
    assert!(stats.overflown_buckets <= stats.buckets && stats.load() > 1.0);

    let queue = FifoIndex::builder().capacity(20_000).seed(Seed(1)).build().expect("valid");
    assert_eq!(queue.stats().overflows, 0);
    (0..20_000_u64).for_each(|key| assert!(queue.push_at(key, (), Tick(0)).is_ok()));
    let stats = queue.stats();
    assert!(stats.buckets > 0 && stats.overflows > 0 && stats.overflown_buckets > 0, "{stats:?}");
}

#[test]
fn counters_by_generation() {
    let (window, pane) = (Duration::from_secs(60), Duration::from_secs(10));
    let counter = WindowedCounter::builder(window, pane).capacity(500).seed(Seed(1)).build().expect("valid");
    assert_eq!((counter.stats().active_pane, counter.stats().load()), (0, 0.0));
    (1000..1300_u64).for_each(|key| assert_eq!(counter.add_at(key, 1, Tick(0)), Added::Counted));
    let first = counter.stats();
    assert_eq!((first.rows, first.newest_rows, first.active_pane), (300, 300, 0));
    // Another generation.
    (1000..1020_u64).for_each(|key| assert_eq!(counter.add_at(key, 1, Tick(65 * SECOND)), Added::Counted));
    let second = counter.stats();
    assert_eq!((second.newest_rows, second.active_pane), (20, 6));
    assert_eq!(second.load(), 20.0 / second.capacity as f64);
    assert!(second.rows >= 20 && second.generations >= 1);
}

/// The estimate of what is taken, where a pane has more slots than are looked at.
#[test]
fn slots_of_a_large_pane() {
    let (window, pane) = (Duration::from_secs(20), Duration::from_secs(10));
    let top = BoundedTopK::builder(window, pane, 3).memory(64 << 20).seed(Seed(1)).build().expect("valid");
    let slots = top.stats().slots;
    assert!(slots > 30_000, "{slots}");
    let keys = slots / 2;
    (0..keys).for_each(|key| assert_eq!(top.add_at(key, 1, Tick(35 * SECOND)), Added::Counted));
    let stats = top.stats();
    assert!(stats.taken.abs_diff(keys) < keys / 20, "{} of {keys}", stats.taken);
    assert_eq!((stats.active_pane, stats.load()), (3, stats.taken as f64 / slots as f64));
}

#[test]
fn limits_of_a_set() {
    let quota = Quota::new(2, Duration::from_secs(60));
    let set = LimitSet::builder()
        .limit(LimitRule::keyed("user", quota).clients(100))
        .limit(LimitRule::global("all", quota))
        .limit(LimitRule::keyed("tenant", quota).clients(100))
        .reservations(100)
        .build()
        .expect("valid");
    assert!(set.check_at(&["ann", "acme"], 1, Tick(0)).is_allowed());
    assert!(!set.check_at(&["bob", "acme"], 2, Tick(0)).is_allowed());
    let each: Vec<_> = set.limit_stats().map(|(name, stats)| (name, stats.clients)).collect();
    assert_eq!(each, [("user", 1), ("tenant", 1)]);
    let lease = Duration::from_secs(1);
    assert!(matches!(set.reserve_at(&["cat", "acme"], 1, lease, Tick(0)), Reserved::Held(_)));
    assert_eq!(set.stats().holds, 1);
}

#[test]
fn rings() {
    let ring = HashRing::builder().build().expect("valid");
    let stats = ring.stats();
    assert_eq!((stats.nodes, stats.points, stats.imbalance), (0, 0, 0.0));
    ring.add(Node::new(7, "a")).expect("new");
    let stats = ring.stats();
    assert_eq!((stats.nodes, stats.points, stats.version, stats.imbalance), (1, 128, 1, 1.0));
    ring.add(Node::new(8, "b").weight(3)).expect("new");
    let (stats, nodes) = (ring.stats(), ring.placement().nodes());
    assert_eq!((stats.nodes, stats.points, stats.version), (2, 512, 2));
    assert_eq!(stats.memory_bytes, ring.placement().memory_bytes());
    assert_eq!(stats.imbalance, f64::max(nodes[0].share * 4.0, nodes[1].share * 4.0 / 3.0));
}

#[test]
fn the_active_pane_of_a_filter() {
    let every = Every::new();
    assert_eq!(every.bloom.stats().active_pane, 0);
    for second in 0..100 {
        every.happen(second);
        let (stats, pane) = (every.bloom.stats(), every.bloom.plan().pane.ticks().expect("a length"));
        assert_eq!(stats.active_pane * pane + pane, stats.panes[0].span.end.0);
        assert_eq!(stats.active_pane, (second * SECOND + 99) / pane);
    }
}
