//! The reference answers: real logs, decision for decision, by the script that takes the time from the caller.

use super::By;
use crate::{
    answers,
    module::with_module,
    servers::{Server, available},
    streams,
};
use std::time::Duration;
use windlass::Verdict;
use windlass_remote::{Remote, RemoteDedup};

/// By the script; or by the module, in the orders whose times do not go back: its time does not.
async fn compare(file: &str, view: &str, by: By, answers_expected: usize) {
    if !available() {
        return;
    }
    let Some(data) = answers::data() else { return };
    let all = answers::answers(&data);
    let events = streams::read(&data, file, view);
    let server = Server::start(&with_module(&[]));
    // Thousands of scripts together, on a machine that others use, too.
    let patient = Remote::builder(&server.address()).timeout(Duration::from_secs(30));
    let remote = patient.connect().await.expect("it is there");
    let mut compared = 0;
    for (order, answers) in
        all[file][view].as_object().expect("the view").iter().filter(|(name, _)| *name != "properties")
    {
        let ordered = streams::ordered(&events, order);
        if by == By::Module && !ordered.is_sorted_by_key(|event| event.0) {
            continue;
        }
        for (name, answer) in answers["dedup"].as_object().expect("answers") {
            let window: u64 = name.strip_prefix("T=").expect("a window").parse().expect("a number");
            let dedup =
                RemoteDedup::builder(&remote, &format!("{order}-{window}"), Duration::from_millis(window));
            let dedup = by.of(dedup).known(0).build().expect("valid");
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
            answers::check(answer, &decisions, &[view, order, name]);
            compared += 1;
        }
    }
    assert_eq!(compared, answers_expected, "{view}: all of the view's answers");
}

#[tokio::test]
async fn nasa() {
    compare("nasa-http-1995-08-01-0000-0959.tsv", "nasa", By::Native, 4).await;
    compare("nasa-http-1995-08-01-0000-0959.tsv", "nasa", By::Module, 4).await;
}

#[tokio::test]
async fn apache() {
    compare("apache-semicomplete-2015-05-17_18.log", "apache", By::Native, 12).await;
    compare("apache-semicomplete-2015-05-17_18.log", "apache", By::Module, 8).await;
}

#[tokio::test]
async fn zeek() {
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns", By::Native, 12).await;
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns", By::Module, 8).await;
}

#[tokio::test]
async fn zeek_by_arrival() {
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns-arrival", By::Native, 4).await;
    compare("zeek-dns-171520-172114.jsonl", "zeek-dns-arrival", By::Module, 4).await;
}

#[tokio::test]
async fn mooncake() {
    compare("mooncake-conversation-00-30min.jsonl", "mooncake", By::Native, 4).await;
    compare("mooncake-conversation-00-30min.jsonl", "mooncake", By::Module, 4).await;
}
