//! The client against real servers on loopback.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)] // clippy knows tests only by their attribute

#[path = "../../tests/common/algorithms.rs"]
mod algorithms;
#[path = "../../tests/common/answers.rs"]
mod answers;
mod connecting;
mod count;
mod dedup;
mod fifo;
mod limit;
#[path = "../../module/tests/built.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod module;
mod pretender;
mod proxy;
mod rights;
mod ring;
mod room;
#[allow(dead_code, reason = "other tests use the rest")]
mod servers;
#[path = "../../tests/common/streams.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod streams;
mod tiers;
mod topk;
