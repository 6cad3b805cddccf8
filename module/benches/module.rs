//! The module's commands beside what servers have by themselves, by `redis-benchmark` on loopback, in one run.
//!
//! `cargo bench -p windlass-module --bench module`. Each row is done several times, in turn with the others; shown is the median, and what it is
//! relative to the first row. `WINDLASS_BENCH_QUICK=1`: small, to see that it works.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)] // a program of its own

#[path = "../tests/built.rs"]
#[allow(dead_code, reason = "tests use the rest")]
mod built;
#[path = "../tests/common.rs"]
#[allow(dead_code, reason = "tests use the rest")]
mod common;
#[path = "../../remote/tests/servers.rs"]
#[allow(dead_code, reason = "tests use the rest")]
mod servers;

use common::{Loaded, loaded, number, text};
use std::process::{Command, Stdio};

/// Connections, and commands that each sends before it waits.
const CLIENTS: &str = "16";
const DEPTH: &str = "32";

/// The limit of `windlass-remote` by script, as it is sent.
const SCRIPT: &str = concat!(
    include_str!("../../remote/lua/now.lua"),
    include_str!("../../remote/lua/limit/head.lua"),
    include_str!("../../remote/lua/limit/tat.lua"),
    include_str!("../../remote/lua/limit/main.lua"),
);

/// Of 600 permits in a minute: the interval of a permit in units of a microsecond, and of a full bucket.
const PERMITS: [&str; 3] = ["1", "100000", "60000000"];

struct Row {
    name: &'static str,
    /// Events in a command.
    events: f64,
    words: Vec<String>,
    figures: Vec<f64>,
}

fn row(name: &'static str, events: u32, words: &str) -> Row {
    let words = words.split(' ').map(str::to_owned).collect();
    Row { name, events: events.into(), words, figures: Vec::new() }
}

fn main() {
    // Small when it is run as a test (`cargo test --benches`), too.
    let quick = !std::env::args().any(|argument| argument == "--bench")
        || std::env::var_os("WINDLASS_BENCH_QUICK").is_some_and(|value| value == "1");
    let (commands, rounds) = if quick { (2_000, 1) } else { (400_000, 5) };
    let Some(mut server) = loaded(&[]) else { return };
    answers(&mut server);
    let script = text(&server.ask(&[b"SCRIPT", b"LOAD", SCRIPT.as_bytes()]).expect("a script"));
    let eight = ["__rand_int__"; 8].join(" ");
    let mut ids = [
        row("SET NX PX", 1, "SET id:__rand_int__ 1 NX PX 600000"),
        row("WL.DEDUP", 1, "WL.DEDUP ids 600000 __rand_int__"),
        row("WL.DEDUP, 8 ids", 8, &format!("WL.DEDUP ids 600000 {eight}")),
        row("WL.ADMIT, 8 ids", 8, &format!("WL.ADMIT ids 600000 __rand_int__ {eight}")),
        row("WL.BLOOM.ADD", 1, "WL.BLOOM.ADD seen 600000 8 0.01 1000000 __rand_int__"),
        row("WL.BLOOM.ADD, 8 ids", 8, &format!("WL.BLOOM.ADD seen 600000 8 0.01 1000000 {eight}")),
    ];
    let [units, interval, whole] = PERMITS;
    let asks =
        format!("EVALSHA {script} 1 client:__rand_int__ {} 0 0 1 1 tat {units} {interval} {whole}", "\"\"");
    let mut limits = [
        row("GCRA by script", 1, &asks),
        row("WL.LIMIT GCRA", 1, "WL.LIMIT limit:__rand_int__ GCRA 600 60000"),
    ];
    // An empty word: the server's time.
    limits[0].words.iter_mut().filter(|word| *word == "\"\"").for_each(String::clear);
    println!(
        "events a second, {CLIENTS} connections, {DEPTH} commands ahead, {commands} commands, median of {rounds}"
    );
    for (rows, span) in [(&mut ids[..], "100000000"), (&mut limits[..], "10000")] {
        for _ in 0..rounds {
            for row in rows.iter_mut() {
                row.figures.push(row.events * benchmark(&server, commands, span, &row.words));
                server.told("FLUSHALL");
            }
        }
        let median = |row: &mut Row| {
            row.figures.sort_by(f64::total_cmp);
            row.figures[row.figures.len() / 2]
        };
        let first = median(&mut rows[0]);
        for row in rows {
            let own = median(row);
            println!("{:24} {own:12.0}  {:.2}", row.name, own / first);
        }
    }
    memory(&mut server, if quick { 2_000 } else { 200_000 });
}

