//! `windlass top`: against a recount, what it writes, and what it refuses.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // clippy knows tests only by their attribute

use std::{cmp::Reverse, collections::BTreeMap, fmt::Write};

use serde_json::json;

use crate::common::{self, Random, run};

/// Key and milliseconds.
type Event = (u64, u64);

/// What is counted over, and what for: window, pane and lateness in milliseconds, and how many keys.
#[derive(Clone, Copy, Debug)]
struct Shape {
    window: u64,
    pane: u64,
    lateness: u64,
    k: usize,
}

/// The lines, and how many events came for a pane that was over. A pane is over with the first event that is so late behind its end;
/// its line has what came before.
fn recount(events: &[Event], shape: Shape) -> (String, u64) {
    let Shape { window, pane, lateness, k } = shape;
    let over = |p: u64, ms: u64| (p + 1) * pane + lateness <= ms;
    let mut newest = 0;
    let is_late = events.iter().map(|&(_, ms)| {
        newest = newest.max(ms);
        over(ms / pane, newest)
    });
    let is_late: Vec<bool> = is_late.collect();
    let on_time = events.iter().zip(&is_late).filter(|(_, late)| !**late);
    let first = on_time.map(|(event, _)| event.1 / pane).min().unwrap_or(0);
    let mut lines = String::new();
    for p in first..=newest / pane {
        let end = events.iter().position(|event| over(p, event.1)).unwrap_or(events.len());
        let mut counts = BTreeMap::<String, u64>::new();
        for (key, ms) in &events[..end] {
            let at = ms / pane;
            if at <= p && at + window / pane > p {
                *counts.entry(key.to_string()).or_default() += 1;
            }
        }
        let mut rows: Vec<_> = counts.into_iter().collect();
        rows.sort_by_key(|row| Reverse(row.1));
        write!(lines, "{}", (p + 1) * pane).unwrap();
        rows.iter().take(k).for_each(|(key, count)| write!(lines, "\t{count}\t{key}").unwrap());
        lines.push('\n');
    }
    (lines, is_late.iter().filter(|late| **late).count() as u64)
}

const TSV: [&str; 9] = ["top", "--format", "tsv", "--key", "1", "--time", "2", "--time-format", "unix-ms"];

fn top(args: &[&str], stdin: &str) -> common::Run {
    run(&[&TSV[..], args].concat(), stdin)
}

fn text(events: &[Event]) -> String {
    events.iter().map(|(key, ms)| format!("{key}\t{ms}\n")).collect()
}

/// Few keys are hot, and those change; some events are late, some gaps are longer than the windows.
fn stream() -> Vec<Event> {
    let (mut random, mut now) = (Random(7), 7000);
    let event = |i: u64| {
        now += if random.below(100) == 0 { random.below(9000) } else { random.below(20) };
        let most = 1 + random.below(100);
        let key = random.below(most) + i / 500;
        (key, now - if random.below(5) == 0 { random.below(700) } else { 0 })
    };
    (0..3000).map(event).collect()
}

#[test]
fn as_counted_again() {
    let events = stream();
    let mut sorted = events.clone();
    sorted.sort_by_key(|event| event.1);
    let mut newest = 0;
    let clamped = events.iter().map(|&(key, ms)| {
        newest = newest.max(ms);
        (key, newest)
    });
    let clamped: Vec<Event> = clamped.collect();
    let shape = |window, pane, lateness, k| Shape { window, pane, lateness, k };
    for shape in
        [shape(1000, 1000, 0, 3), shape(1000, 100, 0, 1), shape(2000, 100, 250, 5), shape(300, 3, 700, 20)]
    {
        let Shape { window, pane, lateness, k } = shape;
        let [window, pane, lateness] = [window, pane, lateness].map(|ms| format!("{ms}ms"));
        let args = ["--window", &window, "--pane", &pane, "--lateness", &lateness, "-k", &k.to_string()];
        let args = [&args[..], &["--every-pane", "--report", "json"]].concat();
        for (order, in_order) in [("arrival", &events), ("clamp", &clamped), ("sort", &sorted)] {
            let run = top(&[&args[..], &["--order", order]].concat(), &text(&events)).ok();
            let (lines, late) = recount(in_order, shape);
            assert!(run.text() == lines, "{shape:?} {order}: {}", differ(run.text(), &lines));
            let report: serde_json::Value = serde_json::from_str(&run.err).unwrap();
            let told = ["command", "events", "panes", "late", "uncertified", "refused"]
                .map(|name| report[name].clone());
            let expected = json!(["top", 3000, lines.lines().count(), late, 0, 0]);
            assert_eq!(json!(told), expected, "{shape:?} {order}");
            assert!(report["uncounted"].as_u64() <= report["late"].as_u64());
        }
    }
    // What waits for all that is late gives what is sorted.
    let all = shape(300, 3, 700, 20);
    assert_eq!(recount(&events, all), (recount(&sorted, all).0, 0));
}

