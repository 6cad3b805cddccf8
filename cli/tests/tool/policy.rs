//! `windlass limit --policy`: what is wrong with a file, and answers against single limits and a plain recount.

#![allow(clippy::expect_used, clippy::unwrap_used)] // clippy knows tests only by their attribute

use std::{collections::HashMap, fs, path::Path};

use serde_json::{Value, json};

use crate::{
    answers,
    common::{Dir, Random, run},
};

/// Runs it over a stream of milliseconds, users and tenants, and gives decisions and report.
fn judged(policy: &str, stream: &str, more: &[&str]) -> (String, Value) {
    let dir = Dir::new();
    dir.put("policy.toml", policy).put("events.tsv", stream);
    let args =
        ["limit", "--policy", "policy.toml", "--time", "1", "--time-format", "unix-ms", "--emit", "none"];
    let told = ["--report", "json", "--decisions", "decisions", "events.tsv"];
    let report = dir.run(&[&args[..], more, &told].concat()).ok().json();
    (fs::read_to_string(dir.0.join("decisions")).unwrap(), report)
}

/// (milliseconds, user, tenant), a tenant for each six users.
fn events(seed: u64, n: usize) -> Vec<(u64, u64, u64)> {
    let (mut random, mut now) = (Random(seed), 1_000_000);
    let mut event = || {
        now += random.below(20);
        let user = random.below(30).min(random.below(30));
        (now, user, user / 6)
    };
    (0..n).map(|_| event()).collect()
}

fn text(events: &[(u64, u64, u64)]) -> String {
    events.iter().map(|(ms, user, tenant)| format!("{ms}\tu{user}\tt{tenant}\n")).collect()
}

/// A limit as a plain bucket: the time, in ms / permits, at which it is full again, for each key.
struct Bucket {
    name: &'static str,
    key: fn(&(u64, u64, u64)) -> u64,
    permits: u64,
    per: u64,
    burst: u64,
    full_at: HashMap<u64, u64>,
}

impl Bucket {
    fn next(&self, event: &(u64, u64, u64)) -> u64 {
        let now = event.0 * self.permits;
        self.full_at.get(&(self.key)(event)).copied().unwrap_or(0).max(now) + self.per
    }

    fn allows(&self, event: &(u64, u64, u64)) -> bool {
        self.next(event) - event.0 * self.permits <= self.burst * self.per
    }
}

#[test]
fn all_or_nothing_by_a_plain_recount() {
    let policy = r#"
[[limit]]
name = "user"
key = "2"
quota = "10/s"
burst = 4

[[limit]]
name = "tenant"
key = ["3"]
quota = "40/2s"
algorithm = "token-bucket"
clients = 100

[[limit]]
name = "pair"
key = ["3", "2"]
quota = "9/s"

[[limit]]
name = "all"
quota = "70/s"
"#;
    let bucket =
        |name, key, permits, per, burst| Bucket { name, key, permits, per, burst, full_at: HashMap::new() };
    let mut limits = [
        bucket("user", |event| event.1, 10, 1000, 4),
        bucket("tenant", |event| event.2, 40, 2000, 40),
        bucket("pair", |event| event.1, 9, 1000, 9),
        bucket("all", |_| 0, 70, 1000, 70),
    ];
    let events = events(5, 20_000);
    let mut denied: HashMap<&str, u64> = HashMap::new();
    let expected: String = events
        .iter()
        .map(|event| match limits.iter().find(|limit| !limit.allows(event)) {
            Some(limit) => {
                *denied.entry(limit.name).or_default() += 1;
                '0'
            }
            None => {
                for limit in &mut limits {
                    let next = limit.next(event);
                    limit.full_at.insert((limit.key)(event), next);
                }
                '1'
            }
        })
        .collect();
    assert!(denied.len() >= 3, "{denied:?}");
    for more in [&[][..], &["--threads", "3"], &["--order", "sort"], &["--order", "clamp", "--seed", "9"]] {
        let (decisions, report) = judged(policy, &text(&events), more);
        assert!(decisions == expected, "other decisions: {more:?}");
        let allowed = decisions.bytes().filter(|&mark| mark == b'1').count();
        assert_eq!((&report["events"], &report["allowed"]), (&json!(20_000), &json!(allowed)));
        assert_eq!(report["denied"], json!(20_000 - allowed));
        let mut left = 20_000;
        for (limit, name) in
            report["limits"].as_array().unwrap().iter().zip(["user", "tenant", "pair", "all"])
        {
            let own = denied.get(name).copied().unwrap_or(0);
            left -= own;
            assert_eq!((&limit["name"], &limit["denied"]), (&json!(name), &json!(own)), "{more:?}");
            assert_eq!(limit["allowed"], json!(left));
        }
        assert_eq!((&report["unknown"], &report["late"]), (&json!(0), &json!(0)));
    }
}

