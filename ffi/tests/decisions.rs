//! The same decisions from C as from Rust, by every call: on a generated stream, and on real logs with reference answers.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

#[path = "../../tests/common/algorithms.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod algorithms;
#[path = "../../tests/common/answers.rs"]
mod answers;
#[allow(dead_code)] // of an event we need the time and the id
#[path = "../../tests/common/streams.rs"]
mod streams;
mod support;

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use algorithms::ALGORITHMS;
use sha2::{Digest, Sha256};
use support::{
    Language, STATIC_LIBS, checked, go_is_there, is_set, languages, library, program, program_as, root, run,
};
use windlass::Algorithm;

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

/// Programs that decide for all structures, in other languages than C: `decisions KIND ..`.
fn others() -> &'static [Other] {
    static BUILT: std::sync::OnceLock<Vec<Other>> = std::sync::OnceLock::new();
    BUILT.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cpp/decisions.cpp");
        let cpp = Language::Cpp
            .compiler()
            .and_then(|compiler| program_as(&source, Language::Cpp, &compiler, &["-std=c++17"]))
            .map(|program| Other { language: "C++", program });
        let go = go_program().map(|program| Other { language: "Go", program });
        cpp.into_iter().chain(go).collect()
    })
}

/// Go's, against the same library. (Not under valgrind, which does not know Go's stacks; nor with AddressSanitizer's.)
fn go_program() -> Option<PathBuf> {
    let library = library()?;
    if is_set("WINDLASS_VALGRIND") || support::sanitized() || !go_is_there() {
        return None;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-decisions");
    fs::create_dir_all(&folder).expect("writable");
    // As what is installed describes itself.
    let text = format!(
        "Name: windlass-static\nDescription: for tests\nVersion: {}\nCflags: -I{}\nLibs: {} {}\n",
        env!("CARGO_PKG_VERSION"),
        root().join("include").display(),
        library.join("libwindlass.a").display(),
        STATIC_LIBS.join(" "),
    );
    fs::write(folder.join("windlass-static.pc"), text).expect("writable");
    let program = folder.join("decisions");
    // Go does not see that the library is another one: it shall link anew.
    drop(fs::remove_file(&program));
    let mut go = Command::new("go");
    go.args(["build", "-o"]).arg(&program).arg("./internal/decisions").current_dir(root().join("ffi/go"));
    run(go.env("PKG_CONFIG_PATH", &folder).env("GOTOOLCHAIN", "local"));
    Some(program)
}

struct Other {
    language: &'static str,
    program: PathBuf,
}

/// What each of those prints for these arguments and this file is what Rust says.
fn others_say(of_rust: &str, arguments: &[&str], input: &Path) {
    // (Under valgrind, which is slow, one way: structures.cpp goes the others.)
    if is_set("WINDLASS_VALGRIND") && !arguments.contains(&"packed") {
        return;
    }
    for Other { language, program } in others() {
        let printed = run(checked(program).args(arguments).arg(input));
        let differs = printed.bytes().zip(of_rust.bytes()).position(|(other, rust)| other != rust);
        assert_eq!((differs, printed.len()), (None, of_rust.len()), "{language}, {arguments:?}");
    }
}

/// So many events are enough: valgrind is slow, and runs beside a run without it.
fn enough(events: usize) -> usize {
    if is_set("WINDLASS_VALGRIND") { events / 4 } else { events }
}

/// All of these ways, in both languages.
fn same_decisions(case: &Case<'_>, ways: &[&str]) -> String {
    let of_rust = decisions_of_rust(case);
    for &language in languages() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/filter.c");
        let Some(filter) = program(&source, language) else { continue };
        for way in ways {
            let of_c = decisions_of_c(case, way, &filter);
            let differs = of_c.bytes().zip(of_rust.bytes()).position(|(c, rust)| c != rust);
            assert_eq!((differs, of_c.len()), (None, of_rust.len()), "{}, {language:?}, {way}", case.name);
        }
        fs::remove_file(filter).expect("was made");
    }
    let input = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-others", case.name));
    let text: String = case.events.iter().map(|(tick, id)| format!("{tick}\t{id}\n")).collect();
    fs::write(&input, text).expect("writable");
    let settings = [case.window, case.lateness, CAPACITY as u64].map(|number| number.to_string());
    for way in ways.iter().filter(|way| **way != "fixed") {
        others_say(&of_rust, &["dedup", way, &settings[0], &settings[1], &settings[2]], &input);
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
    let events: Vec<(u64, String)> = (0..enough(10_000))
        .map(|_| {
            now += random.below(4);
            // Some are late, some of them too late.
            let late = if random.below(4) == 0 { random.below(700) } else { 0 };
            (now - late, format!("{:08}", random.below(enough(3000) as u64)))
        })
        .collect();
    let case = Case { name: "generated", window: 4000, lateness: 500, events: &events };
    let decisions = same_decisions(&case, &["single", "hash", "u64", "packed", "hashes", "u64s", "fixed"]);
    let duplicates = decisions.matches('1').count();
    assert!(
        (enough(2_000)..enough(7_500)).contains(&duplicates),
        "{duplicates} duplicates: not much of a test"
    );
}

/// A view of a file, its order and its window, as `expected.json` names them.
fn a_log(file: &str, view: &str, order: &str, window: u64) {
    let Some(data) = answers::data() else { return };
    let answers = answers::answers(&data);
    let view_of = &answers[file][view];
    let mut events: Vec<(u64, String)> =
        streams::read(&data, file, view).into_iter().map(|event| (event.ms, event.id)).collect();
    let all = events.len();
    events.truncate(enough(all));
    let lateness = view_of["properties"]["largest_lateness_ms"].as_u64().unwrap_or(0);
    let case = Case { name: view, window, lateness, events: &events };
    let decisions = same_decisions(&case, &["single", "hash", "packed", "hashes"]);
    if events.len() < all {
        return;
    }
    let expected = &view_of[order]["dedup"][format!("T={window}")];
    answers::check(expected, &decisions, &[view]);
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
    let events: Vec<(u64, String)> = (0..enough(6_000))
        .map(|i| {
            // Gaps of a pane or more, and late events.
            now += if i % 500 == 499 { random.below(9000) } else { random.below(4) };
            (now - random.below(300), format!("{:08}", random.below(enough(3000) as u64)))
        })
        .collect();
    let input = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bloom-input");
    let text: String = events.iter().map(|(tick, id)| format!("{tick}\t{id}\n")).collect();
    fs::write(&input, text).expect("writable");
    for &language in languages() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/bloom.c");
        let Some(bloom) = program(&source, language) else { continue };
        for verb in ["insert", "observe", "contains"] {
            let of_rust = [false, true].map(|by_number| bloom_of_rust(verb, by_number, &events));
            let seen = of_rust[0].matches('1').count();
            assert!(
                (enough(1_000)..enough(5_000)).contains(&seen),
                "{verb}: {seen} seen: not much of a test"
            );
            // (Under valgrind to find a size takes seconds.)
            let few = is_set("WINDLASS_VALGRIND") && verb != "insert";
            let ways = ["single", "packed", "hash", "u64", "hashes", "u64s", "fixed"];
            for way in &ways[..if few { 2 } else { ways.len() }] {
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
    let settings = [BLOOM.0, BLOOM.1, BLOOM.2].map(|number| number.to_string());
    // (Under valgrind to find a size takes seconds.)
    let few = if is_set("WINDLASS_VALGRIND") { 1 } else { 3 };
    for verb in &["insert", "observe", "contains"][..few] {
        let of_rust = [false, true].map(|by_number| bloom_of_rust(verb, by_number, &events));
        for way in ["packed", "single", "hash", "u64", "hashes", "u64s"] {
            let of_rust = &of_rust[usize::from(way.starts_with("u64"))];
            others_say(of_rust, &["bloom", verb, way, &settings[0], &settings[1], &settings[2]], &input);
        }
    }
}

/// Tick in nanoseconds, cost, key.
type Call = (u64, u64, String);

const LIMITER_SEED: u64 = 4711;

/// As the C program prints an answer.
fn line(admission: windlass::Admission) -> String {
    use windlass::Admission;
    match admission {
        Admission::Allowed { remaining, reset_after, delay } => {
            format!("0 {remaining} {} 0 {}\n", reset_after.as_nanos(), delay.as_nanos())
        }
        Admission::Denied { retry_after } => format!("1 0 0 {} 0\n", retry_after.as_nanos()),
        Admission::Never => "2 0 0 0 0\n".to_owned(),
    }
}

/// The answers of a limiter; of numbers where `by_number`.
fn limiter_of_rust(number: usize, quota: &str, lateness: u64, by_number: bool, calls: &[Call]) -> String {
    use windlass::{KeyedLimiter, Seed, Tick};
    let limiter = KeyedLimiter::builder(quota.parse().expect("valid"))
        .algorithm(ALGORITHMS[number])
        .clients(CAPACITY)
        .lateness(Duration::from_nanos(lateness))
        .seed(Seed(LIMITER_SEED))
        .build()
        .expect("valid");
    let ask = |(tick, cost, key): &Call| match by_number {
        true => limiter.check_at(key.parse::<u64>().expect("a number"), *cost, Tick(*tick)),
        false => limiter.check_at(key, *cost, Tick(*tick)),
    };
    calls.iter().map(|call| line(ask(call))).collect()
}

fn global_of_rust(number: usize, quota: &str, calls: &[Call]) -> String {
    use windlass::{Limiter, Tick};
    let limiter = Limiter::builder(quota.parse().expect("valid")).algorithm(ALGORITHMS[number]);
    let limiter = limiter.build().expect("valid");
    calls.iter().map(|(tick, cost, _)| line(limiter.check_at(*cost, Tick(*tick)))).collect()
}

/// The calls in a file, for the C program.
fn calls_file(name: &str, calls: &[Call]) -> PathBuf {
    let input = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut text = String::new();
    for (tick, cost, key) in calls {
        writeln!(text, "{tick}\t{cost}\t{key}").expect("a string");
    }
    fs::write(&input, text).expect("writable");
    input
}

fn limiter_of_c(
    program: &Path,
    way: &str,
    number: usize,
    quota: &str,
    lateness: u64,
    input: &Path,
) -> String {
    let mut c = checked(program);
    c.args([way, &number.to_string(), quota, &lateness.to_string(), &LIMITER_SEED.to_string()]);
    run(c.arg(input))
}

fn limiter_programs() -> Vec<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/limiter.c");
    languages().iter().filter_map(|&language| program(&source, language)).collect()
}

#[test]
fn the_limiters_answers() {
    let mut random = Random(6);
    let mut now = 1_000_000_000;
    let calls: Vec<Call> = (0..enough(4_000))
        .map(|i| {
            now += if i % 1000 == 999 { random.below(5_000_000_000) } else { random.below(6_000_000) };
            let late = if random.below(4) == 0 { random.below(300_000_000) } else { 0 };
            // None, more than there ever are, or a few.
            let cost = match random.below(20) {
                0 => 0,
                1 => 12 + random.below(2) * (u64::MAX - 12),
                _ => 1 + random.below(3),
            };
            (now - late, cost, format!("{:08}", random.below(40)))
        })
        .collect();
    let input = calls_file("limiter-input", &calls);
    let lateness = 100_000_000;
    for program in limiter_programs() {
        for number in 0..ALGORITHMS.len() {
            let quota = if number < 3 { "5/s burst 11" } else { "11/s" };
            let of_rust =
                [false, true].map(|by_number| limiter_of_rust(number, quota, lateness, by_number, &calls));
            for kind in ["0", "1", "2"] {
                let of_it = of_rust[0].lines().filter(|line| line.starts_with(kind)).count();
                assert!(of_it > enough(100), "{number}: {of_it} answers {kind}: not much of a test");
            }
            let ways: &[&str] = match number {
                0 => &["single", "hash", "u64", "packed", "hashes", "u64s", "fixed", "global"],
                _ => &["single", "packed", "global"],
            };
            for way in ways {
                let of_c = limiter_of_c(&program, way, number, quota, lateness, &input);
                let of_rust = match *way {
                    "global" => &global_of_rust(number, quota, &calls),
                    way => &of_rust[usize::from(way.starts_with("u64"))],
                };
                let differs = of_c.lines().zip(of_rust.lines()).position(|(c, rust)| c != rust);
                assert_eq!((differs, of_c.len()), (None, of_rust.len()), "{program:?}, {number}, {way}");
            }
        }
        fs::remove_file(program).expect("was made");
    }
    let few = if is_set("WINDLASS_VALGRIND") { 1 } else { ALGORITHMS.len() };
    for number in 0..few {
        let quota = if number < 3 { "5/s burst 11" } else { "11/s" };
        let ways: &[&str] = if number == 0 {
            &["single", "hash", "u64", "packed", "hashes", "u64s", "global"]
        } else {
            &["packed"]
        };
        for way in ways {
            let of_rust = match *way {
                "global" => global_of_rust(number, quota, &calls),
                way => limiter_of_rust(number, quota, lateness, way.starts_with("u64"), &calls),
            };
            let settings = [number.to_string(), lateness.to_string(), LIMITER_SEED.to_string()];
            others_say(&of_rust, &["limiter", way, &settings[0], quota, &settings[1], &settings[2]], &input);
        }
    }
}

/// Of a real log, against the reference answers: every algorithm that they have. (Not under valgrind: the answers above are.)
#[test]
fn a_log_through_limiters() {
    let Some(data) = answers::data().filter(|_| !is_set("WINDLASS_VALGRIND")) else { return };
    let answers = answers::answers(&data);
    let (file, view) = ("nasa-http-1995-08-01-0000-0959.tsv", "nasa");
    let calls: Vec<Call> = streams::read(&data, file, view)
        .into_iter()
        .map(|event| (event.ms * 1_000_000, 1, event.client))
        .collect();
    let input = calls_file("limiter-log", &calls);
    let references = [
        ("gcra", 0, ""),
        ("gcra_no_burst", 0, " burst 1"),
        ("token_bucket", 1, ""),
        ("fixed_window", 3, ""),
        ("sliding_counter_whole", 4, ""),
        ("sliding_log", 5, ""),
    ];
    let limits = answers[file][view]["in_order"]["limit"].as_object().expect("answers");
    for program in limiter_programs() {
        for (pair, expected) in limits {
            let (n, t) = pair.split_once(",T=").expect("N=..,T=..");
            for (name, number, burst) in references {
                let quota = format!("{}/{t}ms{burst}", n.strip_prefix("N=").expect("N"));
                let printed = limiter_of_c(&program, "packed", number, &quota, 0, &input);
                let decisions: String =
                    printed.lines().map(|line| if line.starts_with('0') { '1' } else { '0' }).collect();
                answers::check(&expected[name], &decisions, &[pair, name]);
            }
        }
        fs::remove_file(program).expect("was made");
    }
}

/// Window, pane and k of lists.
struct Lists {
    window: u64,
    pane: u64,
    k: usize,
}

const LISTS_SEED: u64 = 4711;

/// The list at the end of every pane, as the C program prints it.
fn lists_of_rust(of: &Lists, by_hash: bool, events: &[(u64, String)]) -> String {
    use windlass::{Seed, Tick, TopK, Window};
    let seed = Seed(LISTS_SEED);
    let top = TopK::builder(Window::last_n(of.window), Window::last_n(of.pane), of.k)
        .capacity(CAPACITY)
        .seed(seed)
        .build()
        .expect("valid");
    let mut lines = String::new();
    let mut print = |end| {
        let list = top.top_complete_at(Tick(end));
        write!(lines, "{end}").expect("a string");
        for row in &list.rows {
            write!(lines, "\t{}\t{}", row.count, row.key).expect("a string");
        }
        lines.push('\n');
    };
    let mut end = (events[0].0 / of.pane + 1) * of.pane;
    for (tick, key) in events {
        while *tick >= end {
            print(end);
            end += of.pane;
        }
        match by_hash {
            true => top.add_at(seed.hash(key), 1, Tick(*tick)),
            false => top.add_at(key, 1, Tick(*tick)),
        };
    }
    print(end);
    lines
}

/// .. of both languages, by all of these ways, against Rust's. What they are, of keys.
fn same_lists(name: &str, of: &Lists, ways: &[&str], events: &[(u64, String)]) -> String {
    let of_rust = [false, true].map(|by_hash| lists_of_rust(of, by_hash, events));
    let input = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-lists"));
    let text: String = events.iter().map(|(tick, key)| format!("{tick}\t{key}\n")).collect();
    fs::write(&input, text).expect("writable");
    for &language in languages() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/topk.c");
        let Some(topk) = program(&source, language) else { continue };
        for way in ways {
            let mut c = checked(&topk);
            let settings = [of.window, of.pane, of.k as u64, LISTS_SEED].map(|number| number.to_string());
            let of_c = run(c.arg(way).args(&settings).arg(&input));
            let of_rust = &of_rust[usize::from(way.starts_with("hash"))];
            let differs = of_c.lines().zip(of_rust.lines()).position(|(c, rust)| c != rust);
            assert_eq!((differs, of_c.len()), (None, of_rust.len()), "{name}, {language:?}, {way}");
        }
        fs::remove_file(topk).expect("was made");
    }
    for way in ways {
        let settings = [of.window, of.pane, of.k as u64, LISTS_SEED].map(|number| number.to_string());
        let [window, pane, k, seed] = &settings;
        others_say(
            &of_rust[usize::from(way.starts_with("hash"))],
            &["topk", way, window, pane, k, seed],
            &input,
        );
    }
    let [of_keys, _] = of_rust;
    of_keys
}

#[test]
fn lists_of_a_generated_stream() {
    let mut random = Random(9);
    let mut now = 1_000_000;
    let events: Vec<(u64, String)> = (0..enough(6_000))
        .map(|i| {
            now += if i % 1000 == 999 { random.below(9000) } else { random.below(4) };
            (now, format!("key {}", random.below(1 + random.0 % 400)))
        })
        .collect();
    let of = Lists { window: 4000, pane: 500, k: 20 };
    let lists = same_lists("generated", &of, &["single", "packed", "hash", "hashes"], &events);
    let rows = lists.matches('\t').count() / 2;
    assert!(rows > enough(150), "{rows} rows: not much of a test");
}

/// Of a real log, against the reference answers. (Not under valgrind: the lists above are.)
#[test]
fn lists_of_a_log() {
    let Some(data) = answers::data().filter(|_| !is_set("WINDLASS_VALGRIND")) else { return };
    let answers = answers::answers(&data);
    let (file, view) = ("nasa-http-1995-08-01-0000-0959.tsv", "nasa");
    let mut events: Vec<(u64, String)> =
        streams::read(&data, file, view).into_iter().map(|event| (event.ms, event.key)).collect();
    events.sort_by_key(|event| event.0);
    let lists = answers[file][view]["in_order"]["topk"].as_object().expect("answers");
    for (name, expected) in lists {
        let number = |part: &str| part.split_once('=').expect("a value").1.parse::<u64>().expect("a number");
        let [window, pane, k] = name.split(',').map(number).collect::<Vec<_>>()[..] else { panic!("{name}") };
        if pane == 1000 {
            continue; // 36,000 lists
        }
        let of = Lists { window, pane, k: usize::try_from(k).expect("few") };
        let of_c = same_lists("log", &of, &["packed"], &events);
        let sha256: String = Sha256::digest(&of_c).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(expected["sha256"], sha256, "{name}");
    }
}

/// One is let in every so many ticks.
const FIFO: (u64, u64) = (40, 4711);

/// Each id is put in when it is first seen; for each event how many are ahead, -1 once it was let in.
fn ranks_of_rust(by_number: bool, events: &[(u64, String)]) -> String {
    use windlass::{FifoIndex, Seed, Tick};
    let queue = FifoIndex::builder().capacity(4096).seed(Seed(FIFO.1)).build().expect("valid");
    let (mut seen, mut due) = (std::collections::HashSet::new(), events[0].0 + FIFO.0);
    let mut lines = String::new();
    for (tick, id) in events {
        while due <= *tick {
            drop(queue.pop());
            due += FIFO.0;
        }
        let number: u64 = id.parse().expect("a number");
        if seen.insert(number) {
            let now = Tick(*tick);
            let pushed = if by_number { queue.push_at(number, (), now) } else { queue.push_at(id, (), now) };
            assert!(pushed.is_ok());
        }
        match if by_number { queue.rank(number) } else { queue.rank(id) } {
            Some(rank) => writeln!(lines, "{rank}"),
            None => writeln!(lines, "-1"),
        }
        .expect("a string");
    }
    lines
}

#[test]
fn the_ranks_of_a_queue() {
    let mut random = Random(10);
    let mut now = 1_000_000;
    let events: Vec<(u64, String)> = (0..enough(6_000))
        .map(|i| {
            now += if i % 1000 == 999 { random.below(9000) } else { random.below(4) };
            (now, format!("{:08}", random.below(enough(2000) as u64)))
        })
        .collect();
    let input = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fifo-input");
    let text: String = events.iter().map(|(tick, id)| format!("{tick}\t{id}\n")).collect();
    fs::write(&input, text).expect("writable");
    let of_rust = [false, true].map(|by_number| ranks_of_rust(by_number, &events));
    let gone = of_rust[0].lines().filter(|line| *line == "-1").count();
    assert!((enough(300)..enough(5_700)).contains(&gone), "{gone} were let in: not much of a test");
    for &language in languages() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/fifo.c");
        let Some(fifo) = program(&source, language) else { continue };
        for way in ["single", "hash", "u64", "packed", "hashes", "u64s", "fixed"] {
            let mut c = checked(&fifo);
            let of_c = run(c.args([way, &FIFO.0.to_string(), &FIFO.1.to_string()]).arg(&input));
            let of_rust = &of_rust[usize::from(way.starts_with("u64"))];
            let differs = of_c.lines().zip(of_rust.lines()).position(|(c, rust)| c != rust);
            assert_eq!((differs, of_c.len()), (None, of_rust.len()), "{language:?}, {way}");
        }
        fs::remove_file(fifo).expect("was made");
    }
    for way in ["single", "hash", "u64", "packed"] {
        let of_rust = &of_rust[usize::from(way.starts_with("u64"))];
        others_say(of_rust, &["fifo", way, &FIFO.0.to_string(), &FIFO.1.to_string()], &input);
    }
}