/// The first lines that differ.
fn differ(one: &str, other: &str) -> String {
    let differ = one.lines().zip(other.lines()).find(|(one, other)| one != other);
    differ.map_or("another length".to_owned(), |(one, other)| format!("\n{one}\n{other}"))
}

#[test]
fn the_smallest_inputs() {
    let args = ["--window", "2s", "--pane", "1s", "-k", "2", "--every-pane"];
    assert_eq!(top(&args, "").ok().text(), "");
    assert_eq!(top(&args, "a\t0\n").ok().text(), "1000\t1\ta\n");
    // Panes without an event have their line; of equal counts the lesser key comes first, and keys leave with their pane.
    let lines = "1000\t1\t10\t1\t9\n2000\t1\t10\t1\t9\n3000\n4000\t2\tb\t1\ta\n";
    assert_eq!(top(&args, "9\t0\n10\t999\nb\t3000\na\t3000\nc\t3001\nb\t3999\n").ok().text(), lines);
    // Late events: in the lines after that of their pane, if these have it in their window.
    let told = top(&args, "a\t1000\nb\t2000\na\t1500\nb\t1500\nc\t0\n").ok();
    assert_eq!(told.text(), "2000\t1\ta\n3000\t2\ta\t2\tb\n");
    let late = "\n2 came after their pane's line, and count in those after it\n1 came too late for any line: --lateness waits for them\n";
    assert!(told.err.ends_with(late), "{}", told.err);
    // A pane before the first one's, before any line was written.
    let told = top(&[&args[..], &["--lateness", "1s"]].concat(), "a\t1000\nb\t0\na\t999\n").ok();
    assert_eq!(told.text(), "1000\t1\ta\t1\tb\n2000\t2\ta\t1\tb\n");
    // Whole lines are keys.
    let quiet =
        run(&["top", "-q", "--window", "1h", "--pane", "1h", "-k", "1", "--every-pane"], "a\nb\nb\n").ok();
    assert_eq!((quiet.text(), quiet.err.as_str()), ("3600000\t2\tb\n", ""));
}

#[test]
fn a_table() {
    let args = ["--window", "2s", "--pane", "1s", "-k", "2"];
    let input = "gone\t0\nb\t1000\na\t1000\na\t2000\nc\t2999\nc\t1500\na\t1001\n";
    let told = top(&args, input).ok();
    let table = "\
rank       count    share                        key
   1           3   50.0 %  ####################  a
   2           2   33.3 %  #############         c
";
    assert_eq!(told.text(), table);
    let summary = "7 events in 3 panes of 1s; 6 in the last 2s\n\
                   from 1970-01-01T00:00:01.000Z to 1970-01-01T00:00:03.000Z\n\
                   certified exact; no other key has more than 1\nmemory ";
    assert!(told.err.starts_with(summary), "{}", told.err);
    assert_eq!(top(&[&args[..], &["-q"]].concat(), input).ok().err, "");
    let report = top(&[&args[..], &["--report", "json"]].concat(), input).ok().json();
    let row = |key: &str, n: u64| json!({"key": key, "count": n, "lower": n, "upper": n});
    assert_eq!(report["rows"], json!([row("a", 3), row("c", 2)]));
    let told = ["events", "panes", "start_ns", "end_ns", "total", "certified", "tail", "refused"]
        .map(|name| report[name].clone());
    assert_eq!(json!(told), json!([7, 3, 1_000_000_000_u64, 3_000_000_000_u64, 6, true, 1, 0]));
    let nothing = top(&args, "").ok();
    assert_eq!(nothing.text().lines().count(), 1);
    assert!(nothing.err.starts_with("0 events in 0 panes of 1s\nmemory "), "{}", nothing.err);
}

