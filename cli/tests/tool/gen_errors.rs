//! `windlass gen`: one clear line for what cannot be, and pipes that close.

#![allow(clippy::expect_used, clippy::unwrap_used)] // clippy knows tests only by their attribute

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use crate::common::{EXE, generated::events, run};

#[test]
fn errors() {
    let share = "a share from 0 to 1, with 6 decimals at most: 0.2";
    let skew = "a number from 0 to 5, with 3 decimals at most: 1.07";
    let count = "a whole number, with k, M or G for thousands, millions or billions";
    let cases: &[(&str, &str)] = &[
        ("--events 1e6", &format!("invalid value '1e6' for '--events <N>': {count}")),
        ("--events -1", &format!("invalid value '-1' for '--events <N>': {count}")),
        (
            "--seed 18446744073709551616",
            "invalid value '18446744073709551616' for '--seed <N>': too large: 18446744073709551615 at most",
        ),
        ("--rate 0", "--rate 0 is out of range: 1 to 1000000000"),
        ("--rate 1000000001", "--rate 1000000001 is out of range: 1 to 1000000000"),
        ("--keys 0", "--keys 0 is out of range: 1 to 1000000000"),
        ("--clients 2G", "--clients 2000000000 is out of range: 1 to 1000000000"),
        ("--duplicates 1.1", &format!("invalid value '1.1' for '--duplicates <SHARE>': {share}")),
        ("--duplicates 20%", &format!("invalid value '20%' for '--duplicates <SHARE>': {share}")),
        (
            "--late 0.1234567 --lateness 1s",
            &format!("invalid value '0.1234567' for '--late <SHARE>': {share}"),
        ),
        ("--skew -1", &format!("invalid value '-1' for '--skew <S>': {skew}")),
        ("--skew 5.1", &format!("invalid value '5.1' for '--skew <S>': {skew}")),
        ("--distance 0", "--distance 0 is out of range: 1 to 1000000000 events"),
        ("--distance 2G", "--distance 2000000000 is out of range: 1 to 1000000000 events"),
        (
            "--distance 1us",
            "--distance 1us is out of range: 1 to 1000000000 events; at --rate 100000 it is 0",
        ),
        (
            "--distance 500d --rate 1M",
            "--distance 500d is out of range: 1 to 1000000000 events; at --rate 1000000 it is 43200000000000",
        ),
        (
            "--distance near",
            "invalid value 'near' for '--distance <DUR|N>': a time like 250ms, 60s, 5m, or a number of events like \
             500000, 64k, 1M",
        ),
        ("--late 0.1", "the following required arguments were not provided: --lateness <DUR>"),
        ("--lateness 5s", "the following required arguments were not provided: --late <SHARE>"),
        (
            "--late 0.1 --lateness 0s",
            "--lateness 0s is out of range: 1ns, to as far as 1970 is from --start 2026-01-01T00:00:00Z",
        ),
        (
            "--late 0.1 --lateness 2d --start 1970-01-02T00:00:00Z",
            "--lateness 2d is out of range: 1ns, to as far as 1970 is from --start 1970-01-02T00:00:00Z",
        ),
        (
            "--start today",
            "invalid value 'today' for '--start <TIME>': time \"today\" is not rfc3339, like \
             2018-03-24T17:15:20.866586Z",
        ),
        (
            "--start 1969-12-31T23:59:59Z",
            "invalid value '1969-12-31T23:59:59Z' for '--start <TIME>': time \"1969-12-31T23:59:59Z\" is out of range: \
             1970 to 2261 is allowed",
        ),
        (
            "--events 1G --rate 1 --start 2250-01-01T00:00:00Z",
            "--events 1000000000 is out of range: 387416836 at most, at 1 a second, until 2261",
        ),
        (
            "--format combined",
            "invalid value 'combined' for '--format <FORMAT>' [possible values: lines, tsv, csv, jsonl]",
        ),
        (
            "--fields url",
            "invalid value 'url' for '--fields <FIELD>' [possible values: time, id, client, key]",
        ),
        ("--fields id,key", "--fields: a line has one field; --format tsv, csv and jsonl have more"),
        ("--format csv --fields id,key,id", "--fields: id is there twice"),
        ("events.csv", "unexpected argument 'events.csv' found"),
    ];
    for (options, line) in cases {
        let args: Vec<&str> = ["gen"].into_iter().chain(options.split_whitespace()).collect();
        let run = run(&args, "");
        run.failed(2, line);
        assert_eq!(run.text(), "", "{options}");
    }
}

#[test]
fn until_the_last_time_allowed() {
    let all = events("--events 2 --rate 1 --start 2262-04-11T23:47:14Z --duplicates 0");
    assert_eq!(all[1].nanos, 9_223_372_035_000_000_000);
}

#[test]
#[cfg(unix)]
fn a_closed_pipe_ends_quietly() {
    let mut child = Command::new(EXE)
        .args(["gen", "--events", "1G", "--format", "csv"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "time,id,client,key");
    drop(lines);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), vec![]));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_a_failure_while_running() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(EXE).args(["gen", "--events", "5"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stderr, b"windlass: cannot write to stdout: No space left on device\n");
}
