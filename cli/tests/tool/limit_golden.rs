//! The reference answers of rate limits: real logs, through the binary, decision for decision.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use std::fs;

use serde_json::Value;

use crate::{answers, common::Dir};

/// The answers that are left out: variants in which a denial counts, or in which an event may go beyond the limit.
const LEFT_OUT: [&str; 3] =
    ["sliding_log_denied_logged", "sliding_counter", "sliding_counter_denied_counted"];

/// The options for an answer.
fn options(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "fixed_window" => &["--algorithm", "fixed-window"],
        "sliding_log" => &["--algorithm", "sliding-log"],
        "sliding_counter_whole" => &["--algorithm", "sliding-counter"],
        "token_bucket" => &["--algorithm", "token-bucket"],
        "gcra" => &[],
        "gcra_no_burst" => &["--algorithm", "gcra", "--burst", "1"],
        _ => return None,
    })
}

/// `N=3,T=60000` as `3/60000ms`.
fn limit(name: &str) -> String {
    let (n, t) = name.split_once(",T=").expect("N and T");
    format!("{}/{t}ms", n.strip_prefix("N=").expect("N"))
}

/// Compares all answers of one view of a file, in all orders.
fn compare(file: &str, view: &str, fields: &[&str], answers_expected: usize) {
    let Some(data) = answers::data() else { return };
    let all = answers::answers(&data);
    let view = all[file][view].as_object().expect("the view");
    let path = data.join(file);
    let mut compared = 0;
    for (order, answers) in view {
        let Some(limits) = answers.get("limit").and_then(Value::as_object) else { continue };
        let order: &[&str] = match order.as_str() {
            "in_order" => &[],
            "clamp" => &["--order", "clamp"],
            "sorted" => &["--order", "sort"],
            other => panic!("an order that is not known: {other}"),
        };
        for (pair, answers) in limits {
            for (name, answer) in answers.as_object().expect("algorithms") {
                let Some(options) = options(name) else {
                    assert!(LEFT_OUT.contains(&name.as_str()), "{name}");
                    continue;
                };
                let limit = limit(pair);
                let args = ["limit", "--limit", &limit, "--clients", "10k", "--resolution", "ms"];
                let args = [&args, options, fields, order, &[path.to_str().expect("text")]].concat();
                // By one thread and by several, in turn.
                let threads = if compared % 2 == 0 { "1" } else { "4" };
                check(&[&args[..], &["--threads", threads]].concat(), answer, &view["properties"]);
                compared += 1;
            }
        }
    }
    assert_eq!(compared, answers_expected, "all of the view's answers");
}

/// Runs it, and compares every decision with the answer, and the report with the decisions.
fn check(args: &[&str], answer: &Value, properties: &Value) {
    let dir = Dir::new();
    let told = ["--emit", "none", "--report", "json", "--decisions", "decisions"];
    let report = dir.run(&[args, &told].concat()).ok().json();
    let decisions = fs::read(dir.0.join("decisions")).expect("written");
    let ones = decisions.iter().filter(|&&b| b == b'1').count();
    let zeros = decisions.iter().filter(|&&b| b == b'0').count();
    assert_eq!(ones + zeros, decisions.len(), "nothing but 0 and 1: {args:?}");
    assert_eq!((&answer["ones"], &answer["zeros"]), (&ones.into(), &zeros.into()), "{args:?}");
    assert_eq!(answer["head"].as_str().expect("text").as_bytes(), &decisions[..64], "{args:?}");
    let digest = answers::sha256(&decisions);
    assert_eq!(answer["sha256"], digest, "{args:?}");
    for (field, expected) in [
        ("events", &properties["events"]),
        ("clients", &properties["distinct_clients"]),
        ("allowed", &answer["ones"]),
        ("denied", &answer["zeros"]),
    ] {
        assert_eq!(&report[field], expected, "{field}: {args:?}");
    }
    assert_eq!((&report["unknown"], &report["late"]), (&0.into(), &0.into()), "{args:?}");
}

#[test]
fn nasa_tsv() {
    let fields = ["--key", "host", "--time", "time", "--time-format", "unix"];
    compare("nasa-http-1995-08-01-0000-0959.tsv", "nasa", &fields, 30);
}

#[test]
fn apache_combined() {
    let fields = ["--format", "combined", "--key", "ip"];
    compare("apache-semicomplete-2015-05-17_18.log", "apache", &fields, 60);
}

#[test]
fn zeek_jsonl() {
    let fields = ["--key", "id.orig_h", "--time", "ts", "--time-format", "rfc3339"];
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns", &fields, 60);
}

#[test]
fn zeek_jsonl_by_arrival() {
    let fields = ["--key", "id.orig_h", "--time", "_write_ts"];
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns-arrival", &fields, 30);
}

#[test]
fn mooncake_arrays() {
    let fields = ["--each", "hash_ids", "--key", "hash_ids[1]", "--time", "timestamp"];
    let fields = [&fields[..], &["--time-format", "unix-ms"]].concat();
    compare("mooncake-conversation-00-30min.jsonl", "mooncake", &fields, 30);
}
