//! What is no state, or not of this run; and where none can be saved.

use std::{fs, process::Command};

use crate::common::{Dir, EXE, Run, run_once};

const ARGS: [&str; 7] = ["dedup", "--window", "1m", "--state", "state", "--report", "json"];

fn run(dir: &Dir, args: &[&str]) -> Run {
    run_once(&dir.0, args, b"1\n2\n3\n1\n")
}

/// With this for a state: refused with status 2, and left as it is.
fn refused(dir: &Dir, state: &[u8], args: &[&str]) -> String {
    dir.put("state", state);
    let run = run(dir, args);
    assert_eq!((run.code, run.out.len()), (2, 0), "{}", run.err);
    assert!(fs::read(dir.0.join("state")).unwrap() == state);
    dir.holds(&["state"]);
    assert_eq!(run.err.lines().count(), 1);
    run.err
}

#[test]
fn torn_and_damaged() {
    for more in [&["--capacity", "1000"][..], &["--approx", "--capacity", "1000"]] {
        let (dir, args) = (Dir::new(), [&ARGS, more].concat());
        run(&dir, &args).ok();
        let state = fs::read(dir.0.join("state")).unwrap();
        let step = (state.len() / 60).max(1);
        for end in (1..state.len()).step_by(step).chain([state.len() - 1]) {
            let said = refused(&dir, &state[..end], &args);
            assert!(
                ["it ends too early", "cut off", "no state"].iter().any(|what| said.contains(what)),
                "{end}: {said}"
            );
        }
        for at in (0..state.len()).step_by(step) {
            let mut other = state.clone();
            other[at] ^= 1 << (at % 8);
            refused(&dir, &other, &args);
        }
        let said = refused(&dir, &[&state[..], b"x"].concat(), &args);
        assert!(said.contains("there is more behind its end"), "{said}");
        dir.put("state", &state);
        run(&dir, &args).ok();
    }
}

/// Limiters, and what is known of single clients behind them.
#[test]
fn torn_and_damaged_limits() {
    let ids = ["--format", "tsv", "--report", "json"];
    let limit = ["limit", "--state", "state", "--key", "1", "--limit", "1/h", "--clients", "500"];
    let policy = ["limit", "--state", "state", "--policy", "policy"];
    let table = "[[limit]]\nname = \"a\"\nkey = \"1\"\nquota = \"1/h\"\nclients = 500\n";
    for args in [&[&limit[..], &ids].concat(), &[&policy[..], &ids].concat()] {
        let (dir, beside) = (Dir::new(), Dir::new());
        let file = beside.put("policy", table).0.join("policy");
        let file = |arg| if arg == "policy" { file.to_str().unwrap() } else { arg };
        let args: Vec<&str> = args.iter().map(|&arg| file(arg)).collect();
        let whole = run(&dir, &args).ok();
        assert!(whole.err.contains("\"events\":4,\"allowed\":3"), "{}", whole.err);
        let state = fs::read(dir.0.join("state")).unwrap();
        let step = (state.len() / 60).max(1);
        // The last bytes are those of the clients.
        let tail = state.len() - 100..state.len();
        for end in (1..state.len()).step_by(step).chain(tail.clone()) {
            let said = refused(&dir, &state[..end], &args);
            assert!(
                ["ends too early", "cut off", "no state"].iter().any(|what| said.contains(what)),
                "{end}: {said}"
            );
        }
        for at in (0..state.len()).step_by(step).chain(tail) {
            let mut other = state.clone();
            other[at] ^= 1 << (at % 8);
            refused(&dir, &other, &args);
        }
        let said = refused(&dir, &[&state[..], b"x"].concat(), &args);
        assert!(said.contains("there is more behind its end"), "{said}");
        dir.put("state", &state);
        let more = run(&dir, &args).ok();
        assert!(more.err.contains("\"events\":8,\"allowed\":3"), "{}", more.err);
    }
}

/// Limits that are not those of then.
#[test]
fn of_other_limits() {
    let dir = Dir::new();
    let args = ["limit", "--state", "state", "--format", "tsv", "-q", "--emit", "none"];
    let with = |dir: &Dir, more: &[&str]| run(dir, &[&args, more].concat());
    let limit = ["--key", "1", "--limit", "5/60s"];
    with(&dir, &limit).ok();
    let policy = |quota: &str, more: &str| {
        let user = format!("[[limit]]\nname = \"user\"\nkey = \"1\"\nquota = \"{quota}\"\n");
        dir.put("policy", user + more);
    };
    policy("5/60s", "");
    for (more, was, is) in [
        (&["--key", "1", "--limit", "6/60s"][..], "--limit 5/m", "--limit 6/m"),
        (&["--limit", "5/60s"], "--key 1", "no --key"),
        (&["--key", "1", "--limit", "5/60s", "--burst", "9"], "no --burst", "--burst 9"),
        (
            &["--key", "1", "--limit", "5/60s", "--algorithm", "sliding-log"],
            "--algorithm gcra",
            "--algorithm sliding-log",
        ),
        (&["--policy", "policy"], "--key 1", "no --key"),
    ] {
        let said = format!("--state state: was made with {was}, and now there is {is}");
        with(&dir, more).failed(2, &said);
    }
    // The same in other words; and what does not say what it means.
    with(&dir, &["--key", "1", "--limit", "5/m", "--clients", "90", "--on-unknown", "allow"]).ok();

    fs::remove_file(dir.0.join("state")).unwrap();
    with(&dir, &["--policy", "policy"]).ok();
    policy("6/60s", "");
    with(&dir, &["--policy", "policy"]).failed(
        2,
        "--state state: was made with limit 1 of --policy \"user\": 5/m by gcra for each 1, and now there is limit 1 of --policy \"user\": 6/m by gcra for each 1",
    );
    policy("5/60s", "[[limit]]\nname = \"all\"\nquota = \"9/s\"\n");
    with(&dir, &["--policy", "policy"]).failed(
        2,
        "--state state: was made with no limit 2 of --policy, and now there is limit 2 of --policy \"all\": 9/s by gcra",
    );
    policy("5/60s", "");
    with(&dir, &["--policy", "policy"]).ok();
}

