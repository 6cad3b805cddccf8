//! Killed again and again: every run finds a whole state, and in the end each event has counted once.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    process::{Command, Stdio},
    time::{Duration, Instant, SystemTime},
};

use super::{CASES, Case, Dir, EXE, Random, cuts, figures, records, table, until};

/// How often a state is saved.
const EVERY: Duration = Duration::from_millis(5);

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
        // (With room for a machine that has other things to do.)
        let age = SystemTime::now().duration_since(fs::metadata(&state).unwrap().modified().unwrap());
        let age = age.unwrap_or_default();
        assert!(age < EVERY + Duration::from_secs(20), "{age:?}");
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
