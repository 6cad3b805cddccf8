//! Exports: what several shards know is merged as if it were one stream's, in every order; and bytes from anywhere are read.

use super::{
    bounded::{GRID, builder, zipf},
    common::Random,
    plain::check,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use windlass::{
    Aggregator, BoundedTopK, Export, KeyHash, Keys, Namespaced, Seed, Tick, TopK, TopSnapshot, Window,
};

/// A shard's structure, of either kind.
enum Shard {
    Exact(Box<TopK>),
    Bounded(Box<BoundedTopK>),
}

impl Shard {
    fn add(&self, key: u64, n: u64, now: u64) {
        match self {
            Shard::Exact(top) => top.add_at(key, n, Tick(now)),
            Shard::Bounded(top) => top.add_at(key, n, Tick(now)),
        };
    }

    fn export(&self, now: u64) -> Export {
        match self {
            Shard::Exact(top) => top.export_at(Tick(now)),
            Shard::Bounded(top) => top.export_at(Tick(now)),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Exact,
    Roomy,
    Tight,
}

fn shard(kind: Kind, k: usize) -> Shard {
    match kind {
        Kind::Exact => {
            Shard::Exact(Box::new(GRID.builder(k).capacity(5000).seed(Seed(7)).build().expect("valid")))
        }
        Kind::Roomy => Shard::Bounded(Box::new(builder(&GRID, k).memory(1 << 20).build().expect("valid"))),
        Kind::Tight => Shard::Bounded(Box::new(builder(&GRID, k).memory(30_000).build().expect("valid"))),
    }
}

fn merged(exports: &[Export], k: usize, keys: Keys) -> TopSnapshot {
    let mut all = Aggregator::new(k, keys);
    exports.iter().for_each(|export| all.merge(export).expect("of one grid"));
    assert_eq!(all.exports(), exports.len() as u64);
    all.list()
}

fn same(a: &TopSnapshot, b: &TopSnapshot) {
    assert_eq!((a.as_of, a.start, a.end), (b.as_of, b.start, b.end));
    assert_eq!((a.total, a.certified, a.tail, &a.rows), (b.total, b.certified, b.tail, &b.rows));
}

/// Every order of a few; of many some, and trees of aggregators.
fn orders(exports: &[Export], k: usize, keys: Keys, one: &TopSnapshot) {
    let mut random = Random(9);
    for round in 0..if exports.len() <= 3 { 24 } else { 40 } {
        let mut order = exports.to_vec();
        random.shuffle(&mut order);
        same(&merged(&order, k, keys), one);
        let cut = usize::try_from(random.below(order.len() as u64 + 1)).expect("an index");
        let parts = [&order[..cut], &order[cut..]].map(|part| {
            let mut all = Aggregator::new(k, keys);
            part.iter().for_each(|export| all.merge(export).expect("of one grid"));
            all
        });
        let [mut a, b] = parts;
        let into = if round % 2 == 0 { &mut a } else { &mut b.clone() };
        let other = if round % 2 == 0 { b } else { parts_of(&order[..cut], k, keys) };
        into.merge_all(&other).expect("of one grid");
        same(&into.list(), one);
    }
}

fn parts_of(exports: &[Export], k: usize, keys: Keys) -> Aggregator {
    let mut all = Aggregator::new(k, keys);
    exports.iter().for_each(|export| all.merge(export).expect("of one grid"));
    all
}

/// Shards, by key or at random: sound, in every order the same, and the truth where certified. How many were certified.
fn shards(n: u64, kind: Kind, keys: Keys) -> usize {
    const K: usize = 10;
    let (mut certified, mut random) = (0, Random(n));
    for stream in 0..3_u64 {
        let shards: Vec<Shard> = (0..n).map(|_| shard(kind, K)).collect();
        let mut counts = BTreeMap::new();
        let exponent = [1.2, 1.0, 0.6][usize::try_from(stream).expect("few")];
        for (i, key) in zipf(2000, exponent, stream).take(20_000).enumerate() {
            let now = i as u64 * GRID.pane * GRID.panes / 20_000;
            let to = match keys {
                Keys::Split => key % n,
                Keys::Shared => random.below(n),
            };
            shards[usize::try_from(to).expect("an index")].add(key, 1, now);
            *counts.entry(key).or_default() += 1;
        }
        let now = GRID.pane * GRID.panes - 1;
        let exports: Vec<Export> = shards.iter().map(|shard| shard.export(now)).collect();
        let list = merged(&exports, K, keys);
        certified += usize::from(check(&list, &counts, K));
        assert_eq!(list.total, 20_000);
        orders(&exports, K, keys, &list);
        // By way of bytes, and cut.
        let sent: Vec<Export> = exports
            .iter()
            .map(|export| Export::from_bytes(&export.to_bytes()).expect("as written"))
            .collect();
        assert_eq!(sent, exports);
        for rows in [0, 3, 20] {
            let mut cut = sent.clone();
            cut.iter_mut().for_each(|export| export.truncate(rows));
            check(&merged(&cut, K, keys), &counts, K);
        }
    }
    certified
}

#[test]
fn split_by_key() {
    for n in [1, 2, 3, 16] {
        assert!(shards(n, Kind::Exact, Keys::Split) == 3);
        shards(n, Kind::Roomy, Keys::Split);
        shards(n, Kind::Tight, Keys::Split);
    }
}

#[test]
fn split_at_random() {
    for n in [1, 2, 3, 16] {
        // (Where keys are as good as equal a shard may lack some of the hottest.)
        assert!(shards(n, Kind::Exact, Keys::Shared) >= if n < 3 { 1 } else { 0 });
        shards(n, Kind::Roomy, Keys::Shared);
        shards(n, Kind::Tight, Keys::Shared);
    }
}

/// Few keys, each on all shards: exact, and certified.
#[test]
fn all_is_told() {
    let shards: Vec<Shard> =
        [Kind::Exact, Kind::Roomy, Kind::Exact].into_iter().map(|kind| shard(kind, 5)).collect();
    let mut counts = BTreeMap::new();
    for key in 0..40 {
        for (i, shard) in shards.iter().enumerate() {
            let n = (key * 7 + i as u64 * 3) % 11 + 1;
            shard.add(key, n, 50);
            *counts.entry(key).or_default() += n;
        }
    }
    let exports: Vec<Export> = shards.iter().map(|shard| shard.export(99)).collect();
    assert!(check(&merged(&exports, 5, Keys::Shared), &counts, 5));
    assert!(exports.iter().all(|export| export.capacity == 50 && export.k == 5 && export.tail == 0));
}

#[test]
fn what_cannot_be_merged() {
    let export = |seed, pane, now| {
        let top =
            TopK::builder(Window::last_n(4 * pane), Window::last_n(pane), 2).capacity(10).seed(Seed(seed));
        top.build().expect("valid").export_at(Tick(now))
    };
    let mut all = Aggregator::new(2, Keys::Split);
    assert_eq!((all.list().certified, all.list().tail), (false, u64::MAX));
    all.merge(&export(1, 10, 55)).expect("the first");
    let mut refused = |other: Export| {
        let error = all.merge(&other).expect_err("it differs");
        assert_eq!(all.exports(), 1);
        error.to_string()
    };
    assert_eq!(refused(export(1, 20, 55)), "pane: 20 events cannot be merged with 10 events");
    assert_eq!(refused(export(1, 10, 60)), "interval: panes 3..7 cannot be merged with panes 2..6");
    assert!(refused(export(2, 10, 55)).starts_with("seed: "));
    let shared = Aggregator::new(2, Keys::Shared);
    assert_eq!(all.merge_all(&shared).expect_err("it differs").field, "keys");
    assert!(export(1, 10, 55).is_of(Seed(1)) && !export(1, 10, 55).is_of(Seed(2)));
    assert_eq!((export(1, 10, 55).panes(), export(1, 10, 55).pane()), (2..6, Window::last_n(10)));
}

/// One of all kinds of keys.
fn sample() -> Export {
    let top = TopK::builder(Window::last_n(40), Window::last_n(10), 8).capacity(100).seed(Seed(3));
    let top = top.build().expect("valid");
    top.add_at(7_u64, 5, Tick(41));
    top.add_at("text", 4, Tick(42));
    top.add_at("", 9, Tick(42));
    top.add_at(KeyHash { hi: 5, lo: 9 }, 3, Tick(43));
    top.add_at(Namespaced("a", Namespaced("b", "text")), 2, Tick(44));
    top.add_at(Namespaced("b", 7_u64), 1, Tick(45));
    top.export_at(Tick(46))
}

#[test]
fn bytes_and_back() {
    let export = sample();
    let bytes = export.to_bytes();
    assert_eq!(Export::from_bytes(&bytes), Ok(export.clone()));
    assert_eq!(Export::from_bytes(&bytes).expect("as written").to_bytes(), bytes);
    // The layout is part of the promise.
    assert_eq!(&bytes[..8], b"WLTK\x01\0\x01\0");
    assert_eq!(u64::from_le_bytes(bytes[8..16].try_into().expect("8 bytes")), bytes.len() as u64);
    assert_eq!((export.rows.len(), export.total), (6, 24));
}

/// With a checksum that is right.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() >= 24 {
        let (length, end) = (bytes.len() as u64, bytes.len() - 8);
        bytes[8..16].copy_from_slice(&length.to_le_bytes());
        let sum = xxhash_rust::xxh3::xxh3_64(&bytes[..end]);
        bytes[end..].copy_from_slice(&sum.to_le_bytes());
    }
    bytes
}

#[test]
fn what_is_wrong_is_told() {
    let bytes = sample().to_bytes();
    let told = |bytes: &[u8]| Export::from_bytes(bytes).expect_err("wrong").to_string();
    assert_eq!(told(b""), "export, byte 0: magic: 4 bytes, and there are 0");
    assert_eq!(told(b"GIF89a.."), "export, byte 0: magic: not an export");
    assert!(told(&bytes[..50]).starts_with("export, byte 8: length: "));
    let with = |at: usize, new: &[u8]| {
        let mut other = bytes.clone();
        other[at..at + new.len()].copy_from_slice(new);
        other
    };
    assert_eq!(told(&with(4, &[9])), "export, byte 4: version: 9, where 1 is known");
    assert!(told(&with(6, &[8])).starts_with("export, byte 6: flags: 0x8"));
    assert!(told(&with(30, &[0xff])).contains("checksum: the bytes are damaged"));
    // Behind a checksum that is right: what cannot be.
    let told = |at, new: &[u8]| told(&sealed(with(at, new)));
    assert!(told(24, &[0; 8]).contains("byte 24: pane"));
    assert!(told(80, &u32::MAX.to_le_bytes()).contains("byte 80: rows: 4294967295, with a capacity of 80"));
    assert!(told(88, &[0xff; 8]).contains("byte 88: bounds"));
    assert!(told(104, &u32::MAX.to_le_bytes()).contains("byte 104: kind"));
    assert!(told(108, &u32::MAX.to_le_bytes()).contains("byte 108: length of key"));
    let mut twice = sample();
    twice.rows[1] = twice.rows[0].clone();
    assert!(Export::from_bytes(&twice.to_bytes()).expect_err("wrong").to_string().contains("a second time"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 3000, ..ProptestConfig::default() })]

    /// Whatever the bytes are: an error, or what would be written so.
    #[test]
    fn bytes_from_anywhere(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in prop_oneof![Just(0_usize), 0..300_usize],
        more in prop::collection::vec(any::<u8>(), 0..20),
        is_sealed: bool,
    ) {
        let mut bytes = sample().to_bytes();
        let same = bytes.clone();
        bytes.truncate(bytes.len() - cut.min(bytes.len()));
        bytes.extend_from_slice(&more);
        for (at, byte) in changes {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        if is_sealed {
            bytes = sealed(bytes);
        }
        match Export::from_bytes(&bytes) {
            Ok(export) => prop_assert_eq!(export.to_bytes(), bytes),
            Err(error) => prop_assert!(error.at <= bytes.len() && bytes != same),
        }
    }
}
