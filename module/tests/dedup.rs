//! `WL.DEDUP`, `WL.PEEK`, claims.

use crate::common::{loaded, number, numbers, text, until_followed};
use proptest::prelude::*;
use redis::Value;
use std::{collections::HashMap, time::Duration};
use windlass::{Claim, Dedup, Tick, Verdict};

#[test]
fn once_in_a_window() {
    let Some(mut server) = loaded(&[]) else { return };
    assert_eq!(server.numbers("WL.DEDUP k 600000 a b a"), [1, 1, 0]);
    assert_eq!(server.numbers("WL.DEDUP k 600000 b c"), [0, 1]);
    assert_eq!(server.numbers("WL.PEEK k a c d"), [1, 1, 0]);
    assert_eq!(server.numbers("WL.PEEK nothing a"), [0]);
    assert_eq!(text(&server.told("TYPE k")), "wlm-dedup");
    let bytes: Vec<u8> = (0..=255).collect();
    assert_eq!(server.ask(&[b"WL.DEDUP", b"k", b"600000", &bytes, b""]).map(|v| numbers(&v)), Ok(vec![1, 1]));
    assert_eq!(server.ask(&[b"WL.DEDUP", b"k", b"600000", &bytes, b""]).map(|v| numbers(&v)), Ok(vec![0, 0]));
}

/// By the server's clock. (All that is said of time: that it passes.)
#[test]
fn a_window_ends() {
    let Some(mut server) = loaded(&[]) else { return };
    assert_eq!(server.numbers("WL.DEDUP k 50 a"), [1]);
    crate::servers::until("it is over", || server.numbers("WL.DEDUP k 50 a") == [1]);
}

#[test]
fn by_logical_time() {
    let Some(mut server) = loaded(&[]) else { return };
    assert_eq!(server.numbers("WL.AT 1000000 DEDUP k 1000 a"), [1]);
    assert_eq!(server.numbers("WL.AT 1999999 DEDUP k 1000 a b"), [0, 1]);
    assert_eq!(server.numbers("WL.AT 1999999 PEEK k a b"), [1, 1]);
    assert_eq!(server.numbers("WL.AT 2000000 PEEK k a b"), [0, 1]);
    // Time does not go back.
    assert_eq!(server.numbers("WL.AT 5 DEDUP k 1000 c a"), [1, 0]);
    assert_eq!(server.numbers("WL.AT 2000000 DEDUP k 1000 a"), [1]);
}

#[test]
fn what_is_refused() {
    let Some(mut server) = loaded(&[]) else { return };
    server.told("SET s text");
    server.told("WL.DEDUP k 1000 a");
    server.told("WL.LIMIT l GCRA 1 100000");
    for (words, why) in [
        ("WL.DEDUP", "wrong number of arguments"),
        ("WL.DEDUP k 1000", "wrong number of arguments"),
        ("WL.PEEK k", "wrong number of arguments"),
        ("WL.DEDUP k 0 a", "window-ms is not a whole number of 1 to 31622400000"),
        ("WL.DEDUP k 31622400001 a", "window-ms is not"),
        ("WL.DEDUP k -1 a", "window-ms is not"),
        ("WL.DEDUP k +1 a", "window-ms is not"),
        ("WL.DEDUP k 1e3 a", "window-ms is not"),
        ("WL.DEDUP k 2000 a", "the key has window-ms 1000, not 2000"),
        ("WL.DEDUP s 1000 a", "WRONGTYPE"),
        ("WL.DEDUP l 1000 a", "WRONGTYPE"),
        ("WL.PEEK l a", "WRONGTYPE"),
        ("WL.AT x DEDUP k 1000 a", "the time is not"),
        ("WL.AT 9007199254740993 DEDUP k 1000 a", "the time is not"),
        ("WL.AT 5 AT 5 DEDUP k 1000 a", "WL.AT takes the name of another command"),
        ("WL.AT 5 LOAD k wlm-dedup x", "WL.AT takes"),
        ("WL.AT 5 DEDUP k", "wrong number of arguments"),
        ("WL.AT 5 DEDUP k 1000", "wrong number of arguments"),
        ("WL.CLAIM k 1000 1001 a", "lease-ms is not"),
        ("WL.CLAIM k 1000 0 a", "lease-ms is not"),
        ("WL.COMMIT k 12", "no ticket"),
        ("WL.INFO s", "WRONGTYPE"),
    ] {
        let refused = server.refused(words);
        assert!(refused.contains(why), "{words}: {refused}");
    }
    assert_eq!(server.numbers("WL.PEEK k a"), [1]);
}

