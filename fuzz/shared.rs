//! The bodies are the tests' own: what is found here is found there with the same bytes.

#![allow(dead_code, clippy::expect_used, clippy::panic)] // each target uses some of it

#[path = "../tests/common"]
pub(crate) mod common {
    pub(crate) mod snapshot;
    pub(crate) mod twin;
}

#[path = "../tests/hardening/decoders.rs"]
pub(crate) mod decoders;
#[path = "../tests/hardening/operations.rs"]
pub(crate) mod operations;

use decoders::Decoder;

thread_local! {
    static DECODERS: &'static [Decoder] = Box::leak(decoders::all(golden).into());
}

fn golden(name: &str) -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/");
    std::fs::read(format!("{path}{name}")).expect("tests/golden has it")
}

/// The one that a byte says.
pub(crate) fn decoder(byte: u8) -> &'static Decoder {
    DECODERS.with(|all| &all[usize::from(byte) % all.len()])
}

/// What is read is used, and what it writes in its turn must be readable.
pub(crate) fn read(decoder: &Decoder, bytes: &[u8]) {
    if let Ok(used) = (decoder.read)(bytes) {
        let again = used();
        assert!((decoder.read)(&again).is_ok(), "{}", decoder.name);
    }
}
