//! The optional thread that looks after structures beside their callers.

use crate::time::{Clock, Tick};
use std::{
    fmt, io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    thread::{self, JoinHandle},
    time::Duration,
};

/// What a [`Maintainer`] can look after.
pub trait Maintain: Send + Sync {
    /// A bounded piece of upkeep at `now`. `true`: there is more that can be done now.
    fn maintain_at(&self, now: Tick, budget: usize) -> bool;

    /// What its short forms take their tick from.
    fn clock(&self) -> &Clock;
}

/// A thread that does the upkeep of structures, so that their callers seldom have to: it moves time on in a silence, gives
/// memory back, and has larger tables ready before they are needed.
///
/// Structures work without one. It holds them weakly: one that is dropped elsewhere is forgotten. It stops, and its thread ends,
/// when it is dropped.
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use windlass::{Dedup, Maintainer};
///
/// let dedup = Dedup::builder(Duration::from_secs(60)).capacity(1000).max_memory(1 << 30).build()?;
/// let dedup = Arc::new(dedup);
/// let maintainer = Maintainer::start(Duration::from_millis(10))?;
/// maintainer.add(&dedup);
/// # assert!(dedup.observe("a")?.is_fresh());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Maintainer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    charges: Vec<Charge>,
    stopped: bool,
}

#[derive(Clone)]
struct Charge {
    structure: Weak<dyn Maintain>,
    /// Instead of its own.
    clock: Option<Clock>,
}

/// Groups at a time: under a millisecond.
const BUDGET: usize = 256;

impl Maintainer {
    /// Starts the thread. It wakes up every `interval`: 10 to 100 ms suit most.
    ///
    /// # Errors
    /// If the system starts no thread.
    pub fn start(interval: Duration) -> io::Result<Maintainer> {
        let shared = Arc::new(Shared::default());
        let theirs = shared.clone();
        let thread = thread::Builder::new().name("windlass".into()).spawn(move || theirs.run(interval))?;
        Ok(Maintainer { shared, thread: Some(thread) })
    }

    /// Looks after a structure by the clock that it has. For those that are used by their short forms: where callers bring ticks
    /// of their own (`.._at`), use [`Maintainer::add_with`].
    pub fn add<T: Maintain + 'static>(&self, structure: &Arc<T>) {
        self.charge(structure, None);
    }

    /// Looks after a structure by this clock, which counts what its callers' ticks count.
    pub fn add_with<T: Maintain + 'static>(&self, structure: &Arc<T>, clock: Clock) {
        self.charge(structure, Some(clock));
    }

    fn charge<T: Maintain + 'static>(&self, structure: &Arc<T>, clock: Option<Clock>) {
        let structure: Weak<T> = Arc::downgrade(structure);
        self.shared.lock().charges.push(Charge { structure, clock });
        self.shared.changed.notify_all();
    }
}

impl Drop for Maintainer {
    fn drop(&mut self) {
        self.shared.lock().stopped = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take()
            // The last of a structure may have been let go by this very thread, with the maintainer in it.
            && thread.thread().id() != thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Maintainer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Maintainer").field("structures", &self.shared.lock().charges.len()).finish()
    }
}

impl Shared {
    /// (Nothing under the lock can panic.)
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, interval: Duration) {
        let mut state = self.lock();
        while !state.stopped {
            state.charges.retain(|charge| charge.structure.strong_count() > 0);
            let charges = state.charges.clone();
            drop(state);
            charges.iter().for_each(|charge| self.look_after(charge));
            state = self.lock();
            if !state.stopped {
                state = match self.changed.wait_timeout(state, interval) {
                    Ok((state, _)) => state,
                    Err(poisoned) => poisoned.into_inner().0,
                };
            }
        }
    }

    /// Until there is no more to do.
    fn look_after(&self, charge: &Charge) {
        loop {
            let Some(structure) = charge.structure.upgrade() else { return };
            let now = charge.clock.as_ref().unwrap_or(structure.clock()).now();
            if !structure.maintain_at(now, BUDGET) || self.lock().stopped {
                return;
            }
            thread::yield_now();
        }
    }
}
