//! Dedup through a server on loopback, beside `redis-benchmark` with the command that it comes to, in one run.
//!
//! `cargo bench -p windlass-remote --bench remote`. Each row is done several times, in turn with the others, and the median is shown. `-- "all new" 128`: the
//! row of that name and depth alone, once (to count instructions: `valgrind --tool=callgrind --separate-threads=yes`).
//! `WINDLASS_BENCH_QUICK=1`: small, to see that it works.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)] // a program of its own

#[path = "../../module/tests/built.rs"]
mod built;
#[path = "../tests/servers.rs"]
#[allow(dead_code, reason = "tests use the rest")]
mod servers;

use servers::Server;
use std::{
    process::Command,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};
use windlass_remote::{Level, Remote, RemoteDedup};

/// Tasks, or connections of redis-benchmark.
const CLIENTS: u64 = 16;

const WINDOW: Duration = Duration::from_secs(600);

/// Every run has namespaces and ids of its own.
static NEXT: AtomicU64 = AtomicU64::new(0);

fn main() {
    if !servers::available() {
        return;
    }
    // Small when it is run as a test (`cargo test --benches`), too.
    let quick = !std::env::args().any(|argument| argument == "--bench")
        || std::env::var_os("WINDLASS_BENCH_QUICK").is_some_and(|value| value == "1");
    let (depths, names): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .partition(|argument| argument.parse::<u64>().is_ok());
    let only = names.first();
    let (events, rounds) = if quick { (20_000, 1) } else { (400_000, if only.is_some() { 1 } else { 5 }) };
    // One thread, as redis-benchmark has.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let server = Server::start(&built::with_module(&[]));
    println!(
        "events a second, {CLIENTS} clients, {events} events, median of {rounds}, and by the row of redis-benchmark above"
    );
    for depth in [1, 8, 32, 128, 1024] {
        if !depths.is_empty() && !depths.contains(&depth.to_string()) {
            continue;
        }
        let events = if depth == 1 { events / 4 } else { events };
        let mut rows: Vec<(&str, Vec<f64>)> = Vec::new();
        for _ in 0..rounds {
            let mut note = |name: &'static str, row: &dyn Fn() -> f64| {
                if only.is_some_and(|only| only != name) {
                    return;
                }
                let figure = row();
                // Each begins with an empty server: keys that are there already make it slower.
                server.cli(&["FLUSHALL"]);
                match rows.iter_mut().find(|(other, _)| *other == name) {
                    Some((_, figures)) => figures.push(figure),
                    None => rows.push((name, vec![figure])),
                }
            };
            let own = |kind| runtime.block_on(windlass(&server, kind, depth, events));
            note("redis-benchmark SET NX PX, all new", &|| redis_benchmark(&server, depth, events, true));
            note("all new", &|| own(Kind::New));
            note("all new, by script", &|| own(Kind::Script));
            note("all new, by the module", &|| own(Kind::Module));
            note("half are repeats, none known here", &|| own(Kind::Asked));
            note("half are repeats, known here", &|| own(Kind::Known));
            note("redis-benchmark SET NX PX, one id", &|| redis_benchmark(&server, depth, events, false));
            note("all are repeats, none known here", &|| own(Kind::Repeats));
        }
        let mut reference = 0.0;
        for (name, figures) in &mut rows {
            figures.sort_by(f64::total_cmp);
            let figure = figures[figures.len() / 2];
            if name.starts_with("redis-benchmark") {
                reference = figure;
            }
            let ratio = if reference > 0.0 { format!("{:5.2}", figure / reference) } else { String::new() };
            println!("depth {depth:4}  {name:36} {figure:10.0}  {ratio}");
        }
    }
}

/// With an id of its own for each event, or one for all.
fn redis_benchmark(server: &Server, depth: u64, events: u64, new: bool) -> f64 {
    let mut command = Command::new("redis-benchmark");
    command.args(["-p", &server.port.to_string(), "-c", &CLIENTS.to_string(), "-P", &depth.to_string()]);
    command.args(["-n", &events.to_string(), "--csv"]);
    if new {
        // It takes a number of 32 bits, and what is more than that for no number at all: all ids are the same then.
        command.args(["-r", "2000000000"]);
    }
    command.args(["SET", "wl:d:benchmark:__rand_int__", "0123456789abcdef", "NX", "PX", "600000"]);
    let output = command.output().expect("redis-benchmark runs");
    let keys: u64 = server.cli(&["DBSIZE"]).trim().parse().expect("a number");
    let expected = if new { events } else { 1 };
    // (Now and then two are the same; and only whole pipelines are sent.)
    assert!(keys.abs_diff(expected) <= events / 1000 + CLIENTS * depth, "{keys} keys");
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = output.lines().last().expect("a line");
    // The last column but the latencies: "test","rps",..
    line.rsplit("\",\"")
        .find_map(|cell| cell.trim_matches('"').parse().ok().filter(|figure: &f64| *figure > 1000.0))
        .expect(line)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    New,
    Script,
    Module,
    Asked,
    Known,
    Repeats,
}

async fn windlass(server: &Server, kind: Kind, depth: u64, events: u64) -> f64 {
    let remote =
        Remote::builder(&server.address()).timeout(Duration::from_secs(30)).connect().await.expect("there");
    let run = NEXT.fetch_add(1, Relaxed);
    let namespace = format!("run{run}");
    let dedup = RemoteDedup::builder(&remote, &namespace, WINDOW).level(Level::Fast);
    let dedup = dedup.known(if kind == Kind::Known { 1_000_000 } else { 0 });
    let dedup = match kind {
        Kind::Script => dedup.by_script(),
        Kind::Module => dedup.by_module(),
        _ => dedup,
    };
    let dedup = dedup.build().expect("valid");
    let repeats = matches!(kind, Kind::Asked | Kind::Known);
    let own = events / CLIENTS;
    let name = |client, i| {
        let client = if kind == Kind::Repeats { 0 } else { client };
        format!("{client:02}{i:010}")
    };
    let all: Vec<Vec<String>> =
        (0..CLIENTS).map(|client| (0..own).map(|i| name(client, i)).collect()).collect();
    let begun = Instant::now();
    let mut tasks = Vec::new();
    for ids in all {
        let dedup = dedup.clone();
        tasks.push(tokio::spawn(async move {
            let (mut fresh, mut next) = (0, 0);
            while next < own {
                let last = (next + depth).min(own);
                // Every other batch is the one before it.
                let batch = next / depth;
                let from = match kind {
                    // The same ones in all batches of all clients.
                    Kind::Repeats => 0,
                    _ if repeats => (batch / 2) * depth,
                    _ => next,
                };
                #[allow(clippy::cast_possible_truncation)] // there are as many
                let ids = &ids[from as usize..(from + (last - next)) as usize];
                next = last;
                let answers = if let [id] = ids {
                    vec![dedup.observe(id).await]
                } else {
                    dedup.observe_batch(ids).await
                };
                fresh +=
                    answers.iter().filter(|answer| answer.as_ref().expect("an answer").is_fresh()).count()
                        as u64;
            }
            fresh
        }));
    }
    let mut fresh = 0;
    for task in tasks {
        fresh += task.await.expect("no task fails");
    }
    let figure = events as f64 / begun.elapsed().as_secs_f64();
    let expected = match kind {
        Kind::Repeats => depth,
        _ if repeats => events / 2,
        _ => events,
    };
    assert!(
        fresh.abs_diff(expected) <= CLIENTS * depth,
        "{fresh} of {events} are fresh, {expected} expected"
    );
    figure
}