#[test]
fn foreign_and_future() {
    let dir = Dir::new();
    run(&dir, &ARGS).ok();
    let state = fs::read(dir.0.join("state")).unwrap();
    for foreign in [&b"id\n1\n"[..], b"", b"\x89WLS\r\n\x1a\n----------------------------------"] {
        let said = refused(&dir, foreign, &ARGS);
        assert_eq!(said, "windlass: --state state: is something else, and no state\n");
    }
    let mut future = state.clone();
    future[8] = 2;
    let said = refused(&dir, &future, &ARGS);
    assert!(said.contains("has version 2, where 1 is the latest that is known"), "{said}");
}

#[test]
fn of_other_settings() {
    let dir = Dir::new();
    run(&dir, &ARGS).ok();
    let state = fs::read(dir.0.join("state")).unwrap();
    let with = |more: &[&str]| refused(&dir, &state, &[&["dedup", "--state", "state"], more].concat());
    for (more, was, is) in [
        (&["--window", "61s"][..], "--window 1m", "--window 61s"),
        (&["--window-count", "5"], "--window 1m", "no --window"),
        (&["--window", "1m", "--refresh"], "no --refresh", "--refresh"),
        (&["--window", "1m", "--seed", "1"], "another --seed", "this one"),
        (&["--window", "1m", "--approx"], "no --approx", "--approx"),
        (&["--window", "1m", "--format", "tsv", "--id", "1"], "no --format", "--format tsv"),
    ] {
        let said = format!("windlass: --state state: was made with {was}, and now there is {is}\n");
        assert_eq!(with(more), said);
    }
    // The same in other words; and what does not say what an event means.
    let args = ["dedup", "--window", "60s", "--state", "state", "--emit", "none", "--capacity", "9", "-q"];
    run(&dir, &args).ok();
}

#[test]
fn of_another_command() {
    let dir = Dir::new();
    run(&dir, &ARGS).ok();
    let state = fs::read(dir.0.join("state")).unwrap();
    let said = refused(&dir, &state, &["rank", "--pop-every", "1s", "--state", "state"]);
    assert_eq!(said, "windlass: --state state: is of windlass dedup, not of windlass rank\n");
}

#[test]
fn not_with_order_sort() {
    let dir = Dir::new();
    let sort = ["--order", "sort", "--format", "tsv", "--id", "1", "--time", "2"];
    run(&dir, &[&ARGS, &sort[..]].concat())
        .failed(2, "--state does not go with --order sort, which reads the whole input first");
    dir.holds(&[]);
}

#[test]
fn nowhere_to_save() {
    let dir = Dir::new();
    let args = |state| ["dedup", "--window", "1m", "-q", "--state", state];
    run(&dir, &args("missing/state"))
        .failed(1, "--state missing/state: cannot lock: No such file or directory");
    run(&dir, &args(".")).failed(2, "--state .: is not a plain file");
    run(&dir, &args("/dev/null")).failed(2, "--state /dev/null: is not a plain file");
    // Nobody writes to this one.
    let pipe = dir.0.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    run(&dir, &args("pipe")).failed(2, "--state pipe: is not a plain file");
    fs::remove_file(pipe).unwrap();
    dir.holds(&[]);
}

#[test]
fn no_room_to_save() {
    // A limit on the size of files stands for a disk that is full: the write fails in the same place.
    let dir = Dir::new();
    run(&dir, &ARGS).ok();
    let state = fs::read(dir.0.join("state")).unwrap();
    let ids: String = (0..10_000).map(|i| format!("{i}\n")).collect();
    dir.put("ids", ids);
    let script = format!("trap '' XFSZ; ulimit -f 8; exec {EXE} {} ids >/dev/null", ARGS.join(" "));
    let output = Command::new("sh").args(["-c", &script]).current_dir(&dir.0).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && said.contains("cannot save: File too large"), "{said}");
    assert!(fs::read(dir.0.join("state")).unwrap() == state);
    dir.holds(&["ids", "state"]);
    // With room all is well, and the ids of then are counted once.
    let last = run_once(&dir.0, &[&ARGS[..], &["ids"]].concat(), b"").ok();
    assert!(last.err.contains("\"events\":10004,\"fresh\":10000"), "{}", last.err);
}