/// Seed, and the time of a snapshot on both clocks, in nanoseconds.
const SNAPSHOT: (u64, u64, u64) = (4711, 6_000_000_000, 1_700_000_000_000_000_000);

/// As the C program prints bytes.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n"
}

/// A structure's snapshot, and that of what is restored of it a second later. (Not a macro's work: rings have no time of their own.)
fn written<T>(
    structure: &T,
    write: impl Fn(&T, &mut Vec<u8>, windlass::Tick, Duration),
    restore: impl Fn(&[u8], Duration) -> Result<windlass::Restored<T>, windlass::RestoreError>,
) -> String {
    let (now, wall) = (windlass::Tick(SNAPSHOT.1), Duration::from_nanos(SNAPSHOT.2));
    let (mut first, mut second) = (Vec::new(), Vec::new());
    write(structure, &mut first, now, wall);
    let wall = wall + Duration::from_secs(1);
    let again = restore(&first, wall).expect("a snapshot");
    write(&again.structure, &mut second, again.resumed, wall);
    hex(&first) + &hex(&second)
}

/// Calls with each key: bytes, hashes and numbers by turns.
macro_rules! by_turns {
    ($events:ident, $seed:expr, |$i:ident, $key:ident, $now:ident| $call:expr) => {
        for ($i, (ms, id)) in $events.iter().enumerate() {
            let $now = windlass::Tick(ms * 1_000_000);
            match $i % 3 {
                0 => {
                    let $key = id.as_bytes();
                    $call
                }
                1 => {
                    let $key = $seed.hash(id);
                    $call
                }
                _ => {
                    let $key = id.parse::<u64>().expect("a number");
                    $call
                }
            };
        }
    };
}

