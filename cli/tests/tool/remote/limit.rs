//! `windlass limit --remote`.

use std::{collections::HashMap, fs};

use serde_json::Value;

use super::{ask, ask_twice, refused, stream};
use crate::{
    common::{Dir, run_once},
    module::with_module,
    servers::{Server, available},
};

/// So many in so long that no test sees anything given back.
const LIMIT: &str = "3/300d";
const BY_CLIENT: [&str; 4] = ["--format", "tsv", "--key", "1"];

const ALGORITHMS: [&str; 6] =
    ["gcra", "token-bucket", "leaky-queue", "fixed-window", "sliding-counter", "sliding-log"];

#[test]
fn the_same_as_without() {
    if !available() {
        return;
    }
    let server = Server::start(&with_module(&[]));
    let (input, dir) = (stream(1, 4000), Dir::new());
    let compare = |space: &str, options: &[&str], by: &[&str]| {
        let files = ["here", "there"].map(|file| dir.0.join(file).to_string_lossy().into_owned());
        let all = |file| [&["limit", "--report", "json", "--decisions", file], options].concat();
        let here = run_once(&dir.0, &all(&files[0]), input.as_bytes()).ok();
        let there = [&all(&files[1])[..], &["--remote-namespace", space], by].concat();
        let there = ask(&dir.0, &server, &there, input.as_bytes()).ok();
        assert!(there.out == here.out, "{options:?}: other records");
        let [own, other] = files.map(|file| fs::read(file).expect("written"));
        assert!(own.len() == 4000 && own == other, "{options:?}: other decisions");
        assert!(own.contains(&b'0') && own.contains(&b'1'), "{options:?}");
        let [mut here, mut there]: [Value; 2] =
            [here, there].map(|run| serde_json::from_str(&run.err).expect("a JSON object"));
        assert!(
            there["remote"]["round_trips"].as_u64().is_some_and(|trips| (1..100).contains(&trips)),
            "{there}"
        );
        // What is measured, and what is of one of them alone.
        for report in [&mut here, &mut there] {
            let fields = report.as_object_mut().expect("an object");
            for field in ["seconds", "memory_bytes", "seed", "remote"] {
                fields.remove(field);
            }
            fields.retain(|field, _| !field.ends_with("denied_ns") && !field.ends_with("delay_ns"));
            for client in fields.get_mut("top_denied").and_then(Value::as_array_mut).into_iter().flatten() {
                client.as_object_mut().expect("an object").retain(|field, _| !field.ends_with("_ns"));
            }
        }
        assert_eq!(here, there, "{options:?}");
    };
    for algorithm in ALGORITHMS {
        let options = [&["--limit", LIMIT, "--algorithm", algorithm][..], &BY_CLIENT].concat();
        compare(algorithm, &options, &[]);
        compare(algorithm, &options, &["--by-module"]);
    }
    compare("one", &["--limit", "100/300d", "--emit", "denied"], &[]);
    compare("burst", &[&["--limit", LIMIT, "--burst", "2", "--emit", "all"][..], &BY_CLIENT].concat(), &[]);
    compare(
        "source",
        &["--limit", "2/300d", "--format", "tsv", "--key", "1", "--source", "1", "--emit", "all"],
        &[],
    );
    dir.put("policy.toml", POLICY);
    compare("policy", &["--policy", "policy.toml", "--format", "tsv"], &[]);
}

const POLICY: &str = r#"
[[limit]]
name = "client"
key = "1"
quota = "3/300d"

[[limit]]
name = "all"
quota = "2000/300d"
algorithm = "fixed-window"

[[limit]]
name = "again"
key = ["1", "1"]
quota = "2/300d"
algorithm = "sliding-counter"
"#;

/// Of one stream that both read no client has more than the limit, and each has as much as there is.
#[test]
fn two_processes_on_one_stream_never_go_over() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let (input, dir) = (stream(2, 8000), Dir::new());
    dir.put("policy.toml", POLICY);
    let mut offered: HashMap<&str, u32> = HashMap::new();
    input.lines().for_each(|id| *offered.entry(id).or_default() += 2);
    let passed = |space: &str, options: &[&str]| {
        let all = [&["limit", "-q", "--remote-namespace", space][..], options].concat();
        let runs = ask_twice(&dir.0, &server, [&all; 2], [input.as_bytes(); 2]);
        let mut passed: HashMap<String, u32> = HashMap::new();
        for line in runs.iter().flat_map(|run| run.text().lines()) {
            *passed.entry(line.to_owned()).or_default() += 1;
        }
        passed
    };
    for algorithm in ALGORITHMS {
        let options = [&["--limit", LIMIT, "--algorithm", algorithm][..], &BY_CLIENT].concat();
        let passed = passed(algorithm, &options);
        for (id, offered) in &offered {
            assert_eq!(passed.get(*id), Some(&3.min(*offered)), "{algorithm}: {id}");
        }
    }
    assert_eq!(passed("one", &["--limit", "1000/300d"]).values().sum::<u32>(), 1000);
    let passed = passed("policy", &["--policy", "policy.toml", "--format", "tsv"]);
    assert_eq!(passed.values().sum::<u32>(), 2000, "the limit of all");
    assert_eq!(passed.values().max(), Some(&2), "the tightest of each");
}