/// As they came, but for what would break a line; told apart by all they are.
#[test]
fn keys() {
    let args = ["--window", "1s", "--pane", "1s", "-k", "9", "--every-pane", "-q", "--time", "t"];
    let jsonl = ["top", "--format", "jsonl", "--time-format", "unix", "--key"];
    let lines = "{\"t\":0,\"k\":\"a\\tb\\nc\\rd\\\\t\",\"l\":\"\"}\n{\"t\":0,\"k\":\"\",\"l\":\"x y\"}\n";
    let told = run(&[&jsonl[..], &["k"], &args[..]].concat(), lines).ok();
    assert_eq!(told.text(), "1000\t1\t\t1\ta\\tb\\nc\\rd\\t\n");
    let told = run(&[&jsonl[..], &["k,l"], &args[..]].concat(), lines).ok();
    assert_eq!(told.text(), "1000\t1\t x y\t1\ta\\tb\\nc\\rd\\t \n");
    let sources = run(&[&jsonl[..], &["t"], &args[..], &["--source", "l"]].concat(), lines).ok();
    assert_eq!(sources.text(), "1000\t1\t 0\t1\tx y 0\n");
    // Fields are not their names put together; long ones are cut, and counted apart.
    let told = run(&[&TSV[..4], &["1,2", "--time", "3"], &args[..8]].concat(), "a b\tc\t0\na\tb c\t0\n").ok();
    assert_eq!(told.text(), "1000\t1\ta b c\t1\ta b c\n");
    let long = "x".repeat(5000);
    let told = top(&args[..8], &format!("{long}1\t0\n{long}2\t0\n{long}2\t0\n")).ok();
    let cut = &long[..4096];
    assert_eq!(told.text(), format!("1000\t2\t{cut}\t1\t{cut}\n"));
    // No text.
    let told = run(&[&TSV[..], &args[..8]].concat(), b"\xff\xfe\t0\n").ok();
    assert_eq!(told.out, b"1000\t1\t\xff\xfe\n");
}

/// Three million panes without an event between two that have one.
#[test]
fn a_long_silence() {
    let args = ["--window", "1s", "--pane", "1ms", "-k", "3", "-q", "--every-pane"];
    let run = top(&args, "a\t5\nb\t3000000\n").ok();
    assert_eq!(run.text().lines().count(), 2_999_996);
    assert!(run.text().starts_with("6\t1\ta\n7\t1\ta\n"));
    assert!(run.text().ends_with("\n3000000\n3000001\t1\tb\n"));
    assert_eq!(run.text().matches("\t1\ta\n").count(), 1000);
    let run = top(&args[..6], "a\t5\nb\t9000000000000\n").ok();
    assert!(
        run.err.starts_with("2 events in 8,999,999,999,996 panes of 1ms; 1 in the last 1s\n"),
        "{}",
        run.err
    );
}