#[test]
fn claims() {
    let Some(mut server) = loaded(&[]) else { return };
    let claim = |value: Value| {
        let Value::Array(pair) = value else { panic!("{value:?}") };
        (number(&pair[0]), pair[1].clone())
    };
    let (code, ticket) = claim(server.told("WL.AT 1000000 CLAIM k 60000 10000 a"));
    let ticket = text(&ticket);
    assert_eq!((code, ticket.len()), (1, 64));
    // The claim counts as made at a multiple of 1024 ns.
    let (code, until) = claim(server.told("WL.AT 2000000 CLAIM k 60000 10000 a"));
    assert!(code == 2 && (11_000_000..11_700_000).contains(&number(&until)), "{code} {until:?}");
    assert_eq!(server.numbers("WL.AT 2000000 DEDUP k 60000 a"), [0]);
    assert_eq!(server.told(&format!("WL.COMMIT k {ticket}")), Value::Int(1));
    assert_eq!(server.told(&format!("WL.COMMIT nothing {ticket}")), Value::Int(0));
    let (code, first) = claim(server.told("WL.AT 60900000 CLAIM k 60000 10000 a"));
    assert!(code == 0 && (1_000_000..=1_000_002).contains(&number(&first)), "{code} {first:?}");
    // What is given up can be had again.
    let (_, ticket) = claim(server.told("WL.AT 61000000 CLAIM k 60000 10000 b"));
    assert_eq!(server.told(&format!("WL.ABORT k {}", text(&ticket))), Value::Int(1));
    assert_eq!(server.told(&format!("WL.ABORT k {}", text(&ticket))), Value::Int(0));
    assert_eq!(server.numbers("WL.AT 61000001 DEDUP k 60000 b"), [1]);
}

#[test]
fn figures_with_either_protocol() {
    let Some(mut server) = loaded(&[]) else { return };
    server.told("WL.DEDUP k 600000 a b");
    let Value::Array(pairs) = server.told("WL.INFO k") else { panic!("pairs") };
    assert_eq!((text(&pairs[0]), text(&pairs[1])), ("type".into(), "dedup".into()));
    server.told("HELLO 3");
    let Value::Map(fields) = server.told("WL.INFO k") else { panic!("a map") };
    let field = |name: &str| fields.iter().find(|(key, _)| text(key) == name).map(|(_, value)| value.clone());
    assert_eq!(field("window-ms"), Some(Value::Int(600_000)));
    assert_eq!(field("live"), Some(Value::Int(2)));
    assert_eq!(server.numbers("WL.DEDUP k 600000 a z"), [0, 1]);
}

/// In MULTI and in scripts as by itself, and whoever watches a key hears of it.
#[test]
fn in_transactions_and_scripts() {
    let Some(mut server) = loaded(&[]) else { return };
    server.told("MULTI");
    server.told("WL.DEDUP k 600000 a");
    server.told("WL.DEDUP k 600000 a");
    let Value::Array(answers) = server.told("EXEC") else { panic!("answers") };
    assert_eq!(answers.iter().map(numbers).collect::<Vec<_>>(), [[1], [0]]);
    let script: [&[u8]; 5] =
        [b"EVAL", b"return redis.call('WL.DEDUP', KEYS[1], 600000, ARGV[1])", b"1", b"k", b"b"];
    assert_eq!(server.ask(&script).map(|value| numbers(&value)), Ok(vec![1]));
    assert_eq!(server.ask(&script).map(|value| numbers(&value)), Ok(vec![0]));

    for (words, goes_on) in [("WL.DEDUP k 600000 a", true), ("WL.DEDUP k 600000 new", false)] {
        server.told("WATCH k");
        server.cli(&words.split(' ').collect::<Vec<_>>());
        server.told("MULTI");
        server.told("PING");
        assert_eq!(server.told("EXEC") != Value::Nil, goes_on, "{words}");
    }
}

