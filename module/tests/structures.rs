//! `WL.BLOOM.*`, `WL.COUNT.*`, `WL.TOPK.*`, `WL.FIFO.*`: the same answers as the core's, by logical time, and the same on a replica.

use crate::common::{Loaded, loaded, number, numbers, text, until_followed};
use redis::Value;
use std::time::Duration;
use windlass::{Aggregator, Export, FifoIndex, Keys, Pushed, Tick, TopK, WindowedCounter};

const BEGIN: u64 = 1_795_348_800_123_457;

/// Numbers that look random, always the same.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).expect("in range")
}

fn tick(micros: u64) -> Tick {
    Tick(micros * 1000)
}

/// A primary and a replica, and that they have the same in the end, and after a reload.
fn with_replica(keys: &[&str], test: impl FnOnce(&mut Loaded)) {
    let Some(mut server) = loaded(&[]) else { return };
    let mut replica = server.follower(&[]);
    test(&mut server);
    until_followed(&server, &replica);
    let mut late = server.follower(&[]);
    server.told("DEBUG RELOAD");
    for key in keys {
        let digest = server.digest(key);
        assert_eq!(digest.len(), 40);
        assert_ne!(digest, "0".repeat(40), "{key}");
        assert_eq!(replica.digest(key), digest, "{key}: the replica");
        assert_eq!(late.digest(key), digest, "{key}: a late replica");
    }
}

#[test]
fn filters() {
    with_replica(&["added", "observed", "large"], |server| {
        assert_eq!(server.numbers("WL.BLOOM.CHECK nothing a"), [0]);
        let mut random = Random(1);
        let mut last: std::collections::HashMap<u64, (u64, u64)> = Default::default();
        let (mut at, mut errors, mut asked) = (BEGIN, 0, 0);
        // A window of a second, in 4 panes: nothing younger is missed, and nothing older than 4/3 of it is there but by error.
        for _ in 0..3000 {
            at += random.below(4000);
            let id = random.below(400);
            let (added, observed) = last.get(&id).copied().unwrap_or((0, 0));
            let new = server.numbers(&format!("WL.AT {at} BLOOM.ADD added 1000 4 0.001 1000 {id}"))[0];
            let fresh =
                server.numbers(&format!("WL.AT {at} BLOOM.OBSERVE observed 1000 4 0.001 1000 {id}"))[0];
            for (answer, since) in [(new, at - added), (fresh, at - observed)] {
                asked += 1;
                if since < 1_000_000 {
                    assert_eq!(answer, 0, "seen {since} us ago");
                } else if since > 1_334_000 && answer == 0 {
                    errors += 1;
                }
            }
            last.insert(id, (at, if fresh == 1 { at } else { observed }));
            assert_eq!(server.numbers(&format!("WL.AT {at} BLOOM.CHECK added {id}")), [1]);
        }
        assert!(errors <= asked / 100, "{errors} of {asked}");
        // What a new one is told of is small, however large it is.
        let said = |server: &Loaded| server.figure("replication", "master_repl_offset").expect("an offset");
        let before = said(server);
        server.told("WL.BLOOM.ADD large 1000 4 0.001 1000000 a");
        assert!(number(&server.told("MEMORY USAGE large")) > 1_000_000);
        let sent = said(server) - before;
        assert!(sent < 1000, "{sent} bytes");
        let memory = number(&server.told("MEMORY USAGE added"));
        assert!((1000..100_000).contains(&memory), "{memory} bytes");
        for (words, why) in [
            ("WL.BLOOM.ADD added 1000 4 0.001 1000", "wrong number of arguments"),
            ("WL.BLOOM.ADD added 1000 4 0.002 1000 a", "the key has error 0.001, not 0.002"),
            ("WL.BLOOM.ADD added 1000 5 0.001 1000 a", "the key has panes 4, not 5"),
            ("WL.BLOOM.ADD added 1000 4 0.001 999 a", "the key has ids 1000, not 999"),
            ("WL.BLOOM.ADD n 1000 1 0.001 1000 a", "panes is not"),
            ("WL.BLOOM.ADD n 1000 4 1 1000 a", "error is not a share above 0 and below 1"),
            ("WL.BLOOM.ADD n 1000 4 nan 1000 a", "error is not"),
            ("WL.BLOOM.ADD n 1000 4 0.001 1099511627776 a", "memory"),
        ] {
            let refused = server.refused(words);
            assert!(refused.contains(why), "{words}: {refused}");
        }
        assert_eq!(server.told("EXISTS n"), Value::Int(0));
    });
}

