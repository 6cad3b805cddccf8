//! A mutex that is only ever tried.

use std::sync::{Mutex, TryLockError};

/// What one thread at a time works on, and nobody waits for.
#[derive(Default)]
pub(crate) struct Tried<T> {
    inside: Mutex<T>,
    /// loom does not see std's mutex: whoever comes next has to see what was done.
    #[cfg(windlass_loom)]
    order: super::AtomicU64,
}

impl<T> Tried<T> {
    pub(crate) fn new(inside: T) -> Tried<T> {
        Tried {
            inside: Mutex::new(inside),
            #[cfg(windlass_loom)]
            order: super::AtomicU64::new(0),
        }
    }

    /// `None`: another thread is at it.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut inside = match self.inside.try_lock() {
            Ok(inside) => inside,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        #[cfg(windlass_loom)]
        self.order.fetch_add(1, super::Ordering::AcqRel);
        let done = work(&mut inside);
        #[cfg(windlass_loom)]
        self.order.fetch_add(1, super::Ordering::AcqRel);
        Some(done)
    }
}