fn snapshots_of_rust(kind: &str, events: &[(u64, String)]) -> String {
    use windlass::{
        Added, BoundedTopK, Claim, Dedup, FifoIndex, HashRing, Identity, Node, RotatingBloom, Seed, TopK,
        WindowedCounter,
    };
    if kind.contains("limit") {
        return snapshots_of_limits(kind, events);
    }
    let (window, pane) = (Duration::from_secs(4), Duration::from_millis(500));
    let (lateness, seed) = (Duration::from_millis(300), Seed(SNAPSHOT.0));
    match kind {
        "dedup" | "dedup_bytes" => {
            let identity = if kind == "dedup" { Identity::Hash } else { Identity::Bytes };
            let builder =
                || Dedup::builder(window).lateness(lateness).capacity(5000).seed(seed).identity(identity);
            let dedup = builder().build().expect("valid");
            by_turns!(events, seed, |i, key, now| if i % 7 == 6 {
                let id = &events[i].1;
                let claim = dedup.claim_at(id, now, Duration::from_secs(1)).expect("room for it");
                if let (Claim::Claimed(ticket), true) = (claim, i % 2 == 0) {
                    assert!(dedup.commit(ticket));
                }
            } else {
                dedup.observe_at(key, now).expect("room for it");
            });
            let write = |of: &Dedup, out: &mut Vec<u8>, now, wall| {
                of.snapshot_at(out, now, wall).expect("written");
            };
            written(&dedup, write, |bytes, wall| builder().restore(bytes, wall))
        }
        "bloom" => {
            let builder = || RotatingBloom::builder(window).expected_ids(700).seed(seed);
            let bloom = builder().build().expect("valid");
            by_turns!(events, seed, |_i, key, now| bloom.insert_at(key, now));
            let write = |of: &RotatingBloom, out: &mut Vec<u8>, now, wall| {
                of.snapshot_at(out, now, wall).expect("written");
            };
            written(&bloom, write, |bytes, wall| builder().restore(bytes, wall))
        }
        "counter" => {
            let builder =
                || WindowedCounter::builder(window, pane).lateness(lateness).capacity(5000).seed(seed);
            let counter = builder().build().expect("valid");
            by_turns!(events, seed, |i, key, now| assert_eq!(
                counter.add_at(key, 1 + i as u64 % 5, now),
                Added::Counted
            ));
            let write = |of: &WindowedCounter, out: &mut Vec<u8>, now, wall| {
                of.snapshot_at(out, now, wall).expect("written");
            };
            written(&counter, write, |bytes, wall| builder().restore(bytes, wall))
        }
        "topk" => {
            let builder = || TopK::builder(window, pane, 20).lateness(lateness).capacity(5000).seed(seed);
            let topk = builder().build().expect("valid");
            by_turns!(events, seed, |i, key, now| assert_eq!(
                topk.add_at(key, 1 + i as u64 % 5, now),
                Added::Counted
            ));
            let write = |of: &TopK, out: &mut Vec<u8>, now, wall| {
                of.save_at(out, now, wall).expect("written");
            };
            written(&topk, write, |bytes, wall| builder().restore(bytes, wall))
        }
        "bounded" => {
            let builder =
                || BoundedTopK::builder(window, pane, 20).lateness(lateness).seed(seed).memory(65536);
            let topk = builder().build().expect("valid");
            by_turns!(events, seed, |i, key, now| assert_eq!(
                topk.add_at(key, 1 + i as u64 % 5, now),
                Added::Counted
            ));
            let write = |of: &BoundedTopK, out: &mut Vec<u8>, now, wall| {
                of.save_at(out, now, wall).expect("written");
            };
            written(&topk, write, |bytes, wall| builder().restore(bytes, wall))
        }
        "fifo" => {
            let builder = || FifoIndex::builder().capacity(5000).seed(seed);
            let fifo: FifoIndex<Vec<u8>> = builder().build().expect("valid");
            // (A key that collides with another one is refused: hashes under another seed do not.)
            by_turns!(events, Seed(SNAPSHOT.0 + 1), |i, key, now| {
                let value = &events[i].1.as_bytes()[..i % 9];
                assert!(fifo.push_at(key, value.to_vec(), now).is_ok());
                assert!(i % 5 != 4 || fifo.pop().is_some());
            });
            let write = |of: &FifoIndex<Vec<u8>>, out: &mut Vec<u8>, now, wall| {
                of.snapshot_at(out, now, wall).expect("written");
            };
            written(&fifo, write, |bytes, wall| builder().restore(bytes, wall))
        }
        _ => {
            let builder = || HashRing::builder().vnodes(40).seed(seed);
            let ring = builder().build().expect("valid");
            for (id, (_, name)) in (0_u32..6).zip(events) {
                ring.add(Node::new(id, name.as_str()).weight(1 + id % 3)).expect("another name");
            }
            ring.remove(2).expect("is there");
            let write = |of: &HashRing, out: &mut Vec<u8>, _, wall| {
                of.snapshot_at(out, wall).expect("written");
            };
            written(&ring, write, |bytes, wall| builder().restore(bytes, wall))
        }
    }
}

