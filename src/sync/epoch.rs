//! Pointers whose targets can be replaced while others read them; an old target is freed when nobody can still see it.
//!
//! A [`Guard`] holds back the freeing of everything that its thread may see. Short-lived: while one is held no memory of any
//! structure comes back.

#[cfg(any(not(windlass_loom), crossbeam_loom))]
pub(crate) use real::{Guard, Link, collect, later, pin, when_all_ended};
#[cfg(all(windlass_loom, not(crossbeam_loom)))]
pub(crate) use stub::{Guard, Link, collect, later, pin, when_all_ended};

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Raised once, by whatever is waited for.
#[derive(Clone, Default)]
pub(crate) struct Flagpole(Arc<AtomicBool>);

impl Flagpole {
    /// For models that leave the wait out.
    #[cfg(windlass_loom)]
    pub(crate) fn raised() -> Flagpole {
        let flagpole = Flagpole::default();
        flagpole.raise();
        flagpole
    }

    /// Acquire; pairs with the release in `raise`.
    pub(crate) fn is_raised(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn raise(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// What can lie on top of another of its kind, in a list that begins at a [`Root`].
pub(crate) trait Stacked: Send + Sync + Sized + 'static {
    /// What it lies on.
    fn below(&self) -> &Link<Self>;
}

/// A [`Link`] that is never empty.
pub(crate) struct Root<T: Send + Sync + 'static>(Link<T>);

impl<T: Send + Sync + 'static> Root<T> {
    pub(crate) fn new(target: T) -> Root<T> {
        Root(Link::new(target))
    }

    /// The present target.
    #[inline(always)]
    pub(crate) fn get<'g>(&'g self, guard: &'g Guard) -> &'g T {
        self.0.get_some(guard)
    }

    /// Puts `new` in the place of `old`, if that is still the present target; else gives it back.
    pub(crate) fn exchange<'g>(&'g self, old: &'g T, new: T, guard: &'g Guard) -> Result<(), Option<T>> {
        self.0.exchange(Some(old), Some(new), guard)
    }

    /// Puts `new` in the place of the present target, shows the old one to `last`, and lets it go.
    pub(crate) fn replace(&self, new: T, last: impl FnOnce(&T)) {
        let (guard, mut new) = (pin(), Some(new));
        loop {
            let old = self.get(&guard);
            match self.0.exchange(Some(old), new.take(), &guard) {
                Ok(()) => return last(old),
                Err(same) => new = same,
            }
            super::retry();
        }
    }
}

impl<T: Stacked> Root<T> {
    /// Lays `new` on `top`, if that is still the present target; else gives it back.
    pub(crate) fn push<'g>(&'g self, top: &'g T, new: T, guard: &'g Guard) -> Result<(), T> {
        self.0.push(top, new, guard)
    }
}

#[cfg(any(not(windlass_loom), crossbeam_loom))]
#[allow(unsafe_code)]
mod real {
    use super::{Flagpole, Stacked};
    use crate::sync::Ordering::{AcqRel, Acquire, Relaxed};
    use crossbeam_epoch::{Atomic, Owned, Shared, unprotected};
    use std::ptr;

    pub(crate) struct Guard(crossbeam_epoch::Guard);

    #[inline]
    pub(crate) fn pin() -> Guard {
        Guard(crossbeam_epoch::pin())
    }

    /// A pointer to a `T` of its own, or to none.
    pub(crate) struct Link<T: Send + Sync + 'static>(Atomic<T>);

    impl<T: Send + Sync + 'static> Link<T> {
        pub(crate) fn none() -> Link<T> {
            Link(Atomic::null())
        }

        pub(crate) fn new(target: T) -> Link<T> {
            Link(Atomic::new(target))
        }

        /// What it points to. Acquire; pairs with the release of `exchange` and `push`. Model: loom-tests/tests/epoch.rs.
        #[inline(always)]
        pub(crate) fn get<'g>(&'g self, guard: &'g Guard) -> Option<&'g T> {
            // SAFETY: what is taken out is not freed while the guard is held, and what is not belongs to `self`.
            unsafe { self.0.load(Acquire, &guard.0).as_ref() }
        }

