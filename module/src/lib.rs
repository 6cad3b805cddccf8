//! The core of windlass as a module of Redis and Valkey: `WL.DEDUP`, `WL.LIMIT` and more, each key a structure of the core's. For users: `docs/module.md`.
//!
//! Commands run one at a time, in the server's thread; there are no others here. Each reads the clock once, and calls what takes the time from its
//! caller. What it has changed is sent on as `WL.AT`, with that time: replicas and append-only files so never judge by a clock of their own, or by when
//! they come to it.

mod bloom;
mod boundary;
mod call;
mod count;
mod dedup;
mod fifo;
mod info;
mod limit;
mod load;
mod memory;
mod raw;
mod reply;
mod server;
mod tokens;
mod topk;
mod types;
mod verbs;

#[global_allocator]
static MEMORY: memory::ServerMemory = memory::ServerMemory;
