//! The reference answers: real logs, through the binary, decision for decision.
//!
//! The logs are not part of the repository. Where they are absent these tests say so and pass; with
//! `WINDLASS_REQUIRE_DATA=1` they fail instead.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use std::{collections::BTreeMap, fs};

use serde::Deserialize;

use crate::{answers, common::Dir};

/// How a decision string is recorded.
#[derive(Deserialize)]
struct Answer {
    ones: usize,
    zeros: usize,
    head: String,
    sha256: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Answers {
    dedup: BTreeMap<String, Answer>,
    last_n: BTreeMap<String, Answer>,
}

/// Compares all answers of one view of a file, in all orders. `lateness` is the file's largest.
fn compare(file: &str, view: &str, lateness: &str, fields: &[&str], answers_expected: usize) {
    let Some(data) = answers::data() else { return };
    let all = answers::answers(&data);
    let view = all[file][view].as_object().expect("the view");
    let events = view["properties"]["events"].as_u64().expect("a number");
    let path = data.join(file);
    let mut compared = 0;
    for (order, answers) in view.iter().filter(|(name, _)| *name != "properties") {
        let answers: Answers = serde_json::from_value(answers.clone()).expect("answers");
        let order: &[&str] = match order.as_str() {
            "in_order" => &[],
            "raw" => &["--lateness", lateness],
            "clamp" => &["--order", "clamp"],
            "sorted" => &["--order", "sort"],
            other => panic!("an order that is not known: {other}"),
        };
        let dedup = answers.dedup.iter().map(|(t, answer)| ("--window", format!("{}ms", value(t)), answer));
        let last_n = answers.last_n.iter().map(|(n, answer)| ("--window-count", value(n).to_owned(), answer));
        for (option, value, answer) in dedup.chain(last_n) {
            let path = path.to_str().expect("text");
            for threads in ["1", "4"] {
                let mut args = vec!["dedup", option, &value, "--resolution", "ms", "--threads", threads];
                args.extend(fields.iter().chain(order).chain(&[path]));
                check(&args, answer, events);
            }
            compared += 1;
        }
    }
    assert_eq!(compared, answers_expected, "all of the view's answers");
}

/// Runs it, and compares every decision with the answer.
fn check(args: &[&str], answer: &Answer, events: u64) {
    let dir = Dir::new();
    let told = ["--emit", "none", "--report", "json", "--decisions", "decisions"];
    let report = dir.run(&[args, &told].concat()).ok().json();
    let decisions = fs::read(dir.0.join("decisions")).expect("written");
    let ones = decisions.iter().filter(|&&b| b == b'1').count();
    let zeros = decisions.iter().filter(|&&b| b == b'0').count();
    assert_eq!((ones, zeros), (answer.ones, answer.zeros), "{args:?}");
    assert_eq!(ones + zeros, decisions.len(), "nothing but 0 and 1: {args:?}");
    assert_eq!(&decisions[..64], answer.head.as_bytes(), "{args:?}");
    assert_eq!(answers::sha256(&decisions), answer.sha256, "{args:?}");
    assert_eq!(report["events"], events, "{args:?}");
    assert_eq!(report["fresh"], answer.zeros, "{args:?}");
    assert_eq!(report["duplicates"], answer.ones, "{args:?}");
}

/// `60000` of `T=60000`.
fn value(name: &str) -> &str {
    name.split_once('=').expect("a name and a value").1
}

#[test]
fn nasa_tsv() {
    let fields = ["--id", "host,url", "--time", "time", "--time-format", "unix"];
    compare("nasa-http-1995-08-01-0000-0959.tsv", "nasa", "0s", &fields, 7);
}

#[test]
fn nasa_tsv_by_number() {
    let fields = ["--header", "--id", "1,5", "--time", "3"];
    compare("nasa-http-1995-08-01-0000-0959.tsv", "nasa", "0s", &fields, 7);
}

#[test]
fn apache_combined() {
    let fields = ["--format", "combined", "--id", "ip,request"];
    compare("apache-semicomplete-2015-05-17_18.log", "apache", "59s", &fields, 18);
}

#[test]
fn zeek_jsonl() {
    let fields = ["--id", "uid,trans_id", "--time", "ts", "--time-format", "rfc3339"];
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns", "180s", &fields, 18);
}

#[test]
fn zeek_jsonl_by_arrival() {
    let fields = ["--id", "uid,trans_id", "--time", "_write_ts"];
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns-arrival", "0s", &fields, 7);
}

#[test]
fn mooncake_arrays() {
    let fields = ["--each", "hash_ids", "--id", "@", "--time", "timestamp", "--time-format", "unix-ms"];
    compare("mooncake-conversation-00-30min.jsonl", "mooncake", "0s", &fields, 7);
}
