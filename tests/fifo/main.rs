//! The queue that tells ranks: the reference answers, a plain twin, threads, errors.

#[path = "../common/mod.rs"]
mod common;

mod errors;
mod golden;
mod snapshot;
mod threads;
mod twin;