/// What is timed does what it is for.
fn answers(server: &mut Loaded) {
    assert_eq!(server.numbers("WL.DEDUP ids 600000 a a b"), [1, 0, 1]);
    assert_eq!(server.numbers("WL.ADMIT ids 600000 t b c c"), [0, 1, 0]);
    assert_eq!(server.numbers("WL.BLOOM.ADD seen 600000 8 0.01 1000000 a a b"), [1, 0, 1]);
    let allowed = |server: &mut Loaded| server.numbers("WL.LIMIT client GCRA 600 60000 COST 600")[0];
    assert_eq!((allowed(server), allowed(server)), (1, 0));
    let script = |server: &mut Loaded| {
        let words: [&[u8]; 13] = [
            b"EVAL",
            SCRIPT.as_bytes(),
            b"1",
            b"other",
            b"",
            b"0",
            b"0",
            b"600",
            b"600",
            b"tat",
            PERMITS[0].as_bytes(),
            PERMITS[1].as_bytes(),
            PERMITS[2].as_bytes(),
        ];
        match server.ask(&words).expect("an answer") {
            redis::Value::Array(told) => number(&told[0]),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((script(server), script(server)), (600, 0));
    server.told("FLUSHALL");
}

/// Commands a second.
fn benchmark(server: &Loaded, commands: u64, span: &str, words: &[String]) -> f64 {
    let output = Command::new("redis-benchmark")
        .args(["-p", &server.port.to_string(), "-c", CLIENTS, "-P", DEPTH, "-n", &commands.to_string()])
        .args(["-r", span, "--csv"])
        .args(words)
        .stdin(Stdio::null())
        .output()
        .expect("redis-benchmark runs");
    let told =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(!told.contains("Error from server"), "{told}");
    let line = told.lines().last().unwrap_or_default();
    // "name","requests a second",..: names have commas and quotation marks of their own.
    let fields: Vec<&str> = line.split("\",\"").collect();
    let figure =
        fields.get(fields.len().wrapping_sub(7)).and_then(|field| field.trim_matches('"').parse().ok());
    figure.unwrap_or_else(|| panic!("{told}"))
}

/// Bytes an id.
fn memory(server: &mut Loaded, ids: u32) {
    #[allow(clippy::cast_precision_loss)] // bytes, of which there are fewer than 2^52
    let used = |server: &Loaded| server.figure("memory", "used_memory").expect("a figure") as f64;
    println!("bytes an id of 16 bytes, of {ids}");
    for (name, words) in [
        ("a key for each", "SET id:{} 1 NX PX 600000"),
        ("a sorted set", "ZADD ids 1795348800123 {}"),
        ("WL.DEDUP", "WL.DEDUP ids 600000 {}"),
        ("WL.ADMIT, one by one", "WL.ADMIT ids 600000 {} {}"),
    ] {
        server.told("FLUSHALL SYNC");
        let before = used(server);
        let commands = (0..ids).map(|id| {
            let words = words.replace("{}", &format!("id-{id:013}"));
            words.split(' ').map(|word| word.as_bytes().to_vec()).collect()
        });
        server.together(commands);
        println!("{name:24} {:12.0}", (used(server) - before) / f64::from(ids));
    }
}
