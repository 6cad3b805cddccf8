//! `windlass top --id --limit`: the same numbers as those of `windlass dedup` and `windlass limit`.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // clippy knows tests only by their attribute

use std::collections::BTreeMap;

use serde_json::Value;

use crate::common::{self, Dir, generated::stream, run};

const CSV: [&str; 5] = ["--format", "csv", "--header", "--time", "time"];

/// A stream whose events repeat, and whose keys are skewed.
fn events() -> String {
    stream(
        "--format csv --events 60000 --rate 2000 --seed 3 --keys 400 --duplicates 0.3 --late 0.1 --lateness 1s",
    )
}

fn report(command: &str, options: &str, text: &str) -> Value {
    let options: Vec<&str> = options.split_whitespace().collect();
    let args = [&[command], &CSV[..], &options, &["--report", "json", "-q"]].concat();
    let run = run(&args, text).ok();
    run.json()
}

#[test]
fn as_dedup_and_limit_say() {
    let text = events();
    let top =
        report("top", "--key key --id id --limit 20/s --window 8s --pane 1s -k 400 --lateness 1s", &text);
    let dedup = report("dedup", "--id id --window 8s --lateness 1s --emit none", &text);
    assert_eq!(top["duplicates"], dedup["duplicates"]);
    assert!(top["duplicates"].as_u64().unwrap() > 10_000, "{}", top["duplicates"]);
    let limit = report("limit", "--key key --limit 20/s --lateness 1s --emit none", &text);
    assert_eq!(top["denied"], limit["denied"]);
    assert!(top["denied"].as_u64().unwrap() > 1000, "{}", top["denied"]);
    // They change nothing of the counts.
    let plain = report("top", "--key key --window 8s --pane 1s -k 400 --lateness 1s", &text);
    for field in ["events", "panes", "late", "total", "certified", "tail"] {
        assert_eq!(top[field], plain[field], "{field}");
    }
    assert_eq!((plain.get("duplicates"), plain.get("denied")), (None, None));
    let rows = |report: &Value| -> Vec<(Value, Value)> {
        report["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| (row["key"].clone(), row["count"].clone()))
            .collect()
    };
    assert_eq!(rows(&top), rows(&plain));
}

/// Of a window that has all events, each key's denials are those of the clients' table.
#[test]
fn denials_of_each_key() {
    let text = stream("--format csv --events 20000 --rate 2000 --seed 4 --keys 200");
    let top = report("top", "--key key --limit 20/s --window 100s --pane 100s -k 400", &text);
    let limit = report("limit", "--key key --limit 20/s --emit none", &text);
    let denied: BTreeMap<&str, u64> = top["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["key"].as_str().unwrap(), row["denied"].as_u64().unwrap()))
        .collect();
    assert_eq!(denied.values().sum::<u64>(), limit["denied"].as_u64().unwrap());
    let most = limit["top_denied"].as_array().unwrap();
    assert!(most.len() >= 5, "{limit}");
    for client in most {
        assert_eq!(
            denied[client["client"].as_str().unwrap()],
            client["denied"].as_u64().unwrap(),
            "{client}"
        );
    }
    // Keys that are not among those that were denied most: no number is made up.
    let short = report("top", "--key key --limit 20/s --window 100s --pane 100s -k 3", &text);
    for row in short["rows"].as_array().unwrap() {
        let told = &row["denied"];
        assert!(told.is_null() || told.as_u64() == Some(denied[row["key"].as_str().unwrap()]), "{row}");
    }
}

#[test]
fn in_words() {
    let lines = "a\tx\t0\na\tx\t1\na\ty\t1\nb\tx\t2\n";
    let args = ["top", "--format", "tsv", "--key", "1", "--id", "2", "--limit", "2/60s", "--time", "3"];
    let args =
        [&args[..], &["--time-format", "unix", "--window", "10s", "--pane", "10s", "-k", "5"]].concat();
    let told = run(&args, lines).ok();
    let expected = "\
rank       count    share      denied                        key
   1           3   75.0 %           1  ####################  a
   2           1   25.0 %           0  #######               b
";
    assert_eq!(told.text(), expected);
    assert!(
        told.err.contains("\n2 duplicates (50.0 %)\n1 would have been denied by 2/m for each key (25.0 %)\n"),
        "{}",
        told.err
    );
}

#[test]
fn what_it_does_not_go_with() {
    let dir = Dir::new();
    let fixed = ["top", "--key", "1", "--window", "1s", "--pane", "1s", "-k", "1", "--format", "tsv"];
    for (option, value) in [("--id", "2"), ("--limit", "1/s")] {
        for other in [&["--merge", "x"][..], &["--state", "x"]] {
            let run = dir.run(&[&fixed[..], &[option, value], other].concat());
            assert_eq!(run.code, 2);
            assert!(run.err.contains("cannot be used with"), "{}", run.err);
        }
    }
    let wrong =
        |args: &[&str], line: &str| common::run(&[&fixed[..], args].concat(), "a\tb\n").failed(2, line);
    wrong(&["--id", ""], "--key: a field's name is empty");
    wrong(&["--id", "7"], "stdin:1: no field \"7\"");
}

/// Events of one line, by an array's elements.
#[test]
fn of_arrays() {
    let lines = "{\"t\":[\"a\",\"b\",\"a\"],\"n\":1}\n{\"t\":[\"a\"],\"n\":2}\n";
    let fixed = ["top", "--format", "jsonl", "--each", "t", "--key", "@", "--window", "60s", "--pane", "60s"];
    let json =
        |id: &str| run(&[&fixed[..], &["-k", "9", "--id", id, "--report", "json", "-q"]].concat(), lines);
    assert_eq!(json("@").ok().json()["duplicates"], 2);
    assert_eq!(json("n").ok().json()["duplicates"], 2);
    assert_eq!(json("n,@").ok().json()["duplicates"], 1);
}
