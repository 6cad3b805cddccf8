//! One structure of each kind, under its kind's name.

use std::{sync::Arc, time::Duration};
use windlass::{
    BoundedTopK, Dedup, FifoIndex, HashRing, KeyedLimiter, LimitRule, LimitSet, Node, Quota, RotatingBloom,
    Seed, Tick, TopK, WindowedCounter, WindowedTotal,
    metrics::{Latency, Registry},
};

pub(crate) const SECOND: u64 = 1_000_000_000;

pub(crate) struct Every {
    pub(crate) registry: Registry,
    pub(crate) dedup: Arc<Dedup>,
    pub(crate) bloom: Arc<RotatingBloom>,
    pub(crate) limiter: Arc<KeyedLimiter>,
    pub(crate) set: Arc<LimitSet>,
    pub(crate) counter: Arc<WindowedCounter>,
    pub(crate) total: Arc<WindowedTotal>,
    pub(crate) topk: Arc<TopK>,
    pub(crate) bounded: Arc<BoundedTopK>,
    pub(crate) fifo: Arc<FifoIndex<u64>>,
    pub(crate) ring: Arc<HashRing>,
    pub(crate) latency: Arc<Latency>,
}

impl Every {
    pub(crate) fn new() -> Every {
        let (window, pane, seed) = (Duration::from_secs(60), Duration::from_secs(10), Seed(1));
        let quota = Quota::new(2, Duration::from_secs(60));
        let set = LimitSet::builder()
            .limit(LimitRule::keyed("user", quota).clients(1000))
            .limit(LimitRule::global("all", Quota::new(1000, Duration::from_secs(1))))
            .reservations(100)
            .seed(seed);
        let nodes = [Node::new(0, "a"), Node::new(1, "b").weight(2)];
        let every = Every {
            registry: Registry::new(),
            dedup: Arc::new(Dedup::builder(window).capacity(1000).seed(seed).build().expect("valid")),
            bloom: Arc::new(
                RotatingBloom::builder(window)
                    .expected_ids(1000)
                    .error(0.01)
                    .seed(seed)
                    .build()
                    .expect("valid"),
            ),
            limiter: Arc::new(KeyedLimiter::builder(quota).clients(1000).seed(seed).build().expect("valid")),
            set: Arc::new(set.build().expect("valid")),
            counter: Arc::new(
                WindowedCounter::builder(window, pane).capacity(1000).seed(seed).build().expect("valid"),
            ),
            total: Arc::new(WindowedTotal::builder(window, pane).build().expect("valid")),
            topk: Arc::new(TopK::builder(window, pane, 3).capacity(1000).seed(seed).build().expect("valid")),
            bounded: Arc::new(
                BoundedTopK::builder(window, pane, 3).memory(64 << 10).seed(seed).build().expect("valid"),
            ),
            fifo: Arc::new(FifoIndex::builder().capacity(1000).seed(seed).build().expect("valid")),
            ring: Arc::new(HashRing::builder().nodes(nodes).build().expect("valid")),
            latency: Arc::new(Latency::new()),
        };
        let registry = &every.registry;
        registry.add("dedup", &every.dedup).expect("new");
        registry.add("bloom", &every.bloom).expect("new");
        registry.add("limiter", &every.limiter).expect("new");
        registry.add("set", &every.set).expect("new");
        registry.add("counter", &every.counter).expect("new");
        registry.add("total", &every.total).expect("new");
        registry.add("topk", &every.topk).expect("new");
        registry.add("bounded", &every.bounded).expect("new");
        registry.add("fifo", &every.fifo).expect("new");
        registry.add("ring", &every.ring).expect("new");
        registry.add("latency", &every.latency).expect("new");
        every
    }

    /// Something of everything, in a second.
    pub(crate) fn happen(&self, second: u64) {
        for i in 0..100 + second % 7 {
            let (key, now) = (i * i % 97 + second % 3, Tick(second * SECOND + i));
            self.dedup.observe_at(key, now).expect("there is room");
            self.bloom.insert_at(key, now);
            self.limiter.check_at(key, 1, now);
            self.set.check_at(&[key], 1, now);
            self.counter.add_at(key, 1, now);
            self.total.add_at(1, now);
            self.topk.add_at(key, 1, now);
            self.bounded.add_at(key, 1, now);
            self.fifo.push_at(key, i, now).expect("there is room");
            if i % 2 == 0 {
                assert!(self.fifo.pop().is_some());
            }
            self.latency.record(Duration::from_nanos(50 + i * i * i));
        }
        self.topk.refresh_at(Tick(second * SECOND));
        self.bounded.refresh_at(Tick(second * SECOND));
    }
}
