//! The rate limiters.

#[path = "../common/mod.rs"]
mod common;

mod errors;
mod golden;
mod jumps;
mod oracles;
mod properties;
mod quotas;
mod sets;
mod shared;
mod snapshot;
mod snapshot_of_sets;
mod threads;