#[test]
fn many_ids() {
    let Some(mut server) = loaded(&[]) else { return };
    let ids: Vec<String> = (0..50_000).map(|i| format!("id-{i}")).collect();
    for round in [1, 0] {
        for batch in ids.chunks(1000) {
            let mut words: Vec<&[u8]> = vec![b"WL.DEDUP", b"k", b"600000"];
            words.extend(batch.iter().map(|id| id.as_bytes()));
            let answers = numbers(&server.ask(&words).expect("answers"));
            assert!(answers.iter().all(|&answer| answer == round));
        }
    }
    let memory = number(&server.told("MEMORY USAGE k"));
    assert!((16 * 50_000..100 * 50_000).contains(&memory), "{memory} bytes");
}

/// The same calls, the same answers as the core; and a replica that came late, and one that came in the midst, have the same.
#[test]
fn as_the_core_decides() {
    let Some(mut server) = loaded(&[]) else { return };
    let mut replica = server.follower(&[]);
    let steps = prop::collection::vec(
        (0..40_u8, prop_oneof![4 => 0..20_000_u64, 1 => 0..2_000_000_u64], 0..8_u8),
        1..120,
    );
    let config = ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() };
    let cases = std::cell::Cell::new(0);
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let servers = std::cell::RefCell::new((&mut server, &mut replica));
    let ran = runner.run(&steps, |steps| {
        let (server, replica) = &mut *servers.borrow_mut();
        cases.set(cases.get() + 1);
        let (key, mut at) = (format!("case-{}", cases.get()), 1_795_348_800_123_457_u64);
        let core = Dedup::builder(Duration::from_secs(1)).capacity(1000).build().expect("valid");
        let mut tickets = Vec::new();
        for (id, step, what) in steps {
            at += step;
            let (id, tick) = (format!("id-{id}"), Tick(at * 1000));
            match what {
                0 => {
                    let told = server.told(&format!("WL.AT {at} CLAIM {key} 1000 200 {id}"));
                    let Value::Array(told) = told else { panic!("a pair") };
                    match core.claim_at(&id, tick, Duration::from_millis(200)).expect("an answer") {
                        Claim::Claimed(ticket) => {
                            prop_assert_eq!(&told[0], &Value::Int(1));
                            tickets.push((ticket, text(&told[1])));
                        }
                        Claim::Duplicate { first_seen: Some(at) } => {
                            prop_assert_eq!(
                                numbers(&Value::Array(told)),
                                vec![0, i64::try_from(at.0 / 1000).expect("in range")]
                            );
                        }
                        Claim::InProgress { until } => {
                            prop_assert_eq!(
                                numbers(&Value::Array(told)),
                                vec![2, i64::try_from(until.0.div_ceil(1000)).expect("in range")]
                            );
                        }
                        other => panic!("{other:?}"),
                    }
                }
                1 => {
                    if let Some((own, theirs)) = tickets.pop() {
                        let told = server.told(&format!("WL.COMMIT {key} {theirs}"));
                        prop_assert_eq!(told, Value::Int(core.commit(own).into()));
                    }
                }
                2 => {
                    if let Some((own, theirs)) = tickets.pop() {
                        let told = server.told(&format!("WL.ABORT {key} {theirs}"));
                        prop_assert_eq!(told, Value::Int(core.abort(own).into()));
                    }
                }
                3 => {
                    let there = core.contains_at(&id, tick);
                    prop_assert_eq!(
                        server.numbers(&format!("WL.AT {at} PEEK {key} {id}")),
                        vec![i64::from(there)]
                    );
                }
                _ => {
                    let fresh = core.observe_at(&id, tick) == Ok(Verdict::Fresh);
                    prop_assert_eq!(
                        server.numbers(&format!("WL.AT {at} DEDUP {key} 1000 {id}")),
                        vec![i64::from(fresh)]
                    );
                }
            }
        }
        until_followed(server, replica);
        prop_assert_eq!(server.digest(&key), replica.digest(&key));
        Ok(())
    });
    ran.unwrap_or_else(|error| panic!("{error}"));
    let mut late = server.follower(&[]);
    for case in 1..=cases.get() {
        let key = format!("case-{case}");
        assert_eq!(server.digest(&key), late.digest(&key), "{key}");
    }
}

