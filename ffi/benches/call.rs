//! What a call through the C ABI costs beside the same call in Rust: both in one process, on the same events, in turns.
//!
//! The library is loaded as a program in C would load it. Nanoseconds per event, the least of several rounds; every round begins
//! with an empty structure and counts its fresh events. Then Go, if it is there, by its own benchmarks on the same keys as Rust's
//! beside it (`ffi/go/allocs_test.go`), and what its crossing costs alone.

#![allow(clippy::expect_used, clippy::panic)] // not shipped
#![allow(unsafe_code)]

use std::{ffi::c_void, hint::black_box, path::PathBuf, process::Command, ptr::null, time::Instant};

use libloading::{Library, Symbol};
use windlass::{Dedup, KeyHash, Outcome, Seed, Tick, Window};

/// `windlass_hash`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Hash {
    lo: u64,
    hi: u64,
}

type Init = unsafe extern "C" fn(*mut [u64; 12], u32) -> i32;
type New = unsafe extern "C" fn(*const [u64; 12], *mut *mut c_void, *mut c_void) -> i32;
type Free = unsafe extern "C" fn(*mut c_void);
type ObserveHash = unsafe extern "C" fn(*mut c_void, Hash, u64) -> i32;
type ObserveHashes = unsafe extern "C" fn(*mut c_void, *const Hash, usize, u64, *const u64, *mut i8) -> i64;

struct C<'a> {
    init: Symbol<'a, Init>,
    new: Symbol<'a, New>,
    free: Symbol<'a, Free>,
    observe_hash: Symbol<'a, ObserveHash>,
    observe_hashes: Symbol<'a, ObserveHashes>,
}

const BATCH: usize = 256;

/// Events and how many of them are fresh.
struct Load {
    name: &'static str,
    capacity: usize,
    hashes: Vec<Hash>,
    /// The same, for Rust.
    keys: Vec<KeyHash>,
    fresh: usize,
}

impl Load {
    fn new(name: &'static str, capacity: usize, fresh: u64, ids: impl Iterator<Item = u64>) -> Load {
        let keys: Vec<KeyHash> = ids.map(|id| Seed(7).hash(id)).collect();
        let hashes = keys.iter().map(|&KeyHash { hi, lo }| Hash { lo, hi }).collect();
        Load { name, capacity, hashes, keys, fresh: usize::try_from(fresh).expect("small") }
    }
}

fn loads(quick: bool) -> [Load; 2] {
    let n: u64 = if quick { 20_000 } else { 2_000_000 };
    let (again, new) =
        ("1,000 ids over and over: duplicates, in cache", "new ids, one in five comes twice: out of cache");
    [
        Load::new(again, 10_000, 1000, (0..n).map(|i| i % 1000)),
        Load::new(new, 2_000_000, n / 5 * 4, (0..n).map(|i| if i % 5 == 4 { i - 4 } else { i })),
    ]
}

impl C<'_> {
    fn handle(&self, capacity: usize) -> *mut c_void {
        let mut config = [0_u64; 12];
        // SAFETY: a windlass_dedup_config is 96 bytes.
        assert_eq!(unsafe { (self.init)(&raw mut config, 96) }, 0);
        // The fields window and capacity.
        (config[1], config[4]) = (1 << 40, capacity as u64);
        let mut handle = std::ptr::null_mut();
        // SAFETY: a config, a place for the handle; the error may be NULL.
        assert_eq!(unsafe { (self.new)(&raw const config, &raw mut handle, std::ptr::null_mut()) }, 0);
        handle
    }

    fn timed(&self, load: &Load, batches: bool) -> f64 {
        let handle = self.handle(load.capacity);
        let begun = Instant::now();
        let fresh = if batches {
            let mut verdicts = [0; BATCH];
            load.hashes.chunks(BATCH).fold(0, |fresh, hashes| {
                let out = verdicts.as_mut_ptr();
                // SAFETY: a handle, as many hashes as stated, and room for as many verdicts.
                let found =
                    unsafe { (self.observe_hashes)(handle, hashes.as_ptr(), hashes.len(), 1, null(), out) };
                black_box(&verdicts);
                fresh + usize::try_from(found).expect("no error")
            })
        } else {
            // SAFETY: a handle.
            load.hashes.iter().filter(|&&hash| unsafe { (self.observe_hash)(handle, hash, 1) } == 0).count()
        };
        let nanos = nanos_per_event(begun, load);
        assert_eq!(fresh, load.fresh);
        // SAFETY: made above, not used again.
        unsafe { (self.free)(handle) };
        nanos
    }
}

fn timed_in_rust(load: &Load, batches: bool) -> f64 {
    let dedup = Dedup::builder(Window::last_n(1 << 40)).capacity(load.capacity).build().expect("valid");
    let is_fresh = |outcome: &Outcome| outcome.expect("room").is_fresh();
    let begun = Instant::now();
    let fresh = if batches {
        let mut outcomes = Vec::with_capacity(BATCH);
        load.keys.chunks(BATCH).fold(0, |fresh, keys| {
            dedup.observe_batch_at(keys, Tick(1), &mut outcomes);
            black_box(&outcomes);
            fresh + outcomes.iter().filter(|outcome| is_fresh(outcome)).count()
        })
    } else {
        load.keys.iter().filter(|key| is_fresh(&dedup.observe_at(key, Tick(1)))).count()
    };
    let nanos = nanos_per_event(begun, load);
    assert_eq!(fresh, load.fresh);
    nanos
}

#[allow(clippy::cast_precision_loss)]
fn nanos_per_event(begun: Instant, load: &Load) -> f64 {
    begun.elapsed().as_secs_f64() * 1e9 / load.hashes.len() as f64
}

