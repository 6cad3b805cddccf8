//! The reference answers: real logs, decision for decision, by the scripts.

use crate::{
    servers::{Server, available},
    streams,
};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{fs, io::Write, path::Path, time::Duration};
use windlass_remote::{Algorithm, Quota, Remote, RemoteLimiter};

/// The answers that are left out: variants in which a denial counts, or in which a call may go beyond the limit.
const LEFT_OUT: [&str; 3] =
    ["sliding_log_denied_logged", "sliding_counter", "sliding_counter_denied_counted"];

fn algorithm(name: &str, quota: Quota) -> Option<(Algorithm, Quota)> {
    Some(match name {
        "fixed_window" => (Algorithm::FixedWindow, quota),
        "sliding_counter_whole" => (Algorithm::SlidingCounter, quota),
        "token_bucket" => (Algorithm::TokenBucket, quota),
        "sliding_log" => (Algorithm::SlidingLog, quota),
        "gcra" => (Algorithm::Gcra, quota),
        "gcra_no_burst" => (Algorithm::Gcra, quota.burst(1)),
        _ => return None,
    })
}

/// `N=3,T=60000`.
fn quota(name: &str) -> Quota {
    let (n, t) = name.split_once(",T=").expect("N and T");
    let n = n.strip_prefix("N=").expect("N").parse().expect("a number");
    Quota::new(n, Duration::from_millis(t.parse().expect("a number")))
}

async fn decisions(
    remote: &Remote,
    namespace: &str,
    stream: &[(u64, &str)],
    by: (Algorithm, Quota),
) -> String {
    let limiter = RemoteLimiter::builder(remote, namespace, by.1).algorithm(by.0).build().expect("valid");
    let mut decisions = String::with_capacity(stream.len());
    for batch in stream.chunks(4096) {
        let batch: Vec<(&[u8], u64, u64)> =
            batch.iter().map(|(ms, client)| (client.as_bytes(), 1, ms * 1000)).collect();
        for answer in limiter.check_at(&batch, false).await {
            decisions.push(if answer.expect("an answer").is_allowed() { '1' } else { '0' });
        }
    }
    decisions
}

/// Of the pairs of N and T every `stride`th.
async fn compare(file: &str, view: &str, stride: usize, answers_expected: usize) {
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
    let remote = Remote::builder(&server.address())
        .timeout(Duration::from_secs(20))
        .connect()
        .await
        .expect("it is there");
    let mut compared = 0;
    for (order, answers) in all[file][view].as_object().expect("the view") {
        let Some(limits) = answers.get("limit").and_then(Value::as_object) else { continue };
        let stream = streams::ordered_by(&events, order, |event| &event.client);
        for (i, (pair, answers)) in limits.iter().enumerate().step_by(stride) {
            for (name, answer) in answers.as_object().expect("algorithms") {
                let Some(by) = algorithm(name, quota(pair)) else {
                    assert!(LEFT_OUT.contains(&name.as_str()), "{name}");
                    continue;
                };
                let decisions = decisions(&remote, &format!("{order}-{i}-{name}"), &stream, by).await;
                let ones = decisions.bytes().filter(|&b| b == b'1').count();
                let sha256: String =
                    Sha256::digest(&decisions).iter().map(|byte| format!("{byte:02x}")).collect();
                assert_eq!(answer["ones"], ones, "{view}, {order}, {pair}, {name}: allowed");
                assert_eq!(answer["head"], decisions[..64], "{view}, {order}, {pair}, {name}");
                assert_eq!(answer["sha256"], sha256, "{view}, {order}, {pair}, {name}");
                compared += 1;
            }
            server.cli(&["FLUSHALL"]);
        }
    }
    assert_eq!(compared, answers_expected, "{view}: all of the view's answers");
}

#[tokio::test]
async fn zeek_by_arrival() {
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns-arrival", 3, 12).await;
}

#[tokio::test]
#[ignore = "long: ./check full"]
async fn all_of_them() {
    compare("nasa-http-1995-08-01-0000-0959.tsv", "nasa", 1, 30).await;
    compare("apache-semicomplete-2015-05-17_18.log", "apache", 1, 60).await;
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns", 1, 60).await;
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns-arrival", 1, 30).await;
    compare("mooncake-conversation-00-30min.jsonl", "mooncake", 1, 30).await;
}
