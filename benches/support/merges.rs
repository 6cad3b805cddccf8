//! How long it takes to put together what 16 shards know: 1000 rows of each, and the list of 100.

use std::{hint::black_box, time::Duration};

use criterion::{BenchmarkId, Criterion};
use windlass::{Aggregator, Export, Keys, Seed, Tick, TopK};

use super::{
    counter::K,
    zipf::{draws, key},
};

const SHARDS: u64 = 16;
const EVENTS: u64 = 50_000;

/// Of shards on which a key may be anywhere, or on one alone.
fn exports(keys: Keys) -> Vec<Export> {
    let shards: Vec<TopK> = (0..SHARDS)
        .map(|_| {
            let second = Duration::from_secs(1);
            TopK::builder(second, second, K).capacity(100_000).seed(Seed(1)).build().expect("valid")
        })
        .collect();
    for (i, client) in (0..).zip(draws(100_000, SHARDS * EVENTS)) {
        let shard = if keys == Keys::Split { client % SHARDS } else { i % SHARDS };
        shards[usize::try_from(shard).expect("an index")].add_at(key(client), 1, Tick(0));
    }
    let exports: Vec<Export> = shards.iter().map(|shard| shard.export_at(Tick(0))).collect();
    assert!(exports.iter().all(|export| export.rows.len() == 10 * K));
    exports
}

pub(crate) fn run(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("merge_16");
    for (name, keys) in [("split", Keys::Split), ("shared", Keys::Shared)] {
        let exports = exports(keys);
        group.bench_function(BenchmarkId::new("windlass_merge", name), |bencher| {
            bencher.iter(|| {
                let mut all = Aggregator::new(K, keys);
                exports.iter().for_each(|export| all.merge(black_box(export)).expect("of one grid"));
                let list = all.list();
                assert_eq!(list.rows.len(), K);
                list
            });
        });
    }
    group.finish();
}
