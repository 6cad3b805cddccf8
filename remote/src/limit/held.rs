//! What this process holds of clients' limits: permits that were taken ahead, or that are yet to be reported.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{
    sync::{Mutex as Turns, OwnedMutexGuard},
    time::Instant,
};
use windlass::Admission;

/// Of one client. Whoever asks the engine about it holds the lock meanwhile: others of this process wait for that answer.
pub(super) struct Held {
    /// Permits that were taken ahead, and when they end.
    pub(super) permits: u64,
    pub(super) until: Instant,
    /// Permits that were granted here and that the engine has yet to hear of.
    pub(super) unreported: u64,
    /// .. and up to how many may be.
    pub(super) room: u64,
    /// What the engine said last, and when it was asked.
    pub(super) last: Option<(Admission, Instant)>,
}

type Clients = HashMap<Box<[u8]>, Arc<Turns<Held>>>;

pub(super) struct Holdings {
    most: usize,
    clients: Mutex<State>,
}

#[derive(Default)]
struct State {
    clients: Clients,
    /// Clients that had no place since it was last looked for those that need none any more.
    turned_away: usize,
}

impl Held {
    fn new() -> Held {
        Held { permits: 0, until: Instant::now(), unreported: 0, room: 0, last: None }
    }

    /// Whether it makes no difference.
    fn is_idle(&self, now: Instant) -> bool {
        self.unreported == 0 && (self.permits == 0 || self.until <= now)
    }
}

impl Holdings {
    pub(super) fn new(most: usize) -> Holdings {
        Holdings { most, clients: Mutex::default() }
    }

    /// A client's. `None`: there is no room for more clients.
    pub(super) fn of(&self, client: &[u8]) -> Option<Arc<Turns<Held>>> {
        let mut state = self.lock();
        if let Some(held) = state.clients.get(client) {
            return Some(Arc::clone(held));
        }
        if state.clients.len() >= self.most {
            // Seldom: it looks at all of them.
            let looks = state.turned_away.is_multiple_of(self.most.div_ceil(4));
            state.turned_away += 1;
            if looks {
                let now = Instant::now();
                // (What somebody is about to use is not idle.)
                state.clients.retain(|_, held| {
                    Arc::strong_count(held) > 1 || held.try_lock().is_ok_and(|held| !held.is_idle(now))
                });
            }
            if state.clients.len() >= self.most {
                return None;
            }
            state.turned_away = 0;
        }
        let held = Arc::new(Turns::new(Held::new()));
        state.clients.insert(client.into(), Arc::clone(&held));
        Some(held)
    }

    pub(super) fn remove(&self, client: &[u8]) {
        self.lock().clients.remove(client);
    }

    /// Those with something to report that nobody is asking about.
    pub(super) fn unreported(&self) -> Vec<(Box<[u8]>, OwnedMutexGuard<Held>)> {
        let state = self.lock();
        let held = |client: &[u8], held: &Arc<Turns<Held>>| {
            let held = Arc::clone(held).try_lock_owned().ok()?;
            (held.unreported > 0).then(|| (client.into(), held))
        };
        state.clients.iter().filter_map(|(client, own)| held(client, own)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn room_for_those_that_hold_something() {
        let holdings = Holdings::new(2);
        let until = Instant::now() + Duration::from_secs(1);
        for client in [b"a", b"b"] {
            let held = holdings.of(client).expect("room");
            let mut held = held.lock().await;
            (held.permits, held.until) = (5, until);
        }
        assert!(holdings.of(b"c").is_none());
        assert_eq!(holdings.of(b"a").expect("there").lock().await.permits, 5);
        tokio::time::advance(Duration::from_secs(2)).await;
        assert!(holdings.of(b"c").is_some());
        holdings.of(b"c").expect("there").lock().await.unreported = 1;
        holdings.of(b"d").expect("room").lock().await.unreported = 1;
        let unreported = holdings.unreported();
        assert_eq!(unreported.len(), 2);
        assert!(holdings.unreported().is_empty(), "they are locked");
        assert!(holdings.of(b"e").is_none());
    }
}
