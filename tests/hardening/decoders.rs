//! Everything that reads bytes from outside, with samples of what it reads; and what is done with what it has read.

use std::time::Duration;
use windlass::{
    Aggregator, Algorithm, BloomBuilder, BoundedTopK, BoundedTopKBuilder, CounterBuilder, Dedup,
    DedupBuilder, Export, FifoBuilder, FifoIndex, HashRing, Identity, Inherit, KeyedLimiter,
    KeyedLimiterBuilder, Keys, Layout, LimitRule, LimitSet, LimitSetBuilder, Limiter, LimiterBuilder, Node,
    OnPresent, OnUnknown, Quota, Reserved, RotatingBloom, Seed, Tick, TopK, TopKBuilder, TotalBuilder,
    Window, WindowedCounter, WindowedTotal,
};

pub(crate) const WALL: Duration = Duration::from_secs(1_700_000_000);

/// What was read, to be used by calls of all sorts: gives what it writes in its turn.
pub(crate) type Use = Box<dyn FnOnce() -> Vec<u8>>;

/// Reads bytes, and says why not.
type Read = dyn Fn(&[u8]) -> Result<Use, String>;

pub(crate) struct Decoder {
    pub(crate) name: &'static str,
    /// What it reads as it was written, one at least.
    pub(crate) samples: Vec<Vec<u8>>,
    /// Reads, and says why not.
    pub(crate) read: Box<Read>,
    /// Bytes that its settings allow beyond what the samples take.
    pub(crate) allows: u64,
    pub(crate) is_export: bool,
}

/// What is answered is no matter, but that it is.
fn ask<T>(_: T) {}

/// Of a structure: reads and uses.
macro_rules! decoder {
    ($name:expr, $builder:expr, $samples:expr, $allows:expr, $write:ident, |$structure:ident, $now:ident| $calls:block) => {{
        let builder = $builder;
        Decoder {
            name: $name,
            samples: $samples,
            read: Box::new(move |bytes| {
                let restored = builder.clone().restore(bytes, WALL).map_err(|error| error.to_string())?;
                let ($structure, $now) = (restored.structure, restored.resumed);
                Ok(Box::new(move || {
                    $calls
                    let mut out = Vec::new();
                    $structure.$write(&mut out, $now, WALL).expect("memory");
                    out
                }))
            }),
            allows: $allows,
            is_export: false,
        }
    }};
}

/// Times at and around one.
fn times(now: Tick) -> impl Iterator<Item = Tick> {
    [0, 1, 3, 40, 1000].into_iter().map(move |ahead| Tick(now.0.saturating_add(ahead)))
}

fn dedup(name: &'static str, builder: DedupBuilder, allows: u64, samples: Vec<Vec<u8>>) -> Decoder {
    decoder!(name, builder, samples, allows, snapshot_at, |dedup, now| {
        for now in times(now) {
            for id in 0..4_u64 {
                let _ = dedup.observe_at(format!("id-{id}"), now);
                ask(dedup.contains_at(id + 90, now));
                let _ = dedup.claim_at(id, now, dedup.window());
                dedup.forget_at(id, now);
            }
            dedup.maintain_at(now, 4);
        }
        ask(dedup.live_at(now));
        ask(dedup.stats());
    })
}

fn bloom(name: &'static str, builder: BloomBuilder, samples: Vec<Vec<u8>>) -> Decoder {
    decoder!(name, builder, samples, 0, snapshot_at, |bloom, now| {
        for now in times(now) {
            for id in 0..4_u64 {
                bloom.observe_at(id, now);
                ask(bloom.contains_at(id + 40, now));
            }
            bloom.maintain_at(now, 4);
        }
    })
}

fn counter(name: &'static str, builder: CounterBuilder, allows: u64, samples: Vec<Vec<u8>>) -> Decoder {
    decoder!(name, builder, samples, allows, snapshot_at, |counter, now| {
        for now in times(now) {
            for key in 0..4_u64 {
                counter.add_at(key, 3, now);
                ask(counter.count_at(key + 20, now));
            }
            ask(counter.total_at(now));
            counter.maintain_at(now, 4);
        }
        ask(counter.panes_at("text", now));
    })
}

