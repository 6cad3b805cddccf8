//! Counts over real logs, against exact answers.

use super::common::{self, sha256};
use serde_json::Value;
use std::{collections::HashSet, fmt::Write, time::Duration};
use windlass::{Added, Seed, Tick, WindowedCounter};

/// `W=60000,P=1000`.
fn grid(name: &str) -> (Duration, Duration) {
    let (w, p) = name.split_once(",P=").expect("W and P");
    let millis = |text: &str| Duration::from_millis(text.parse().expect("a number"));
    (millis(w.strip_prefix("W=").expect("W")), millis(p))
}

fn check(answer: &Value, counts: &[u64], what: &[&str]) {
    assert_eq!(answer["pane_sum"], counts.iter().sum::<u64>(), "{what:?}: sum");
    assert_eq!(answer["pane_max"], *counts.iter().max().expect("some"), "{what:?}: max");
    let lines = counts.iter().fold(String::new(), |mut lines, count| {
        writeln!(lines, "{count}").expect("a string");
        lines
    });
    assert_eq!(answer["pane_sha256"], sha256(lines), "{what:?}: all");
}

fn compare(file: &str, view: &str, answers_expected: usize) {
    let Some(data) = common::data() else { return };
    let all = common::answers::answers(&data);
    let events = common::streams::read(&data, file, view);
    let mut compared = 0;
    for (order, answers) in all[file][view].as_object().expect("the view") {
        let Some(counts) = answers.get("count").and_then(Value::as_object) else { continue };
        let stream: Vec<(Tick, &str)> = common::streams::ordered_by(&events, order, |event| &event.key)
            .into_iter()
            .map(|(ms, key)| (Tick::from_millis(ms).expect("in range"), key))
            .collect();
        let keys = stream.iter().map(|event| event.1).collect::<HashSet<_>>().len();
        for (name, answer) in counts {
            let (window, pane) = grid(name);
            // A small one, that has to grow; and one that has room.
            let large = WindowedCounter::builder(window, pane).capacity(keys);
            let small = WindowedCounter::builder(window, pane).capacity(100).max_memory(1 << 30);
            for (path, builder) in [("large", large), ("small", small)] {
                let builder = builder.seed(Seed(7));
                super::snapshot::rest_of(&builder, &stream);
                let counter = builder.build().expect("valid");
                let count = |&(now, key): &(Tick, &str)| {
                    assert_eq!(counter.add_at(key, 1, now), Added::Counted);
                    counter.count_at(key, now)
                };
                let counts: Vec<u64> = stream.iter().map(count).collect();
                check(answer, &counts, &[view, order, name, path]);
                in_batches(&counter, &stream, keys);
            }
            compared += 1;
        }
    }
    assert_eq!(compared, answers_expected, "{view}: all of the view's answers");
}

/// The same by batches: in the end all keys have the counts that single calls gave, and so has the total.
fn in_batches(counter: &WindowedCounter, stream: &[(Tick, &str)], keys: usize) {
    let (window, pane) = (counter.window(), counter.pane());
    let batched = WindowedCounter::builder(window, pane).capacity(keys).build().expect("valid");
    let events: Vec<_> = stream.iter().map(|&(now, key)| (key, 1, now)).collect();
    let counted: u64 = events.chunks(1000).map(|events| batched.add_events(events).counted).sum();
    assert_eq!(counted, stream.len() as u64);
    let end = stream.last().expect("some").0;
    let keys: Vec<&str> = stream.iter().map(|event| event.1).collect();
    let mut counts = Vec::new();
    batched.count_batch_at(&keys, end, &mut counts);
    for (key, count) in keys.iter().zip(counts) {
        assert_eq!(count, counter.count_at(key, end), "{key}");
    }
    assert_eq!(batched.total_at(end), counter.total_at(end));
    assert_eq!(batched.total_complete_at(end), counter.total_complete_at(end));
    let [window, pane] = [window, pane].map(|span| span.ticks().expect("in range"));
    let begin = ((end.0 / pane + 1) * pane).saturating_sub(window);
    let in_window = stream.iter().filter(|event| event.0.0 >= begin).count() as u64;
    assert_eq!(batched.total_at(end), in_window);
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
