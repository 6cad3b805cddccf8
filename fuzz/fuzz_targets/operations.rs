//! Calls in any order, against plain twins.
#![no_main]

#[path = "../shared.rs"]
mod shared;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| shared::operations::drive(bytes));