fn total(name: &'static str, builder: TotalBuilder, samples: Vec<Vec<u8>>) -> Decoder {
    decoder!(name, builder, samples, 0, snapshot_at, |total, now| {
        for now in times(now) {
            total.add_at(5, now);
            ask(total.total_at(now));
            ask(total.total_complete_at(now));
        }
    })
}

fn topk(name: &'static str, builder: TopKBuilder, allows: u64, samples: Vec<Vec<u8>>) -> Decoder {
    decoder!(name, builder, samples, allows, save_at, |top, now| {
        for now in times(now) {
            for key in 0..4_u64 {
                top.add_at(key, 3, now);
                top.add_at(format!("key-{key}"), 3, now);
            }
            ask(top.top_at(now));
            ask(top.export_at(now).to_bytes());
            top.maintain_at(now, 4);
        }
    })
}

fn bounded(name: &'static str, builder: BoundedTopKBuilder, samples: Vec<Vec<u8>>) -> Decoder {
    decoder!(name, builder, samples, 0, save_at, |top, now| {
        for now in times(now) {
            for key in 0..4_u64 {
                top.add_at(key, 3, now);
                top.add_at(format!("key-{key}"), 3, now);
                ask(top.bounds_at(key + 40, now));
            }
            ask(top.top_at(now));
            ask(top.export_at(now).to_bytes());
            top.maintain_at(now, 4);
        }
        ask(top.stats());
    })
}

fn limiter(name: &'static str, builder: LimiterBuilder, samples: Vec<Vec<u8>>) -> Decoder {
    decoder!(name, builder, samples, 0, snapshot_at, |limiter, now| {
        for now in times(now) {
            (0..4).for_each(|cost| ask(limiter.check_at(cost, now)));
            ask(limiter.peek_at(3, now));
            ask(limiter.set_quota_at(per_second(now.0 % 9 + 1), Inherit::Proportional, now));
        }
        ask(limiter.quota());
        limiter.forget_at(now);
        ask(limiter.check_at(1, now));
    })
}

fn keyed(name: &'static str, builder: KeyedLimiterBuilder, allows: u64, samples: Vec<Vec<u8>>) -> Decoder {
    decoder!(name, builder, samples, allows, snapshot_at, |limiter, now| {
        for now in times(now) {
            for client in 0..4_u64 {
                ask(limiter.check_at(client, client, now));
                ask(limiter.peek_at(client + 60, 1, now));
                limiter.forget_at(client + 7, now);
            }
            ask(limiter.quota_for(3_u64));
            ask(limiter.set_quota_for_at(3_u64, per_second(now.0 % 9 + 1), Inherit::AsIs, now));
            limiter.clear_quota_for_at(4_u64, Inherit::AsIs, now);
            limiter.maintain_at(now, 4);
        }
        ask(limiter.set_quota_at(per_second(5), Inherit::Proportional, now));
        ask(limiter.check_at(5_u64, 2, now));
        ask(limiter.stats());
    })
}

fn set(name: &'static str, builder: LimitSetBuilder, samples: Vec<Vec<u8>>) -> Decoder {
    decoder!(name, builder, samples, 0, snapshot_at, |set, now| {
        for now in times(now) {
            for client in 0..4_u64 {
                let keys = [client, 100 + client, client / 2];
                ask(set.check_at(&keys, client, now));
                set.peek_each_at(&keys, 1, now).for_each(drop);
                let held = [1, 40].map(|ms| set.reserve_at(&keys, 2, Duration::from_millis(ms), now));
                if let [Reserved::Held(one), Reserved::Held(two)] = held {
                    ask(set.settle_at(one, 4, now));
                    ask(set.cancel_at(two, Tick(now.0.saturating_add(3_000_000))));
                }
            }
            ask(set.set_quota_at("tenant", per_second(now.0 % 9 + 1), now));
            set.maintain_at(now, 4);
        }
        ask(set.stats());
        set.limit_stats().for_each(drop);
    })
}

fn per_second(permits: u64) -> Quota {
    Quota::new(permits, Duration::from_secs(1))
}

