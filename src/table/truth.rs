//! For models: what was published, in a map that never forgets. Every publish is checked against it where it happens.

use super::group::Basis;
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// What makes two keys the same.
#[derive(PartialEq, Eq, Hash, Debug)]
pub(crate) enum Name {
    Hash(u64),
    Bytes(u32, Vec<u8>),
    /// Its bytes have just gone.
    Unknown,
}

#[derive(Default)]
pub(crate) struct Truth(Mutex<HashMap<Name, u64>>);

impl Truth {
    /// `key` went from `state`, as its publisher saw it here or in an older table, to `next`, in a cell that held `replaced`.
    #[allow(clippy::too_many_arguments)] // all that is known there
    pub(crate) fn published(
        &self,
        key: Name,
        state: Option<u64>,
        basis: Basis,
        replaced: u64,
        next: u64,
        gone: u64,
        evict_within: Option<u64>,
    ) {
        let fell = || format!("a cell fell from {replaced} to {next}");
        if key == Name::Unknown {
            return;
        }
        let what = format!("{key:?}");
        let last = lock(&self.0).insert(key, next).unwrap_or(0);
        if basis == Basis::Forwarded {
            assert!(next > replaced, "{}", fell());
            assert!(state.is_none() && last == next, "forwarded {next}, the state was {last}");
            return;
        }
        let state = state
            .or(match basis {
                Basis::Below(below) => below,
                _ => None,
            })
            .filter(|&state| state > gone);
        match evict_within {
            None => {
                assert!(state.unwrap_or(last) == last, "decided on {state:?}, the state was {last}");
                assert!(state.is_some() || last <= gone, "said absent, the state was {last}");
            }
            // What was evicted is forgotten, and an older copy of it may be found; but nothing young is evicted.
            Some(within) => {
                assert!(state.is_some() || last < gone + within, "evicted {last} at horizon {gone}")
            }
        }
        assert!(next > last, "not monotone: {what}: {last} -> {next}");
        assert!(next > replaced, "{}", fell());
    }

    /// An entry that stood there from the start.
    pub(crate) fn known(&self, key: u64, state: u64) {
        let mut states = lock(&self.0);
        let last = states.entry(Name::Hash(key)).or_insert(0);
        *last = state.max(*last);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
