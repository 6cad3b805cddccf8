//! `windlass top --approx` and `--merge`: bounds around the counts of the exact table, in memory that is given.

#![allow(clippy::expect_used, clippy::unwrap_used)] // clippy knows tests only by their attribute

use std::collections::HashMap;

use serde_json::Value;

use crate::common::{Dir, Random, run};

const TOP: [&str; 13] =
    ["top", "--format", "tsv", "--key", "1", "--time", "2", "--window", "60s", "--pane", "5s", "-k", "10"];

/// Some keys are much hotter than others. A minute and more.
fn stream(seed: u64) -> String {
    let mut random = Random(seed);
    let mut key = || (0..3).fold(3000, |n, _| 1 + random.below(n)) - 1;
    (0..30_000).map(|i| format!("key-{}\t{}.{:03}\n", key(), i / 300, i % 300 * 3)).collect()
}

fn counts(texts: &[&String]) -> HashMap<String, u64> {
    // Events end at 99.897 s: the last twelve panes begin at 40 s.
    let mut counts = HashMap::new();
    for line in texts.iter().flat_map(|text| text.lines()) {
        let (key, at) = line.split_once('\t').unwrap();
        if at.parse::<f64>().unwrap() >= 40.0 {
            *counts.entry(key.to_owned()).or_default() += 1;
        }
    }
    counts
}

/// Against the truth. How many of the hottest are there.
#[track_caller]
fn check(report: &Value, counts: &HashMap<String, u64>) -> usize {
    let number = |value: &Value| value.as_u64().unwrap();
    let mut all: Vec<(&str, u64)> = counts.iter().map(|(key, n)| (key.as_str(), *n)).collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let rows = report["rows"].as_array().unwrap();
    let told: Vec<&str> = rows.iter().map(|row| row["key"].as_str().unwrap()).collect();
    for row in rows {
        let truth = counts.get(row["key"].as_str().unwrap()).copied().unwrap_or(0);
        assert!((number(&row["lower"])..=number(&row["upper"])).contains(&truth), "{row}: {truth}");
    }
    let missing = all.iter().find(|(key, _)| !told.contains(key));
    assert!(missing.is_none_or(|(_, n)| *n <= number(&report["tail"])), "{missing:?}");
    assert_eq!(number(&report["total"]), counts.values().sum::<u64>());
    if report["certified"] == true {
        assert_eq!(told, all.iter().take(10).map(|one| one.0).collect::<Vec<_>>());
    }
    all.iter().take(10).filter(|(key, _)| told.contains(key)).count()
}

#[test]
fn bounds_hold() {
    let text = stream(1);
    let counts = counts(&[&text]);
    for (memory, least) in [("40K", 5), ("128K", 8), ("1M", 10), ("16M", 10)] {
        let args = [&TOP[..], &["--approx", "--memory", memory, "--report", "json", "-q"]].concat();
        let report = run(&args, &text).ok().json();
        assert!(check(&report, &counts) >= least, "{memory}: {report}");
        assert!(report["memory_bytes"].as_u64().unwrap() <= 16 << 20);
        assert!(memory != "16M" || report["certified"] == true, "there is room for all");
    }
    // The same table as the exact one, where there is room.
    let exact = run(&[&TOP[..], &["-q"]].concat(), &text).ok();
    let roomy = run(&[&TOP[..], &["--approx", "--memory", "16M", "-q"]].concat(), &text).ok();
    assert_eq!(exact.text(), roomy.text());
}

#[test]
fn a_table_with_bounds() {
    let told = run(&[&TOP[..], &["--approx", "--memory", "40K"]].concat(), stream(1)).ok();
    assert!(
        told.text().starts_with("rank       count    at least     at most    share  "),
        "{}",
        told.text()
    );
    assert_eq!(told.text().lines().count(), 11);
    let summary = "\nnot certified: counts lie between the bounds; no other key has more than ";
    assert!(told.err.contains(summary), "{}", told.err);
    // Lines of panes as well: bounds are no failure.
    let lines = run(&[&TOP[..], &["--approx", "--memory", "40K", "--every-pane", "-q"]].concat(), stream(1));
    assert_eq!(lines.ok().text().lines().count(), 20);
}

#[test]
fn files_that_are_merged() {
    let texts: Vec<String> = (1..=4).map(stream).collect();
    let dir = Dir::new();
    let names = ["a.tsv", "b.tsv", "c.tsv", "d.tsv"];
    names.iter().zip(&texts).for_each(|(name, text)| {
        dir.put(name, text);
    });
    for n in [1, 2, 3, 4] {
        let counts = counts(&texts[..n].iter().collect::<Vec<_>>());
        let merge = [&TOP[..], &["--merge", "--report", "json", "-q"], &names[..n]].concat();
        let exact = dir.run(&merge).ok().json();
        assert_eq!((check(&exact, &counts), &exact["events"]), (10, &Value::from(30_000 * n)));
        assert_eq!(exact["panes"], 20);
        let backwards: Vec<&str> = names[..n].iter().rev().copied().collect();
        let other =
            dir.run(&[&TOP[..], &["--merge", "--report", "json", "-q"], &backwards].concat()).ok().json();
        assert_eq!(exact["rows"], other["rows"]);
        let approx = dir.run(&[&merge[..], &["--approx", "--memory", "256K"]].concat()).ok().json();
        assert!(check(&approx, &counts) >= 8, "{approx}");
    }
    let table = dir.run(&[&TOP[..], &["--merge"], &names].concat()).ok();
    assert!(table.err.starts_with("120,000 events in 20 panes of 5s; "), "{}", table.err);
}

/// A file that ends long before the others has nothing in the last window.
#[test]
fn files_of_other_times() {
    let dir = Dir::new();
    dir.put("old.tsv", "a\t1\na\t2\n").put("new.tsv", "b\t1000\n").put("none.tsv", "");
    let args = [&TOP[..], &["--merge", "-q", "old.tsv", "new.tsv", "none.tsv"]].concat();
    let told = dir.run(&args).ok();
    assert_eq!(told.text().lines().nth(1).unwrap().split_whitespace().last(), Some("b"));
    assert_eq!(told.text().lines().count(), 2);
    assert_eq!(dir.run(&[&TOP[..], &["--merge", "-q", "none.tsv"]].concat()).ok().text().lines().count(), 1);
}

#[test]
fn wrong_usage() {
    let cases: &[(&[&str], &str)] = &[
        (&["--memory", "1M"], "the following required arguments were not provided: --approx"),
        (&["--approx", "--capacity", "5"], "the argument '--approx' cannot be used with '--capacity <N>'"),
        (&["--merge", "--every-pane"], "the argument '--merge' cannot be used with '--every-pane'"),
        (&["--merge"], "--merge needs files: there are none"),
    ];
    for (more, line) in cases {
        run(&[&TOP[..], more].concat(), "").failed(2, line);
    }
    let told = run(&[&TOP[..], &["--approx", "--memory", "4K"]].concat(), "");
    assert!(
        told.err.contains("--memory 4") && told.err.contains("bytes or more, for 10 keys"),
        "{}",
        told.err
    );
    let dir = Dir::new();
    dir.put("a.tsv", "a\t1\n").put("b.tsv", "a\tnever\n");
    let wrong = dir.run(&[&TOP[..], &["--merge", "-q", "a.tsv", "b.tsv"]].concat());
    assert!(wrong.err.contains("b.tsv"), "{}", wrong.err);
}