fn fifo(name: &'static str, builder: FifoBuilder, allows: u64, samples: Vec<Vec<u8>>) -> Decoder {
    let builder = Fifo(builder);
    decoder!(name, builder, samples, allows, snapshot_at, |index, now| {
        for now in times(now) {
            for key in 0..4_u64 {
                let _ = index.push_at(key, Vec::new(), now);
                ask(index.rank(key));
                ask(index.find("key-5"));
            }
            ask(index.pop());
            ask(index.count_before(now));
            index.maintain_at(now, 4);
        }
        index.iter().take(100).for_each(drop);
    })
}

/// Its `restore` is told the type of values.
#[derive(Clone)]
struct Fifo(FifoBuilder);

impl Fifo {
    fn restore(
        self,
        bytes: &[u8],
        wall: Duration,
    ) -> Result<windlass::Restored<FifoIndex<Vec<u8>>>, windlass::RestoreError> {
        self.0.restore(bytes, wall)
    }
}

fn ring(samples: Vec<Vec<u8>>) -> Decoder {
    let read = |bytes: &[u8]| {
        let builder = HashRing::builder().vnodes(40);
        let ring = builder.restore(bytes, WALL).map_err(|error| error.to_string())?.structure;
        let calls = move || {
            (0..20_u64).for_each(|key| _ = ring.route(key));
            let _ = ring.add(Node::new(4711, "one more"));
            let mut out = Vec::new();
            ring.snapshot_at(&mut out, WALL).expect("memory");
            out
        };
        Ok(Box::new(calls) as Use)
    };
    // Points are the content: a node's weight is one number, and gives as many as a ring may have.
    let allows = 2 * windlass::Placement::MAX_POINTS * 24;
    Decoder { name: "ring", samples, read: Box::new(read), allows, is_export: false }
}

fn exports(samples: Vec<Vec<u8>>) -> Decoder {
    let read = |bytes: &[u8]| {
        let export = Export::from_bytes(bytes).map_err(|error| error.to_string())?;
        let calls = move || {
            let mut all = Aggregator::new(4, Keys::Split);
            for _ in 0..2 {
                all.merge(&export).expect("its own");
            }
            ask(all.list());
            export.to_bytes()
        };
        Ok(Box::new(calls) as Use)
    };
    Decoder { name: "export", samples, read: Box::new(read), allows: 0, is_export: true }
}

const MIB: u64 = 1 << 20;

/// Writes to memory.
fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<windlass::SnapshotSummary>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes).expect("memory");
    bytes
}

/// By each algorithm: one for all, one for each of many clients, one that grows.
fn limiters(all: &mut Vec<Decoder>) {
    use Algorithm::{FixedWindow, Gcra, LeakyQueue, SlidingCounter, SlidingLog, TokenBucket};
    for (algorithm, names) in [
        (Gcra, ["limiter, gcra", "clients, gcra", "clients that grow, gcra"]),
        (TokenBucket, ["limiter, bucket", "clients, bucket", "clients that grow, bucket"]),
        (LeakyQueue, ["limiter, queue", "clients, queue", "clients that grow, queue"]),
        (FixedWindow, ["limiter, window", "clients, window", "clients that grow, window"]),
        (SlidingCounter, ["limiter, counter", "clients, counter", "clients that grow, counter"]),
        (SlidingLog, ["limiter, log", "clients, log", ""]),
    ] {
        let builder = Limiter::builder(per_second(7)).algorithm(algorithm);
        let sample = |calls: u64| {
            let limiter = builder.clone().build().expect("valid");
            let at = |i: u64| Tick(1_000_000_000 + i * 70_000_000);
            (0..calls).for_each(|i| ask(limiter.check_at(i % 3, at(i))));
            if calls > 0 {
                limiter.set_quota_at(per_second(5), Inherit::AsIs, at(calls)).expect("in range");
            }
            written(|out| limiter.snapshot_at(out, at(calls), WALL))
        };
        all.push(limiter(names[0], builder.clone(), vec![sample(0), sample(50)]));

        let builder = KeyedLimiter::builder(per_second(7)).algorithm(algorithm).clients(100);
        let grows = algorithm != SlidingLog;
        let shared = if grows { OnUnknown::Share(3) } else { OnUnknown::Deny };
        let builder = builder.on_unknown(shared).lateness(Duration::from_millis(10));
        let sample = |builder: &KeyedLimiterBuilder, calls: u64| {
            let limiter = builder.clone().seed(Seed(3)).build().expect("valid");
            let at = |i: u64| Tick(1_000_000_000 + i * 3_000_000);
            for i in 0..calls {
                ask(limiter.check_at(i % 170, i % 3, at(i)));
            }
            if calls > 0 {
                let own = limiter.set_quota_for_at(3_u64, per_second(5), Inherit::AsIs, at(calls));
                own.expect("in range");
                limiter.set_quota_at(per_second(6), Inherit::AsIs, at(calls)).expect("in range");
            }
            written(|out| limiter.snapshot_at(out, at(calls), WALL))
        };
        let samples = vec![sample(&builder, 0), sample(&builder, 300)];
        all.push(keyed(names[1], builder.clone(), 0, samples));
        if grows {
            let builder = builder.clients(20).max_memory(MIB);
            let samples = vec![sample(&builder, 0), sample(&builder, 300)];
            all.push(keyed(names[2], builder.clone(), MIB, samples));
        }
    }
}

