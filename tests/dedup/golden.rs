//! The reference answers: real logs, decision for decision.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use std::{collections::HashMap, time::Duration};

use crate::common::{self, streams::Event};
use serde_json::Value;
use windlass::{Dedup, DedupBuilder, KeyHash, Outcome, Seed, Tick, Verdict, Window};

/// Events to be judged in this order: their time, and the id in each of the forms that it can have.
struct Stream<'a> {
    ms: Vec<u64>,
    ids: Vec<&'a str>,
    /// The id that the file has as a number, or else the number of its first appearance.
    numbers: Vec<u64>,
    /// How late an event is at most.
    lateness: u64,
}

/// Compares all answers of one view of a file, in all orders.
fn compare(file: &str, view: &str, answers_expected: usize) {
    let Some(data) = common::data() else { return };
    let all = common::answers::answers(&data);
    let answers = all[file][view].as_object().expect("the view");
    let properties = &answers["properties"];

    let events = common::streams::read(&data, file, view);
    assert_eq!(events.len() as u64, properties["events"], "{view}: events");
    let lines = events.iter().map(|e| format!("{}\t{}\t{}\t{}\n", e.ms, e.id, e.client, e.key));
    assert_eq!(common::sha256(lines.collect::<String>()), properties["events_sha256"], "{view}: the parser");

    let mut compared = 0;
    for (order, answers) in answers.iter().filter(|(name, _)| *name != "properties") {
        let stream = Stream::new(&events, order);
        // An event that is late by no more than the lateness is judged by its own time: what "raw" asks for. The other
        // orders have no late events, and so need none.
        let lateness = if order == "raw" { &properties["largest_lateness_ms"] } else { &Value::from(0) };
        assert_eq!(stream.lateness, *lateness, "{view}, {order}: lateness");
        for (name, answer) in answers["dedup"].as_object().expect("answers") {
            stream.by_time(value(name), |path, decisions| {
                common::answers::check(answer, decisions, &[view, order, name, path])
            });
            compared += 1;
        }
        for (name, answer) in answers.get("last_n").and_then(Value::as_object).into_iter().flatten() {
            stream.by_number(value(name), |path, decisions| {
                common::answers::check(answer, decisions, &[view, order, name, path])
            });
            compared += 1;
        }
    }
    assert_eq!(compared, answers_expected, "{view}: all of the view's answers");
}

/// `60000` of `T=60000`.
fn value(name: &str) -> u64 {
    name.split_once('=').expect("a name and a value").1.parse().expect("a number")
}

