//! `windlass distinct`: against a recount, against the reference answers, and what it refuses.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // clippy knows tests only by their attribute

use std::collections::HashSet;

use crate::{
    answers,
    common::{self, Dir, Random, run, run_once},
};

/// How many different ids in each pane and those before it that make up the window. A late event counts in the open pane.
fn recount(events: &[(u64, u64)], window: u64, pane: u64) -> String {
    let mut open = events.first().map_or(0, |event| event.1 / pane);
    let first = open;
    let placed: Vec<(u64, u64)> = events
        .iter()
        .map(|&(id, ms)| {
            open = open.max(ms / pane);
            (id, open)
        })
        .collect();
    let line = |p: u64| {
        let before = |p: u64| placed.partition_point(|(_, at)| *at < p);
        let within = &placed[before((p + 1).saturating_sub(window / pane))..before(p + 1)];
        format!("{}\t{}\n", (p + 1) * pane, within.iter().map(|(id, _)| id).collect::<HashSet<_>>().len())
    };
    if events.is_empty() { String::new() } else { (first..=open).map(line).collect() }
}

const TSV: [&str; 8] = ["distinct", "--format", "tsv", "--id", "1", "--time", "2", "--time-format"];

fn distinct(args: &[&str], stdin: &str) -> common::Run {
    run(&[&TSV[..], &["unix-ms"], args].concat(), stdin)
}

fn text(events: &[(u64, u64)]) -> String {
    events.iter().map(|(id, ms)| format!("{id}\t{ms}\n")).collect()
}

#[test]
fn as_counted_again() {
    let mut random = Random(5);
    let mut now = 7000;
    let events: Vec<(u64, u64)> = (0..3000)
        .map(|_| {
            // Some gaps are longer than the window.
            now += if random.below(100) == 0 { random.below(9000) } else { random.below(20) };
            (random.below(400), now - if random.below(5) == 0 { random.below(300) } else { 0 })
        })
        .collect();
    for (window, pane) in [(1000, 1000), (1000, 100), (5000, 10), (300, 3)] {
        let (w, p) = (format!("{window}ms"), format!("{pane}ms"));
        let args = ["--window", &w, "--pane", &p, "--report", "json"];
        let exact = distinct(&args, &text(&events)).ok();
        assert_eq!(exact.text(), recount(&events, window, pane), "{window} {pane}");
        let report: serde_json::Value = serde_json::from_str(&exact.err).unwrap();
        assert_eq!((&report["events"], &report["command"]), (&3000.into(), &"distinct".into()));
        assert_eq!(report["panes"], exact.text().lines().count());
        assert!(report["late"].as_u64() > Some(0) || pane == 1000, "{report}");
        let mut in_order = events.clone();
        in_order.sort_by_key(|event| event.1);
        let sorted = distinct(&[&args[..], &["--order", "sort"]].concat(), &text(&events)).ok();
        assert_eq!(sorted.text(), recount(&in_order, window, pane));
        assert!(sorted.err.contains("\"late\":0,"));
        let clamped = distinct(&[&args[..], &["--order", "clamp"]].concat(), &text(&events)).ok();
        assert_eq!((clamped.text(), clamped.err.contains("\"late\":0,")), (exact.text(), true));
        if window / pane < 1024 {
            near(
                exact.text(),
                &distinct(&[&args[..], &["--approx", "--capacity", "1k"]].concat(), &text(&events)).ok(),
            );
        }
    }
}

/// Within three of the standard errors that the report tells, and 1 for rounding.
fn near(exact: &str, approx: &common::Run) {
    let report: serde_json::Value = serde_json::from_str(&approx.err).unwrap();
    let most = 3.0 * report["standard_error"].as_f64().unwrap() + 1.0;
    assert_eq!(exact.lines().count(), approx.text().lines().count());
    for (exact, approx) in exact.lines().zip(approx.text().lines()) {
        let number = |line: &str| line.split_once('\t').unwrap().1.parse::<f64>().unwrap();
        assert_eq!(exact.split_once('\t').unwrap().0, approx.split_once('\t').unwrap().0);
        assert!((number(exact) - number(approx)).abs() <= most, "{exact} {approx} {most}");
    }
}

