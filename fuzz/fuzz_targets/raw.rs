//! Bytes as they are, to every decoder: the first says which.
#![no_main]

#[path = "../shared.rs"]
mod shared;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((first, bytes)) = bytes.split_first() {
        shared::read(shared::decoder(*first), bytes);
    }
});
