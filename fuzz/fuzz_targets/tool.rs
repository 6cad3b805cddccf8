//! What the tool reads: values of options, command lines, policies, and records of each format. The first byte says which; bodies are those of `cli/src/hardening.rs`.
#![no_main]
#![allow(dead_code, unused_imports, clippy::unwrap_used)] // the tool is here as a whole, without its `main`

#[path = "../../cli/src/args/mod.rs"]
mod args;
#[path = "../../cli/src/dedup/mod.rs"]
mod dedup;
#[path = "../../cli/src/demo/mod.rs"]
mod demo;
#[path = "../../cli/src/distinct/mod.rs"]
mod distinct;
#[path = "../../cli/src/failure.rs"]
mod failure;
#[path = "../../cli/src/filter.rs"]
mod filter;
#[path = "../../cli/src/generate/mod.rs"]
mod generate;
#[path = "../../cli/src/grid.rs"]
mod grid;
#[path = "../../cli/src/hardening.rs"]
mod hardening;
#[path = "../../cli/src/input/mod.rs"]
mod input;
#[path = "../../cli/src/limit/mod.rs"]
mod limit;
#[path = "../../cli/src/metrics/mod.rs"]
mod metrics;
#[path = "../../cli/src/output/mod.rs"]
mod output;
#[path = "../../cli/src/rank/mod.rs"]
mod rank;
#[path = "../../cli/src/ring/mod.rs"]
mod ring;
#[path = "../../cli/src/room.rs"]
mod room;
#[path = "../../cli/src/sift.rs"]
mod sift;
#[path = "../../cli/src/state/mod.rs"]
mod state;
#[path = "../../cli/src/top/mod.rs"]
mod top;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hardening::drive(bytes));
