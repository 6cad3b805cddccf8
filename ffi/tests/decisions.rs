//! The same decisions from C as from Rust, by every call: on a generated stream, and on real logs with reference answers.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

#[allow(dead_code)] // of an event we need the time and the id
#[path = "../../tests/common/streams.rs"]
mod streams;
mod support;

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use sha2::{Digest, Sha256};
use support::{Language, checked, is_set, program, root, run, skipped};

/// A window and a lateness in ticks, and events: tick and id.
struct Case<'a> {
    name: &'a str,
    window: u64,
    lateness: u64,
    events: &'a [(u64, String)],
}

/// Enough for every case, and small: valgrind clears the memory.
const CAPACITY: usize = 20_000;

/// As the C program writes them.
fn decisions_of_rust(case: &Case<'_>) -> String {
    use windlass::{Dedup, Tick, Window};
    let dedup = Dedup::builder(Window::last_n(case.window))
        .lateness(Window::last_n(case.lateness))
        .capacity(CAPACITY)
        .build()
        .expect("valid");
    let decide = |(tick, id): &(u64, String)| dedup.observe_at(id, Tick(*tick)).expect("room for it");
    case.events.iter().map(|event| if decide(event).is_fresh() { '0' } else { '1' }).collect()
}

fn decisions_of_c(case: &Case<'_>, way: &str, filter: &Path) -> String {
    let at = |what: &str| Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{what}", case.name));
    let (input, decisions) = (at("input"), at("decisions"));
    let mut text = String::new();
    for (tick, id) in case.events {
        writeln!(text, "{tick}\t{id}").expect("a string");
    }
    fs::write(&input, text).expect("writable");
    let mut filter = checked(filter);
    filter.args(["--timed", "--by", way, "--window", &case.window.to_string()]);
    filter.args(["--lateness", &case.lateness.to_string(), "--capacity", &CAPACITY.to_string()]);
    filter.arg("--decisions").args([&decisions, &input]);
    let passed_on = run(&mut filter);
    let decisions = fs::read_to_string(decisions).expect("was written");
    assert_eq!(passed_on.lines().count(), decisions.matches('0').count(), "{way}: what is passed on");
    decisions
}

/// All of these ways, in both languages.
fn same_decisions(case: &Case<'_>, ways: &[&str]) -> String {
    let of_rust = decisions_of_rust(case);
    // valgrind is slow, and the library under it the same.
    let languages =
        if is_set("WINDLASS_VALGRIND") { &[Language::C][..] } else { &[Language::C, Language::Cpp] };
    for &language in languages {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/filter.c");
        let Some(filter) = program(&source, language) else { continue };
        for way in ways {
            let of_c = decisions_of_c(case, way, &filter);
            let differs = of_c.bytes().zip(of_rust.bytes()).position(|(c, rust)| c != rust);
            assert_eq!((differs, of_c.len()), (None, of_rust.len()), "{}, {language:?}, {way}", case.name);
        }
        fs::remove_file(filter).expect("was made");
    }
    of_rust
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % n
    }
}

#[test]
fn a_generated_stream() {
    let mut random = Random(4711);
    let mut now = 1_000_000;
    let events: Vec<(u64, String)> = (0..10_000)
        .map(|_| {
            now += random.below(4);
            // Some are late, some of them too late.
            let late = if random.below(4) == 0 { random.below(700) } else { 0 };
            (now - late, format!("{:08}", random.below(3000)))
        })
        .collect();
    let case = Case { name: "generated", window: 4000, lateness: 500, events: &events };
    let decisions = same_decisions(&case, &["single", "hash", "u64", "packed", "hashes", "u64s", "fixed"]);
    let duplicates = decisions.matches('1').count();
    assert!((2_500..7_500).contains(&duplicates), "{duplicates} duplicates: not much of a test");
}

/// The real logs, where they are.
fn data() -> Option<PathBuf> {
    let path = root().join("../shared/data");
    if path.join("expected.json").is_file() {
        return Some(path);
    }
    assert!(!is_set("WINDLASS_REQUIRE_DATA"), "../shared/data is absent");
    skipped("../shared/data is absent");
    None
}

