//! All models but those in epoch.rs: one binary, as each takes its time to be optimized.
#![cfg(windlass_loom)]

mod common;

mod arena;
mod bounded;
mod bucket;
mod claims;
mod closing;
mod count;
mod driven_out;
mod exact;
mod fifo;
mod growth;
mod horizon;
mod limit;
mod overflow;
mod pane;
mod quotas;
mod ring;
mod seal;
mod sets;
mod snapshot;
mod tickets;
mod topk;