/// A program that asks for the bytes of the field finds what the tool has charged.
#[test]
fn who_a_client_is() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let dir = Dir::new();
    let options = ["limit", "-q", "--limit", "1/1h", "--format", "csv", "--key"];
    let run = ask(&dir.0, &server, &[&options[..], &["2"]].concat(), b"1,ann bee\n2,ann bee\n").ok();
    assert_eq!(run.text(), "1,ann bee\n");
    assert_eq!(server.cli(&["EXISTS", "wl:lt:windlass:ann bee"]).trim(), "1");
    // Fields do not run into each other, also in another process.
    for text in ["a b,c\na,b c\n", ""] {
        let run = ask(&dir.0, &server, &[&options[..], &["1,2"]].concat(), b"a b,c\na,b c\na b,c\n").ok();
        assert_eq!(run.text(), text);
    }
}

#[test]
fn while_the_server_is_away() {
    if !available() {
        return;
    }
    let (server, dir) = (Server::start(&["--min-replicas-to-write", "1"]), Dir::new());
    dir.put("policy.toml", POLICY);
    let judged = |options: &[&str]| {
        let address = server.address();
        let all = [&["limit", "--report", "json", "--remote", &address], options].concat();
        run_once(&dir.0, &all, b"a\na\na\nb\n")
    };
    let limit = [&["--limit", "2/300d"][..], &BY_CLIENT].concat();
    let policy = ["--policy", "policy.toml", "--format", "tsv"];
    for options in [&limit[..], &policy] {
        let denied = judged(options);
        assert_eq!((denied.code, denied.text()), (1, ""));
        let says = "event 1: too few replicas";
        assert!(denied.err.contains(says) && denied.err.contains(&server.at()), "{}", denied.err);
        let run = judged(&[options, &["--when-down", "allow"]].concat()).ok();
        let report: Value = serde_json::from_str(&run.err).expect("a JSON object");
        assert_eq!((run.text(), &report["remote"]["alone"]), ("a\na\na\nb\n", &4.into()));
    }
    for (instances, passed) in [("1", "a\na\nb\n"), ("2", "a\nb\n")] {
        let share = ["--when-down", "local-share", "--instances", instances];
        assert_eq!(judged(&[&limit[..], &share].concat()).ok().text(), passed);
    }
}

#[test]
fn errors_name_node_and_key() {
    if !available() {
        return;
    }
    let (server, dir) = (Server::start(&[]), Dir::new());
    server.cli(&["LPUSH", "wl:lt:windlass:b", "x"]);
    let options = [&["limit", "-q", "--limit", LIMIT][..], &BY_CLIENT].concat();
    let run = ask(&dir.0, &server, &options, b"a\nb\nc\n");
    assert_eq!((run.code, run.text()), (1, "a\n"), "what came before it has its place");
    let at = server.at();
    assert!(run.err.starts_with("windlass: event 2: ") && run.err.lines().count() == 1, "{}", run.err);
    assert!(run.err.contains(&at) && run.err.contains("wl:lt:windlass:b"), "{}", run.err);
}

/// No server is needed for these.
#[test]
fn what_does_not_go_with_it() {
    let dir = Dir::new();
    dir.put("policy.toml", POLICY);
    let (policy, file) = (dir.0.join("policy.toml"), "--policy");
    let policy = policy.to_str().expect("text");
    let limit = ["limit", "--limit", "5/s"];
    let failed = |options: &[&str], says: &str| refused(&[&limit, options].concat(), says);
    failed(&["--format", "tsv", "--key", "1", "--time", "2"], "--time does not go with --remote");
    failed(&["--format", "combined", "--key", "ip"], "format combined does not go with --remote");
    failed(&["--state", "file"], "--state does not go with --remote");
    failed(&["--lateness", "5s"], "--lateness does not go");
    failed(&["--key", "1", "--clients", "5"], "--clients does not go");
    failed(&["--key", "1", "--max-memory", "5M"], "--max-memory does not go");
    failed(&["--key", "1", "--on-unknown", "allow"], "--on-unknown does not go");
    failed(&["--seed", "5"], "--seed does not go");
    failed(&["--when-down", "local-share"], "needs --instances N");
    failed(&["--instances", "5"], "--when-down local-share alone");
    refused(&["limit", file, policy, "--when-down", "local-share"], "does not go with --policy");
    let run = run_once(&dir.0, &["limit", "--limit", "5/s", "--instances", "5"], b"");
    assert!(run.code == 2 && run.err.contains("--remote <URL>"), "{}", run.err);
}
