//! `windlass top --remote`.

use serde_json::Value;

use super::{ask, ask_twice, refused};
use crate::{
    common::{Dir, Random, run_once},
    servers::{Server, available},
};

/// Of a day's pane, so that no test sees its end.
const OPTIONS: [&str; 9] = ["top", "--window", "2d", "--pane", "1d", "-k", "5", "--report", "json"];

/// Keys of which the first ones are hot.
fn stream(seed: u64, events: u64) -> String {
    let mut random = Random(seed);
    let mut key = || random.below(12).min(random.below(12));
    (0..events).map(|_| format!("key-{}\n", key())).collect()
}

fn rows(report: &Value) -> Vec<(String, u64, u64, u64)> {
    let number = |row: &Value, field: &str| row[field].as_u64().expect("a number");
    let row = |row: &Value| {
        let key = row["key"].as_str().expect("text").to_owned();
        (key, number(row, "count"), number(row, "lower"), number(row, "upper"))
    };
    report["rows"].as_array().expect("rows").iter().map(row).collect()
}

/// Two processes that each see a part: who asks then is told what one that has seen all would be.
#[test]
fn two_processes_count_as_one() {
    if !available() {
        return;
    }
    let (server, dir) = (Server::start(&[]), Dir::new());
    for (space, approx) in [("exact", &[][..]), ("approx", &["--approx"])] {
        let options = [&OPTIONS[..], approx, &["--remote-namespace", space]].concat();
        let parts = [stream(1, 5000), stream(2, 7000)];
        let [one, other] =
            ask_twice(&dir.0, &server, [&options; 2], [parts[0].as_bytes(), parts[1].as_bytes()]);
        assert_eq!((&one.json()["events"], &other.json()["events"]), (&5000.into(), &7000.into()));
        // Whoever was the last has all.
        let most =
            [&one, &other].map(|run| run.json()["total"].as_u64().expect("a number")).into_iter().max();
        assert_eq!(most, Some(12_000), "{space}");
        let all = ask(&dir.0, &server, &options, b"").ok().json();
        assert_eq!((&all["events"], &all["total"]), (&0.into(), &12_000.into()), "{space}");
        assert_eq!((&all["remote"]["processes"], &all["remote"]["missing"]), (&3.into(), &0.into()), "{all}");
        let here = run_once(&dir.0, &OPTIONS, parts.concat().as_bytes()).ok().json();
        for (row, expected) in rows(&all).into_iter().zip(rows(&here)) {
            assert_eq!(row, expected, "{space}: few keys, so that nothing is estimated");
        }
        assert_eq!(all["certified"], true, "{space}");
    }
}

/// Others of another window, or seed, cannot be put together.
#[test]
fn others_that_count_otherwise() {
    if !available() {
        return;
    }
    let (server, dir) = (Server::start(&[]), Dir::new());
    ask(&dir.0, &server, &OPTIONS, b"a\n").ok();
    let other = ask(&dir.0, &server, &[&OPTIONS[..], &["--seed", "5"]].concat(), b"a\n");
    assert_eq!((other.code, other.text()), (1, ""));
    assert!(other.err.starts_with("windlass: --remote: ") && other.err.lines().count() == 1, "{}", other.err);
}

/// The server goes while it counts: said when the table is wanted.
#[test]
fn a_server_that_takes_nothing() {
    if !available() {
        return;
    }
    let (server, dir) = (Server::start(&["--min-replicas-to-write", "1"]), Dir::new());
    let address = server.address();
    let all = [&OPTIONS[..], &["--remote", &address]].concat();
    let run = run_once(&dir.0, &all, b"a\n");
    assert_eq!((run.code, run.text()), (1, ""));
    assert!(run.err.contains("too few replicas") && run.err.contains(&server.at()), "{}", run.err);
}

#[test]
fn what_does_not_go_with_it() {
    let failed = |options: &[&str], says: &str| refused(&[&OPTIONS, options].concat(), says);
    failed(&["--format", "tsv", "--key", "1", "--time", "2"], "--time does not go with --remote");
    failed(&["--format", "combined", "--key", "path"], "format combined does not go with --remote");
    failed(&["--state", "file"], "--state does not go with --remote");
    failed(&["--every-pane"], "--every-pane does not go");
    failed(&["--live"], "--live does not go");
    failed(&["--merge"], "--merge does not go");
    failed(&["--lateness", "5s"], "--lateness does not go");
}
