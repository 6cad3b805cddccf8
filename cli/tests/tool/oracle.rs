//! Generated streams against the definition, in every format and order.

use std::collections::HashMap;

use crate::common::{self, Random, decisions};

/// Events: (id, milliseconds).
type Event = (u64, u64);

fn stream(seed: u64, events: usize, late: u64) -> Vec<Event> {
    let mut random = Random(seed);
    let mut now = 1_000_000;
    let mut event = || {
        now += random.below(20);
        (random.below(events as u64 / 4), now - if random.below(3) == 0 { random.below(late + 1) } else { 0 })
    };
    (0..events).map(|_| event()).collect()
}

/// 1 = less than `window` after the id was last let through (or, with `refresh`, seen at all).
fn dedup(events: impl IntoIterator<Item = Event>, window: u64, refresh: bool) -> String {
    let mut passed: HashMap<u64, u64> = HashMap::new();
    let mut judge = |(id, time): Event| match passed.get_mut(&id) {
        Some(last) if time < *last + window => {
            *last = if refresh { time.max(*last) } else { *last };
            '1'
        }
        _ => {
            passed.insert(id, time);
            '0'
        }
    };
    events.into_iter().map(&mut judge).collect()
}

fn last_n(events: &[Event], n: u64) -> String {
    dedup(events.iter().zip(0..).map(|(&(id, _), number)| (id, number)), n, false)
}

fn clamp(events: &[Event]) -> Vec<Event> {
    let mut newest = 0;
    let raise = |&(id, time): &Event| {
        newest = time.max(newest);
        (id, newest)
    };
    events.iter().map(raise).collect()
}

fn sorted(events: &[Event]) -> Vec<Event> {
    let mut events = events.to_vec();
    events.sort_by_key(|&(_, time)| time);
    events
}

/// A format's options, and how it writes an event.
type Writing = (&'static [&'static str], fn(Event) -> String);

const WRITINGS: [Writing; 5] = [
    (&["--format", "tsv", "--id", "1", "--time", "2", "--time-format", "unix-ms"], |(id, ms)| {
        format!("{id}\t{ms}\n")
    }),
    (&["--format", "csv", "--id", "2", "--time", "1", "--time-format", "unix"], |(id, ms)| {
        format!("\"{}.{:03}\",{id}\r\n", ms / 1000, ms % 1000)
    }),
    (&["--format", "jsonl", "--id", "a.b", "--time", "t", "--time-format", "unix-us"], |(id, ms)| {
        format!("{{\"t\":\"{}000\", \"a\":{{\"b\":\"\\u0069{id}\"}}}}\n", ms)
    }),
    (
        &["--format", "tsv", "--id", "2", "--time", "1", "--time-format", "%Y-%m-%d %H:%M:%S%.f"],
        |(id, ms)| {
            let (s, ms) = (ms / 1000, ms % 1000);
            format!("1970-01-01 {:02}:{:02}:{:02}.{ms:03}\t{id}\n", s / 3600, s / 60 % 60, s % 60)
        },
    ),
    (&["--format", "tsv", "--id", "1,3", "--time", "2", "--time-format", "rfc3339"], |(id, ms)| {
        let (s, ms) = (ms / 1000, ms % 1000);
        format!("x\t1970-01-01T{:02}:{:02}:{:02}.{ms:03}Z\t{id}\n", s / 3600, s / 60 % 60, s % 60)
    }),
];

#[test]
fn every_format_and_order() {
    for (seed, (options, write)) in (1..).zip(WRITINGS) {
        let events = stream(seed, 6000, 500);
        let text: String = events.iter().map(|&event| write(event)).collect();
        let run = |more: &[&str]| decisions(&[options, more].concat(), &text);
        assert_eq!(
            run(&["--window", "3s", "--lateness", "500ms"]),
            dedup(events.clone(), 3000, false),
            "{options:?}"
        );
        assert_eq!(
            run(&["--window", "3s", "--order", "clamp"]),
            dedup(clamp(&events), 3000, false),
            "{options:?}"
        );
        assert_eq!(
            run(&["--window", "3s", "--order", "sort"]),
            dedup(sorted(&events), 3000, false),
            "{options:?}"
        );
        let refreshed = run(&["--window", "1s", "--refresh", "--order", "clamp"]);
        assert_eq!(refreshed, dedup(clamp(&events), 1000, true), "{options:?}");
        assert_eq!(run(&["--window-count", "500"]), last_n(&events, 500), "{options:?}");
        let by_time = run(&["--window-count", "500", "--order", "sort"]);
        assert_eq!(by_time, last_n(&sorted(&events), 500), "{options:?}");
        let seconds: Vec<Event> = events.iter().map(|&(id, ms)| (id, ms / 1000 * 1000)).collect();
        let cut = run(&["--window", "3s", "--order", "sort", "--resolution", "s"]);
        assert_eq!(cut, dedup(sorted(&seconds), 3000, false), "{options:?}");
    }
}

#[test]
fn lines_by_count() {
    let events = stream(77, 30_000, 0);
    let text: String = events.iter().map(|(id, _)| format!("{id}\n")).collect();
    for n in [1, 2, 100, 20_000, 100_000] {
        assert_eq!(decisions(&["--window-count", &n.to_string()], &text), last_n(&events, n), "{n}");
    }
}

#[test]
fn an_event_exactly_one_window_later_is_new() {
    let args = ["--format", "tsv", "--id", "1", "--time", "2", "--window", "5s"];
    assert_eq!(decisions(&args, "a\t10\na\t14.999999999\na\t15\na\t19.5\na\t20\n"), "01010");
    assert_eq!(decisions(&["--window-count", "2"], "a\na\na\na\n"), "0101");
}

#[test]
fn later_than_the_lateness_is_counted() {
    let text = "a\t1000\nb\t2000\na\t1001\n";
    let args = ["dedup", "--format", "tsv", "--id", "1", "--time", "2", "--window", "60s", "--emit", "none"];
    let report = common::run(&[&args[..], &["--report", "json"]].concat(), text).ok().json();
    assert_eq!((&report["late"], &report["events"]), (&1.into(), &3.into()));
}