#[test]
fn counts() {
    with_replica(&["k"], |server| {
        assert_eq!(server.numbers("WL.COUNT.GET nothing a"), [0]);
        assert_eq!(server.told("WL.COUNT.TOTAL nothing"), Value::Int(0));
        let (window, pane) = (Duration::from_secs(1), Duration::from_millis(100));
        let core = WindowedCounter::builder(window, pane).capacity(1000).build().expect("valid");
        let (mut random, mut at) = (Random(2), BEGIN);
        for _ in 0..2000 {
            at += random.below(5000);
            let (id, other, n) = (random.below(300), random.below(300), 1 + random.below(9));
            core.add_at(id.to_string().as_str(), n, tick(at));
            let first = core.count_at(id.to_string().as_str(), tick(at));
            core.add_at(other.to_string().as_str(), 1, tick(at));
            let second = core.count_at(other.to_string().as_str(), tick(at));
            let told = server.numbers(&format!("WL.AT {at} COUNT.ADD k 1000 100 {id} {n} {other} 1"));
            assert_eq!(told, [whole(first), whole(second)]);
            let later = at + random.below(1_200_000);
            let count = core.count_at(id.to_string().as_str(), tick(later));
            assert_eq!(server.numbers(&format!("WL.AT {later} COUNT.GET k {id}")), [whole(count)]);
            assert_eq!(
                server.told(&format!("WL.AT {at} COUNT.TOTAL k")),
                Value::Int(whole(core.total_at(tick(at))))
            );
        }
        for (words, why) in [
            ("WL.COUNT.ADD k 1000 100 a", "wrong number of arguments"),
            ("WL.COUNT.ADD k 1000 100 a 1 b", "wrong number of arguments"),
            ("WL.COUNT.ADD k 1000 100 a 0", "n is not"),
            ("WL.COUNT.ADD k 1000 50 a 1", "the key has pane-ms 100, not 50"),
            ("WL.COUNT.ADD n 1000 300 a 1", "pane"),
        ] {
            let refused = server.refused(words);
            assert!(refused.contains(why), "{words}: {refused}");
        }
        assert_eq!(server.told("EXISTS n"), Value::Int(0));
    });
}

