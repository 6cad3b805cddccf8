//! The pointer to a table, with the real crossbeam-epoch on loom's atomics. Code: `src/sync/epoch.rs`.
//!
//! Needs `--cfg crossbeam_loom` as well: a build of its own.
#![cfg(all(windlass_loom, crossbeam_loom))]
#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

mod common;
use common::bounded;
use loom::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
};
use windlass::model::{Root, Twin, with};

/// Tells when it is dropped.
struct Probe(Arc<AtomicBool>);

impl Drop for Probe {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// A reader while the target is replaced. (What it finds is asserted outside of the model: crossbeam's thread-local state
/// does not survive a panic inside.)
fn a_reader_and_a_replacement() {
    let violated = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = violated.clone();
    bounded(10, move || {
        let dropped = Arc::new(AtomicBool::new(false));
        let root = Arc::new(Root::new(Probe(dropped.clone())));
        let (r2, d2, seen) = (root.clone(), dropped.clone(), seen.clone());
        let reader = thread::spawn(move || {
            let late = r2.read(|probe| {
                let first = Arc::ptr_eq(&probe.0, &d2);
                thread::yield_now();
                Some(first && d2.load(Relaxed))
            });
            seen.fetch_or(late, Relaxed);
        });
        root.replace(Probe(Arc::new(AtomicBool::new(false))), |_| {});
        for _ in 0..3 {
            root.collect();
        }
        reader.join().unwrap();
    });
    assert!(!violated.load(Relaxed), "used after it was dropped");
}

#[test]
fn a_replaced_target_outlives_its_readers() {
    a_reader_and_a_replacement();
}

#[test]
#[should_panic(expected = "used after it was dropped")]
fn twin_dropped_at_once() {
    with(Twin::DropAtOnce, a_reader_and_a_replacement);
}
