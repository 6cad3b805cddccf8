//! What the tool reads: values of options, command lines, policies, and records of each format. The first byte says which; bodies are those of `cli/src/hardening.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| windlass_cli::hardening::drive(bytes));
