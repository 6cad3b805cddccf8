//! The reference answers: real logs, decision for decision, by logical time.

use crate::{
    common::{Loaded, loaded, number, text},
    streams,
};
use redis::Value as Told;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{
    fmt::Write as _,
    fs,
    io::Write,
    path::{Path, PathBuf},
};

fn data() -> Option<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    if data.join("expected.json").exists() {
        return Some(data);
    }
    let required = std::env::var_os("WINDLASS_REQUIRE_DATA").is_some_and(|value| value == "1");
    assert!(!required, "../shared/data is absent");
    writeln!(std::io::stderr(), "SKIPPED: ../shared/data is absent").expect("stderr is open");
    None
}

fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn decides(answer: &Value, decisions: &str, what: &str) {
    let ones = decisions.bytes().filter(|&byte| byte == b'1').count();
    assert_eq!(answer["ones"], ones, "{what}");
    assert_eq!(answer["head"], decisions[..64], "{what}");
    assert_eq!(answer["sha256"], sha256(decisions), "{what}");
}

/// The answers of a view in the orders whose times do not go back: the module's do not.
fn views(file: &str, view: &str, mut each: impl FnMut(&mut Loaded, &Value, &[streams::Event], &str)) {
    let (Some(data), Some(mut server)) = (data(), loaded(&[])) else { return };
    let text = fs::read_to_string(data.join("expected.json")).expect("readable");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let events = streams::read(&data, file, view);
    for (order, answers) in all[file][view].as_object().expect("the view") {
        if order != "properties" && streams::ordered(&events, order).is_sorted_by_key(|event| event.0) {
            each(&mut server, answers, &events, order);
            server.told("FLUSHALL");
        }
    }
}

fn dedup(file: &str, view: &str, answers_expected: usize) {
    let mut compared = 0;
    let mut ran = false;
    views(file, view, |server, answers, events, order| {
        ran = true;
        for (name, answer) in answers["dedup"].as_object().expect("answers") {
            let window = name.strip_prefix("T=").expect("a window");
            let key = format!("{order}-{window}");
            let commands = streams::ordered(events, order).into_iter().map(|(ms, id)| {
                let at = (ms * 1000).to_string();
                let words = ["WL.AT", at.as_str(), "DEDUP", key.as_str(), window, id];
                words.map(|word| word.as_bytes().to_vec()).to_vec()
            });
            let decisions: String = server
                .together(commands)
                .into_iter()
                .map(|told| if told == Told::Array(vec![Told::Int(1)]) { '0' } else { '1' })
                .collect();
            decides(answer, &decisions, &format!("{view}, {order}, {name}"));
            compared += 1;
        }
    });
    assert!(!ran || compared == answers_expected, "{view}: {compared} answers");
}

#[test]
fn dedup_of_nasa() {
    dedup("nasa-http-1995-08-01-0000-0959.tsv", "nasa", 4);
}

#[test]
fn dedup_of_apache() {
    dedup("apache-semicomplete-2015-05-17_18.log", "apache", 8);
}

#[test]
fn dedup_of_zeek() {
    dedup("zeek-dns-171520-172114.jsonl", "zeek-dns", 8);
    dedup("zeek-dns-171520-172114.jsonl", "zeek-dns-arrival", 4);
}

/// The answers that are left out: variants in which a denial counts, or in which a call may go beyond the limit.
const LEFT_OUT: [&str; 3] =
    ["sliding_log_denied_logged", "sliding_counter", "sliding_counter_denied_counted"];

