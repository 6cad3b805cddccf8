//! All functions of the C ABI, in any order with any arguments: the body is that of `ffi/src/driven`.
#![no_main]
#![allow(dead_code, unsafe_code, non_camel_case_types, clippy::missing_safety_doc)] // the library is here as a whole

#[path = "../../ffi/src/adds.rs"]
pub mod adds;
#[path = "../../ffi/src/aggregator/mod.rs"]
pub mod aggregator;
#[path = "../../ffi/src/bloom/mod.rs"]
pub mod bloom;
#[path = "../../ffi/src/boundary.rs"]
pub mod boundary;
#[path = "../../ffi/src/bounded_topk/mod.rs"]
pub mod bounded_topk;
#[path = "../../ffi/src/counter/mod.rs"]
pub mod counter;
#[path = "../../ffi/src/dedup/mod.rs"]
pub mod dedup;
#[path = "../../ffi/src/driven/mod.rs"]
pub mod driven;
#[path = "../../ffi/src/export/mod.rs"]
pub mod export;
#[path = "../../ffi/src/fifo/mod.rs"]
pub mod fifo;
#[path = "../../ffi/src/handle.rs"]
pub mod handle;
#[path = "../../ffi/src/hash.rs"]
pub mod hash;
#[path = "../../ffi/src/ids.rs"]
pub mod ids;
#[path = "../../ffi/src/limiter/mod.rs"]
pub mod limiter;
#[path = "../../ffi/src/limitset/mod.rs"]
pub mod limitset;
#[path = "../../ffi/src/lists.rs"]
pub mod lists;
#[path = "../../ffi/src/ring/mod.rs"]
pub mod ring;
#[path = "../../ffi/src/settings.rs"]
pub mod settings;
#[path = "../../ffi/src/sized.rs"]
pub mod sized;
#[path = "../../ffi/src/snapshot.rs"]
pub mod snapshot;
#[path = "../../ffi/src/status.rs"]
pub mod status;
#[path = "../../ffi/src/time.rs"]
pub mod time;
#[path = "../../ffi/src/topk/mod.rs"]
pub mod topk;
#[path = "../../ffi/src/version.rs"]
pub mod version;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = driven::drive(bytes);
});