/// Limiters by several algorithms, and a set. (Without holds: their numbers begin anywhere. And no log runs out: whose ring is used next is up to when it comes back.)
fn snapshots_of_limits(kind: &str, events: &[(u64, String)]) -> String {
    use windlass::{Inherit, KeyedLimiter, LimitRule, LimitSet, Limiter, Quota, Seed};
    let (minute, seed, now) = (Duration::from_secs(60), Seed(SNAPSHOT.0), windlass::Tick(SNAPSHOT.1));
    let lateness = Duration::from_millis(300);
    let less = Quota::new(4, minute);
    match kind {
        "limiter" | "limiter_log" => {
            let builder = || match kind {
                "limiter" => KeyedLimiter::builder(Quota::new(5, minute).burst(8)),
                _ => KeyedLimiter::builder(Quota::new(5, minute)).algorithm(Algorithm::SlidingLog),
            };
            let builder = || builder().clients(5000).lateness(lateness).seed(seed);
            let limiter = builder().build().expect("valid");
            by_turns!(events, seed, |i, key, now| limiter.check_at(key, 1 + i as u64 % 3, now));
            limiter.set_quota_for_at(&events[0].1, less, Inherit::AsIs, now).expect("in range");
            limiter.set_quota_at(less, Inherit::AsIs, now).expect("in range");
            let write = |of: &KeyedLimiter, out: &mut Vec<u8>, now, wall| {
                of.snapshot_at(out, now, wall).expect("written");
            };
            written(&limiter, write, |bytes, wall| builder().restore(bytes, wall))
        }
        "global_limiter" => {
            let builder = || Limiter::builder(Quota::new(2000, minute)).algorithm(Algorithm::SlidingCounter);
            let limiter = builder().build().expect("valid");
            for (i, (ms, _)) in (0_u64..).zip(events) {
                limiter.check_at(1 + i % 3, windlass::Tick(ms * 1_000_000));
            }
            limiter.set_quota_at(Quota::new(1000, minute), Inherit::AsIs, now).expect("in range");
            let write = |of: &Limiter, out: &mut Vec<u8>, now, wall| {
                of.snapshot_at(out, now, wall).expect("written");
            };
            written(&limiter, write, |bytes, wall| builder().restore(bytes, wall))
        }
        _ => {
            let tenant = LimitRule::keyed("tenant", Quota::new(400, minute)).clients(100);
            let all = LimitRule::global("all", Quota::new(5000, minute));
            let builder = || {
                LimitSet::builder()
                    .limit(LimitRule::keyed("user", Quota::new(5, minute).burst(8)).clients(5000))
                    .limit(tenant.clone().algorithm(Algorithm::SlidingCounter))
                    .limit(all.clone().algorithm(Algorithm::FixedWindow))
                    .lateness(lateness)
                    .seed(seed)
            };
            let set = builder().build().expect("valid");
            for (i, (ms, id)) in (0_u64..).zip(events) {
                let number: u64 = id.parse().expect("a number");
                let keys = [seed.hash(id), seed.hash(number % 16)];
                let _ = set.check_at(&keys, 1 + i % 3, windlass::Tick(ms * 1_000_000));
            }
            set.set_quota_at("user", less, now).expect("in range");
            let write = |of: &LimitSet, out: &mut Vec<u8>, now, wall| {
                of.snapshot_at(out, now, wall).expect("written");
            };
            written(&set, write, |bytes, wall| builder().restore(bytes, wall))
        }
    }
}