        /// Whether it points to anything: no guard is needed to ask. Acquire, as in `get`.
        #[inline(always)]
        pub(crate) fn is_some(&self) -> bool {
            // SAFETY: what is loaded is compared with null and not looked at.
            !unsafe { self.0.load(Acquire, unprotected()) }.is_null()
        }

        /// The same for links that always point to something.
        #[inline(always)]
        pub(super) fn get_some<'g>(&'g self, guard: &'g Guard) -> &'g T {
            // SAFETY: as in `get`, and never null: only `Root` calls it.
            unsafe { self.0.load(Acquire, &guard.0).deref() }
        }

        /// If it still points to `old`: points it to `new`, and frees `old` when nobody can see it. Else gives `new` back.
        pub(crate) fn exchange<'g>(
            &'g self,
            old: Option<&'g T>,
            new: Option<T>,
            guard: &'g Guard,
        ) -> Result<(), Option<T>> {
            let Some(old) = self.present(old, guard) else { return Err(new) };
            // Release: whoever loads the pointer sees `new` whole. Acquire: this thread sees the old one whole.
            let done = match new {
                Some(new) => self
                    .0
                    .compare_exchange(old, Owned::new(new), AcqRel, Relaxed, &guard.0)
                    .map_err(|failed| Some(*failed.new.into_box())),
                None => {
                    self.0.compare_exchange(old, Shared::null(), AcqRel, Relaxed, &guard.0).map_err(|_| None)
                }
            };
            done?;
            if old.is_null() {
                return Ok(());
            }
            if twin!(DropAtOnce) {
                // SAFETY: none, that is the point of this twin.
                drop(unsafe { old.into_owned() });
                return Ok(());
            }
            // SAFETY: no thread that pins from now on can load `old`, and only the exchange that took it out destroys it.
            unsafe { guard.0.defer_destroy(old) };
            guard.0.flush();
            Ok(())
        }
    }

    impl<T: Send + Sync + 'static> Link<T> {
        /// The pointer to `target` as it was stored, if it is still there. (One made from a reference could not be freed.)
        fn present<'g>(&self, target: Option<&T>, guard: &'g Guard) -> Option<Shared<'g, T>> {
            let present = self.0.load(Relaxed, &guard.0);
            let expected = target.map_or(ptr::null(), |target| &raw const *target);
            ptr::eq(present.as_raw(), expected).then_some(present)
        }
    }

    impl<T: Stacked> Link<T> {
        pub(super) fn push<'g>(&'g self, top: &'g T, new: T, guard: &'g Guard) -> Result<(), T> {
            let Some(top) = self.present(Some(top), guard) else { return Err(new) };
            // Relaxed: nobody else sees `new` before the exchange below.
            new.below().0.store(top, Relaxed);
            match self.0.compare_exchange(top, Owned::new(new), AcqRel, Relaxed, &guard.0) {
                Ok(_) => Ok(()),
                Err(failed) => {
                    // It is not this one's to free.
                    failed.new.below().0.store(Shared::null(), Relaxed);
                    Err(*failed.new.into_box())
                }
            }
        }
    }

    impl<T: Send + Sync + 'static> Drop for Link<T> {
        fn drop(&mut self) {
            // SAFETY: `&mut self`: nobody borrows the link any more.
            let target = self.0.load(Acquire, unsafe { unprotected() });
            if !target.is_null() {
                // SAFETY: the same; targets taken out before are not this one.
                drop(unsafe { target.into_owned() });
            }
        }
    }

    /// Helps to free what was let go. Frees nothing that a guard holds.
    pub(crate) fn collect() {
        pin().0.flush();
    }

    /// Done when every guard has ended that is held by anyone now.
    pub(crate) fn later(what: impl FnOnce() + Send + 'static) {
        pin().0.defer(what);
    }

    /// Raised when every guard has ended that was held by anyone at the time of the call.
    pub(crate) fn when_all_ended() -> Flagpole {
        let ended = Flagpole::default();
        let raise = ended.clone();
        let guard = pin();
        guard.0.defer(move || raise.raise());
        guard.0.flush();
        ended
    }
}