#[test]
fn the_smallest_inputs() {
    let args = ["--window", "2s", "--pane", "1s"];
    assert_eq!(distinct(&args, "").ok().text(), "");
    assert_eq!(distinct(&args, "a\t0\n").ok().text(), "1000\t1\n");
    // Panes without an event have their line, and ids leave with their pane.
    let lines = "1000\t2\n2000\t2\n3000\t0\n4000\t1\n5000\t2\n";
    assert_eq!(distinct(&args, "a\t0\nb\t999\na\t10\nc\t3000\nd\t4999\n").ok().text(), lines);
    let quiet = run(&["distinct", "-q", "--window", "1h", "--pane", "1h"], "a\nb\na\n").ok();
    assert_eq!((quiet.text(), quiet.err.as_str()), ("3600000\t2\n", ""));
    let told = distinct(&args, "a\t1000\nb\t2000\nc\t1500\n").ok();
    assert!(
        told.err.starts_with("3 events in 2 panes of 1s; different ids in 2s: 3 at most\n"),
        "{}",
        told.err
    );
    let late = "\n1 came when their pane was over, counted in the one of the event before\n";
    assert!(told.err.contains(late), "{}", told.err);
}

/// Three million panes without an event between two that have one.
#[test]
fn a_long_silence() {
    let run = distinct(&["--window", "10s", "--pane", "1ms", "-q"], "a\t5\nb\t3000000\n").ok();
    assert_eq!(run.text().lines().count(), 2_999_996);
    assert!(run.text().starts_with("6\t1\n7\t1\n"));
    assert!(run.text().ends_with("\n3000000\t0\n3000001\t1\n"));
    assert_eq!(run.text().matches("\t1\n").count(), 10_001);
    let run = distinct(&["--window", "500ms", "--pane", "1ms", "-q", "--approx"], "a\t5\nb\t3000000\n").ok();
    assert_eq!(run.text().matches("\t1\n").count(), 501);
    assert_eq!(run.text().lines().count(), 2_999_996);
}

#[test]
fn wrong_usage() {
    let cases: &[(&[&str], &str)] = &[
        (&["--window", "60s"], "the following required arguments were not provided: --pane <DUR>"),
        (&["--window", "60s", "--pane", "7s"], "--window 60s is not a multiple of --pane 7s"),
        (&["--window", "0s", "--pane", "1s"], "--window 0s is not a multiple of --pane 1s"),
        (&["--window", "1s", "--pane", "0s"], "--pane 0s is not a whole number of milliseconds, 1ms or more"),
        (
            &["--window", "3ms", "--pane", "1500us"],
            "--pane 1500us is not a whole number of milliseconds, 1ms or more",
        ),
        (
            &["--window", "1d", "--pane", "1ms"],
            "--pane 1ms is too short: --window 1d would be 86400000 panes, 10000000 at most",
        ),
        (
            &["--window", "1s", "--pane", "1s", "--fpr", "0.1"],
            "--fpr 0.1 needs --approx: without it there are no errors",
        ),
        (
            &["--window", "1s", "--pane", "1s", "--approx", "--max-memory", "1M"],
            "--max-memory 1.0 MiB does not go with --approx, whose memory is fixed: by --capacity and --fpr",
        ),
        (
            &["--window", "1s", "--pane", "1s", "--approx", "--capacity", "0"],
            "--capacity 0 is out of range: 1 to 281474976710656",
        ),
        (
            &["--window", "2000d", "--pane", "1000d", "--approx"],
            "--window 2000d is out of range: 1 to 144115188075855872 ns",
        ),
        (
            &["--window", "1s", "--pane", "1s", "--lateness", "1s"],
            "unexpected argument '--lateness' found tip: to pass '--lateness' as a value, use '-- --lateness'",
        ),
        (
            &["--window", "1s", "--pane", "1s", "--order", "sort"],
            "--order clamp and --order sort need event times: --time FIELD",
        ),
        (&["--window", "1s", "--pane", "1s", "no-such"], "no-such: cannot open: No such file or directory"),
    ];
    for (args, line) in cases {
        let run = run(&[&["distinct"], *args].concat(), "some\ninput\n");
        run.failed(2, line);
        assert_eq!(run.text(), "", "{args:?}");
    }
    let run = run(&["distinct", "--window", "2s", "--pane", "1ms", "--approx"], "a\n");
    assert_eq!((run.code, run.text(), run.err.lines().count()), (2, "", 1));
    assert!(run.err.starts_with("windlass: --pane 1ms, with --approx, is out of range: "), "{}", run.err);
}

