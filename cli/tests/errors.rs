//! Wrong usage and bad input: one clear line each, the right exit status, nothing half-written.

mod common;

use std::fs;

use common::{Dir, dedup, run};

#[test]
fn usage() {
    let cases: &[(&[&str], &str)] = &[
        (&[], "which command? `windlass --help` lists them"),
        (&["dedupe"], "unrecognized subcommand 'dedupe' tip: a similar subcommand exists: 'dedup'"),
        (
            &["dedup"],
            "the following required arguments were not provided: <--window <DUR>|--window-count <N>>",
        ),
        (
            &["dedup", "--window", "5s", "--window-count", "5"],
            "the argument '--window <DUR>' cannot be used with '--window-count <N>'",
        ),
        (
            &["dedup", "--window", "60"],
            "invalid value '60' for '--window <DUR>': a whole number and one of ns, us, ms, s, m, h, d: 250ms, 60s, \
             5m, 1h",
        ),
        (&["dedup", "--window", "999999999h"], "invalid value '999999999h' for '--window <DUR>': too long: 584 years at most"),
        (&["dedup", "--window", "0s"], "--window 0s is out of range: 1 to 1152921504606846976 ns"),
        (&["dedup", "--window", "14000d"], "--window 14000d is out of range: 1 to 1152921504606846976 ns"),
        (&["dedup", "--window-count", "0"], "--window-count 0 is out of range: 1 to 1152921504606846976 events"),
        (
            &["dedup", "--window", "13000d", "--lateness", "13000d"],
            "--lateness 13000d is out of range: at most 1152921504606846976 ticks less the window (1123200000000000000)",
        ),
        (&["dedup", "--window", "5s", "--capacity", "0"], "--capacity 0 is out of range: 1 at least"),
        (
            &["dedup", "--window", "5s", "--emit", "some"],
            "invalid value 'some' for '--emit <EMIT>' [possible values: fresh, duplicates, all, none]",
        ),
        (
            &["dedup", "--window", "5s", "--format", "tsv", "--id", "1", "--time", "2", "--time-format", "weeks"],
            "invalid value 'weeks' for '--time-format <FORMAT>': known are unix, unix-ms, unix-us, unix-ns, rfc3339, clf \
             and strftime patterns like '%Y-%m-%d %H:%M:%S'",
        ),
        (&["dedup", "--window", "5s", "--order", "sort"], "--order clamp and --order sort need event times: --time FIELD"),
        (
            &["dedup", "--window", "5s", "--id", "user"],
            "stdin: format lines has no field \"user\": each line is an id; --format tsv, csv, jsonl or combined has \
             fields",
        ),
        (&["dedup", "--window", "5s", "--format", "jsonl"], "stdin: format jsonl needs --id FIELD"),
        (&["dedup", "--window", "5s", "--format", "jsonl", "--id", "a,,b"], "--id: a field's name is empty"),
        (&["dedup", "--window", "5s", "--format", "tsv", "--id", "0"], "no column 0: they are counted from 1"),
        (
            &["dedup", "--window", "5s", "--format", "csv", "--id", "1", "--each", "x"],
            "stdin: --each needs format jsonl, not csv",
        ),
        (
            &["dedup", "--window", "5s", "--format", "combined", "--id", "host"],
            "format combined has no field \"host\"; it has ip, user, time, request, method, path, status, bytes, referer, \
             agent",
        ),
        (&["dedup", "--window", "5s", "no-such-file"], "no-such-file: cannot open: No such file or directory"),
        (&["dedup", "--window", "5s", "/"], "/: is a directory, not a file"),
    ];
    for (args, line) in cases {
        let run = run(args, "some\ninput\n");
        run.failed(2, line);
        assert_eq!(run.text(), "", "{args:?}");
    }
}

#[test]
fn memory() {
    let huge = dedup(&["--capacity", "1000000G"], "a\n");
    assert_eq!(huge.code, 2);
    assert!(huge.err.starts_with("windlass: --capacity 1000000000000000 "), "{}", huge.err);
    assert_eq!(huge.err.lines().count(), 1);
    let capped = dedup(&["--max-memory", "1M"], "a\n");
    assert_eq!(capped.code, 2);
    assert!(capped.err.starts_with("windlass: --capacity 1000000 needs "), "{}", capped.err);
    assert!(capped.err.ends_with("; --max-memory allows 1.0 MiB\n"), "{}", capped.err);
    dedup(&["--max-memory", "1M", "--capacity", "1000"], "a\n").ok();
}

#[test]
fn a_wrong_second_file_stops_the_run_before_it_begins() {
    let dir = Dir::new();
    dir.put("good", "a\n");
    let run = dir.run(&["dedup", "--window", "5s", "--decisions", "d", "good", "bad"]);
    run.failed(2, "bad: cannot open: No such file or directory");
    assert_eq!(run.text(), "");
    dir.holds(&["good"]);
}

/// The message for a file of that name and content, which is bad after its first record.
fn bad_record(name: &str, content: &str, args: &[&str], line: &str) {
    let dir = Dir::new();
    dir.put(name, content).put("decisions", "of an earlier run");
    let all = [&["dedup", "--window", "5s", "--decisions", "decisions"], args, &[name]].concat();
    let run = dir.run(&all);
    run.failed(2, line);
    // What came before the bad record has been passed on; the decisions are there as a whole or not at all.
    let good = content.lines().take_while(|l| !l.starts_with("bad")).count();
    assert_eq!(run.text().lines().count(), good, "{all:?}");
    assert_eq!(fs::read_to_string(dir.0.join("decisions")).unwrap(), "of an earlier run");
    let mut names = vec!["decisions", name];
    names.sort_unstable();
    dir.holds(&names);

    let skip = dir.run(&[&all[..], &["--on-error", "skip"]].concat()).ok();
    assert!(skip.err.contains(&format!("\n1 records skipped, the first: {line}\n")), "{}", skip.err);
    assert_eq!(skip.text().lines().count(), content.lines().count() - 1, "{all:?}");
}

#[test]
fn bad_records() {
    let timed = ["--id", "1", "--time", "2", "--time-format", "unix"];
    bad_record("f.tsv", "a\t1\nbad\tx\nc\t3\n", &timed, "f.tsv:2: time \"x\" is not unix seconds, like 807249601 or 807249601.25");
    bad_record("f.tsv", "a\t1\nbad\t-5\nc\t3\n", &timed, "f.tsv:2: time \"-5\" is out of range: 1970 to 2261 is allowed");
    bad_record("f.tsv", "a\t1\nbad\nc\t3\n", &timed, "f.tsv:2: no field \"2\"");
    bad_record(
        "f.csv",
        "a,1\nbad,\"x\ny\"\nc,3\n",
        &["--id", "1", "--time", "2", "--time-format", "rfc3339"],
        "f.csv:1: time \"1\" is not rfc3339, like 2018-03-24T17:15:20.866586Z",
    );
}

#[test]
fn bad_json() {
    let id = ["--id", "a"];
    bad_record("f.jsonl", "{\"a\":1}\nbad\n{\"a\":2}\n", &id, "f.jsonl:2: not a JSON object: expected value at column 1");
}
