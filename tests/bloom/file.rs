//! Filters in files: what was put in outlives the process, however it ends.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use std::{
    fs,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use crate::common::{Random, blocks::LAYOUTS};
use windlass::{BloomBuilder, Clock, Layout, RestoreError, RotatingBloom, Rotation, Seed, Tick, Window};

const WALL: Duration = Duration::from_secs(1_700_000_000);

/// A file that is not there, and goes with the test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("windlass-{name}-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        Place(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn open(builder: BloomBuilder, path: &Path) -> RotatingBloom {
    builder.file(path, WALL).expect("a file").structure
}

fn small(layout: Layout, rotation: Rotation) -> BloomBuilder {
    let builder = RotatingBloom::builder(Window::last_n(55)).panes(8).layout(layout).seed(Seed(5));
    builder.expected_ids(300).error(0.05).rotation(rotation)
}

/// A filter that is closed and opened again and again answers as one in memory.
#[test]
fn closed_and_opened() {
    for (n, layout) in LAYOUTS.into_iter().enumerate() {
        let rotation = [Rotation::ByCalls, Rotation::Hybrid, Rotation::Scheduled][n % 3];
        let (place, builder) = (Place::new(&format!("closed-{n}")), || small(layout, rotation));
        let memory = builder().build().expect("valid");
        let mut file = open(builder(), &place.0);
        let (mut random, mut now) = (Random(n as u64), 1000);
        for step in 0..3_000 {
            now += random.below(3);
            let (id, at) = (random.below(400), Tick(now));
            match random.below(20) {
                0 => {
                    drop(file);
                    file = open(builder(), &place.0);
                }
                1 => assert_eq!(file.maintain_at(at, 1), memory.maintain_at(at, 1), "{layout}: step {step}"),
                2 => now += random.below(70),
                3 if step % 10 == 0 => file.flush().expect("a file"),
                _ => assert_eq!(file.insert_at(id, at), memory.insert_at(id, at), "{layout}: step {step}"),
            }
        }
        assert_eq!(file.stats().panes, memory.stats().panes);
    }
}

/// More than are put in before the process is killed.
const IDS: u64 = 300_000;

/// 8 panes of 4000 ticks; an id for each tick.
fn large(path: &Path) -> RotatingBloom {
    let builder = RotatingBloom::builder(Window::last_n(27_500)).expected_ids(27_500).error(1e-4);
    open(builder.layout(Layout::Rows(2)), path)
}

/// Not a test: the process that is killed. It puts ids in by three threads, and tells which were.
#[test]
#[ignore = "started by another"]
fn child() {
    let Some(path) = std::env::var_os("WINDLASS_FILE") else { return };
    let bloom = large(Path::new(&path));
    let from: u64 = std::env::var("WINDLASS_FROM").expect("set").parse().expect("a number");
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let bloom = &bloom;
            scope.spawn(move || {
                for id in (from + thread..from + IDS).step_by(3) {
                    bloom.insert_at(id, Tick(id));
                    // At once, and not through the harness.
                    writeln!(io::stderr(), "{id}").expect("somebody listens");
                }
            });
        }
    });
}

