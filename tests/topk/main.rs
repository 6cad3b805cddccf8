//! The hottest keys.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

#[path = "../common/mod.rs"]
mod common;

mod adversary;
mod bounded;
mod bounded_snapshot;
mod errors;
mod exports;
mod golden;
mod oracle;
mod plain;
mod snapshot;
mod threads;
mod upkeep;
