//! `windlass rank --remote`.

use std::{
    collections::{HashMap, HashSet},
    fs,
};

use super::{ask, ask_twice, refused, stream};
use crate::{
    common::{Dir, Random, run_once},
    servers::{Server, available, until},
};

#[test]
fn the_same_as_without() {
    if !available() {
        return;
    }
    let (server, input, dir) = (Server::start(&[]), stream(3, 6000), Dir::new());
    let files = ["here", "there"].map(|file| dir.0.join(file).to_string_lossy().into_owned());
    let all = |file| ["rank", "--pop-every", "1h", "--report", "json", "--decisions", file];
    let here = run_once(&dir.0, &all(&files[0]), input.as_bytes()).ok().json();
    let there = ask(&dir.0, &server, &all(&files[1]), input.as_bytes()).ok().json();
    let [own, other] = files.map(|file| fs::read_to_string(file).expect("written"));
    assert!(own.lines().count() == 6000 && own == other, "other ranks");
    for figure in ["events", "keys", "popped", "waiting", "largest_rank", "pop_every_ns"] {
        assert_eq!(here[figure], there[figure], "{figure}");
    }
    assert!(
        there["remote"]["round_trips"].as_u64().is_some_and(|trips| (1..100).contains(&trips)),
        "{there}"
    );
}

/// Two processes on one stream, each in an order of its own, are told one order.
#[test]
fn two_processes_are_told_one_order() {
    if !available() {
        return;
    }
    let (server, dir) = (Server::start(&[]), Dir::new());
    let ids: Vec<String> = (0..3000).map(|i| format!("id-{i}")).collect();
    let mut other = ids.clone();
    let mut random = Random(4);
    for i in (1..other.len()).rev() {
        other.swap(i, usize::try_from(random.below(i as u64 + 1)).expect("in range"));
    }
    let all = |file| ["rank", "-q", "--pop-every", "1h", "--decisions", file];
    let texts = [&ids, &other].map(|ids| ids.join("\n"));
    ask_twice(&dir.0, &server, [&all("one"), &all("two")], [texts[0].as_bytes(), texts[1].as_bytes()]);
    let mut told: HashMap<&str, HashSet<u64>> = HashMap::new();
    for (ids, file) in [(&ids, "one"), (&other, "two")] {
        let ranks = fs::read_to_string(dir.0.join(file)).expect("written");
        for (id, rank) in ids.iter().zip(ranks.lines()) {
            told.entry(id).or_default().insert(rank.parse().expect("a rank"));
        }
    }
    assert!(told.values().all(|ranks| ranks.len() == 1), "of each both are told the same");
    let places: HashSet<u64> = told.values().flatten().copied().collect();
    assert_eq!((told.len(), places.len()), (3000, 3000));
    assert!(places.iter().all(|&rank| rank < 3000), "none is left out");
}

/// Who is due is let in by whoever comes, and stays so.
#[test]
fn they_are_let_in() {
    if !available() {
        return;
    }
    let (server, dir) = (Server::start(&[]), Dir::new());
    let come = |input: &str| {
        let options = ["rank", "--pop-every", "50ms", "--report", "json", "--decisions", "ranks"];
        let report = ask(&dir.0, &server, &options, input.as_bytes()).ok().json();
        let ranks = fs::read_to_string(dir.0.join("ranks")).expect("written");
        (ranks.lines().map(|rank| rank.parse().expect("a rank")).collect::<Vec<i64>>(), report)
    };
    assert_eq!(come("a\nb\nc\n").0, [0, 1, 2]);
    let mut last = vec![0, 1, 2];
    until("all are let in", || {
        let (ranks, report) = come("a\nb\nc\n");
        // Nobody falls back, and they go in order.
        assert!(ranks.iter().zip(&last).all(|(now, before)| now <= before), "{last:?} {ranks:?}");
        assert!(ranks.is_sorted(), "{ranks:?}");
        assert_eq!(report["keys"], 3);
        assert_eq!(
            report["popped"].as_u64().map(|popped| popped + report["waiting"].as_u64().unwrap_or(9)),
            Some(3)
        );
        last = ranks;
        last == [-1, -1, -1]
    });
}

#[test]
fn what_does_not_go_with_it() {
    let failed = |options: &[&str], says: &str| {
        refused(&[&["rank", "--pop-every", "1s"], options].concat(), says);
    };
    failed(&["--format", "tsv", "--key", "1", "--time", "2"], "--time does not go with --remote");
    failed(&["--format", "combined", "--key", "ip"], "format combined does not go with --remote");
    failed(&["--state", "file"], "--state does not go with --remote");
    failed(&["--capacity", "5"], "--capacity does not go");
    failed(&["--max-memory", "5M"], "--max-memory does not go");
    failed(&["--seed", "5"], "--seed does not go");
    refused(&["rank", "--pop-every", "1500ns"], "whole microseconds");
}
