//! `windlass dedup --remote`.

use std::{collections::HashMap, thread};

use super::{refused, stream};
use crate::{
    common::{Dir, Run, run_once},
    module::with_module,
    servers::{Server, available, free_port},
};

/// `windlass dedup --remote ..` with a window longer than any test, and time enough for a crowded machine.
fn dedup(server: &Server, options: &[&str], stdin: &[u8]) -> Run {
    let address = server.address();
    let all =
        [&["dedup", "--window", "1h", "--remote", &address, "--remote-timeout", "20s"], options].concat();
    run_once(&std::env::temp_dir(), &all, stdin)
}

#[test]
fn the_same_as_without() {
    if !available() {
        return;
    }
    let server = Server::start(&with_module(&[]));
    let (input, dir) = (stream(1, 20_000), Dir::new());
    for (emit, by) in
        [("fresh", None), ("duplicates", None), ("all", None), ("none", None), ("all", Some("--by-module"))]
    {
        let files = [dir.0.join("here"), dir.0.join("there")].map(|file| file.to_string_lossy().into_owned());
        let here = ["dedup", "-q", "--window", "1h", "--emit", emit, "--decisions", &files[0]];
        let here = run_once(&dir.0, &here, input.as_bytes()).ok();
        let space = format!("emit-{emit}");
        let mut options = vec!["-q", "--emit", emit, "--remote-namespace", &space, "--decisions", &files[1]];
        // In the same namespace: its ids are others.
        options.extend(by);
        let there = dedup(&server, &options, input.as_bytes()).ok();
        assert!(there.out == here.out, "--emit {emit} {by:?}: other records");
        let [here, there] = files.map(|file| std::fs::read(file).expect("written"));
        assert!(here.len() == 20_000 && here == there, "--emit {emit}: other decisions");
    }
}

#[test]
fn two_processes_on_one_stream_pass_each_id_once() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let input = stream(2, 40_000);
    let runs: Vec<Run> = thread::scope(|scope| {
        let both =
            [(); 2].map(|()| scope.spawn(|| dedup(&server, &["--report", "json"], input.as_bytes()).ok()));
        both.map(|run| run.join().expect("no panic")).into()
    });
    let mut passed: HashMap<&str, u32> = HashMap::new();
    for run in &runs {
        for id in run.text().lines() {
            *passed.entry(id).or_default() += 1;
        }
        let report: serde_json::Value = serde_json::from_str(&run.err).expect("a JSON object");
        assert_eq!(report["events"], 40_000);
        assert_eq!(report["fresh"], run.text().lines().count());
        let figures = &report["remote"];
        assert_eq!(
            (&figures["alone"], &figures["unconfirmed"], &figures["errors"]),
            (&0.into(), &0.into(), &0.into())
        );
        // 40 pipelines of at most 1024 would do; batches are as the blocks come.
        assert!(
            figures["round_trips"].as_u64().is_some_and(|trips| (1..1_000).contains(&trips)),
            "{figures}"
        );
    }
    let ids: std::collections::HashSet<&str> = input.lines().collect();
    assert_eq!(passed.len(), ids.len(), "all are passed on");
    assert_eq!(passed.values().max(), Some(&1), "none of them twice");
}

/// Who asks for the module where there is none is told so.
#[test]
fn without_the_module() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let run = dedup(&server, &["--by-module"], b"a\n");
    assert!(run.code == 1 && run.err.contains("module is not loaded"), "{}", run.err);
}

/// A program that asks for the bytes of the field finds what the tool has put there; and fields do not run into each other.
#[test]
fn what_an_id_is() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let run = dedup(&server, &["-q", "--format", "csv", "--id", "2"], b"1,order 4711\n2,order 4711\n").ok();
    assert_eq!(run.text(), "1,order 4711\n");
    assert_eq!(server.cli(&["EXISTS", "wl:d:windlass:order 4711"]).trim(), "1");
    let input = b"a b,c\na,b c\na b,c\n";
    let run = dedup(&server, &["-q", "--format", "csv", "--id", "1,2"], input).ok();
    assert_eq!(run.text(), "a b,c\na,b c\n");
    // The same in another process: a name that does not change.
    let run = dedup(&server, &["-q", "--format", "csv", "--id", "1,2"], input).ok();
    assert_eq!(run.text(), "");
    let run =
        dedup(&server, &["-q", "--format", "csv", "--id", "1", "--source", "2"], b"x,1\nx,2\nx,1\n").ok();
    assert_eq!(run.text(), "x,1\nx,2\n");
}

#[test]
fn errors_name_node_and_key() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    server.cli(&["LPUSH", "wl:d:windlass:b", "x"]);
    let run = dedup(&server, &["-q"], b"a\nb\nc\n");
    assert_eq!((run.code, run.text()), (1, "a\n"), "what came before it has its place");
    let at = server.at();
    assert!(run.err.starts_with("windlass: event 2: ") && run.err.lines().count() == 1, "{}", run.err);
    assert!(run.err.contains(&at) && run.err.contains("wl:d:windlass:b"), "{}", run.err);
}

