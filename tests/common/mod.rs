//! What several of the tests need.

#![allow(dead_code)] // each test file uses some of it
#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

pub(crate) mod algorithms;
pub(crate) mod answers;
pub(crate) mod blocks;
pub(crate) mod limit;
pub(crate) mod ring;
pub(crate) mod snapshot;
pub(crate) mod streams;
pub(crate) mod twin;

#[allow(unused_imports)] // as above
pub(crate) use answers::{data, sha256};
use std::{
    path::Path,
    sync::{
        Condvar, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

/// A snapshot that a version wrote once, which every later one must read. `WINDLASS_WRITE_GOLDEN=1` writes those that are missing.
pub(crate) fn golden(name: &str, write: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if !path.exists() && std::env::var_os("WINDLASS_WRITE_GOLDEN").is_some_and(|v| v == "1") {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
        std::fs::write(&path, write()).expect("writable");
    }
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Pseudo-random numbers (SplitMix64), the same every time.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = usize::try_from(self.below(last as u64 + 1)).expect("an index");
            items.swap(last, other);
        }
    }
}

/// Lets threads go on until what [`Running::until_here`] has returned is dropped: if its thread fails, too, so that they are not waited for for ever.
pub(crate) struct Running(AtomicBool);

impl Running {
    pub(crate) fn new() -> Running {
        Running(AtomicBool::new(true))
    }

    pub(crate) fn goes_on(&self) -> bool {
        self.0.load(SeqCst)
    }

    pub(crate) fn until_here(&self) -> Stop<'_> {
        Stop(&self.0)
    }
}

pub(crate) struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(false, SeqCst);
    }
}

/// A barrier at which a thread that has failed is not waited for for ever.
pub(crate) struct Together {
    threads: usize,
    arrived: Mutex<usize>,
    all: Condvar,
}

impl Together {
    pub(crate) fn new(threads: usize) -> Together {
        Together { threads, arrived: Mutex::new(0), all: Condvar::new() }
    }

    pub(crate) fn wait(&self) {
        let mut arrived = self.arrived.lock().expect("no thread has failed");
        *arrived += 1;
        let all = arrived.next_multiple_of(self.threads);
        if *arrived == all {
            self.all.notify_all();
        }
        let waited = self.all.wait_timeout_while(arrived, Duration::from_secs(100), |arrived| *arrived < all);
        let (arrived, time_is_up) = waited.expect("no thread has failed");
        drop(arrived);
        assert!(!time_is_up.timed_out(), "another thread has failed");
    }
}