/// Limits by several algorithms, and holds.
fn limits() -> LimitSetBuilder {
    let keyed = |name: &str, permits| LimitRule::keyed(name, per_second(permits)).clients(60);
    LimitSet::builder()
        .limit(keyed("user", 10))
        .limit(keyed("tenant", 40).algorithm(Algorithm::SlidingCounter))
        .limit(keyed("pair", 4).algorithm(Algorithm::TokenBucket))
        .limit(LimitRule::global("all", per_second(300)))
        .limit(LimitRule::global("windows", per_second(400)).algorithm(Algorithm::FixedWindow))
        .reservations(50)
        .lateness(Duration::from_millis(10))
}

fn of_limits(calls: u64) -> Vec<u8> {
    let set = limits().seed(Seed(3)).build().expect("valid");
    let at = |i: u64| Tick(1_000_000_000 + i * 3_000_000);
    for i in 0..calls {
        let keys = [i % 40, 100 + i % 8, i % 15];
        ask(set.check_at(&keys, i % 3, at(i)));
        let held = set.reserve_at(&keys, 2, Duration::from_millis(200), at(i));
        if let Reserved::Held(ticket) = held
            && i % 3 == 0
        {
            ask(set.settle_at(ticket, i % 4, at(i + 1)));
        }
    }
    if calls > 0 {
        set.set_quota_at("user", per_second(8), at(calls)).expect("in range");
    }
    written(|out| set.snapshot_at(out, at(calls), WALL))
}

