//! `windlass gen`: the traits that are asked for, and what `windlass dedup` makes of them.

#![allow(clippy::expect_used, clippy::unwrap_used)] // clippy knows tests only by their attribute

use std::{
    collections::{HashMap, HashSet},
    io::Read,
    process::{Command, Stdio},
};

use crate::common::{
    EXE, decisions,
    generated::{Event, events, stream},
    run,
};

/// Whether a count is within three standard deviations of its expectation.
fn near(count: usize, of: usize, share: f64) -> bool {
    let deviation = (of as f64 * share * (1.0 - share)).sqrt();
    (count as f64 - of as f64 * share).abs() <= 3.0 * deviation
}

#[test]
fn repeats() {
    const DISTANCE: usize = 2000;
    let all = events("--events 100k --duplicates 0.3 --distance 2k --keys 1M --clients 1M");
    let mut first: HashMap<&str, usize> = HashMap::new();
    let mut repeats = 0;
    for (number, event) in all.iter().enumerate() {
        let &mut at = first.entry(&event.id).or_insert(number);
        if at < number {
            repeats += 1;
            assert!(number - at <= DISTANCE);
            assert_eq!(
                (event.client, event.key),
                (all[at].client, all[at].key),
                "it is the same event once more"
            );
        }
        let place = 1_767_225_600_000_000_000 + number as u64 * 10_000;
        assert_eq!(event.nanos, place, "at a time of its own");
    }
    assert!(near(repeats, all.len(), 0.3), "{repeats}");
}

#[test]
fn late_events() {
    let all = events("--events 100k --late 0.05 --lateness 2s --rate 1k --start 2001-09-09T01:46:40Z");
    let mut late = 0;
    for (number, event) in all.iter().enumerate() {
        let place = 1_000_000_000_000_000_000 + number as u64 * 1_000_000;
        late += usize::from(event.nanos < place);
        assert!(event.nanos <= place && place - event.nanos <= 2_000_000_000);
    }
    assert!(near(late, all.len(), 0.05), "{late}");
}

#[test]
fn clients_and_keys() {
    let counts = |options: &str, of: fn(&Event) -> u64| {
        let mut counts = HashMap::<u64, usize>::new();
        for event in events(&format!("--events 100k --duplicates 0 {options}")) {
            *counts.entry(of(&event)).or_default() += 1;
        }
        counts
    };
    let even = counts("--clients 50 --skew 0", |event| event.client);
    assert_eq!(even.len(), 50);
    for (client, &count) in &even {
        assert!((1..=50).contains(client) && near(count, 100_000, 0.02), "c{client}: {count}");
    }
    let skewed = counts("--keys 1000 --skew 1.5", |event| event.key);
    let all: f64 = (1..=1000).map(|k| f64::from(k).powf(-1.5)).sum();
    for key in 1..=20_u32 {
        assert!(near(skewed[&u64::from(key)], 100_000, f64::from(key).powf(-1.5) / all), "k{key}");
    }
    assert!(skewed.keys().all(|key| (1..=1000).contains(key)));
    assert_eq!(counts("--clients 1", |event| event.client), HashMap::from([(1, 100_000)]));
}

/// 1 = less than `window` after the id was last let through.
fn oracle(events: &[Event], window: u64) -> String {
    let mut passed: HashMap<&str, u64> = HashMap::new();
    let mut decisions = String::new();
    for event in events {
        let fresh = passed.get(event.id.as_str()).is_none_or(|passed| event.nanos >= passed + window);
        if fresh {
            passed.insert(&event.id, event.nanos);
        }
        decisions.push(if fresh { '0' } else { '1' });
    }
    decisions
}

#[test]
fn every_format_is_read_back() {
    // Repeats are up to 200 ms old: some within the window, some after it.
    let options = "--events 50k --duplicates 0.4 --distance 200ms --late 0.2 --lateness 30ms";
    let expected = oracle(&events(options), 120_000_000);
    assert!(expected.contains("01"));
    for format in ["tsv", "csv", "jsonl"] {
        let text = stream(&format!("{options} --format {format}"));
        let args =
            ["--format", format, "--id", "id", "--time", "time", "--window", "120ms", "--lateness", "30ms"];
        assert_eq!(decisions(&args, text), expected, "{format}");
    }
}

#[test]
fn through_a_pipe() {
    let mut generator = Command::new(EXE)
        .args(["gen", "--events", "200k", "--duplicates", "0.25", "--distance", "10k"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let dedup = Command::new(EXE)
        .args(["dedup", "--window-count", "10001", "--emit", "none", "--report", "json"])
        .stdin(generator.stdout.take().unwrap())
        .output()
        .unwrap();
    let mut said = String::new();
    generator.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(generator.wait().unwrap().success());
    let report: serde_json::Value = serde_json::from_slice(&dedup.stdout).unwrap();
    let ids: HashSet<String> =
        stream("--events 200k --duplicates 0.25 --distance 10k").lines().map(str::to_owned).collect();
    assert_eq!(report["events"], 200_000);
    assert_eq!(report["fresh"], ids.len(), "a window longer than the distance finds all repeats");
    let fresh = ids.len().to_string();
    let fresh = format!("{},{}", &fresh[..3], &fresh[3..]);
    assert!(said.starts_with(&format!("200,000 events: {fresh} ids, ")), "{said}");
}

/// The demo names the command for its stream; that through `dedup` gives the demo's answer.
#[test]
fn the_stream_of_the_demo() {
    let demo = run(&["demo", "--events", "300k", "--seed", "3"], "").ok();
    let text = demo.text().replace("\\\n", "");
    let command =
        text.lines().find_map(|line| line.trim().strip_prefix("windlass gen ")).expect("the command");
    let text = stream(command);
    let args = ["--format", "csv", "--id", "id", "--time", "time", "--window", "5s", "--lateness", "1s"];
    let fresh = decisions(&args, text).matches('0').count();
    let shown = demo.text().lines().find(|line| line.trim().starts_with("fresh")).expect("a figure");
    let shown: String = shown.chars().filter(char::is_ascii_digit).collect();
    assert_eq!(shown, fresh.to_string());
}