#[test]
fn wrong_usage() {
    let grid = |window, pane, k| ["--window", window, "--pane", pane, "-k", k];
    let cases: &[(&[&str], &str)] = &[
        (&["--window", "60s", "--pane", "1s"], "the following required arguments were not provided: -k <N>"),
        (&grid("60s", "7s", "3"), "--window 60s is not a multiple of --pane 7s"),
        (&grid("0s", "1s", "3"), "--window 0s is not a multiple of --pane 1s"),
        (&grid("3ms", "1500us", "3"), "--pane 1500us is not a whole number of milliseconds, 1ms or more"),
        (
            &grid("1h", "1s", "3"),
            "--pane 1s is out of range: at most 1024 panes in window and lateness, and one more: these are 3601",
        ),
        (
            &[&grid("10s", "10s", "3")[..], &["--lateness", "3h"]].concat(),
            "--pane 10s is out of range: at most 1024 panes in window and lateness, and one more: these are 1082",
        ),
        (&grid("1s", "1s", "0"), "-k 0 is out of range: 1 to 16000, the capacity"),
        (
            &[&grid("1s", "1s", "11")[..], &["--capacity", "10"]].concat(),
            "-k 11 is out of range: 1 to 10, the capacity",
        ),
        (
            &grid("1s", "1s", "x"),
            "invalid value 'x' for '-k <N>': a whole number, with k, M or G for thousands, millions or billions",
        ),
        (
            &[&grid("1s", "1s", "1")[..], &["--order", "sort"]].concat(),
            "--order clamp and --order sort need event times: --time FIELD",
        ),
        (
            &[&grid("1s", "1s", "1")[..], &["no-such"]].concat(),
            "no-such: cannot open: No such file or directory",
        ),
    ];
    for (args, line) in cases {
        for every in [&[][..], &["--every-pane"]] {
            let run = run(&[&["top"], *args, every].concat(), "some\ninput\n");
            run.failed(2, line);
            assert_eq!(run.text(), "", "{args:?}");
        }
    }
    let zero = run(&[&["top", "--capacity", "0"], &grid("1s", "1s", "1")[..]].concat(), "");
    assert!(
        (zero.code, zero.err.starts_with("windlass: --capacity 0 is out of range: 1 to ")) == (2, true),
        "{}",
        zero.err
    );
    let small = run(&[&["top", "--max-memory", "1K"], &grid("1s", "1s", "1")[..]].concat(), "");
    let line = "windlass: --max-memory 1.0 KiB is out of range: ";
    assert!((small.code, small.err.starts_with(line)) == (2, true), "{}", small.err);
}

/// Panes that were over before it are written, and no other.
#[test]
fn a_wrong_line() {
    let args = ["--window", "1s", "--pane", "1s", "-k", "1", "--every-pane"];
    let bad = top(&args, "a\t0\nb\t1000\nc\tx\nd\t5000\n");
    bad.failed(2, "stdin:3: time \"x\" is not a number of milliseconds since 1970");
    assert_eq!(bad.text(), "1000\t1\ta\n");
}

/// What is counted goes on; what is not certified is a failure in the end.
#[test]
fn no_room() {
    let keys: String = (0..100_000).map(|i| format!("{}\t1000\n", if i % 2 == 0 { 7 } else { i })).collect();
    let room = ["--window", "1s", "--pane", "1s", "-k", "2", "--capacity", "1000", "--max-memory", "3M"];
    let full = top(&[&room[..], &["--every-pane", "--report", "json"]].concat(), &format!("a\t0\n{keys}"));
    assert_eq!(full.code, 1, "{}", full.err);
    let (report, line) = full.err.split_once('\n').unwrap();
    let report: serde_json::Value = serde_json::from_str(report).unwrap();
    let refused = report["refused"].as_u64().unwrap();
    assert!(refused > 0 && refused < 50_000, "{report}");
    assert_eq!((&report["uncertified"], &report["certified"]), (&1.into(), &false.into()));
    let told = "windlass: no room for all keys: --max-memory 3.0 MiB is reached; 1 of 2 lists are not certified; give more\n";
    assert_eq!(line, told);
    assert!(full.text().starts_with("1000\t1\ta\n2000\t50001\t7\t1\t"), "{}", full.text());
    let table = top(&room, &keys);
    assert_eq!(table.code, 1);
    assert!(table.text().starts_with("rank       count     at most    share "), "{}", table.text());
    assert!(
        table.err.contains("\nNOT CERTIFIED: keys may be missing; no other key has more than "),
        "{}",
        table.err
    );
}