/// The same bytes for the same keys, seed and times; and again of what was restored of them.
#[test]
fn the_bytes_of_snapshots() {
    let mut random = Random(12);
    let mut now = 1000;
    let events: Vec<(u64, String)> = (0..enough(4_000))
        .map(|_| {
            now += random.below(3);
            let late = if random.below(4) == 0 { random.below(200) } else { 0 };
            (now - late, format!("{:08}", random.below(enough(2000) as u64)))
        })
        .collect();
    let input = Path::new(env!("CARGO_TARGET_TMPDIR")).join("snapshot-input");
    let text: String = events.iter().map(|(ms, id)| format!("{ms}\t{id}\n")).collect();
    fs::write(&input, text).expect("writable");
    let settings = [SNAPSHOT.0, SNAPSHOT.1, SNAPSHOT.2].map(|number| number.to_string());
    let kinds = [
        "dedup",
        "dedup_bytes",
        "bloom",
        "counter",
        "topk",
        "bounded",
        "fifo",
        "ring",
        "limiter",
        "limiter_log",
        "global_limiter",
        "limitset",
    ];
    let of_rust = kinds.map(|kind| snapshots_of_rust(kind, &events));
    for (kind, of_rust) in kinds.iter().zip(&of_rust) {
        let least = if ["ring", "global_limiter"].contains(kind) { 200 } else { enough(4_000) };
        assert!(of_rust.len() > least, "{kind}: {} digits: not much of a test", of_rust.len());
    }
    for &language in languages() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/snapshot.c");
        let Some(snapshot) = program(&source, language) else { continue };
        for (kind, of_rust) in kinds.iter().zip(&of_rust) {
            let of_c = run(checked(&snapshot).arg(kind).args(&settings).arg(&input));
            let differs = of_c.bytes().zip(of_rust.bytes()).position(|(c, rust)| c != rust);
            assert_eq!((differs, of_c.len()), (None, of_rust.len()), "{language:?}, {kind}");
        }
        fs::remove_file(snapshot).expect("was made");
    }
    for Other { language, program } in others() {
        for (kind, of_rust) in kinds.iter().zip(&of_rust) {
            let mut other = checked(program);
            let printed = run(other.args(["snapshot", kind]).args(&settings).arg(&input));
            let differs = printed.bytes().zip(of_rust.bytes()).position(|(other, rust)| other != rust);
            assert_eq!((differs, printed.len()), (None, of_rust.len()), "{language}, {kind}");
        }
    }
}
