//! What comes from outside, and what goes wrong: damaged input, memory that is not there, threads that meet.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

#[path = "../common/mod.rs"]
mod common;

mod decoders;
mod histories;
mod linear;
mod memory;
mod mutants;
mod mutated;
mod operations;
mod scarce;