/// Panes that were over before it are written, and no other.
#[test]
fn what_ends_it_early() {
    let args = ["--window", "1s", "--pane", "1s"];
    let bad = distinct(&args, "a\t0\nb\t1000\nc\tx\nd\t5000\n");
    bad.failed(2, "stdin:3: time \"x\" is not a number of milliseconds since 1970");
    assert_eq!(bad.text(), "1000\t1\n");

    let mut ids: String = "a\t0\n".into();
    ids.extend((0..100_000).map(|i| format!("{i}\t1000\n")));
    let full = distinct(&[&args[..], &["--capacity", "1000", "--max-memory", "50k"]].concat(), &ids);
    assert_eq!((full.code, full.text()), (1, "1000\t1\n"));
    let line = "no room for another id: --max-memory 50.0 KiB is reached; give more, or --approx\n";
    assert!(full.err.starts_with("windlass: event ") && full.err.ends_with(line), "{}", full.err);
    let full = distinct(&[&args[..], &["--capacity", "1", "--approx"]].concat(), &ids);
    assert_eq!((full.code, full.text()), (1, "1000\t1\n"));
    full.failed(
        1,
        "pane that ends at 2000 ms: the filter is full: more ids than it can count; give more --capacity",
    );
}

/// All answers of one view of a file, in all orders; and near them what is approximate.
fn compare(file: &str, view: &str, fields: &[&str], answers_expected: usize) {
    let Some(data) = answers::data() else { return };
    let all = answers::answers(&data);
    let path = data.join(file);
    let (dir, mut compared) = (Dir::new(), 0);
    for (order, answers) in all[file][view].as_object().expect("the view") {
        let order: &[&str] = match order.as_str() {
            "in_order" => &[],
            "clamp" => &["--order", "clamp"],
            "sorted" => &["--order", "sort"],
            _ => continue, // its properties; raw, which has no such answers
        };
        for (shape, answer) in answers["distinct"].as_object().expect("answers") {
            let (window, pane) = shape.split_once(',').expect("W=..,P=..");
            let [window, pane] =
                [window, pane].map(|t| format!("{}ms", t.split_once('=').expect("a value").1));
            let args =
                ["distinct", "--resolution", "ms", "--report", "json", "--window", &window, "--pane", &pane];
            let args = [&args, fields, order, &[path.to_str().expect("text")]].concat();
            for threads in ["1", "4"] {
                let exact = run_once(&dir.0, &[&args[..], &["--threads", threads]].concat(), b"").ok();
                let sha256 = answers::sha256(&exact.out);
                assert_eq!(answer["sha256"], sha256, "{args:?}");
                let report: serde_json::Value = serde_json::from_str(&exact.err).unwrap();
                assert_eq!((&report["panes"], &report["largest"]), (&answer["panes"], &answer["largest"]));
                assert_eq!(report["late"], 0);
            }
            let exact = run_once(&dir.0, &args, b"").ok();
            let largest = answer["largest"].to_string();
            for filter in [
                &["--approx", "--capacity", &largest][..],
                &["--approx", "--capacity", &largest, "--fpr", "0.01"],
            ] {
                near(exact.text(), &run_once(&dir.0, &[&args[..], filter].concat(), b"").ok());
            }
            compared += 1;
        }
    }
    assert_eq!(compared, answers_expected, "all of the view's answers");
}

#[test]
fn nasa() {
    let fields = ["--id", "host,url", "--time", "time", "--time-format", "unix"];
    compare("nasa-http-1995-08-01-0000-0959.tsv", "nasa", &fields, 4);
}

#[test]
fn apache() {
    let fields = ["--format", "combined", "--id", "ip,request"];
    compare("apache-semicomplete-2015-05-17_18.log", "apache", &fields, 8);
}

#[test]
fn zeek() {
    let fields = ["--id", "uid,trans_id", "--time", "ts", "--time-format", "rfc3339"];
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns", &fields, 8);
}

#[test]
fn zeek_by_arrival() {
    compare(
        "zeek-dns-171520-172114.jsonl",
        "zeek-dns-arrival",
        &["--id", "uid,trans_id", "--time", "_write_ts"],
        4,
    );
}

#[test]
fn mooncake() {
    let fields = ["--each", "hash_ids", "--id", "@", "--time", "timestamp", "--time-format", "unix-ms"];
    compare("mooncake-conversation-00-30min.jsonl", "mooncake", &fields, 4);
}
