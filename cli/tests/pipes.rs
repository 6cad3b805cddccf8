//! Pipes: read line by line, closed early, and files that are none.

#![cfg(unix)]
#![allow(clippy::expect_used)] // clippy knows tests only by their attribute

mod common;

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use common::{Dir, EXE};

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
    let dir = Dir::new();
    let decisions = dir.0.join("decisions");
    let mut child = start(&["dedup", "--window", "1h", "--decisions", decisions.to_str().unwrap()]);
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    // Until the tool notices and goes: writing fails then.
    let mut number = 0_u64;
    while stdin.write_all(format!("{number}\n").as_bytes()).is_ok() {
        number += 1;
        assert!(number < 10_000_000, "it never stops reading");
    }
    drop(stdin);
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
    dir.holds(&[]);
}

#[test]
fn help_into_a_closed_pipe() {
    let mut child = start(&["dedup", "--help"]);
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), vec![]));
}

#[test]
fn lines_are_passed_on_as_they_come() {
    let mut child = start(&["dedup", "-q", "--window", "1h"]);
    let mut stdin = child.stdin.take().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let (send, receive) = mpsc::channel();
    thread::spawn(move || stdout.lines().try_for_each(|line| send.send(line.unwrap())));
    for line in ["one", "two"] {
        writeln!(stdin, "{line}").unwrap();
        // If lines were kept back until a buffer is full there would be none.
        let answer = receive.recv_timeout(Duration::from_secs(60));
        assert_eq!(answer.as_deref(), Ok(line));
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
