//! `windlass rank`: the reference answers through the binary, and what it refuses.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use crate::{
    answers,
    common::{Dir, run},
};
use serde_json::Value;
use std::fs;

/// Compares all answers of one view of a file in which nobody leaves. `fields`: the options for client and key.
fn compare(file: &str, view: &str, fields: [&[&str]; 2], answers_expected: usize) {
    let Some(data) = answers::data() else { return };
    let all = answers::answers(&data);
    let view = all[file][view].as_object().expect("the view");
    let path = data.join(file);
    let mut compared = 0;
    for (order, answers) in view {
        let Some(answers) = answers.get("fifo").and_then(Value::as_object) else { continue };
        let order: &[&str] = match order.as_str() {
            "in_order" => &[],
            "clamp" => &["--order", "clamp"],
            "sorted" => &["--order", "sort"],
            other => panic!("an order that is not known: {other}"),
        };
        for (name, answer) in answers {
            let Some(name) = name.strip_suffix(",R=0") else { continue };
            let (field, every) = name.split_once(",D=").expect("a field and a time");
            let fields = if field == "client" { fields[0] } else { fields[1] };
            let (every, dir) = (format!("{every}ms"), Dir::new());
            let out = dir.0.join("ranks");
            let args =
                ["rank", "--pop-every", &every, "--resolution", "ms", "--report", "json", "--decisions"];
            let paths = [out.to_str().expect("text"), path.to_str().expect("text")];
            let threads = if compared % 2 == 0 { "1" } else { "4" };
            let report = run(
                &[&args[..], &paths[..1], fields, order, &["--threads", threads], &paths[1..]].concat(),
                "",
            );
            let report = report.ok().json();
            let lines = fs::read(&out).expect("written");
            assert_eq!(report["events"], view["properties"]["events"]);
            assert_eq!(report["largest_rank"], answer["largest_rank"], "{name} {order:?}");
            let hash = answers::sha256(&lines);
            assert_eq!(answer["sha256"], hash, "{name} {order:?}");
            compared += 1;
        }
    }
    assert_eq!(compared, answers_expected, "all of the view's answers");
}

#[test]
fn nasa() {
    let fields = |key| ["--key", key, "--time", "time", "--time-format", "unix"];
    compare("nasa-http-1995-08-01-0000-0959.tsv", "nasa", [&fields("host"), &fields("url")], 4);
}

#[test]
fn apache() {
    let fields = |key| ["--format", "combined", "--key", key];
    compare("apache-semicomplete-2015-05-17_18.log", "apache", [&fields("ip"), &fields("path")], 8);
}

#[test]
fn zeek() {
    let fields = |key| ["--key", key, "--missing", "-", "--time", "ts", "--time-format", "rfc3339"];
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns", [&fields("id.orig_h"), &fields("query")], 8);
}

#[test]
fn mooncake() {
    let fields =
        |key| ["--each", "hash_ids", "--key", key, "--time", "timestamp", "--time-format", "unix-ms"];
    compare("mooncake-conversation-00-30min.jsonl", "mooncake", [&fields("hash_ids[1]"), &fields("@")], 2);
}

#[test]
fn a_room_that_is_empty_now_and_then() {
    let dir = Dir::new();
    let out = dir.0.join("ranks");
    let args = ["rank", "--format", "tsv", "--key", "2", "--time", "1", "--pop-every", "10s", "--decisions"];
    let events = "0\ta\n5\tb\n10\ta\n20\tb\n95\tc\n99\td\n100\tc\n100\td\n";
    let run = run(&[&args[..], &[out.to_str().expect("text"), "--report", "json"]].concat(), events).ok();
    assert_eq!(fs::read_to_string(&out).expect("written"), "0\n1\n-1\n-1\n0\n1\n-1\n0\n");
    let report = run.json();
    let figure = |name: &str| report[name].as_u64().expect("a number");
    assert_eq!(["events", "keys", "popped", "waiting", "largest_rank"].map(figure), [8, 4, 3, 1, 1]);
}

#[test]
fn what_it_refuses() {
    run(&["rank", "--pop-every", "0s"], "").failed(2, "--pop-every 0s is out of range: 1ns or more");
}