/// One limit alone decides as `--limit` does, by each algorithm that can be in a set, on what it is told in any format.
#[test]
fn one_limit_is_the_single_one() {
    let stream = text(&events(6, 5000));
    for algorithm in ["gcra", "token-bucket", "fixed-window", "sliding-counter"] {
        for (key, policy_key) in [("2", r#"key = "2""#), ("3,2", r#"key = ["3", "2"]"#), ("", "")] {
            let policy = format!(
                "[[limit]]\nname = \"x\"\nquota = \"7/s\"\nalgorithm = \"{algorithm}\"\n{policy_key}"
            );
            let (decisions, report) = judged(&policy, &stream, &[]);
            let key = if key.is_empty() { vec![] } else { vec!["--key", key] };
            let dir = Dir::new();
            dir.put("events.tsv", &stream);
            let args = ["limit", "-q", "--limit", "7/s", "--algorithm", algorithm, "--time", "1"];
            let told = ["--time-format", "unix-ms", "--emit", "none", "--decisions", "d", "events.tsv"];
            dir.run(&[&args[..], &key, &told].concat()).ok();
            assert!(fs::read_to_string(dir.0.join("d")).unwrap() == decisions, "{algorithm} {key:?}");
            assert_eq!(report["limits"][0]["algorithm"], json!(algorithm));
            assert!(report["denied"].as_u64().unwrap() > 0);
        }
    }
}

#[test]
fn records_and_text() {
    let dir = Dir::new();
    let policy = "[[limit]]\nname = \"each\"\nkey = \"k\"\nquota = \"1/min\"\n\n[[limit]]\nname = \"all\"\nquota = \"4/min\"\nburst = 2\n";
    dir.put("policy.toml", policy);
    let stream = "t,k\n0,a\n1,a\n2,b\n3,c\n";
    dir.put("events.csv", stream);
    let args = ["limit", "--policy", "policy.toml", "--time", "t", "events.csv"];
    let run = dir.run(&args).ok();
    assert_eq!(run.text(), "t,k\n0,a\n2,b\n");
    let expected = [
        "4 events: 2 allowed, 2 denied (50.0 %)",
        "first denied 1970-01-01T00:00:01.000Z, last 1970-01-01T00:00:03.000Z",
        "     denied     allowed  limit",
        "          1           3  each: 1/m by gcra, for each k",
        "          1           2  all: 4/m burst 2 by gcra, for all together",
    ];
    let said: Vec<&str> = run.err.lines().filter(|line| !line.starts_with("2 limits; memory ")).collect();
    assert_eq!(said, expected);
    assert_eq!(dir.run(&[&args[..], &["-q", "--emit", "denied"]].concat()).ok().text(), "t,k\n1,a\n3,c\n");
    // An array's elements, and clients of different sources.
    let policy = "[[limit]]\nname = \"pair\"\nkey = [\"k\", \"@\"]\nquota = \"1/min\"\n[[limit]]\nname = \"x\"\nkey = \"@\"\nquota = \"2/min\"\n";
    dir.put("each.toml", policy).put("each.jsonl", "{\"s\":1,\"k\":7,\"l\":[1,1,2]}\n{\"s\":1,\"k\":8,\"l\":[1,1]}\n{\"s\":1,\"k\":9,\"l\":[1]}\n{\"s\":2,\"k\":9,\"l\":[1]}\n");
    let args = ["limit", "-q", "--policy", "each.toml", "--each", "l", "--source", "s", "--emit", "none"];
    dir.run(&[&args[..], &["--decisions", "d", "each.jsonl"]].concat()).ok();
    assert_eq!(fs::read_to_string(dir.0.join("d")).unwrap(), "1011001");
}

#[test]
fn what_is_wrong_has_a_line_a_limit_and_a_field() {
    let dir = Dir::new();
    dir.put("events.tsv", "1\ta\n");
    let one = "[[limit]]\nname = \"user\"\nkey = \"2\"\nquota = \"10/s\"\n";
    let with = |line: &str| format!("{one}\n[[limit]]\nname = \"tenant\"\n{line}\n");
    let fields = "name, key, quota, burst, algorithm, clients, on_unknown";
    for (policy, message) in [
        (String::new(), "1: no limit: a policy has a table [[limit]] for each".to_owned()),
        ("limit = []".to_owned(), "1: no limit: a policy has a table [[limit]] for each".to_owned()),
        ("limit = 3".to_owned(), "1: limit: a table [[limit]] for each, with two brackets".to_owned()),
        ("limit = [3]".to_owned(), "1: limit 1: a table, not a value of type integer".to_owned()),
        ("\n[limit]\nname = \"x\"".to_owned(), "2: limit: a table [[limit]] for each, with two brackets".to_owned()),
        (format!("{one}\n[[limits]]"), "6: limits: no such field: a policy has tables [[limit]]".to_owned()),
        (format!("{one}\n[[limit]]\nquota = \"1/s\""), "6: limit 2: name: is missing".to_owned()),
        (format!("{one}\n[[limit]]\nname = \"\""), "7: limit 2: name: is empty".to_owned()),
        (format!("{one}\n[[limit]]\nname = 7"), "7: limit 2: name: a text, not a value of type integer".to_owned()),
        (format!("{one}\n\n{one}"), "8: limit \"user\": name: the limit of line 1 has the same".to_owned()),
        (with("qouta = \"1/s\""), format!("8: limit \"tenant\": qouta: no such field: {fields}")),
        (with(""), "6: limit \"tenant\": quota: is missing".to_owned()),
        (with("quota = \"fast\""), "8: limit \"tenant\": quota: \"fast\" is out of range: permits/time, like 100/60s, 10/s or 10/s burst 20 (units: ns us ms s m min h d)".to_owned()),
        (with("quota = \"0/s\""), "8: limit \"tenant\": quota: 0/s is out of range: 1 permit at least".to_owned()),
        (with("quota = \"1/s burst 2\""), "8: limit \"tenant\": quota: the burst is a field of its own: burst = N".to_owned()),
        (with("quota = \"1/s\"\nburst = 0"), "9: limit \"tenant\": burst: 0 is out of range: 1 at least".to_owned()),
        (with("quota = \"1/s\"\nburst = -1"), "9: limit \"tenant\": burst: -1 is out of range".to_owned()),
        (with("quota = \"1/s\"\nburst = 1.5"), "9: limit \"tenant\": burst: a whole number, not a value of type float".to_owned()),
        (with("quota = \"9000/s\"\nalgorithm = \"sliding-counter\""), "8: limit \"tenant\": quota: 9000/s is out of range: 8191 permits at most with this algorithm and time".to_owned()),
        (with("quota = \"9/s\"\nalgorithm = \"leaky-queue\""), "9: limit \"tenant\": algorithm: LeakyQueue is out of range: gcra, token bucket, fixed window or sliding counter in a set: the others cannot give back".to_owned()),
        (with("quota = \"9/s\"\nalgorithm = \"best\""), "9: limit \"tenant\": algorithm: \"best\" is none of gcra, fixed-window, sliding-log, sliding-counter, token-bucket, leaky-queue".to_owned()),
        (with("quota = \"9/s\"\nkey = []"), "9: limit \"tenant\": key: no fields; without key it is one limit for all".to_owned()),
        (with("quota = \"9/s\"\nkey = [\"a\", \"\"]"), "9: limit \"tenant\": key: a field's name is empty".to_owned()),
        (with("quota = \"9/s\"\nkey = 2"), "9: limit \"tenant\": key: a field's name or a list of such, not a value of type integer".to_owned()),
        (with("quota = \"9/s\"\nclients = 5"), "9: limit \"tenant\": clients: has no meaning without key: it is one limit for all".to_owned()),
        (with("quota = \"9/s\"\nkey = \"2\"\non_unknown = \"share\""), "10: limit \"tenant\": on_unknown: \"share\" is none of allow, deny".to_owned()),
    ] {
        dir.put("policy.toml", &policy);
        dir.run(&["limit", "--policy", "policy.toml", "events.tsv"]).failed(2, &format!("policy.toml:{message}"));
    }
    // What TOML itself says, and what depends on the machine, is one line with the place.
    for (policy, line, field) in [
        (format!("{one}quota = \"2/s\"\n"), 5, ""),
        (with("quota = "), 8, ""),
        (
            with("quota = \"9/s\"\nkey = \"2\"\nclients = 0"),
            10,
            "limit \"tenant\": clients: 0 is out of range: 1 to ",
        ),
        (
            (0..9).map(|i| one.replace("user", &format!("u{i}"))).collect::<String>(),
            33,
            "limit 9: 8 limits at most",
        ),
    ] {
        dir.put("policy.toml", &policy);
        let run = dir.run(&["limit", "--policy", "policy.toml", "events.tsv"]);
        assert_eq!((run.code, run.err.lines().count()), (2, 1), "{}", run.err);
        assert!(run.err.starts_with(&format!("windlass: policy.toml:{line}: {field}")), "{}", run.err);
    }
    // The input lacks a field of a key.
    dir.put("policy.toml", one.replace("\"2\"", "\"3\""));
    let run = dir.run(&["limit", "--policy", "policy.toml", "events.tsv"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("no field \"3\""), "{}", run.err);
}

#[test]
fn options_that_do_not_go_with_it() {
    let none = "--policy none.toml: No such file or directory";
    run(&["limit", "--policy", "none.toml"], "").failed(2, none);
    for (more, with) in [
        (["--key", "a"], "--key"),
        (["--limit", "1/s"], "--limit"),
        (["--burst", "1"], "--burst"),
        (["--algorithm", "gcra"], "--algorithm"),
        (["--clients", "5"], "--policy"),
        (["--on-unknown", "allow"], "--policy"),
    ] {
        let run = run(&[&["limit", "--policy", "p.toml"], &more[..]].concat(), "");
        assert_eq!((run.code, run.err.lines().count()), (2, 1), "{more:?}: {}", run.err);
        assert!(run.err.contains(with), "{more:?}: {}", run.err);
    }
    let run = run(&["limit"], "");
    assert!(run.code == 2 && run.err.contains("--limit <N/DUR>"), "{}", run.err);
}

/// The example of the documentation does what its comments say.
#[test]
fn the_example() {
    let Some(data) = answers::data() else { return };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/policy.toml");
    let log = data.join("apache-semicomplete-2015-05-17_18.log");
    let args = ["limit", "--policy", path.to_str().unwrap(), "--format", "combined", "--order", "sort"];
    let told = ["--emit", "none", "--report", "json", log.to_str().unwrap()];
    let report = run(&[&args[..], &told].concat(), "").ok().json();
    let limits: Vec<Value> = report["limits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|limit| json!([limit["name"], limit["key"], limit["burst"], limit["algorithm"]]))
        .collect();
    let expected = [
        json!(["client and path", ["ip", "path"], 5, "gcra"]),
        json!(["client", ["ip"], 30, "sliding-counter"]),
        json!(["all", [], 100, "gcra"]),
    ];
    assert_eq!(limits, expected);
    assert!(report["limits"][1]["denied"].as_u64().unwrap() > 0, "{report}");
}

/// A real log, by address and for all, against a plain recount.
#[test]
fn a_real_log() {
    let Some(data) = answers::data() else { return };
    let path = data.join("nasa-http-1995-08-01-0000-0959.tsv");
    let log = fs::read(&path).unwrap();
    let log = String::from_utf8_lossy(&log);
    let mut lines = log.lines();
    let header: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let column = |name| header.iter().position(|&column| column == name).unwrap();
    let (host, time) = (column("host"), column("time"));
    let mut hosts: HashMap<&str, u64> = HashMap::new();
    let events: Vec<(u64, u64, u64)> = lines
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let number = hosts.len() as u64;
            (fields[time].parse::<u64>().unwrap() * 1000, *hosts.entry(fields[host]).or_insert(number), 0)
        })
        .collect();
    let bucket =
        |name, key, permits, per, burst| Bucket { name, key, permits, per, burst, full_at: HashMap::new() };
    let mut limits = [bucket("host", |event| event.1, 10, 60_000, 10), bucket("all", |_| 0, 45, 60_000, 45)];
    let mut denied = [0_u64; 2];
    let expected: String = events
        .iter()
        .map(|event| match limits.iter().position(|limit| !limit.allows(event)) {
            Some(limit) => {
                denied[limit] += 1;
                '0'
            }
            None => {
                for limit in &mut limits {
                    let next = limit.next(event);
                    limit.full_at.insert((limit.key)(event), next);
                }
                '1'
            }
        })
        .collect();
    let dir = Dir::new();
    dir.put("policy.toml", "[[limit]]\nname = \"host\"\nkey = \"host\"\nquota = \"10/60s\"\n[[limit]]\nname = \"all\"\nquota = \"45/60s\"\n");
    let args =
        ["limit", "--policy", "policy.toml", "--time", "time", "--time-format", "unix", "--emit", "none"];
    let told = ["--report", "json", "--decisions", "decisions", path.to_str().unwrap()];
    let report = dir.run(&[&args[..], &told].concat()).ok().json();
    assert!(denied.iter().all(|&denied| denied > 50), "{denied:?}");
    assert_eq!([0, 1].map(|i| &report["limits"][i]["denied"]), [&json!(denied[0]), &json!(denied[1])]);
    assert!(fs::read_to_string(dir.0.join("decisions")).unwrap() == expected, "other decisions");
}