/// A view of a file, its order and its window, as `expected.json` names them.
fn a_log(file: &str, view: &str, order: &str, window: u64) {
    let Some(data) = data() else { return };
    let text = fs::read_to_string(data.join("expected.json")).expect("readable");
    let answers: Value = serde_json::from_str(&text).expect("JSON");
    let view_of = &answers[file][view];
    let events: Vec<(u64, String)> =
        streams::read(&data, file, view).into_iter().map(|event| (event.ms, event.id)).collect();
    let lateness = view_of["properties"]["largest_lateness_ms"].as_u64().unwrap_or(0);
    let case = Case { name: view, window, lateness, events: &events };
    let decisions = same_decisions(&case, &["single", "hash", "packed", "hashes"]);
    let expected = &view_of[order]["dedup"][format!("T={window}")];
    assert_eq!(expected["ones"], decisions.matches('1').count(), "{view}: duplicates");
    let sha256: String = Sha256::digest(&decisions).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(expected["sha256"], sha256, "{view}: all decisions");
}

#[test]
fn a_log_in_order() {
    a_log("nasa-http-1995-08-01-0000-0959.tsv", "nasa", "in_order", 60_000);
}

#[test]
fn a_log_with_late_events() {
    a_log("zeek-dns-171520-172114.jsonl", "zeek-dns", "raw", 60_000);
}

/// The answers of the rotating Bloom filter, as its C program gives them: batches of 200, and of contains every second id is put in
/// before.
fn bloom_of_rust(verb: &str, by_number: bool, events: &[(u64, String)]) -> String {
    use windlass::{RotatingBloom, Seed, Tick, Window};
    let bloom =
        RotatingBloom::builder(Window::last_n(BLOOM.0)).expected_ids(BLOOM.1).seed(Seed(BLOOM.2)).build();
    let bloom = bloom.expect("valid");
    let number = |id: &str| id.parse::<u64>().expect("a number");
    let mut answers = String::new();
    for batch in events.chunks(200) {
        for (tick, id) in batch.iter().filter(|(_, id)| verb == "contains" && number(id) % 2 == 0) {
            let now = Tick(*tick);
            let _ = if by_number { bloom.insert_at(number(id), now) } else { bloom.insert_at(id, now) };
        }
        for (tick, id) in batch {
            let now = Tick(*tick);
            let seen = match (verb, by_number) {
                ("insert", false) => bloom.insert_at(id, now),
                ("insert", true) => bloom.insert_at(number(id), now),
                ("observe", false) => !bloom.observe_at(id, now).is_fresh(),
                ("observe", true) => !bloom.observe_at(number(id), now).is_fresh(),
                (_, false) => bloom.contains_at(id, now),
                (_, true) => bloom.contains_at(number(id), now),
            };
            answers.push(if seen { '1' } else { '0' });
        }
    }
    answers
}

/// Window, expected ids (few, so that there are errors, which have to be the same) and seed.
const BLOOM: (u64, u64, u64) = (4000, 700, 4711);

#[test]
fn the_bloom_filters_answers() {
    let mut random = Random(42);
    let mut now = 1_000_000;
    let events: Vec<(u64, String)> = (0..6_000)
        .map(|i| {
            // Gaps of a pane or more, and late events.
            now += if i % 1000 == 999 { random.below(9000) } else { random.below(4) };
            (now - random.below(300), format!("{:08}", random.below(3000)))
        })
        .collect();
    let input = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bloom-input");
    let text: String = events.iter().map(|(tick, id)| format!("{tick}\t{id}\n")).collect();
    fs::write(&input, text).expect("writable");
    let languages =
        if is_set("WINDLASS_VALGRIND") { &[Language::C][..] } else { &[Language::C, Language::Cpp] };
    for &language in languages {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/bloom.c");
        let Some(bloom) = program(&source, language) else { continue };
        for verb in ["insert", "observe", "contains"] {
            let of_rust = [false, true].map(|by_number| bloom_of_rust(verb, by_number, &events));
            let seen = of_rust[0].matches('1').count();
            assert!((1_000..5_000).contains(&seen), "{verb}: {seen} seen: not much of a test");
            for way in ["single", "hash", "u64", "packed", "hashes", "u64s", "fixed"] {
                let (window, ids, seed) = (BLOOM.0.to_string(), BLOOM.1.to_string(), BLOOM.2.to_string());
                let mut c = checked(&bloom);
                let of_c = run(c.args([verb, way, &window, &ids, &seed]).arg(&input));
                let of_rust = &of_rust[usize::from(way.starts_with("u64"))];
                let differs = of_c.bytes().zip(of_rust.bytes()).position(|(c, rust)| c != rust);
                assert_eq!((differs, of_c.len()), (None, of_rust.len()), "{language:?}, {verb}, {way}");
            }
        }
        fs::remove_file(bloom).expect("was made");
    }
}