#[test]
fn servers_that_cannot_be_used() {
    if !available() {
        return;
    }
    let run = |address: &str| {
        let options = ["dedup", "-q", "--window", "1h", "--remote-timeout", "5s", "--remote", address];
        run_once(&std::env::temp_dir(), &options, b"a\n")
    };
    let at = format!("127.0.0.1:{}", free_port());
    let none = run(&format!("redis://{at}"));
    assert_eq!((none.code, none.text()), (1, ""));
    assert!(none.err.starts_with("windlass: --remote: ") && none.err.contains(&at), "{}", none.err);
    let server = Server::start(&["--requirepass", "right"]);
    let wrong = run(&format!("redis://:wrong@{}", server.at()));
    assert_eq!((wrong.code, wrong.text()), (1, ""));
    assert!(wrong.err.contains("authentication failed") && wrong.err.contains(&server.at()), "{}", wrong.err);
    assert!(!wrong.err.contains("wrong@"), "{}", wrong.err);
    let evicting = Server::start(&["--maxmemory-policy", "allkeys-lru", "--maxmemory", "100mb"]);
    let refused = run(&evicting.address());
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("may forget keys early"), "{}", refused.err);
}

/// No server is needed for these.
#[test]
fn what_does_not_go_with_it() {
    let failed = |options: &[&str], says: &str| refused(&[&["dedup"], options].concat(), says);
    let window = ["--window", "1h"];
    for (options, says) in [
        (
            &["--format", "tsv", "--id", "1", "--time", "2"][..],
            "--time does not go with --remote: the servers judge events as they arrive",
        ),
        (&["--format", "combined", "--id", "ip"], "format combined does not go with --remote"),
        (&["--approx"], "--approx does not go"),
        (&["--refresh"], "--refresh does not go"),
        (&["--state", "file"], "--state does not go"),
        (&["--capacity", "5"], "--capacity does not go"),
        (&["--max-memory", "5M"], "--max-memory does not go"),
        (&["--seed", "5"], "--seed does not go"),
        (&["--lateness", "5s"], "--lateness does not go"),
        (&["--on-full", "evict"], "--on-full evict does not go"),
    ] {
        failed(&[&window, options].concat(), says);
    }
    failed(&["--window-count", "5"], "take --window");
    failed(&["--window", "1500us"], "whole milliseconds");
    let all = ["dedup", "--window", "1h", "--when-down", "allow"];
    let run = run_once(&std::env::temp_dir(), &all, b"");
    assert!(run.code == 2 && run.err.contains("--remote <URL>"), "{}", run.err);
    let all = ["dedup", "--window", "1h", "--remote", "http://somewhere"];
    let run = run_once(&std::env::temp_dir(), &all, b"");
    assert!(run.code == 2 && run.err.contains("unknown scheme"), "{}", run.err);
}

/// A server that takes no writes, as it has no replica: each policy.
#[test]
fn while_the_server_is_away() {
    if !available() {
        return;
    }
    let server = Server::start(&["--min-replicas-to-write", "1"]);
    let judged = |policy: &str| {
        let address = server.address();
        let options = ["--report", "json", "--remote-timeout", "1s", "--when-down", policy];
        let all = [&["dedup", "--window", "1h", "--remote", &address][..], &options].concat();
        run_once(&std::env::temp_dir(), &all, b"a\nb\na\n")
    };
    let denied = judged("deny");
    assert_eq!((denied.code, denied.text()), (1, ""));
    assert!(
        denied.err.contains("event 1: too few replicas") && denied.err.contains(&server.at()),
        "{}",
        denied.err
    );
    // By whom, how many, and of how many the server does not know.
    for (policy, passed, alone, untold) in [("allow", "a\nb\na\n", 3, 0), ("local-share", "a\nb\n", 3, 2)] {
        let run = judged(policy).ok();
        assert_eq!(run.text(), passed, "{policy}");
        let report: serde_json::Value = serde_json::from_str(&run.err).expect("a JSON object");
        let figures = &report["remote"];
        assert_eq!(
            (&figures["alone"], &figures["untold"]),
            (&alone.into(), &untold.into()),
            "{policy}: {figures}"
        );
    }
}

/// Nobody confirms: passed on, and counted.
#[test]
fn what_no_replica_has_is_unconfirmed() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let address = server.address();
    let options =
        ["--remote", &address, "--remote-timeout", "1s", "--durability", "confirmed", "--report", "json"];
    let all = [&["dedup", "--window", "1h"][..], &options].concat();
    let run = run_once(&std::env::temp_dir(), &all, b"a\nb\na\n").ok();
    assert_eq!(run.text(), "a\nb\n");
    let report: serde_json::Value = serde_json::from_str(&run.err).expect("a JSON object");
    assert_eq!(report["remote"]["unconfirmed"], 2, "{report}");
}
