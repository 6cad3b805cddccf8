//! A pointer whose target can be replaced while others read it; the old target is freed when nobody can still see it.

#[cfg(any(not(windlass_loom), crossbeam_loom))]
pub(crate) use real::{Pin, Root, collect, when_all_ended};
#[cfg(all(windlass_loom, not(crossbeam_loom)))]
pub(crate) use stub::{Pin, Root, collect, when_all_ended};

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Raised once, by whatever is waited for.
#[derive(Clone, Default)]
pub(crate) struct Flagpole(Arc<AtomicBool>);

impl Flagpole {
    /// Acquire; pairs with the release in `raise`.
    pub(crate) fn is_raised(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn raise(&self) {
        self.0.store(true, Ordering::Release);
    }
}

#[cfg(any(not(windlass_loom), crossbeam_loom))]
#[allow(unsafe_code)]
mod real {
    use super::Flagpole;
    use crate::sync::Ordering::{AcqRel, Acquire};
    use crossbeam_epoch::{Atomic, Guard, Owned, pin, unprotected};

    /// An owned `T` behind an atomic pointer, reclaimed through crossbeam-epoch.
    pub(crate) struct Root<T: Send + Sync + 'static>(Atomic<T>);

    /// Holds back the freeing of everything that it has seen or may still see. Short-lived: while one is held no memory of
    /// any structure comes back.
    pub(crate) struct Pin<'a, T: Send + Sync + 'static> {
        root: &'a Root<T>,
        guard: Guard,
    }

    impl<T: Send + Sync + 'static> Root<T> {
        pub(crate) fn new(target: T) -> Root<T> {
            Root(Atomic::new(target))
        }

        #[inline]
        pub(crate) fn pin(&self) -> Pin<'_, T> {
            Pin { root: self, guard: pin() }
        }

        /// Puts `new` in the place of the present target, shows the old one to `last`, and lets it go.
        pub(crate) fn replace(&self, new: T, last: impl FnOnce(&T)) {
            let guard = pin();
            // Release: whoever loads the pointer sees `new` whole. Acquire: this thread sees the old one whole.
            let old = self.0.swap(Owned::new(new), AcqRel, &guard);
            // SAFETY: never null; destroyed below, and this thread is pinned.
            last(unsafe { old.deref() });
            if twin!(DropAtOnce) {
                // SAFETY: none, that is the point of this twin.
                drop(unsafe { old.into_owned() });
                return;
            }
            // SAFETY: no thread that pins from now on can load `old`, and only the swap that took it out destroys it.
            unsafe { guard.defer_destroy(old) };
            guard.flush();
        }
    }

    /// Helps to free what was let go. Frees nothing that a pin holds.
    pub(crate) fn collect() {
        pin().flush();
    }

    /// Raised when every pin has ended that was held by anyone at the time of the call.
    pub(crate) fn when_all_ended() -> Flagpole {
        let ended = Flagpole::default();
        let raise = ended.clone();
        let guard = pin();
        guard.defer(move || raise.raise());
        guard.flush();
        ended
    }

    impl<T: Send + Sync + 'static> Pin<'_, T> {
        /// The present target: valid as long as the pin.
        #[inline]
        pub(crate) fn get(&self) -> &T {
            // Acquire: pairs with the swap in `replace` (and with `new`). Model: loom-tests/tests/epoch.rs.
            let target = self.root.0.load(Acquire, &self.guard);
            // SAFETY: never null, and not freed while the guard is pinned.
            unsafe { target.deref() }
        }
    }

    impl<T: Send + Sync + 'static> Drop for Root<T> {
        fn drop(&mut self) {
            // SAFETY: `&mut self`: no pin borrows the root any more.
            let target = self.0.load(Acquire, unsafe { unprotected() });
            // SAFETY: the same; targets taken out before are not this one.
            drop(unsafe { target.into_owned() });
        }
    }
}

/// The contract of the above for models that are not about it: what is taken out lives until the root is dropped.
#[cfg(all(windlass_loom, not(crossbeam_loom)))]
#[allow(unsafe_code)]
mod stub {
    use super::Flagpole;
    use loom::sync::atomic::{
        AtomicPtr,
        Ordering::{AcqRel, Acquire},
    };
    use std::sync::Mutex;

    pub(crate) struct Root<T: Send + Sync + 'static> {
        target: AtomicPtr<T>,
        taken_out: Mutex<Vec<Box<T>>>,
    }

    pub(crate) struct Pin<'a, T: Send + Sync + 'static>(&'a Root<T>);

    impl<T: Send + Sync + 'static> Root<T> {
        pub(crate) fn new(target: T) -> Root<T> {
            Root { target: AtomicPtr::new(Box::into_raw(Box::new(target))), taken_out: Mutex::default() }
        }

        pub(crate) fn pin(&self) -> Pin<'_, T> {
            Pin(self)
        }

        pub(crate) fn replace(&self, new: T, last: impl FnOnce(&T)) {
            let old = self.target.swap(Box::into_raw(Box::new(new)), AcqRel);
            // SAFETY: made by `Box::into_raw`, and this swap alone has taken it out.
            let old = unsafe { Box::from_raw(old) };
            last(&old);
            if let Ok(mut taken_out) = self.taken_out.lock() {
                taken_out.push(old);
            }
        }
    }

    pub(crate) fn collect() {}

    /// Models of what waits for it wait by joining threads.
    pub(crate) fn when_all_ended() -> Flagpole {
        let ended = Flagpole::default();
        ended.raise();
        ended
    }

    impl<T: Send + Sync + 'static> Pin<'_, T> {
        pub(crate) fn get(&self) -> &T {
            let target = self.0.target.load(Acquire);
            // SAFETY: never null; lives until the root is dropped, which is borrowed.
            unsafe { &*target }
        }
    }

    impl<T: Send + Sync + 'static> Drop for Root<T> {
        fn drop(&mut self) {
            let target = self.target.load(Acquire);
            // SAFETY: `&mut self`, and what was taken out is not this one.
            drop(unsafe { Box::from_raw(target) });
        }
    }
}
