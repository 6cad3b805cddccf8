//! `windlass dedup --approx`: what it promises, event for event, and what it refuses.

#![allow(clippy::expect_used, clippy::unwrap_used)] // clippy knows tests only by their attribute

use std::collections::HashMap;

use crate::common::{Random, decisions, dedup, run};

const TSV: [&str; 6] = ["--format", "tsv", "--id", "1", "--time", "2"];
const SECOND: u64 = 1_000_000_000;

/// Ids and times in ns, with gaps.
fn stream(late: u64) -> Vec<(u64, u64)> {
    let mut random = Random(11);
    let mut now = 1_000 * SECOND;
    let mut event = || {
        now += if random.below(500) == 0 { random.below(200 * SECOND) } else { random.below(SECOND / 50) };
        (random.below(4000), now - if random.below(4) == 0 { random.below(late + 1) } else { 0 })
    };
    (0..20_000).map(|_| event()).collect()
}

fn text(events: &[(u64, u64)]) -> String {
    events.iter().map(|(id, ns)| format!("{id}\t{}.{:09}\n", ns / SECOND, ns % SECOND)).collect()
}

/// With so small an error that none is to be expected, every answer follows from when the id was last put in: seen within the
/// window, new when N panes less an eighth are over, and between the two either.
#[test]
fn duplicates_for_a_window_and_no_longer_than_the_panes() {
    let events = stream(0);
    let text = text(&events);
    let window = 60 * SECOND;
    for panes in [2, 3, 8, 64, 100] {
        // A pane is the window / (N - 9/8) long, rounded up.
        let pane = (8 * window).div_ceil(8 * (panes - 1) - 1) + 1;
        let most = panes * pane - pane / 8;
        for refresh in [false, true] {
            let number = panes.to_string();
            let filter =
                ["--window", "60s", "--approx", "--fpr", "1e-9", "--capacity", "5k", "--panes", &number];
            let more: &[&str] = if refresh { &["--refresh"] } else { &[] };
            let marks = decisions(&[&TSV, &filter[..], more].concat(), &text);
            let mut put: HashMap<u64, u64> = HashMap::new();
            let mut between = 0;
            for (i, (&(id, now), mark)) in events.iter().zip(marks.bytes()).enumerate() {
                let age = put.get(&id).map(|last| now - last);
                match age {
                    Some(age) if age < window => assert_eq!(mark, b'1', "event {i}, {panes} panes"),
                    Some(age) if age < most => between += 1,
                    _ => assert_eq!(mark, b'0', "event {i}, {panes} panes"),
                }
                if mark == b'0' || refresh {
                    put.insert(id, now);
                }
            }
            assert!(between > 0, "{panes} panes: not much of a test");
        }
    }
}

/// No event that comes less than a window after its id was put in gets through, however late, and of others few are dropped.
#[test]
fn late_events() {
    let events = stream(5 * SECOND);
    let filter = ["--window", "60s", "--lateness", "5s", "--approx", "--capacity", "5k"];
    let marks = decisions(&[&TSV, &filter[..]].concat(), text(&events));
    let mut put: HashMap<u64, u64> = HashMap::new();
    for (&(id, now), mark) in events.iter().zip(marks.bytes()) {
        if mark == b'0' {
            assert!(put.insert(id, now).is_none_or(|last| now >= last + 60 * SECOND));
        }
    }
}

#[test]
fn by_count() {
    // Without repeats; so whatever is dropped is an error.
    let ids: String = (0..50_000).map(|i| format!("id-{i}\n")).collect();
    let args = [
        "dedup",
        "--window-count",
        "5000",
        "--approx",
        "--fpr",
        "0.01",
        "--emit",
        "none",
        "--report",
        "json",
    ];
    let report = run(&args, &ids).ok().json();
    let wrong = report["duplicates"].as_u64().unwrap();
    assert!((50..600).contains(&wrong), "{report}");
    let filter = &report["filter"];
    assert_eq!(
        (&filter["expected_ids"], &filter["panes"], &filter["late"]),
        (&5000.into(), &8.into(), &0.into())
    );
    assert_eq!((&filter["bytes"], &report["window_events"]), (&report["memory_bytes"], &5000.into()));
    for share in ["expected_error", "present_error", "sampled_error"] {
        assert!((0.001..0.012).contains(&filter[share].as_f64().unwrap()), "{report}");
    }
    assert!(filter["advice"].is_null() && filter["pane_events"].is_u64() && filter["layout"].is_string());
    assert!(report.get("live").is_none());

    // Every one of 1000 ids again and again, a few events apart.
    let again: String = (0..20_000).map(|i| format!("{}\n", i % 1000)).collect();
    let marks = decisions(&["--window-count", "2000", "--approx", "--fpr", "1e-9", "--refresh"], &again);
    assert_eq!(marks, "0".repeat(1000) + &"1".repeat(19_000));
}

#[test]
fn records_and_the_summary() {
    let run = dedup(&["--approx", "--report", "text"], "a\nb\na\n").ok();
    assert_eq!(run.text(), "a\nb\n");
    let lines: Vec<&str> = run.err.lines().collect();
    assert_eq!(lines[0], "3 events: 2 fresh, 1 duplicates (33.3 %)");
    assert!(lines[1].starts_with("window 1h, approximate; "), "{}", run.err);
    assert!(lines[2].starts_with("filter: 8 panes of 523.636s, "), "{}", run.err);
    assert!(lines[2].ends_with(" MiB for 1,000,000 ids"), "{}", run.err);
    assert!(lines[3].starts_with("error: ") && lines[3].ends_with(" % in a sample"), "{}", run.err);
    let duplicates = dedup(&["--approx", "--emit", "duplicates"], "a\nb\na\n").ok();
    assert_eq!((duplicates.text(), duplicates.err.as_str()), ("a\n", ""));
}

#[test]
fn wrong_usage() {
    let cases: &[(&[&str], &str)] = &[
        (&["--fpr", "0.1"], "--fpr 0.1 needs --approx: without it there are no errors"),
        (&["--panes", "4"], "--panes 4 needs --approx"),
        (
            &["--approx", "--max-memory", "1M"],
            "--max-memory 1.0 MiB does not go with --approx, whose memory is fixed: by --capacity and --fpr",
        ),
        (
            &["--approx", "--on-full", "evict"],
            "the argument '--approx' cannot be used with '--on-full <ON_FULL>'",
        ),
        (&["--approx", "--panes", "1"], "--panes 1 is out of range: 2 to 1024"),
        (&["--approx", "--panes", "1025"], "--panes 1025 is out of range: 2 to 1024"),
        (&["--approx", "--capacity", "0"], "--capacity 0 is out of range: 1 to 281474976710656"),
        (
            &["--approx", "--fpr", "1"],
            "invalid value '1' for '--fpr <P>': a share from 1e-9 to below 1: 0.01, 1e-6",
        ),
        (
            &["--approx", "--lateness", "1668d"],
            "--lateness 1668d is out of range: with the window 1667d (4.5 years) at most",
        ),
    ];
    for (args, line) in cases {
        let run = dedup(args, "some\ninput\n");
        run.failed(2, line);
        assert_eq!(run.text(), "", "{args:?}");
    }
    let large = dedup(&["--approx", "--capacity", "100000G"], "a\n");
    assert_eq!((large.code, large.text(), large.err.lines().count()), (2, "", 1));
    let line = "windlass: --capacity 100000000000000 is out of range: at most the machine's memory (";
    assert!(large.err.starts_with(line), "{}", large.err);
}
