//! Windowed counters.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute
#![allow(clippy::cast_possible_truncation)] // small numbers

#[path = "../common/mod.rs"]
mod common;

mod errors;
mod golden;
mod oracle;
mod snapshot;
mod threads;
mod upkeep;
mod writer;