/// All. `golden`: the file of that name in tests/golden.
pub(crate) fn all(golden: impl Fn(&str) -> Vec<u8>) -> Vec<Decoder> {
    let mut all = Vec::new();

    for (name, file, identity) in [
        ("dedup, hashes", "dedup-v1-hash.wls", Identity::Hash),
        ("dedup, bytes", "dedup-v1-bytes.wls", Identity::Bytes),
    ] {
        let builder = Dedup::builder(Window::last_n(1000)).capacity(100).identity(identity);
        // (Bytes of ids lie in segments by the time of these, each of some KiB: mutants' lie far apart.)
        let allows = if identity == Identity::Bytes { MIB } else { 0 };
        all.push(dedup(name, builder, allows, vec![golden(file)]));
    }
    for (name, identity) in
        [("dedup that grows, hashes", Identity::Hash), ("dedup that grows, bytes", Identity::Bytes)]
    {
        let builder = Dedup::builder(Duration::from_secs(1)).capacity(50).max_memory(MIB).identity(identity);
        let sample = |ids: u64| {
            let dedup = builder.clone().seed(Seed(3)).build().expect("valid");
            for id in 0..ids {
                let _ = dedup.observe_at(format!("id-{id}"), Tick(id * 1_000_000));
            }
            let _ = dedup.claim_at(1000_u64, Tick(ids * 1_000_000), Duration::from_millis(3));
            written(|out| dedup.snapshot_at(out, Tick(ids * 1_000_000), WALL))
        };
        let samples = vec![sample(0), sample(20), sample(400)];
        all.push(dedup(name, builder.clone(), MIB, samples));
    }

    for (name, file, layout) in [
        ("bloom, rows", "bloom-rows-v1.wls", Layout::Rows(2)),
        ("bloom, blocks", "bloom-blocks-v1.wls", Layout::Blocks(128)),
        ("bloom, arrays", "bloom-seeded-v1.wls", Layout::SeededArrays),
    ] {
        let builder = RotatingBloom::builder(Duration::from_nanos(55)).panes(8).layout(layout);
        // What follows from ids and error takes longer to find than all else.
        let plan = builder.clone().expected_ids(100).error(0.2).plan().expect("valid");
        all.push(bloom(name, builder.bits(plan.bits).probes(plan.probes), vec![golden(file)]));
    }

    let (window, pane) = (Window::last_n(30), Window::last_n(10));
    let builder = WindowedCounter::builder(window, pane).lateness(Window::last_n(20));
    // (Tables of less than twice the size, if need be several.)
    all.push(counter("counter", builder.clone().capacity(60), 4 * MIB, vec![golden("counter-fixed-v1.wls")]));
    let builder = builder.capacity(3).max_memory(MIB);
    all.push(counter("counter that grows", builder, MIB, vec![golden("counter-grown-v1.wls")]));
    all.push(total("total", WindowedTotal::builder(window, pane), vec![golden("total-v1.wls")]));

    let builder = TopK::builder(window, pane, 4).lateness(Window::last_n(5));
    let builder = builder.capacity(40);
    let sample = |builder: &TopKBuilder, keys: u64| {
        let top = builder.clone().seed(Seed(3)).build().expect("valid");
        for i in 0..keys {
            top.add_at(i % 50, i % 7, Tick(i));
            top.add_at(format!("a longer key, {}", i % 9), 1, Tick(i));
        }
        written(|out| top.save_at(out, Tick(keys), WALL))
    };
    let samples = vec![golden("topk-v1.wls"), sample(&builder, 90)];
    all.push(topk("top keys", builder.clone(), 4 * MIB, samples));
    let builder = builder.max_memory(2 * MIB);
    let samples = vec![sample(&builder, 0), sample(&builder, 500)];
    all.push(topk("top keys that grow", builder, 2 * MIB, samples));

    let builder = FifoIndex::builder().on_present(OnPresent::MoveToTail);
    all.push(fifo("fifo", builder.clone().capacity(100), 0, vec![golden("fifo-v1.wls")]));
    let builder = builder.capacity(20).max_memory(MIB);
    let sample = |keys: u64| {
        let index: FifoIndex<Vec<u8>> = builder.clone().seed(Seed(3)).build().expect("valid");
        for i in 0..keys {
            index.push_at(i % 70, vec![7; 10], Tick(i)).expect("room");
            if i % 3 == 0 {
                ask(index.pop());
            }
        }
        written(|out| index.snapshot_at(out, Tick(keys), WALL))
    };
    let samples = vec![sample(0), sample(300)];
    all.push(fifo("fifo that grows", builder.clone(), MIB, samples));

    all.push(ring(vec![golden("ring-v1.wls")]));

    limiters(&mut all);
    all.push(set("set of limits", limits(), [0, 300].map(of_limits).to_vec()));
    let builder = BoundedTopK::builder(Window::last_n(40), Window::last_n(10), 4).seed(Seed(5));
    let builder = builder.lateness(Window::last_n(5)).memory(10 << 10).key_bytes(8);
    let sample = |keys: u64| {
        let top = builder.clone().build().expect("valid");
        for i in 0..keys {
            top.add_at(i % 40, i % 7, Tick(i / 5));
            top.add_at(format!("key, {}", i % 9), 1, Tick(i / 5));
        }
        written(|out| top.save_at(out, Tick(keys / 5), WALL))
    };
    let samples = vec![golden("bounded-topk-v1.wls"), sample(0), sample(300)];
    all.push(bounded("top keys in given memory", builder.clone(), samples));

    let top = TopK::builder(window, pane, 4).capacity(100).seed(Seed(3)).build().expect("valid");
    let bounded = BoundedTopK::builder(window, pane, 4).memory(1 << 16).seed(Seed(3)).build().expect("valid");
    let of = |keys: u64| {
        for i in 0..keys {
            top.add_at(i % 50, i % 7, Tick(i));
            bounded.add_at(format!("a longer key, {}", i % 90), 1, Tick(i));
        }
        [top.export_at(Tick(keys)).to_bytes(), bounded.export_at(Tick(keys)).to_bytes()]
    };
    all.push(exports([of(0), of(300)].concat()));
    all
}
