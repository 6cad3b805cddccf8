//! Windowed counters.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

#[path = "../common/mod.rs"]
mod common;

mod errors;
mod golden;
mod oracle;
mod threads;
mod upkeep;
