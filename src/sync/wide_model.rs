//! 128-bit atomics under loom, which has none and keeps every value as u64.
//!
//! Each 128-bit value is interned once, outside the model, and loom sees one atomic of ids: equality, orderings and stale
//! reads stay exactly those of one atomic. The ids never steer control flow, so executions repeat.

use loom::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed},
};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

type Interned = (HashMap<Pair, u64>, Vec<Pair>);

static INTERNED: Mutex<Option<Interned>> = Mutex::new(None);

fn id(value: Pair) -> u64 {
    let mut guard = INTERNED.lock().unwrap_or_else(PoisonError::into_inner);
    let (ids, values) = guard.get_or_insert_with(Default::default);
    *ids.entry(value).or_insert_with(|| {
        values.push(value);
        values.len() as u64 - 1
    })
}

fn value(id: u64) -> Pair {
    let guard = INTERNED.lock().unwrap_or_else(PoisonError::into_inner);
    guard.as_ref().and_then(|(_, values)| values.get(usize::try_from(id).ok()?)).copied().unwrap_or_default()
}

pub(crate) struct AtomicPair(AtomicU64);

impl AtomicPair {
    pub(crate) fn new(value: Pair) -> AtomicPair {
        AtomicPair(AtomicU64::new(id(value)))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Pair {
    pub(crate) low: u64,
    pub(crate) high: u64,
}

pub(crate) trait Wide: Copy {
    fn load(self, cell: &AtomicPair) -> Pair;

    fn low(self, cell: &AtomicPair) -> u64 {
        self.load(cell).low
    }

    fn high(self, cell: &AtomicPair) -> u64 {
        self.load(cell).high
    }

    fn with_low(self, cells: &[AtomicPair], mask: u64, bits: u64) -> u32 {
        let has = |cell| u32::from(self.low(cell) & mask == bits);
        cells.iter().enumerate().fold(0, |all, (i, cell)| all | has(cell) << (2 * i))
    }

    fn cas(self, cell: &AtomicPair, old: Pair, new: Pair) -> bool;
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum AnyWide {
    Portable(Portable),
}

impl AnyWide {
    pub(crate) fn detect() -> AnyWide {
        AnyWide::Portable(Portable)
    }
}

macro_rules! with_wide {
    ($any:expr, $wide:ident => $body:expr) => {
        match $any {
            $crate::sync::AnyWide::Portable($wide) => $body,
        }
    };
}
pub(crate) use with_wide;

pub(crate) fn is_lock_free() -> bool {
    true
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

impl Wide for Portable {
    fn load(self, cell: &AtomicPair) -> Pair {
        value(cell.0.load(if twin!(RelaxedCells) { Relaxed } else { Acquire }))
    }

    fn cas(self, cell: &AtomicPair, old: Pair, new: Pair) -> bool {
        let (old, new) = (id(old), id(new));
        if twin!(RelaxedCells) {
            return cell.0.compare_exchange(old, new, Relaxed, Relaxed).is_ok();
        }
        cell.0.compare_exchange(old, new, AcqRel, Acquire).is_ok()
    }
}
