//! The reference answers of hot keys: real logs, through the binary, line for line.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use serde_json::{Value, json};

use crate::{
    answers,
    common::{Dir, run_once},
};

/// All answers of one view of a file, in all orders. As the file is, with lines that wait for what is late, it gives those of the sorted one.
fn compare(file: &str, view: &str, fields: &[&str], answers_expected: usize) {
    let Some(data) = answers::data() else { return };
    let all = answers::answers(&data);
    let view = all[file][view].as_object().expect("the view");
    let path = data.join(file);
    let (path, mut compared) = (path.to_str().expect("text"), 0);
    for (order, answers) in view {
        let Some(lists) = answers.get("topk").and_then(Value::as_object) else { continue };
        let orders: &[&[&str]] = match order.as_str() {
            "in_order" => &[&[]],
            "clamp" => &[&["--order", "clamp"]],
            "sorted" => &[&["--order", "sort"], &["--lateness", "181s"]],
            other => panic!("an order that is not known: {other}"),
        };
        for (name, answer) in lists {
            let values: Vec<_> = name.split([',', '=']).collect();
            let (window, pane) = (format!("{}ms", values[1]), format!("{}ms", values[3]));
            let grid = ["top", "--window", &window, "--pane", &pane, "-k", values[5], "--report", "json"];
            for order in orders {
                // By one thread and by several, in turn.
                let threads = if compared % 2 == 0 { "1" } else { "4" };
                check(
                    &[&grid, fields, order, &["--threads", threads, path]].concat(),
                    answer,
                    &view["properties"],
                );
                compared += 1;
            }
        }
    }
    assert_eq!(compared, answers_expected, "all of the view's answers");
}

fn check(args: &[&str], answer: &Value, properties: &Value) {
    let dir = Dir::new();
    let run = run_once(&dir.0, &[args, &["--every-pane"]].concat(), b"").ok();
    let digest = answers::sha256(&run.out);
    assert_eq!(answer["sha256"], digest, "{args:?}");
    let report: Value = serde_json::from_str(&run.err).expect("JSON");
    // Without --every-pane it is the last list.
    let last = run_once(&dir.0, args, b"").ok().json();
    for report in [&report, &last] {
        assert_eq!(
            (&report["events"], &report["panes"]),
            (&properties["events"], &answer["panes"]),
            "{args:?}"
        );
        let rows = report["rows"].as_array().expect("rows");
        let rows: Vec<Value> = rows.iter().map(|row| json!([row["key"], row["count"]])).collect();
        assert_eq!(answer["last"], Value::from(rows), "{args:?}");
        for (field, expected) in [("certified", json!(true)), ("refused", json!(0)), ("late", json!(0))] {
            assert_eq!(report[field], expected, "{field}: {args:?}");
        }
    }
    assert_eq!(report["uncertified"], 0);
}

#[test]
fn nasa_tsv() {
    let fields = ["--key", "url", "--time", "time", "--time-format", "unix"];
    compare("nasa-http-1995-08-01-0000-0959.tsv", "nasa", &fields, 4);
}

#[test]
fn apache_combined() {
    compare(
        "apache-semicomplete-2015-05-17_18.log",
        "apache",
        &["--format", "combined", "--key", "path"],
        12,
    );
}

#[test]
fn zeek_jsonl() {
    let fields = ["--key", "query", "--missing", "-", "--time", "ts", "--time-format", "rfc3339"];
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns", &fields, 12);
}

#[test]
fn zeek_jsonl_by_arrival() {
    let fields = ["--key", "query", "--missing", "-", "--time", "_write_ts"];
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns-arrival", &fields, 4);
}

#[test]
fn mooncake_arrays() {
    let fields = ["--each", "hash_ids", "--key", "@", "--time", "timestamp", "--time-format", "unix-ms"];
    compare("mooncake-conversation-00-30min.jsonl", "mooncake", &fields, 4);
}
