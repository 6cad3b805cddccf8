//! The module in real servers on loopback.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)] // clippy knows tests only by their attribute

mod built;
mod cluster;
mod common;
mod dedup;
mod earlier;
mod golden;
mod limit;
mod loading;
mod saved;
#[path = "../../remote/tests/servers.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod servers;
#[path = "../../tests/common/streams.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod streams;
mod structures;
