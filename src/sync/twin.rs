//! Negative twins: the same model with one step left out must fail, else the model shows nothing.

use std::cell::Cell;

/// What a model leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twin {
    /// The head is overwritten although no slot holds its entry.
    NoMove,
    /// The horizon is loaded before the slots.
    HorizonFirst,
    /// A late call goes by its own clock although the horizon has passed it.
    OwnTime,
    /// A new key may take the last slot.
    NoReserve,
    /// A second copy of an entry is kept until it dies.
    KeepCopies,
    /// Of two copies the earlier one stays.
    KeepFirstCopy,
    /// A forgotten entry is dead at once.
    MarkGoesFirst,
    /// A publish drops the flag of a bucket that finds its spill line empty.
    DropFlag,
    /// Evicts whatever is oldest, however young.
    EvictYoung,
    /// A publish does not mind the seal.
    IgnoreSeal,
    /// A replaced table is destroyed at once.
    DropAtOnce,
    /// The head and the slots are loaded with Relaxed.
    RelaxedLoad,
}

thread_local! {
    // loom runs all threads of a model on the thread of its test.
    static PLANTED: Cell<Option<Twin>> = const { Cell::new(None) };
}

/// Plants `twin` for all models run by `f`.
pub fn with<R>(twin: Twin, f: impl FnOnce() -> R) -> R {
    struct Uproot;
    impl Drop for Uproot {
        fn drop(&mut self) {
            PLANTED.set(None);
        }
    }
    PLANTED.set(Some(twin));
    let _uproot = Uproot;
    f()
}

pub(crate) fn planted(twin: Twin) -> bool {
    PLANTED.get() == Some(twin)
}
