//! The reference answers: real logs, answer for answer.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use crate::common;
use serde_json::Value;
use std::{collections::HashSet, fmt::Write};
use windlass::{FifoIndex, Key, Pushed, Tick};

/// As data/README.md says: a key is put in when it is first seen; every `every` ms the head is popped.
fn replay<K: Key>(times: &[u64], keys: &[K], first: &[bool], every: u64, batches: bool) -> Vec<i64> {
    let index =
        FifoIndex::builder().capacity(first.iter().filter(|&&new| new).count()).build().expect("valid");
    let mut due = times[0] + every;
    let mut answers = Vec::with_capacity(times.len());
    let mut i = 0;
    while i < times.len() {
        while due <= times[i] {
            let before = index.len();
            let popped = index.pop();
            assert_eq!(popped.is_some(), before > 0);
            due += every;
        }
        // Events before the next pop.
        let n = times[i..].iter().take_while(|&&at| at < due).count();
        let rank = |rank: Option<u64>| rank.map_or(-1, |rank| i64::try_from(rank).expect("small"));
        for j in i..i + n {
            if first[j] {
                let pushed = index.push_at(&keys[j], j as u64, Tick(times[j])).expect("room");
                assert!(matches!(pushed, Pushed::New(_)), "{pushed:?}");
            }
            if !batches {
                answers.push(rank(index.rank(&keys[j])));
                let place = index.find(&keys[j]);
                assert_eq!(place.map(|place| place.rank), index.rank(&keys[j]));
                assert_eq!(place.map(|place| place.value), index.get(&keys[j]));
            }
        }
        if batches {
            // No rank changes until the next pop.
            let mut ranks = Vec::new();
            index.rank_batch(&keys[i..i + n], &mut ranks);
            answers.extend(ranks.into_iter().map(rank));
        }
        i += n;
    }
    answers
}

fn check(answer: &Value, answers: &[i64], what: &[&str]) {
    let waiting = || answers.iter().filter(|&&rank| rank >= 0);
    assert_eq!(answer["answers_waiting"], waiting().count(), "{what:?}: waiting");
    assert_eq!(answer["answers_popped"], answers.len() - waiting().count(), "{what:?}: popped");
    assert_eq!(answer["sum_of_ranks"], waiting().sum::<i64>(), "{what:?}: the sum");
    assert_eq!(answer["largest_rank"], *waiting().max().expect("one"), "{what:?}: the largest");
    let head: Vec<i64> =
        answer["head"].as_array().expect("a list").iter().filter_map(Value::as_i64).collect();
    assert_eq!(head, answers[..24], "{what:?}: the first 24");
    let lines = answers.iter().fold(String::new(), |mut lines, answer| {
        writeln!(lines, "{answer}").expect("memory");
        lines
    });
    assert_eq!(answer["sha256"], common::sha256(lines), "{what:?}: all answers");
}

fn compare(file: &str, view: &str, answers_expected: usize) {
    let Some(data) = common::data() else { return };
    let all = common::answers::answers(&data);
    let events = common::streams::read(&data, file, view);
    let mut compared = 0;
    for (order, answers) in all[file][view].as_object().expect("the view") {
        for (name, answer) in answers.get("fifo").and_then(Value::as_object).into_iter().flatten() {
            let values: Vec<&str> =
                name.split(',').map(|part| part.split_once('=').map_or(part, |(_, value)| value)).collect();
            let &[field, every, "0"] = &values[..] else { continue };
            let ordered = match field {
                "client" => common::streams::ordered_by(&events, order, |event| &event.client),
                "key" => common::streams::ordered_by(&events, order, |event| &event.key),
                other => panic!("a field that is not known: {other}"),
            };
            let (times, keys): (Vec<u64>, Vec<&str>) = ordered.into_iter().unzip();
            let mut seen = HashSet::new();
            let first: Vec<bool> = keys.iter().map(|key| seen.insert(*key)).collect();
            let every = every.parse().expect("a number");
            for batches in [false, true] {
                check(answer, &replay(&times, &keys, &first, every, batches), &[view, order, name]);
            }
            compared += 1;
        }
    }
    assert_eq!(compared, answers_expected, "{view}: all of the view's answers");
}

#[test]
fn nasa() {
    compare("nasa-http-1995-08-01-0000-0959.tsv", "nasa", 4);
}

#[test]
fn apache() {
    compare("apache-semicomplete-2015-05-17_18.log", "apache", 8);
}

#[test]
fn zeek_dns() {
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns", 8);
}

#[test]
fn zeek_dns_arrival() {
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns-arrival", 4);
}

#[test]
fn mooncake() {
    compare("mooncake-conversation-00-30min.jsonl", "mooncake", 2);
}
