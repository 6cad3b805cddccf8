//! `--remote`, against real servers on loopback. Without a `redis-server` they say so and pass; with `WINDLASS_REQUIRE_REDIS=1` they fail.

#![allow(clippy::expect_used)] // clippy knows tests only by their attribute

mod addresses;
mod dedup;
mod limit;
mod rank;
mod top;

use std::{path::Path, thread};

use crate::{
    common::{Random, Run, run_once},
    servers::Server,
};

/// Ids of which each comes about four times.
fn stream(seed: u64, events: u64) -> String {
    let mut random = Random(seed);
    (0..events).map(|_| format!("id-{}\n", random.below(events / 4))).collect()
}

/// A command that asks a server, with time enough for a crowded machine.
fn ask(dir: &Path, server: &Server, command: &[&str], stdin: &[u8]) -> Run {
    let address = server.address();
    let all = [command, &["--remote", &address, "--remote-timeout", "20s"]].concat();
    run_once(dir, &all, stdin)
}

/// The same, as two processes at the same time, on one input each.
fn ask_twice(dir: &Path, server: &Server, commands: [&[&str]; 2], stdin: [&[u8]; 2]) -> [Run; 2] {
    let [(a, b), (c, d)] = [(commands[0], stdin[0]), (commands[1], stdin[1])];
    thread::scope(|scope| {
        let one = scope.spawn(|| ask(dir, server, a, b).ok());
        let other = ask(dir, server, c, d).ok();
        [one.join().expect("no panic"), other]
    })
}

/// A command that is refused before any server is asked: none is there.
fn refused(command: &[&str], says: &str) {
    let all = [command, &["--remote", "redis://127.0.0.1:1"]].concat();
    let run = run_once(&std::env::temp_dir(), &all, b"");
    assert_eq!((run.code, run.text()), (2, ""), "{}", run.err);
    assert!(run.err.contains(says) && run.err.lines().count() == 1, "{command:?}: {}", run.err);
}
