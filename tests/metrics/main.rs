//! Figures: as `stats()` tells them, on pages, and as the documentation lists them.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute
#![allow(clippy::float_cmp, clippy::cast_precision_loss)] // what is compared is the same number

#[path = "../common/mod.rs"]
mod common;

mod docs;
mod every;
mod format;
mod json;
mod latency;
mod page;
mod stats;
