//! The limiters over real logs, against exact answers: decision for decision.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use crate::common::{self, algorithms::by_name};
use serde_json::Value;
use std::collections::HashMap;
use windlass::{Admission, Algorithm, KeyedLimiter, Limiter, Quota, Seed, Tick};

fn digits(admissions: impl IntoIterator<Item = Admission>) -> String {
    admissions.into_iter().map(|admission| if admission.is_allowed() { '1' } else { '0' }).collect()
}

fn compare(file: &str, view: &str, answers_expected: usize) {
    let Some(data) = common::data() else { return };
    let all = common::answers::answers(&data);
    let events = common::streams::read(&data, file, view);
    let mut compared = 0;
    for (order, answers) in all[file][view].as_object().expect("the view") {
        let Some(limits) = answers.get("limit").and_then(Value::as_object) else { continue };
        let stream: Vec<(Tick, &str)> = common::streams::ordered_by(&events, order, |event| &event.client)
            .into_iter()
            .map(|(ms, client)| (Tick::from_millis(ms).expect("in range"), client))
            .collect();
        for (pair, answers) in limits {
            for (name, answer) in answers.as_object().expect("algorithms") {
                let Some((algorithm, quota)) = by_name(name, pair) else { continue };
                run(&stream, algorithm, quota, |path, decisions| {
                    common::answers::check(answer, decisions, &[view, order, pair, name, path]);
                });
                compared += 1;
            }
        }
    }
    assert_eq!(compared, answers_expected, "{view}: all of the view's answers");
}

/// In all ways to ask.
fn run(stream: &[(Tick, &str)], algorithm: Algorithm, quota: Quota, check: impl Fn(&str, &str)) {
    let build = || {
        let builder = KeyedLimiter::builder(quota).algorithm(algorithm).clients(20_000).seed(Seed(7));
        builder.build().expect("valid")
    };
    let limiter = build();
    let single = |&(now, client)| {
        let peeked = limiter.peek_at(client, 1, now);
        let admission = limiter.check_at(client, 1, now);
        assert_eq!(peeked, admission);
        admission
    };
    check("single", &digits(stream.iter().map(single)));
    let (limiter, mut admissions) = (build(), Vec::new());
    limiter.check_each(stream.len(), |i| (stream[i].1, 1, stream[i].0), &mut admissions);
    check("batch", &digits(admissions));
    assert_eq!(limiter.stats().unknown, 0);
    let mut each: HashMap<&str, Limiter> = HashMap::new();
    let mut own = String::new();
    for &(now, client) in stream {
        let build = || Limiter::builder(quota).algorithm(algorithm).build().expect("valid");
        own += &digits([each.entry(client).or_insert_with(build).check_at(1, now)]);
    }
    check("a limiter for each", &own);
}

#[test]
fn nasa() {
    compare("nasa-http-1995-08-01-0000-0959.tsv", "nasa", 30);
}

#[test]
fn apache() {
    compare("apache-semicomplete-2015-05-17_18.log", "apache", 60);
}

#[test]
fn zeek() {
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns", 60);
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns-arrival", 30);
}

#[test]
fn mooncake() {
    compare("mooncake-conversation-00-30min.jsonl", "mooncake", 30);
}