#[test]
fn who_asks_again() {
    let Some(mut server) = loaded(&[]) else { return };
    assert_eq!(server.numbers("WL.ADMIT k 600000 t1 a b a"), [1, 1, 0]);
    // The answer was lost; it was not.
    assert_eq!(server.numbers("WL.ADMIT k 600000 t1 a b a"), [2, 2, 0]);
    assert_eq!(server.numbers("WL.ADMIT k 600000 t2 b c"), [0, 1]);
    assert_eq!(server.numbers("WL.DEDUP k 600000 d"), [1]);
    assert_eq!(server.numbers("WL.ADMIT k 600000 t1 a b c d e"), [2, 2, 0, 0, 1]);
    assert_eq!(server.numbers("WL.ADMIT k 600000 t2 c e b d"), [2, 0, 0, 0]);
    assert_eq!(server.numbers("WL.DEDUP k 600000 a"), [0]);
    assert_eq!(server.numbers("WL.PEEK k a e f"), [1, 1, 0]);
    // What was claimed has no token.
    let Value::Array(claim) = server.told("WL.CLAIM k 600000 1000 g") else { panic!("a pair") };
    assert_eq!(server.told(&format!("WL.COMMIT k {}", text(&claim[1]))), Value::Int(1));
    assert_eq!(server.numbers("WL.ADMIT k 600000 t1 g"), [0]);
    for (words, why) in [
        ("WL.ADMIT k 600000 t", "wrong number of arguments"),
        ("WL.ADMIT k 0 t a", "window-ms is not"),
        ("WL.ADMIT k 1000 t a", "the key has window-ms 600000, not 1000"),
    ] {
        let refused = server.refused(words);
        assert!(refused.contains(why), "{words}: {refused}");
    }
    let memory = number(&server.told("MEMORY USAGE k"));
    for token in 0..10_000 {
        server.told(&format!("WL.ADMIT k 600000 token-{token} id-{token}"));
    }
    let more = number(&server.told("MEMORY USAGE k")) - memory;
    assert!((10_000 * 32..10_000 * 80).contains(&more), "{more} bytes");
}

/// An answer 2 is sent to replicas, which it changes nothing for: whoever waits for them then knows that they have the id.
#[test]
fn what_was_admitted_before_can_be_waited_for() {
    let Some(mut server) = loaded(&[]) else { return };
    let mut replica = server.follower(&[]);
    assert_eq!(server.numbers("WL.ADMIT k 600000 t a"), [1]);
    until_followed(&server, &replica);
    let (said, digest) = (server.figure("replication", "master_repl_offset"), server.digest("k"));
    assert_eq!(server.numbers("WL.ADMIT k 600000 other a"), [0]);
    assert_eq!(server.figure("replication", "master_repl_offset"), said, "a duplicate is not sent");
    assert_eq!(server.numbers("WL.ADMIT k 600000 t a"), [2]);
    assert!(server.figure("replication", "master_repl_offset") > said);
    assert_eq!(server.told("WAIT 1 10000"), Value::Int(1));
    assert_eq!(server.digest("k"), digest);
    assert_eq!(replica.digest("k"), digest);
}

