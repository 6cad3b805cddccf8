//! The reference answers: real logs, decision for decision, by the scripts.

use crate::{
    algorithms::by_name,
    answers,
    servers::{Server, available},
    streams,
};
use serde_json::Value;
use std::time::Duration;
use windlass_remote::{Algorithm, Quota, Remote, RemoteLimiter};

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
    let Some(data) = answers::data() else { return };
    let all = answers::answers(&data);
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
                let Some(by) = by_name(name, pair) else { continue };
                let decisions = decisions(&remote, &format!("{order}-{i}-{name}"), &stream, by).await;
                answers::check(answer, &decisions, &[view, order, pair, name]);
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
