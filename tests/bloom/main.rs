//! `RotatingBloom`.

#[path = "../common/mod.rs"]
mod common;

mod coarse;
mod errors;
mod golden;
mod oracle;
mod tables;
mod threads;
