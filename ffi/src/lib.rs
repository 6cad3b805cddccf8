//! The C ABI of windlass. What a caller is promised stands in `include/windlass.h`, which is made from these sources, and in
//! `docs/c.md`.
//!
//! Functions are written out and not made by macros, so that the header's generator can read them. Each is a thin shell: checks
//! its arguments, calls the core, and turns whatever comes back into a number.

#![allow(unsafe_code)] // pointers come from C
#![allow(non_camel_case_types)] // the names of the header
#![allow(clippy::missing_safety_doc)] // the contract on pointers is the header's, once for all functions
#![warn(clippy::undocumented_unsafe_blocks)]

mod adds;
mod boundary;
#[cfg(test)]
mod driven;
mod handle;
mod ids;
mod lists;
mod settings;
mod sized;

// The header has them in this order.
pub mod version;

pub mod status;

pub mod time;

pub mod hash;

pub mod snapshot;

pub mod dedup;

pub mod bloom;

pub mod limiter;

pub mod limitset;

pub mod counter;

pub mod topk;

pub mod bounded_topk;

pub mod export;

pub mod aggregator;

pub mod fifo;

pub mod ring;
