//! Nodes that did not answer are not asked by every call: one call in an interval tries, the others know at once. (And so with slots that
//! nobody serves, whose name is their number.)

use crate::error::RemoteError;
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::Instant;

pub(crate) struct Circuits {
    interval: Duration,
    open: Mutex<HashMap<Arc<str>, Open>>,
    /// How many there are, so that calls need not lock to know that there is none.
    count: AtomicUsize,
}

struct Open {
    until: Instant,
    /// One call may try.
    trial: bool,
    error: RemoteError,
}

impl Circuits {
    pub(crate) fn new(interval: Duration) -> Circuits {
        Circuits { interval, open: Mutex::default(), count: AtomicUsize::new(0) }
    }

    /// Whether everything answers, as far as it is known: then there is nothing to ask.
    pub(crate) fn is_quiet(&self) -> bool {
        // Relaxed: a hint. Who misses that a circuit has opened waits for its own deadline, as the one did that opened it.
        self.count.load(Relaxed) == 0
    }

    /// Whether it is time to try some node again: then one call may, and before it does it should be found out whether that node is still in charge.
    pub(crate) fn due(&self) -> bool {
        if self.is_quiet() {
            return false;
        }
        let (now, mut due) = (Instant::now(), false);
        let mut open = self.lock();
        open.retain(|_, circuit| {
            if now < circuit.until {
                return true;
            }
            due = true;
            // Nobody has asked it for an interval: it is in charge of nothing any more.
            let wanted = !circuit.trial;
            (circuit.trial, circuit.until) = (true, now + self.interval);
            wanted
        });
        self.count.store(open.len(), Relaxed); // as in `is_quiet`; stores are ordered by the lock
        due
    }

    /// Whether a call may ask the node.
    ///
    /// # Errors
    /// What the last one that asked was told.
    pub(crate) fn ask(&self, node: &Arc<str>) -> Result<(), RemoteError> {
        if self.is_quiet() {
            return Ok(());
        }
        let mut open = self.lock();
        let Some(circuit) = open.get_mut(node) else { return Ok(()) };
        let trial = std::mem::take(&mut circuit.trial);
        if trial { Ok(()) } else { Err(circuit.error.clone()) }
    }

    /// The node did not answer a call, or not with what was asked, until its deadline.
    pub(crate) fn failed(&self, node: &Arc<str>, error: &RemoteError) {
        let mut open = self.lock();
        let circuit = Open { until: Instant::now() + self.interval, trial: false, error: error.for_others() };
        open.insert(Arc::clone(node), circuit);
        self.count.store(open.len(), Relaxed); // as above
    }

    /// The node answered.
    pub(crate) fn answered(&self, node: &Arc<str>) {
        if self.is_quiet() {
            return;
        }
        let mut open = self.lock();
        if open.remove(node).is_some() {
            self.count.store(open.len(), Relaxed); // as above
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn one_call_tries() {
        let (node, other): (Arc<str>, Arc<str>) = ("a:1".into(), "b:1".into());
        let error = RemoteError::new(ErrorKind::Timeout, "no").in_doubt();
        assert!(error.may_be_done() && !error.for_others().may_be_done());
        let circuits = Circuits::new(Duration::from_secs(3600));
        assert_eq!((circuits.due(), circuits.ask(&node)), (false, Ok(())));
        circuits.failed(&node, &error);
        assert!(!circuits.due());
        assert_eq!((circuits.ask(&node), circuits.ask(&other)), (Err(error.for_others()), Ok(())));
        circuits.answered(&node);
        assert_eq!(circuits.ask(&node), Ok(()));

        // It is always time again: one call may ask, and the next one not before it is time again.
        let circuits = Circuits::new(Duration::ZERO);
        circuits.failed(&node, &error);
        assert!(circuits.due());
        assert_eq!((circuits.ask(&node), circuits.ask(&node)), (Ok(()), Err(error.for_others())));
        assert!(circuits.due());
        assert_eq!(circuits.ask(&node), Ok(()));
    }

    #[test]
    fn what_nobody_asks_is_forgotten() {
        let node: Arc<str> = "a:1".into();
        let circuits = Circuits::new(Duration::ZERO);
        circuits.failed(&node, &RemoteError::new(ErrorKind::Timeout, "no"));
        assert!(circuits.due() && circuits.due());
        assert!(!circuits.due());
        assert_eq!(circuits.count.load(Relaxed), 0);
    }
}