impl Stream<'_> {
    fn new<'a>(events: &'a [Event], order: &str) -> Stream<'a> {
        let (ms, ids): (Vec<u64>, Vec<&str>) = common::streams::ordered(events, order).into_iter().unzip();
        let mut newest = 0;
        let late_by = ms.iter().map(|&ms| {
            newest = ms.max(newest);
            newest - ms
        });
        let lateness = late_by.max().unwrap_or(0);
        let mut known = HashMap::new();
        let mut number = |id| {
            let next = known.len() as u64;
            str::parse(id).unwrap_or_else(|_| *known.entry(id).or_insert(next))
        };
        let numbers = ids.iter().map(|id| number(id)).collect();
        Stream { ms, ids, numbers, lateness }
    }

    /// A window of `t` milliseconds, on all paths.
    fn by_time(&self, t: u64, check: impl Fn(&str, &str)) {
        let in_nanos = || {
            let lateness = Duration::from_millis(self.lateness);
            self.build(Dedup::builder(Duration::from_millis(t)).lateness(lateness))
        };
        // A tick can be any number that does not go back: here milliseconds.
        let in_millis =
            || self.build(Dedup::builder(Window::last_n(t)).lateness(Window::last_n(self.lateness)));
        let nanos = |&ms: &u64| Tick::from_millis(ms).expect("before the year 2554");

        let dedup = in_nanos();
        let single = self.ids.iter().zip(&self.ms).map(|(id, ms)| dedup.observe_at(id, nanos(ms)));
        check("single calls, ns", &decisions(&dedup, single.collect()));

        let dedup = in_nanos();
        let events: Vec<_> = self.ids.iter().zip(self.ms.iter().map(nanos)).collect();
        check(
            "batches, ns",
            &decisions(&dedup, batches(&events, |batch, out| dedup.observe_events(batch, out))),
        );

        let dedup = in_nanos();
        let single = self.numbers.iter().zip(&self.ms).map(|(id, ms)| dedup.observe_at(id, nanos(ms)));
        check("single calls with u64 ids, ns", &decisions(&dedup, single.collect()));

        let dedup = in_millis();
        let ticks = self.ms.iter().map(|&ms| Tick(ms));
        let events: Vec<_> = self.hashed(dedup.seed()).into_iter().zip(ticks).collect();
        check(
            "batches of hashes, ms",
            &decisions(&dedup, batches(&events, |batch, out| dedup.observe_events(batch, out))),
        );

        let dedup = in_millis();
        let single = self.hashed(dedup.seed()).into_iter().zip(&self.ms);
        check(
            "single hashes, ms",
            &decisions(&dedup, single.map(|(id, &ms)| dedup.observe_at(id, Tick(ms))).collect()),
        );

        let dedup = in_millis();
        let events: Vec<_> = self.numbers.iter().zip(&self.ms).collect();
        let mut outcomes = Vec::with_capacity(events.len());
        let mut out = Vec::new();
        for run in events.chunk_by(|a, b| a.1 == b.1) {
            let ids: Vec<&u64> = run.iter().map(|event| event.0).collect();
            dedup.observe_batch_at(&ids, Tick(*run[0].1), &mut out);
            outcomes.append(&mut out);
        }
        check("u64 ids in batches of one time, ms", &decisions(&dedup, outcomes));
    }

    /// The last `n` events, on all paths: numbered by the structure's own clock and by the caller.
    fn by_number(&self, n: u64, check: impl Fn(&str, &str)) {
        let build = || self.build(Dedup::builder(Window::last_n(n)));
        let number = || (0..).map(Tick);

        let dedup = build();
        let single = self.ids.iter().map(|id| dedup.observe(id));
        check("single calls", &decisions(&dedup, single.collect()));

        let dedup = build();
        check(
            "batches",
            &decisions(&dedup, batches(&self.ids, |batch, out| dedup.observe_batch(batch, out))),
        );

        let dedup = build();
        let single = self.numbers.iter().zip(number()).map(|(id, now)| dedup.observe_at(id, now));
        check("single calls with u64 ids and numbers", &decisions(&dedup, single.collect()));

        let dedup = build();
        let events: Vec<_> = self.hashed(dedup.seed()).into_iter().zip(number()).collect();
        let outcomes = batches(&events, |batch, out| dedup.observe_events(batch, out));
        check("batches of hashes with numbers", &decisions(&dedup, outcomes));
    }

    fn build(&self, builder: DedupBuilder) -> Dedup {
        builder.capacity(self.ids.len()).build().expect("valid")
    }

    fn hashed(&self, seed: Seed) -> Vec<KeyHash> {
        self.ids.iter().map(|id| seed.hash(id)).collect()
    }
}

/// Everything in batches of changing sizes.
fn batches<E>(events: &[E], observe: impl Fn(&[E], &mut Vec<Outcome>)) -> Vec<Outcome> {
    let mut outcomes = Vec::with_capacity(events.len());
    let mut out = vec![Ok(Verdict::Fresh)]; // a leftover, to be cleared
    let mut rest = events;
    for size in [1, 31, 32, 33, 7, 0, 64, 1000, 2].into_iter().cycle() {
        let (batch, after) = rest.split_at(size.min(rest.len()));
        observe(batch, &mut out);
        assert_eq!(out.len(), batch.len());
        outcomes.extend_from_slice(&out);
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    outcomes
}

/// `0` fresh, `1` duplicate; and the structure agrees that nothing out of the ordinary happened.
fn decisions(dedup: &Dedup, outcomes: Vec<Outcome>) -> String {
    let stats = dedup.stats();
    assert_eq!((stats.refused, stats.late, stats.jumps, stats.evicted), (0, 0, 0, 0));
    let decision = |outcome| match outcome {
        Ok(Verdict::Fresh) => '0',
        Ok(Verdict::Duplicate { first_seen: Some(_) }) => '1',
        other => panic!("{other:?}"),
    };
    outcomes.into_iter().map(decision).collect()
}

#[test]
fn nasa() {
    compare("nasa-http-1995-08-01-0000-0959.tsv", "nasa", 7);
}

#[test]
fn apache() {
    compare("apache-semicomplete-2015-05-17_18.log", "apache", 18);
}

#[test]
fn zeek() {
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns", 18);
}

#[test]
fn zeek_by_arrival() {
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns-arrival", 7);
}

#[test]
fn mooncake() {
    compare("mooncake-conversation-00-30min.jsonl", "mooncake", 7);
}