/// Killed in many places, also while panes are cleared and move on: all that was told is there.
#[test]
fn killed() {
    let place = Place::new("killed");
    let mut random = Random(3);
    let (mut from, mut all) = (0, 0);
    for round in 0..12 {
        let mut child = Command::new(std::env::current_exe().expect("this one"))
            .args(["--exact", "file::child", "--ignored", "--nocapture"])
            .env("WINDLASS_FILE", &place.0)
            .env("WINDLASS_FROM", from.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("started");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let many = usize::try_from(2_000 + random.below(12_000)).expect("small");
        let mut told: Vec<u64> = Vec::new();
        while told.len() < many {
            match lines.next() {
                Some(line) => told.extend(line.expect("text").parse::<u64>()),
                None => panic!("round {round}: it ended after {} ids", told.len()),
            }
        }
        child.kill().expect("killed");
        child.wait().expect("gone");
        // What it had told by then is in the pipe.
        told.extend(lines.map_while(Result::ok).filter_map(|line| line.parse::<u64>().ok()));
        let newest = told.iter().max().expect("some") + 3;
        let bloom = large(&place.0);
        let kept: Vec<_> = told.iter().filter(|id| **id + bloom.plan().guaranteed > newest).collect();
        all += kept.len();
        for id in kept {
            assert!(bloom.contains_at(*id, Tick(newest)), "round {round}: {id} is lost, {newest}");
        }
        // And it goes on: the next pane is clear, and errs as planned. (Those before may err more: one goes on for the next as long as a thread
        // stalls that clears.)
        from = newest + 4_000 + random.below(9_000);
        let wrong = || (1 << 41..).take(5_000).filter(|id: &u64| bloom.contains_at(*id, Tick(from))).count();
        let before = wrong();
        for id in (1 << 40..).take(3_000) {
            bloom.insert_at(id, Tick(from));
        }
        let after = wrong();
        assert!(after < before + 20, "round {round}: {before}, {after}");
    }
    assert!(all > 12_000, "{all}");
}

#[test]
fn one_at_a_time() {
    let place = Place::new("one");
    let builder = || small(Layout::Rows(1), Rotation::ByCalls);
    let first = open(builder(), &place.0);
    match builder().file(&place.0, WALL) {
        Err(RestoreError::Io { source, .. }) => assert_eq!(source.kind(), io::ErrorKind::WouldBlock),
        other => panic!("{other:?}"),
    }
    drop(first);
    open(builder(), &place.0);
}

#[test]
fn other_files() {
    let place = Place::new("other");
    let builder = || small(Layout::Blocks(128), Rotation::ByCalls);
    let error = |builder: BloomBuilder| builder.file(&place.0, WALL).expect_err("another file");
    // Foreign ones, and a snapshot, are left as they are.
    let mut snapshot = Vec::new();
    builder().build().expect("valid").snapshot(&mut snapshot).expect("in memory");
    for bytes in [&b"#!/bin/sh\n"[..], &[0; 9000], &snapshot] {
        fs::write(&place.0, bytes).expect("writable");
        assert!(matches!(error(builder()), RestoreError::Foreign));
        assert_eq!(fs::read(&place.0).expect("readable"), bytes);
    }
    fs::remove_file(&place.0).expect("there");
    open(builder(), &place.0).insert_at("order-4711", Tick(7));
    let whole = fs::read(&place.0).expect("readable");

    let setting = |builder: BloomBuilder| match error(builder) {
        RestoreError::Setting { name, .. } => name,
        other => panic!("{other}"),
    };
    assert_eq!(setting(builder().panes(9)), "panes");
    assert_eq!(setting(builder().lateness(Window::last_n(1))), "lateness");
    assert_eq!(setting(builder().seed(Seed(6))), "seed");
    for len in [1, 15, 100, 4095, 4097, whole.len() - 1] {
        fs::write(&place.0, &whole[..len]).expect("writable");
        let cut = error(builder());
        let is_right = matches!(cut, RestoreError::Truncated { .. } | RestoreError::Foreign);
        assert!(is_right && (len < 8) == matches!(cut, RestoreError::Foreign), "{len}: {cut}");
    }
    for (at, bits) in [(9, 1), (30, 4), (200, 1)] {
        let mut bytes = whole.clone();
        bytes[at] ^= bits;
        fs::write(&place.0, &bytes).expect("writable");
        let cut = error(builder());
        assert!(matches!(cut, RestoreError::Damaged { .. }), "byte {at}: {cut}");
    }
    let mut longer = whole.clone();
    longer.push(0);
    fs::write(&place.0, &longer).expect("writable");
    assert!(matches!(error(builder()), RestoreError::Damaged { .. }));
    // The ring's words: whatever stands there, it is an error or a filter, and never a panic.
    let mut random = Random(1);
    for _ in 0..300 {
        let mut bytes = whole.clone();
        for _ in 0..3 {
            let at = 4096 + usize::try_from(random.below(768) / 8 * 8).expect("small");
            let word = random.next() >> random.below(64);
            bytes[at..at + 8].copy_from_slice(&word.to_ne_bytes());
        }
        fs::write(&place.0, &bytes).expect("writable");
        if let Ok(opened) = builder().file(&place.0, WALL) {
            let _ = opened.structure.contains_at("order-4711", Tick(9));
            opened.structure.insert_at("order-4711", Tick(9));
        }
    }
    // One that was begun and not finished is made anew; the whole one is read.
    fs::write(&place.0, &whole[..4096]).expect("writable");
    assert!(!open(builder(), &place.0).contains_at("order-4711", Tick(9)));
    fs::write(&place.0, &whole).expect("writable");
    assert!(open(builder(), &place.0).contains_at("order-4711", Tick(9)));
}

/// The structure's own clock goes on by the system's.
#[test]
fn its_clock_goes_on() {
    let place = Place::new("clock");
    let builder = || RotatingBloom::builder(Duration::from_secs(100)).expected_ids(1000).error(1e-6);
    let second = 1_000_000_000;
    let made = builder().file(&place.0, WALL).expect("a file");
    assert_eq!((made.resumed, made.elapsed), (Tick(0), Duration::ZERO));
    made.structure.insert("order-4711");
    drop(made);
    for (later, has) in [(50, true), (200, false)] {
        let opened = builder().file(&place.0, WALL + Duration::from_secs(later)).expect("a file");
        // (The clock was read a moment after the system's was.)
        let off = opened.resumed.0.abs_diff(later * second);
        assert!(off < second, "{off}");
        assert_eq!(opened.structure.contains("order-4711"), has, "{later} s later");
    }
    // Another clock was given, with ticks of its own: it goes on with those.
    let place = Place::new("clock-given");
    let (clock, hand) = Clock::manual(Tick(77 * second));
    let made = builder().clock(clock.clone()).file(&place.0, WALL).expect("a file");
    made.structure.insert("order-4711");
    drop(made);
    hand.set(Tick(80 * second));
    let opened = builder().clock(clock).file(&place.0, WALL + Duration::from_secs(3)).expect("a file");
    assert_eq!(opened.resumed, Tick(80 * second));
    assert!(opened.structure.contains("order-4711"));
    hand.set(Tick(300 * second));
    assert!(!opened.structure.contains("order-4711"));
}
