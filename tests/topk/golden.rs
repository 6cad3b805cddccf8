//! Lists of every pane over real logs, against exact answers.

use super::common::{self, sha256};
use serde_json::{Value, json};
use std::{fmt::Write, time::Duration};
use windlass::{Seed, Tick, TopK, TopSnapshot};

/// `W=60000,P=1000,K=10`.
fn grid(name: &str) -> (u64, u64, usize) {
    let mut parts = name.split(',').map(|part| part.split_once('=').expect("a value").1);
    let mut next = || parts.next().expect("W, P and K").parse::<u64>().expect("a number");
    (next(), next(), usize::try_from(next()).expect("in range"))
}

/// The list at the end of every pane.
fn every_pane(top: &TopK, stream: &[(u64, &str)], pane: u64, batches: bool) -> Vec<(u64, TopSnapshot)> {
    let (first, last) = (stream[0].0 / pane, stream.last().expect("some").0 / pane);
    let (mut lists, mut at) = (Vec::new(), 0);
    let tick = |ms| Tick::from_millis(ms).expect("in range");
    for p in first..=last {
        let end = (p + 1) * pane;
        let events = stream[at..].iter().take_while(|event| event.0 < end);
        let events: Vec<_> = events.map(|&(ms, key)| (key, 1, tick(ms))).collect();
        if batches {
            assert_eq!(top.add_events(&events).counted, events.len() as u64);
        } else {
            events.iter().for_each(|&(key, n, now)| {
                top.add_at(key, n, now);
            });
        }
        at += events.len();
        lists.push((end, top.top_complete_at(tick(end))));
    }
    lists
}

fn check(answer: &Value, lists: &[(u64, TopSnapshot)], what: &[&str]) {
    assert!(lists.iter().all(|(_, list)| list.certified), "{what:?}: certified");
    assert_eq!(answer["panes"], lists.len(), "{what:?}: panes");
    assert_eq!(answer["empty"], lists.iter().filter(|(_, list)| list.rows.is_empty()).count(), "{what:?}");
    let rows = |list: &TopSnapshot| {
        let rows = list.rows.iter().map(|row| json!([row.key.to_string(), row.count]));
        rows.collect::<Vec<_>>()
    };
    let first = |list: &TopSnapshot| list.rows.first().map_or(0, |row| row.count);
    let busiest = lists.iter().rev().max_by_key(|(_, list)| first(list)).expect("some");
    assert_eq!(answer["busiest"], json!({"pane_end_ms": busiest.0, "top": rows(&busiest.1)}), "{what:?}");
    assert_eq!(answer["last"], json!(rows(&lists.last().expect("some").1)), "{what:?}");
    let lines = lists.iter().fold(String::new(), |mut lines, (end, list)| {
        write!(lines, "{end}").expect("a string");
        for row in &list.rows {
            write!(lines, "\t{}\t{}", row.count, row.key).expect("a string");
        }
        lines + "\n"
    });
    assert_eq!(answer["sha256"], sha256(lines), "{what:?}: all");
}

fn compare(file: &str, view: &str, answers_expected: usize) {
    let Some(data) = common::data() else { return };
    let all = common::answers::answers(&data);
    let events = common::streams::read(&data, file, view);
    let mut compared = 0;
    for (order, answers) in all[file][view].as_object().expect("the view") {
        let Some(lists) = answers.get("topk").and_then(Value::as_object) else { continue };
        let stream = common::streams::ordered_by(&events, order, |event| &event.key);
        for (name, answer) in lists {
            let (window, pane, k) = grid(name);
            let millis = Duration::from_millis;
            let builder = || TopK::builder(millis(window), millis(pane), k).seed(Seed(7));
            // One that has room; and, where it does not take long, a small one, that has to grow.
            let large = ("large", builder().capacity(100_000));
            let small = ("small", builder().capacity(100).max_memory(1 << 30));
            for (path, builder) in [Some(large), Some(small).filter(|_| pane > 1000)].into_iter().flatten() {
                let top = builder.build().expect("valid");
                let lists = every_pane(&top, &stream, pane, path == "small");
                check(answer, &lists, &[view, order, name, path]);
            }
            if pane > 1000 {
                let ticks = stream.iter().map(|&(ms, key)| (Tick::from_millis(ms).expect("in range"), key));
                let small = builder().capacity(100).max_memory(1 << 30);
                super::snapshot::rest_of(&small, &ticks.collect::<Vec<_>>());
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
fn zeek() {
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns", 8);
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns-arrival", 4);
}

#[test]
fn mooncake() {
    compare("mooncake-conversation-00-30min.jsonl", "mooncake", 4);
}