#[test]
fn hot_keys() {
    with_replica(&["k"], |server| {
        assert_eq!(server.told("WL.TOPK.LIST nothing"), Value::Nil);
        let (window, pane) = (Duration::from_secs(1), Duration::from_millis(100));
        let core = TopK::builder(window, pane, 5).capacity(1000).build().expect("valid");
        let (mut random, mut at) = (Random(3), BEGIN);
        for round in 0..1500 {
            at += random.below(5000);
            // Some are hotter than others.
            let span = 1 + random.below(300);
            let id = random.below(span).to_string();
            core.add_at(id.as_str(), 1, tick(at));
            let count = core.count_at(id.as_str(), tick(at));
            assert_eq!(server.numbers(&format!("WL.AT {at} TOPK.ADD k 1000 100 5 {id} 1")), [whole(count)]);
            if round % 50 > 0 {
                continue;
            }
            let (list, told) = (core.top_at(tick(at)), server.told(&format!("WL.AT {at} TOPK.LIST k")));
            let Value::Array(told) = told else { panic!("pairs") };
            assert_eq!((text(&told[0]), number(&told[1])), ("certified".into(), 1));
            assert_eq!(number(&told[3]), whole(list.total));
            let Value::Array(rows) = &told[11] else { panic!("rows") };
            let rows: Vec<(String, i64)> = rows
                .iter()
                .map(|row| match row {
                    Value::Array(row) => (text(&row[0]), number(&row[1])),
                    other => panic!("{other:?}"),
                })
                .collect();
            let expected = list.rows.iter().map(|row| (row.key.to_string(), whole(row.count)));
            assert_eq!(rows, expected.collect::<Vec<_>>());
        }
        // What is exported can be merged.
        let Value::BulkString(export) = server.told(&format!("WL.AT {at} TOPK.EXPORT k")) else {
            panic!("bytes")
        };
        let mut merged = Aggregator::new(5, Keys::Split);
        merged.merge(&Export::from_bytes(&export).expect("an export")).expect("the first");
        let hottest: Vec<u64> = core.top_at(tick(at)).rows.iter().map(|row| row.count).collect();
        assert_eq!(merged.list().rows.iter().map(|row| row.lower).collect::<Vec<_>>(), hottest);
        for (words, why) in [
            ("WL.TOPK.ADD k 1000 100 5 a", "wrong number of arguments"),
            ("WL.TOPK.ADD k 1000 100 6 a 1", "the key has k 5, not 6"),
            ("WL.TOPK.ADD n 1000 100 0 a 1", "k is not"),
        ] {
            let refused = server.refused(words);
            assert!(refused.contains(why), "{words}: {refused}");
        }
    });
}

/// A key on each of several servers, and one list over all: as one that has counted everything.
#[test]
fn hot_keys_of_several() {
    let Some(first) = loaded(&[]) else { return };
    let mut servers = vec![first];
    servers.extend(loaded(&[]));
    servers.extend(loaded(&[]));
    let (window, pane) = (Duration::from_secs(1), Duration::from_millis(100));
    let core = TopK::builder(window, pane, 5).capacity(1000).build().expect("valid");
    for key in ["split", "shared"] {
        for server in &mut servers {
            assert_eq!(server.told(&format!("WL.TOPK.MAKE {key} 1000 100 5 4711")), Value::Int(1));
            assert_eq!(server.told(&format!("WL.TOPK.MAKE {key} 1000 100 5 4711")), Value::Int(0));
        }
    }
    let (mut random, mut at) = (Random(5), BEGIN);
    for _ in 0..1500 {
        at += random.below(1000);
        let span = 1 + random.below(300);
        let id = random.below(span);
        core.add_at(id.to_string().as_str(), 1, tick(at));
        for (key, to) in [("split", id % 3), ("shared", random.below(3))] {
            let server = &mut servers[usize::try_from(to).expect("small")];
            server.numbers(&format!("WL.AT {at} TOPK.ADD {key} 1000 100 5 {id} 1"));
        }
    }
    let exports = |servers: &mut [Loaded], key: &str, at: u64| -> Vec<Vec<u8>> {
        let export = |server: &mut Loaded| match server.told(&format!("WL.AT {at} TOPK.EXPORT {key}")) {
            Value::BulkString(export) => export,
            other => panic!("{other:?}"),
        };
        servers.iter_mut().map(export).collect()
    };
    let merge = |server: &mut Loaded, keys: &str, exports: &[Vec<u8>]| {
        let mut words: Vec<&[u8]> = vec![b"WL.TOPK.MERGE", b"5", keys.as_bytes()];
        words.extend(exports.iter().map(Vec::as_slice));
        server.ask(&words)
    };
    let list = core.top_at(tick(at));
    for key in ["split", "shared"] {
        let exports = exports(&mut servers, key, at);
        let told = merge(&mut servers[0], key, &exports).expect("a list");
        let Value::Array(told) = told else { panic!("pairs") };
        assert_eq!(number(&told[3]), whole(list.total), "{key}");
        let Value::Array(rows) = &told[11] else { panic!("rows") };
        assert_eq!(rows.len(), 5);
        for (row, expected) in rows.iter().zip(&list.rows) {
            let Value::Array(row) = row else { panic!("a row") };
            let (least, most) = (number(&row[2]), number(&row[3]));
            if key == "split" {
                assert_eq!((text(&row[0]), least), (expected.key.to_string(), whole(expected.count)));
                assert_eq!(number(&told[1]), 1, "certified");
            } else {
                let count = core.count_at(text(&row[0]).as_str(), tick(at));
                assert!((least..=most).contains(&whole(count)), "{row:?}: {count}");
            }
        }
    }
    // Of other panes, of another seed, twice what was made once, and what is none.
    let (some, later) = (exports(&mut servers, "split", at), exports(&mut servers, "split", at + 100_000));
    servers[0].told("WL.TOPK.ADD random 1000 100 5 a 1");
    let random = exports(&mut servers[..1], "random", at);
    for (exports, why) in [
        (vec![some[0].clone(), later[1].clone()], "export 2"),
        (vec![random[0].clone(), some[0].clone()], "export 2"),
        (vec![b"no export".to_vec()], "export 1"),
        (vec![some[0][..some[0].len() - 1].to_vec()], "export 1"),
    ] {
        let refused = merge(&mut servers[0], "SPLIT", &exports).expect_err("refused");
        assert!(refused.to_string().contains(why), "{refused}");
    }
    for (words, why) in [
        ("WL.TOPK.MAKE split 1000 100 5 4712", "another seed"),
        ("WL.TOPK.MAKE split 1000 100 6 4711", "the key has k 5, not 6"),
        ("WL.TOPK.MAKE n 1000 100 5 -1", "seed is not"),
        ("WL.TOPK.MERGE 5 BOTH x", "syntax error"),
        ("WL.TOPK.MERGE 0 SPLIT x", "k is not"),
    ] {
        let refused = servers[0].refused(words);
        assert!(refused.contains(why), "{words}: {refused}");
    }
}

