//! The reference answers: real logs, decision for decision, by the script that takes the time from the caller.

use crate::{
    servers::{Server, available},
    streams,
};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{fs, io::Write, path::Path, time::Duration};
use windlass::Verdict;
use windlass_remote::{Remote, RemoteDedup};

async fn compare(file: &str, view: &str, answers_expected: usize) {
    if !available() {
        return;
    }
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let Ok(text) = fs::read_to_string(data.join("expected.json")) else {
        let required = std::env::var_os("WINDLASS_REQUIRE_DATA").is_some_and(|value| value == "1");
        assert!(!required, "../shared/data is absent");
        writeln!(std::io::stderr(), "SKIPPED: ../shared/data is absent").expect("stderr is open");
        return;
    };
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let events = streams::read(&data, file, view);
    let server = Server::start(&[]);
    // Thousands of scripts together, on a machine that others use, too.
    let patient = Remote::builder(&server.address()).timeout(Duration::from_secs(30));
    let remote = patient.connect().await.expect("it is there");
    let mut compared = 0;
    for (order, answers) in
        all[file][view].as_object().expect("the view").iter().filter(|(name, _)| *name != "properties")
    {
        for (name, answer) in answers["dedup"].as_object().expect("answers") {
            let window: u64 = name.strip_prefix("T=").expect("a window").parse().expect("a number");
            let dedup =
                RemoteDedup::builder(&remote, &format!("{order}-{window}"), Duration::from_millis(window));
            let dedup = dedup.known(0).build().expect("valid");
            let ordered = streams::ordered(&events, order);
            let mut decisions = String::with_capacity(ordered.len());
            for batch in ordered.chunks(4096) {
                let batch: Vec<(&[u8], u64)> = batch.iter().map(|(ms, id)| (id.as_bytes(), *ms)).collect();
                for answer in dedup.observe_at(&batch).await {
                    decisions.push(match answer.expect("an answer") {
                        Verdict::Fresh => '0',
                        _ => '1',
                    });
                }
            }
            let sha256: String =
                Sha256::digest(&decisions).iter().map(|byte| format!("{byte:02x}")).collect();
            let ones = decisions.bytes().filter(|&byte| byte == b'1').count();
            assert_eq!(answer["ones"], ones, "{view}, {order}, {name}");
            assert_eq!(answer["head"], decisions[..64], "{view}, {order}, {name}");
            assert_eq!(answer["sha256"], sha256, "{view}, {order}, {name}");
            compared += 1;
        }
    }
    assert_eq!(compared, answers_expected, "{view}: all of the view's answers");
}

#[tokio::test]
async fn nasa() {
    compare("nasa-http-1995-08-01-0000-0959.tsv", "nasa", 4).await;
}

#[tokio::test]
async fn apache() {
    compare("apache-semicomplete-2015-05-17_18.log", "apache", 12).await;
}

#[tokio::test]
async fn zeek() {
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns", 12).await;
}

#[tokio::test]
async fn zeek_by_arrival() {
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns-arrival", 4).await;
}

#[tokio::test]
async fn mooncake() {
    compare("mooncake-conversation-00-30min.jsonl", "mooncake", 4).await;
}
