//! Pipes: read line by line, closed early, and files that are none.

#![cfg(unix)]
#![allow(clippy::expect_used, clippy::unwrap_used)] // clippy knows tests only by their attribute

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use crate::common::{self, Dir, EXE};

fn start(args: &[&str]) -> Child {
    Command::new(EXE)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs")
}

#[test]
fn a_closed_pipe_ends_quietly() {
    for threads in ["1", "3"] {
        let dir = Dir::new();
        let decisions = dir.0.join("decisions");
        let decisions = decisions.to_str().unwrap();
        let mut child = start(&["dedup", "--window", "1h", "--threads", threads, "--decisions", decisions]);
        drop(child.stdout.take());
        let mut stdin = child.stdin.take().unwrap();
        // Until the tool notices and goes: writing fails then.
        let mut number = 0_u64;
        while stdin.write_all(format!("{number}\n").as_bytes()).is_ok() {
            number += 1;
            assert!(number < 10_000_000, "it never stops reading");
        }
        drop(stdin);
        ends(child, 0, "");
        dir.holds(&[]);
    }
}

#[test]
fn whoever_has_seen_enough_of_a_file() {
    let dir = Dir::new();
    let lines: String = (0..500_000).map(|i| format!("{i}\n")).collect();
    dir.put("ids", lines);
    for threads in ["1", "3"] {
        let ids = dir.0.join("ids");
        let mut child =
            start(&["dedup", "-q", "--window", "1h", "--threads", threads, ids.to_str().unwrap()]);
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert_eq!(first, "0\n");
        ends(child, 0, "");
    }
}

/// It ends by itself, though its stdin may still be open, with this status and these words.
fn ends(mut child: Child, code: i32, words: &str) {
    let mut stderr = child.stderr.take().unwrap();
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut said = String::new();
        stderr.read_to_string(&mut said).unwrap();
        send.send(said)
    });
    let said = receive.recv_timeout(Duration::from_secs(60));
    if said.is_err() {
        child.kill().unwrap();
    }
    assert_eq!((said.as_deref(), child.wait().unwrap().code()), (Ok(words), Some(code)));
}

/// Threads may be waiting for more input, and for room: neither keeps a run from ending.
#[test]
fn an_error_does_not_wait_for_the_end_of_the_input() {
    for threads in ["1", "3", "64"] {
        for many in [0, 300_000] {
            let mut child = start(&[
                "dedup",
                "-q",
                "--window",
                "1h",
                "--format",
                "jsonl",
                "--id",
                "a",
                "--threads",
                threads,
            ]);
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(b"{\"a\":1}\nbad\n").unwrap();
            // The tool may be gone by then.
            drop(stdin.write_all("{\"a\":1}\n".repeat(many).as_bytes()));
            let mut stdout = child.stdout.take().unwrap();
            ends(child, 2, "windlass: stdin:2: not a JSON object: expected value at column 1\n");
            let mut out = String::new();
            stdout.read_to_string(&mut out).unwrap();
            assert_eq!(out, "{\"a\":1}\n");
            drop(stdin);
        }
    }
}

#[test]
fn help_into_a_closed_pipe() {
    let mut child = start(&["dedup", "--help"]);
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), vec![]));
}

#[test]
fn records_are_passed_on_as_they_come() {
    // Each is whole with its line end, and no earlier.
    let lines = ["one", "two", "three"];
    let rows = ["id,text", "1,\"x\ny\"", "2,z"];
    let objects = ["{\"a\":1}", "{\"a\":2}"];
    for threads in ["1", "3"] {
        passed_on(&["--threads", threads], &lines);
        passed_on(&["--threads", threads, "--format", "csv", "--id", "1"], &rows);
        passed_on(&["--threads", threads, "--format", "jsonl", "--id", "a"], &objects);
    }
}

fn passed_on(options: &[&str], records: &[&str]) {
    let mut child = start(&[&["dedup", "-q", "--window", "1h"], options].concat());
    let mut stdin = child.stdin.take().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let (send, receive) = mpsc::channel();
    thread::spawn(move || stdout.lines().try_for_each(|line| send.send(line.unwrap())));
    for record in records {
        writeln!(stdin, "{record}").unwrap();
        for line in record.lines() {
            // If records were kept back until a buffer is full there would be none.
            let answer = receive.recv_timeout(Duration::from_secs(60));
            assert_eq!(answer.as_deref(), Ok(line), "{options:?}");
        }
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn decisions_into_what_is_no_file() {
    let run = common::run(&["dedup", "-q", "--window", "1h", "--decisions", "/dev/null"], "a\na\n").ok();
    assert_eq!(run.text(), "a\n");
    let meta = std::fs::metadata("/dev/null").unwrap();
    assert!(!meta.is_file(), "it is still what it was");
}

#[test]
fn decisions_through_a_link() {
    let dir = Dir::new();
    dir.put("target", "old").put("ids", "a\na\n");
    std::os::unix::fs::symlink("target", dir.0.join("link")).unwrap();
    dir.run(&["dedup", "-q", "--window", "1h", "--emit", "none", "--decisions", "link", "ids"]).ok();
    assert_eq!(std::fs::read_to_string(dir.0.join("target")).unwrap(), "01");
    assert!(dir.0.join("link").is_symlink());
}