/// Against a plain twin that keeps a token for each id: commands with tokens, asked once or again, among others, at times that may be the same.
#[test]
fn tokens_as_with_one_for_each_id() {
    const WINDOW: u64 = 1_000_000;
    let Some(mut server) = loaded(&[]) else { return };
    let mut replica = server.follower(&[]);
    let ids = prop::collection::vec(0..12_u8, 1..5);
    let step = prop_oneof![6 => Just(0_u64), 3 => 0..3_u64, 2 => 0..200_000_u64, 1 => 0..2_000_000_u64];
    let steps = prop::collection::vec((ids, step, 0..6_u8, 0..4_u8), 1..100);
    let config = ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() };
    let rng = proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha);
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(config, rng);
    let servers = std::cell::RefCell::new((&mut server, &mut replica));
    let (cases, own) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let ran = runner.run(&steps, |steps| {
        let (server, replica) = &mut *servers.borrow_mut();
        cases.set(cases.get() + 1);
        let (key, mut at) = (format!("case-{}", cases.get()), 1_795_348_800_123_457_u64);
        let core = Dedup::builder(Duration::from_micros(WINDOW)).capacity(1000).build().expect("valid");
        let mut tokens: HashMap<u8, Option<u8>> = HashMap::new();
        // Of the newest change, and of the newest one with a token.
        let (mut newest, mut last) = (0, 0);
        for (ids, step, what, token) in steps {
            at += step;
            let words: Vec<String> = ids.iter().map(|id| format!("id-{id}")).collect();
            let there = |now: u64| words.iter().all(|id| core.contains_at(id, Tick(now * 1000)));
            if what == 0 {
                let now = at.max(newest).max(last + 1);
                server.told(&format!("WL.AT {at} CLAIM {key} 1000 10 {}", words[0]));
                let claim = core.claim_at(&words[0], Tick(now * 1000), Duration::from_millis(10));
                if let Ok(Claim::Claimed(_)) = claim {
                    tokens.insert(ids[0], None);
                }
                newest = now;
                continue;
            }
            let token = (what > 1).then_some(token);
            let now = match token {
                Some(_) if newest > 0 => at.max(newest + 2),
                _ => at.max(newest).max(last + 1),
            };
            let command = match token {
                Some(token) => format!("WL.AT {at} ADMIT {key} 1000 t{token} {}", words.join(" ")),
                None => format!("WL.AT {at} DEDUP {key} 1000 {}", words.join(" ")),
            };
            let (mut expected, before, quiet) = (Vec::new(), tokens.clone(), there(now));
            for (place, (id, word)) in ids.iter().zip(&words).enumerate() {
                if !quiet && core.observe_at(word, Tick(now * 1000)) == Ok(Verdict::Fresh) {
                    tokens.insert(*id, token);
                    expected.push(1);
                    (newest, last) = (now, if token.is_some() { now } else { last });
                } else {
                    let again =
                        token.is_some() && before.get(id) == Some(&token) && !ids[..place].contains(id);
                    own.set(own.get() + i32::from(again));
                    expected.push(if again { 2 } else { 0 });
                }
            }
            prop_assert_eq!(server.numbers(&command), expected, "{}", command);
        }
        until_followed(server, replica);
        prop_assert_eq!(server.digest(&key), replica.digest(&key));
        Ok(())
    });
    ran.unwrap_or_else(|error| panic!("{error}"));
    assert!(own.get() > 300, "{} asked again", own.get());
    let keys: Vec<String> = (1..=cases.get()).map(|case| format!("case-{case}")).collect();
    let digests: Vec<String> = keys.iter().map(|key| server.digest(key)).collect();
    let mut late = server.follower(&[]);
    server.told("DEBUG RELOAD");
    for (key, digest) in keys.iter().zip(digests) {
        assert_eq!(server.digest(key), digest, "{key}: reloaded");
        assert_eq!(late.digest(key), digest, "{key}: a late replica");
    }
}
