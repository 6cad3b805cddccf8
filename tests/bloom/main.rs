//! `RotatingBloom`.

#[path = "../common/mod.rs"]
mod common;

mod coarse;
mod errors;
#[cfg(all(feature = "mmap", unix))]
mod file;
mod golden;
mod oracle;
mod snapshot;
mod tables;
mod threads;