#[test]
fn queues() {
    with_replica(&["k"], |server| {
        assert_eq!(server.told("WL.FIFO.POP nothing"), Value::Array(Vec::new()));
        assert_eq!(server.told("WL.FIFO.REMOVE nothing a"), Value::Array(vec![Value::Nil]));
        assert_eq!(server.told("WL.FIFO.RANK nothing a"), Value::Array(vec![Value::Nil]));
        assert_eq!(server.told("WL.FIFO.LEN nothing"), Value::Int(0));
        let core = FifoIndex::builder().capacity(10_000).build::<Vec<u8>>().expect("valid");
        let (mut random, mut at) = (Random(4), BEGIN);
        let or_nil = |number: Option<u64>| number.map_or(Value::Nil, |number| Value::Int(whole(number)));
        for _ in 0..3000 {
            at += random.below(1000);
            let id = format!(
                "id-{}-{}",
                random.below(500),
                "x".repeat(usize::try_from(random.below(2) * 30).expect("small"))
            );
            let entry_of = |told: &Value, entry: &windlass::Entry<Vec<u8>>| {
                let Value::Array(told) = told else { panic!("an entry") };
                assert_eq!(number(&told[0]), whole(entry.seq));
                assert_eq!(text(&told[1]), entry.key.as_str().expect("text"));
                assert_eq!(told[2], Value::BulkString(entry.value.clone()));
                assert_eq!(number(&told[3]), whole(entry.pushed_at.0 / 1000));
            };
            match random.below(6) {
                5 => {
                    let told = server.told(&format!("WL.AT {at} FIFO.REMOVE k {id} {id}"));
                    let Value::Array(told) = told else { panic!("a list") };
                    assert_eq!((told.len(), &told[1]), (2, &Value::Nil));
                    match core.remove(id.as_str()) {
                        Some(entry) => entry_of(&told[0], &entry),
                        None => assert_eq!(told[0], Value::Nil),
                    }
                }
                0 => {
                    let n = 1 + random.below(3);
                    let told = server.told(&format!("WL.AT {at} FIFO.POP k {n}"));
                    let Value::Array(told) = told else { panic!("a list") };
                    let expected: Vec<_> = (0..n).map_while(|_| core.pop()).collect();
                    assert_eq!(told.len(), expected.len());
                    told.iter().zip(&expected).for_each(|(told, entry)| entry_of(told, entry));
                }
                1 => {
                    let told = server.told(&format!("WL.AT {at} FIFO.RANK k {id}"));
                    assert_eq!(told, Value::Array(vec![or_nil(core.rank(id.as_str()))]));
                    let told = server.told(&format!("WL.AT {at} FIFO.GET k {id}"));
                    let value = core.get(id.as_str()).map_or(Value::Nil, Value::BulkString);
                    assert_eq!(told, Value::Array(vec![value]));
                }
                _ => {
                    let value = at.to_string();
                    let told = server.told(&format!("WL.AT {at} FIFO.PUSH k {id} {value}"));
                    let Value::Array(told) = told else { panic!("a list") };
                    let pushed = core.push_at(id.as_str(), value.into_bytes(), tick(at)).expect("room");
                    let new = i64::from(matches!(pushed, Pushed::New(_)));
                    assert_eq!(numbers(&told[0]), [new, whole(pushed.seq())]);
                }
            }
            assert_eq!(server.told("WL.FIFO.LEN k"), Value::Int(whole(core.len())));
        }
        for (words, why) in [
            ("WL.FIFO.PUSH k a", "wrong number of arguments"),
            ("WL.FIFO.PUSH k a 1 b", "wrong number of arguments"),
            ("WL.FIFO.POP k 0", "count is not"),
            ("WL.FIFO.POP k 1 2", "wrong number of arguments"),
        ] {
            let refused = server.refused(words);
            assert!(refused.contains(why), "{words}: {refused}");
        }
    });
}