#[test]
fn limits_of_zeek() {
    let (mut compared, mut ran) = (0, false);
    views("zeek-dns-171520-172114.jsonl", "zeek-dns-arrival", |server, answers, events, order| {
        ran = true;
        let limits = answers["limit"].as_object().expect("answers");
        for (pair, answers) in limits.iter().step_by(3) {
            let (permits, window) = pair.split_once(",T=").expect("N and T");
            let permits = permits.strip_prefix("N=").expect("N");
            for (name, answer) in answers.as_object().expect("algorithms") {
                let (word, burst) = match name.as_str() {
                    "fixed_window" => ("FIXED", permits),
                    "sliding_counter_whole" => ("SLIDING", permits),
                    "token_bucket" => ("BUCKET", permits),
                    "sliding_log" => ("LOG", permits),
                    "gcra" => ("GCRA", permits),
                    "gcra_no_burst" => ("GCRA", "1"),
                    other => {
                        assert!(LEFT_OUT.contains(&other), "{other}");
                        continue;
                    }
                };
                let stream = streams::ordered_by(events, order, |event| &event.client);
                let commands = stream.into_iter().map(|(ms, client)| {
                    let (at, key) = ((ms * 1000).to_string(), format!("{pair}-{name}-{client}"));
                    let words = ["WL.AT", &at, "LIMIT", &key, word, permits, window, "BURST", burst];
                    words.map(|word| word.as_bytes().to_vec()).to_vec()
                });
                let decisions: String = server
                    .together(commands)
                    .into_iter()
                    .map(|told| match told {
                        Told::Array(told) if told[0] == Told::Int(1) => '1',
                        Told::Array(_) => '0',
                        other => panic!("{other:?}"),
                    })
                    .collect();
                decides(answer, &decisions, &format!("{order}, {pair}, {name}"));
                compared += 1;
            }
            server.told("FLUSHALL");
        }
    });
    assert!(!ran || compared == 12, "{compared} answers");
}

/// A list at the end of each pane.
#[test]
fn hot_keys_of_zeek() {
    let (mut compared, mut ran) = (0, false);
    views("zeek-dns-171520-172114.jsonl", "zeek-dns-arrival", |server, answers, events, order| {
        ran = true;
        for (name, answer) in answers["topk"].as_object().expect("answers") {
            let numbers: Vec<u64> = name
                .split(',')
                .map(|part| part.split_once('=').expect("a value").1.parse().expect("a number"))
                .collect();
            let (window, pane, k) = (numbers[0], numbers[1], numbers[2]);
            let stream = streams::ordered_by(events, order, |event| &event.key);
            let (mut commands, mut ends) = (Vec::new(), Vec::new());
            let mut rest = stream.as_slice();
            let (first, last) = (stream[0].0 / pane, stream[stream.len() - 1].0 / pane);
            let words =
                |line: String| line.split('\n').map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
            for number in first..=last {
                let end = (number + 1) * pane;
                let own = rest.iter().take_while(|event| event.0 < end).count();
                for (ms, key) in &rest[..own] {
                    commands.push(words(format!(
                        "WL.AT\n{}\nTOPK.ADD\n{name}\n{window}\n{pane}\n{k}\n{key}\n1",
                        ms * 1000
                    )));
                }
                rest = &rest[own..];
                // The pane of the last microsecond, and those before it.
                ends.push((commands.len(), end));
                commands.push(words(format!("WL.AT\n{}\nTOPK.LIST\n{name}", end * 1000 - 1)));
            }
            let told = server.together(commands);
            let lists: Vec<(u64, Vec<(String, i64)>)> =
                ends.into_iter().map(|(at, end)| (end, rows(&told[at]))).collect();
            assert_eq!(answer["panes"], lists.len(), "{name}");
            let told = |rows: &[(String, i64)]| {
                json!(rows.iter().map(|(key, count)| json!([key, count])).collect::<Vec<_>>())
            };
            let hottest = |rows: &[(String, i64)]| rows.first().map_or(0, |row| row.1);
            let busiest = lists.iter().rev().max_by_key(|(_, rows)| hottest(rows)).expect("some");
            assert_eq!(
                answer["busiest"],
                json!({"pane_end_ms": busiest.0, "top": told(&busiest.1)}),
                "{name}"
            );
            let lines = lists.iter().fold(String::new(), |mut lines, (end, rows)| {
                write!(lines, "{end}").expect("a string");
                for (key, count) in rows {
                    write!(lines, "\t{count}\t{key}").expect("a string");
                }
                lines + "\n"
            });
            assert_eq!(answer["sha256"], sha256(&lines), "{order}, {name}");
            compared += 1;
        }
    });
    assert!(!ran || compared == 4, "{compared} answers");
}

/// Of a list that is certified.
fn rows(told: &Told) -> Vec<(String, i64)> {
    let Told::Array(pairs) = told else { panic!("{told:?}") };
    assert_eq!(number(&pairs[1]), 1, "certified");
    let Told::Array(rows) = &pairs[11] else { panic!("{pairs:?}") };
    let row = |row: &Told| match row {
        Told::Array(row) => (text(&row[0]), number(&row[1])),
        other => panic!("{other:?}"),
    };
    rows.iter().map(row).collect()
}
