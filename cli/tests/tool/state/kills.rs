//! Killed again and again: every run finds a whole state, and in the end each event has counted once.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use super::{CASES, Case, Dir, EXE, Live, POLICY, Random, cuts, figures, records, table, until};

/// Kills for each command; more where somebody has the time.
fn kills() -> u64 {
    std::env::var("WINDLASS_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(3)
}

/// One run, killed a while after it has saved something; whether it was.
fn killed(dir: &Dir, args: &[&str], random: &mut Random) -> bool {
    let state = dir.0.join("state");
    let node = || fs::metadata(&state).map(|meta| (meta.ino(), meta.mtime_nsec())).ok();
    let before = node();
    let mut child = Command::new(EXE)
        .args(args)
        .current_dir(&dir.0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut ended = false;
    until("nothing is saved", || {
        ended = child.try_wait().unwrap().is_some();
        ended || node() != before
    });
    let wait = Duration::from_micros(random.below(20_000));
    let begun = Instant::now();
    while begun.elapsed() < wait {
        std::thread::yield_now();
    }
    let alive = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    let status = child.wait().unwrap();
    if alive && status.code().is_none() {
        return true;
    }
    assert_eq!(status.code(), Some(0), "{args:?}");
    false
}

fn check(case: &Case, number: u64, text: &str) {
    let (_, decisions, told) = case.whole(text);
    let (dir, mut random) = (Dir::new(), Random(number));
    let more = ["--state", "state", "--save-every", "5ms", "in.tsv"];
    let args = case.args(&more);
    dir.put("policy.toml", POLICY);
    let mut count = 0;
    // It grows while it is read: there is always something left to be killed for.
    for cut in cuts(text, kills(), &mut random) {
        dir.put("in.tsv", &text[..cut]);
        count += u64::from(killed(&dir, &args, &mut random));
    }
    let last = case.run(&dir, &more);
    assert!(dir.decisions() == decisions, "{count} kills, other decisions: {args:?}");
    assert_eq!(figures(&last), told, "{count} kills");
    assert!(records(&last).len() <= text.len());
    // (What was killed while it saved has left its file.)
    drop(fs::remove_file(dir.0.join("state.tmp")));
    println!("{count} kills: {:?}", case.args);
}

#[test]
fn each_event_counts_once() {
    let text = table(5, 200_000);
    for (number, case) in CASES.iter().enumerate() {
        check(case, number as u64, &text);
    }
}

/// Saved as often as it can be, there is never more missing than the block whose output has just been seen, whenever the run is killed. (When a save is due is tested where
/// that is decided, `cli/src/state/due.rs`, by a clock of its own.)
#[test]
fn all_but_the_last_block_is_saved() {
    let (dir, mut random) = (Dir::new(), Random(11));
    let (mut saved, mut next, mut behind) = (0, 0, 0);
    for _ in 0..4 * kills() {
        let args = ["dedup", "--window", "1h", "--state", "state", "--save-every", "0s", "-q"];
        let mut live = Live::start(&dir, &args);
        let blocks = 1 + random.below(12);
        for _ in 0..blocks {
            let line = format!("id-{next}\n");
            live.write(&line);
            assert_eq!(live.lines(1), [line]);
            next += 1;
        }
        live.signal("-KILL");
        assert_eq!(live.end().0, None);
        let events = events(&fs::read(dir.0.join("state")).unwrap_or_default());
        assert!((saved + blocks - 1..=saved + blocks).contains(&events), "{events} of {saved} + {blocks}");
        behind += u64::from(events < saved + blocks);
        saved = events;
    }
    println!("{behind} of {} without the last", 4 * kills());
}

/// The counts of a state.
fn events(state: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(state);
    let Some((_, rest)) = text.split_once("\"events\":") else { return 0 };
    rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}