/// What one command is given as keys of another kind.
#[test]
fn kinds_do_not_mix() {
    let Some(mut server) = loaded(&[]) else { return };
    let makes = [
        "WL.DEDUP 0 1000 a",
        "WL.LIMIT 1 GCRA 1 600000",
        "WL.BLOOM.ADD 2 1000 4 0.01 100 a",
        "WL.COUNT.ADD 3 1000 100 a 1",
        "WL.TOPK.ADD 4 1000 100 5 a 1",
        "WL.FIFO.PUSH 5 a 1",
    ];
    let names = ["dedup", "limit", "bloom", "count", "topk", "fifo"];
    for (words, name) in makes.iter().zip(names) {
        server.told(words);
        let Value::Array(info) = server.told(&format!("WL.INFO {}", words.split(' ').nth(1).expect("a key")))
        else {
            panic!("pairs")
        };
        assert_eq!(text(&info[1]), name);
    }
    for (own, words) in makes.iter().enumerate() {
        for other in 0..makes.len() {
            if own != other {
                let words = words.replacen(&format!(" {own} "), &format!(" {other} "), 1);
                assert!(server.refused(&words).contains("WRONGTYPE"), "{words}");
            }
        }
    }
    for words in [
        "WL.BLOOM.CHECK 0 a",
        "WL.COUNT.GET 0 a",
        "WL.COUNT.TOTAL 0",
        "WL.TOPK.LIST 0",
        "WL.TOPK.EXPORT 0",
        "WL.FIFO.POP 0",
        "WL.FIFO.REMOVE 0 a",
        "WL.FIFO.RANK 0 a",
        "WL.FIFO.GET 0 a",
        "WL.FIFO.LEN 0",
    ] {
        assert!(server.refused(words).contains("WRONGTYPE"), "{words}");
    }
}

/// What tables take is the server's: `maxmemory` counts it.
#[test]
fn tables_are_counted() {
    let Some(mut server) = loaded(&[]) else { return };
    let used = |server: &Loaded| server.figure("memory", "used_memory").expect("a figure");
    let before = used(&server);
    server.told("WL.BLOOM.ADD large 600000 4 0.001 4000000 a");
    let own = u64::try_from(number(&server.told("MEMORY USAGE large"))).expect("bytes");
    assert!(own > 4 << 20, "{own} bytes: no large array");
    let counted = used(&server) - before;
    assert!(counted > own / 10 * 9, "{counted} of {own} bytes");
}
