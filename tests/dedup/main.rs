//! `Dedup`. One binary, as each that uses it compiles all of it.

#[path = "../common/mod.rs"]
mod common;

mod digest;
mod errors;
mod exact;
mod golden;
mod growth;
mod histories;
mod oracle;
mod snapshot;
mod threads;