/// The contract of the above for models that are not about it: what is taken out lives until the link is dropped.
#[cfg(all(windlass_loom, not(crossbeam_loom)))]
#[allow(unsafe_code)]
mod stub {
    use super::{Flagpole, Stacked};
    use loom::sync::atomic::{
        AtomicPtr,
        Ordering::{AcqRel, Acquire, Relaxed},
    };
    use std::{ptr::null_mut, sync::Mutex};

    pub(crate) struct Guard(());

    pub(crate) fn pin() -> Guard {
        Guard(())
    }

    pub(crate) struct Link<T: Send + Sync + 'static> {
        target: AtomicPtr<T>,
        taken_out: Mutex<Vec<Box<T>>>,
    }

    impl<T: Send + Sync + 'static> Link<T> {
        pub(crate) fn none() -> Link<T> {
            Link { target: AtomicPtr::new(null_mut()), taken_out: Mutex::default() }
        }

        pub(crate) fn new(target: T) -> Link<T> {
            Link { target: AtomicPtr::new(Box::into_raw(Box::new(target))), taken_out: Mutex::default() }
        }

        pub(crate) fn get<'g>(&'g self, _: &'g Guard) -> Option<&'g T> {
            // SAFETY: null, or lives until the link is dropped, which is borrowed.
            unsafe { self.target.load(Acquire).as_ref() }
        }

        pub(crate) fn is_some(&self) -> bool {
            !self.target.load(Acquire).is_null()
        }

        pub(super) fn get_some<'g>(&'g self, _: &'g Guard) -> &'g T {
            // SAFETY: as in `get`, and never null: only `Root` calls it.
            unsafe { &*self.target.load(Acquire) }
        }

        pub(crate) fn exchange<'g>(
            &'g self,
            old: Option<&'g T>,
            new: Option<T>,
            _: &'g Guard,
        ) -> Result<(), Option<T>> {
            let old = pointer(old);
            let new = new.map_or(null_mut(), |new| Box::into_raw(Box::new(new)));
            if self.target.compare_exchange(old, new, AcqRel, Relaxed).is_err() {
                // SAFETY: made by `Box::into_raw` above, and nobody else has seen it.
                return Err((!new.is_null()).then(|| *unsafe { Box::from_raw(new) }));
            }
            if let Ok(mut taken_out) = self.taken_out.lock()
                && !old.is_null()
            {
                // SAFETY: made by `Box::into_raw`, and this exchange alone has taken it out.
                taken_out.push(unsafe { Box::from_raw(old) });
            }
            Ok(())
        }
    }

    impl<T: Stacked> Link<T> {
        pub(super) fn push<'g>(&'g self, top: &'g T, new: T, _: &'g Guard) -> Result<(), T> {
            let top = pointer(Some(top));
            new.below().target.store(top, Relaxed);
            let new = Box::into_raw(Box::new(new));
            if self.target.compare_exchange(top, new, AcqRel, Relaxed).is_err() {
                // SAFETY: made by `Box::into_raw` above, and nobody else has seen it.
                let new = unsafe { Box::from_raw(new) };
                // It is not this one's to free.
                new.below().target.store(null_mut(), Relaxed);
                return Err(*new);
            }
            Ok(())
        }
    }

    fn pointer<T>(target: Option<&T>) -> *mut T {
        target.map_or(null_mut(), |target| (&raw const *target).cast_mut())
    }

    impl<T: Send + Sync + 'static> Drop for Link<T> {
        fn drop(&mut self) {
            let target = self.target.load(Acquire);
            if !target.is_null() {
                // SAFETY: `&mut self`, and what was taken out is not this one.
                drop(unsafe { Box::from_raw(target) });
            }
        }
    }

    pub(crate) fn collect() {}

    /// Never: in these models nobody ends.
    pub(crate) fn later(_: impl FnOnce() + Send + 'static) {}

    /// Models of what waits for it wait by joining threads.
    pub(crate) fn when_all_ended() -> Flagpole {
        let ended = Flagpole::default();
        ended.raise();
        ended
    }
}