/// Built anew: cargo does not do it for benchmarks.
fn library() -> Library {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--package", "windlass-ffi", "--target-dir"])
        .arg(target())
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .status();
    assert!(built.is_ok_and(|status| status.success()));
    let path = target().join("release").join(libloading::library_filename("windlass"));
    // SAFETY: our own, which does nothing when it is loaded.
    unsafe { Library::new(path) }.expect("was built")
}

/// This program is <target>/release/deps/<name>.
fn target() -> PathBuf {
    let program = std::env::current_exe().expect("known");
    program.ancestors().nth(3).expect("a target folder").to_owned()
}

/// Keys of 16 bytes that are all there: one by one, and packed.
fn texts_in_rust(quick: bool) -> [f64; 2] {
    let dedup = Dedup::builder(Window::last_n(1 << 40)).capacity(100_000).build().expect("valid");
    let keys: Vec<String> = (0..4096).map(|i| format!("{i:016}")).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
    let (rounds, mut outcomes) = (if quick { 2 } else { 400 }, Vec::with_capacity(BATCH));
    let mut least = [f64::INFINITY; 2];
    let mut note = |which: usize, begun: Instant| {
        #[allow(clippy::cast_precision_loss)]
        let nanos = begun.elapsed().as_secs_f64() * 1e9 / keys.len() as f64;
        least[which] = least[which].min(nanos);
    };
    for _ in 0..rounds {
        let begun = Instant::now();
        for key in &keys {
            let _ = black_box(dedup.observe_at(key, Tick(1)));
        }
        note(0, begun);
        let begun = Instant::now();
        for keys in keys.chunks(BATCH) {
            dedup.observe_batch_at(keys, Tick(1), &mut outcomes);
            black_box(&outcomes);
        }
        note(1, begun);
    }
    least
}

/// The benchmarks of the Go module against the library of this run: name and nanoseconds, the least of several.
fn in_go(quick: bool) -> Vec<(String, f64)> {
    let folder = target().join("go-bench");
    std::fs::create_dir_all(&folder).expect("writable");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let text = format!(
        "Name: windlass-static\nDescription: for benchmarks\nVersion: 0\nCflags: -I{root}/include\n\
         Libs: {} -lpthread -ldl -lm\n",
        target().join("release/libwindlass.a").display(),
    );
    std::fs::write(folder.join("windlass-static.pc"), text).expect("writable");
    let mut go = Command::new("go");
    // -a: Go does not see that the library is another one.
    go.args([
        "test",
        "-a",
        "-run",
        "^$",
        "-bench",
        "^Benchmark(EmptyCall|Observe|ObservePacked256|ObserveReady256)$",
    ]);
    go.args(if quick { ["-benchtime", "1000x", "-count", "1"] } else { ["-benchtime", "1s", "-count", "5"] });
    go.env("PKG_CONFIG_PATH", &folder).env("GOTOOLCHAIN", "local").current_dir(format!("{root}/ffi/go"));
    let Ok(output) = go.output() else { return Vec::new() };
    if !output.status.success() {
        println!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        return Vec::new();
    }
    let mut least = Vec::<(String, f64)>::new();
    for line in String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.contains("ns/op")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        // BenchmarkObserve-2  1000  62.1 ns/op
        let name = words[0].trim_start_matches("Benchmark").split('-').next().unwrap_or_default().to_owned();
        let nanos: f64 = words[2].parse().expect("a number");
        match least.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = known.min(nanos),
            None => least.push((name, nanos)),
        }
    }
    least
}

fn main() {
    let quick = std::env::var_os("WINDLASS_BENCH_QUICK").is_some_and(|v| v == "1");
    // `cargo test --benches` wants to know that it starts.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let library = library();
    // SAFETY: as include/windlass.h declares them.
    #[allow(clippy::multiple_unsafe_ops_per_block)]
    let c = unsafe {
        C {
            init: library.get(b"windlass_dedup_config_init").expect("exported"),
            new: library.get(b"windlass_dedup_new").expect("exported"),
            free: library.get(b"windlass_dedup_free").expect("exported"),
            observe_hash: library.get(b"windlass_dedup_observe_hash").expect("exported"),
            observe_hashes: library.get(b"windlass_dedup_observe_hashes").expect("exported"),
        }
    };
    println!("ns per event; batches of {BATCH}");
    for load in loads(quick) {
        println!("{}", load.name);
        for (name, batches) in [("observe_hash, one by one", false), ("observe_hashes, batches", true)] {
            let mut least = [f64::INFINITY; 2];
            for _ in 0..if quick { 1 } else { 15 } {
                least[0] = least[0].min(timed_in_rust(&load, batches));
                least[1] = least[1].min(c.timed(&load, batches));
            }
            let [rust, c] = least;
            println!(
                "  {name:<26} Rust {rust:5.1}   C {c:5.1}   {:+.1} ({:+.0} %)",
                c - rust,
                (c / rust - 1.0) * 100.0
            );
        }
    }
    let [single, batches] = texts_in_rust(quick);
    println!(
        "keys of 16 bytes, duplicates, in cache\n  one by one: Rust {single:.1}; batches: Rust {batches:.1}"
    );
    for (name, go) in in_go(quick) {
        match name.as_str() {
            "EmptyCall" => println!("  an empty call: Go {go:.1}"),
            "Observe" => println!("  one by one: Go {go:.1}   {:+.1}", go - single),
            "ObserveReady256" => println!("  batches: Go {go:.1}   {:+.1}", go - batches),
            _ => println!("  batches, with the packing: Go {go:.1}   {:+.1}", go - batches),
        }
    }
}
