//! Memory that the system does not give, for settings that are in their range: an error of the builder, and not the end of the process.
//!
//! Each builder is called in a process of its own, which may have little more memory than it began with.

use std::{
    process::{Command, Output},
    time::Duration,
};
use windlass::{
    Algorithm, BoundedTopK, ConfigError, Dedup, FifoIndex, HashRing, Identity, KeyedLimiter, Layout,
    LimitRule, LimitSet, Node, OnUnknown, Quota, RotatingBloom, TopK, WindowedCounter,
};

const WINDOW: Duration = Duration::from_secs(60);
const PANE: Duration = Duration::from_secs(10);

/// MiB of addresses that such a process may have. The program and its threads' stacks are in it.
const MOST: u64 = 256;
/// .. for what never takes more than some 100 MB.
const LESS: u64 = 64;

type Build = fn() -> Result<(), ConfigError>;

fn quota(permits: u64) -> Quota {
    Quota::new(permits, WINDOW)
}

fn keyed(clients: usize) -> windlass::KeyedLimiterBuilder {
    KeyedLimiter::builder(quota(10)).clients(clients)
}

fn nodes(count: u32, weight: u32) -> Vec<Node> {
    (0..count).map(|id| Node::new(id, format!("node-{id}")).weight(weight)).collect()
}

/// Each asks for much more than that, and for less than machines have. (Where one has not: then it is an error all the same.)
const BUILDERS: [(&str, u64, Build); 19] = [
    ("dedup", MOST, || Dedup::builder(WINDOW).capacity(30_000_000).build().map(drop)),
    ("dedup, bytes", MOST, || {
        Dedup::builder(WINDOW).capacity(30_000_000).identity(Identity::Bytes).build().map(drop)
    }),
    ("dedup that grows", MOST, || {
        Dedup::builder(WINDOW).capacity(30_000_000).max_memory(1 << 30).build().map(drop)
    }),
    ("bloom", MOST, || RotatingBloom::builder(WINDOW).expected_ids(300_000_000).build().map(drop)),
    ("bloom, blocks", MOST, || {
        RotatingBloom::builder(WINDOW).expected_ids(300_000_000).layout(Layout::Blocks(512)).build().map(drop)
    }),
    ("bloom, arrays", MOST, || {
        RotatingBloom::builder(WINDOW).expected_ids(300_000_000).layout(Layout::Arrays).build().map(drop)
    }),
    ("counter", MOST, || WindowedCounter::builder(WINDOW, PANE).capacity(6_000_000).build().map(drop)),
    ("counter that grows", MOST, || {
        WindowedCounter::builder(WINDOW, PANE).capacity(6_000_000).max_memory(2 << 30).build().map(drop)
    }),
    ("top keys", MOST, || TopK::builder(WINDOW, PANE, 10).capacity(6_000_000).build().map(drop)),
    ("top keys in given memory", MOST, || {
        BoundedTopK::builder(WINDOW, PANE, 10).memory(4 << 30).build().map(drop)
    }),
    ("fifo", MOST, || FifoIndex::builder().capacity(30_000_000).build::<u64>().map(drop)),
    ("limiter by clients", MOST, || keyed(30_000_000).build().map(drop)),
    ("limiter by clients, logs", MOST, || {
        keyed(3_000_000).algorithm(Algorithm::SlidingLog).build().map(drop)
    }),
    ("limiter by clients, shared", MOST, || {
        keyed(10).on_unknown(OnUnknown::Share(1 << 27)).build().map(drop)
    }),
    ("set", MOST, || {
        LimitSet::builder().limit(LimitRule::keyed("a", quota(10)).clients(30_000_000)).build().map(drop)
    }),
    ("set with holds", MOST, || {
        let rule = LimitRule::keyed("a", quota(10)).clients(10);
        LimitSet::builder().limit(rule).reservations(30_000_000).build().map(drop)
    }),
    ("ring", LESS, || HashRing::builder().nodes(nodes(8, 4000)).build().map(drop)),
    ("ring, changed", LESS, || {
        let ring = HashRing::builder().nodes(nodes(8, 1)).build()?;
        ring.set_weight(3, 30_000).map(drop)
    }),
    ("reset", MOST, || {
        let dedup = Dedup::builder(WINDOW).capacity(8_000_000).build()?;
        // Both tables at once.
        dedup.reset()
    }),
];

/// What the process of its own runs: nothing, where no builder is named.
#[test]
fn one_builder() {
    let Ok(wanted) = std::env::var("WINDLASS_BUILDER") else { return };
    let (name, _, build) = BUILDERS.into_iter().find(|(name, ..)| *name == wanted).expect("a builder");
    let error = build().expect_err(name);
    assert!(!error.field.is_empty() && !error.limit.is_empty(), "{error}");
    // (The test harness keeps what tests print.)
    assert_eq!(error.to_string().lines().count(), 1);
    std::process::exit(SAID_NO);
}

/// The exit status that says so.
const SAID_NO: i32 = 42;

/// Runs a builder where there are so many MiB of addresses.
fn run(name: &str, mib: Option<u64>) -> Output {
    let this = std::env::current_exe().expect("a test");
    let limit = mib.map_or(String::new(), |mib| format!("ulimit -v {} && ", mib << 10));
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{limit}exec \"$0\" \"$@\"")).arg(this);
    shell.args(["--exact", "scarce::one_builder", "--test-threads=1"]);
    // One arena for all threads: each would take 64 MiB of addresses.
    shell.env("WINDLASS_BUILDER", name).env("MALLOC_ARENA_MAX", "1").env("RUST_BACKTRACE", "0");
    shell.output().expect("a shell")
}

#[test]
#[cfg(target_os = "linux")]
fn an_error_each() {
    let failed: Vec<String> = BUILDERS
        .iter()
        .map(|(name, mib, _)| (name, run(name, Some(*mib))))
        .filter(|(_, output)| output.status.code() != Some(SAID_NO))
        .map(|(name, output)| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            format!("{name}: {}\n{}{}", output.status, text(&output.stdout), text(&output.stderr))
        })
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// The limit is what makes it fail, so that the test above shows something.
#[test]
#[cfg(target_os = "linux")]
fn with_memory_it_is_built() {
    let output = run("ring, changed", None);
    assert_ne!(output.status.code(), Some(SAID_NO), "it was not refused for another reason");
}
