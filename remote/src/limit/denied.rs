//! Clients that have been denied until some time, so that they need not ask before it.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// Two generations: when the newer one is full the older one goes. Who is forgotten asks again.
pub(super) struct Denied {
    /// Clients of a generation.
    most: usize,
    generations: Mutex<[HashMap<Box<[u8]>, Until>; 2]>,
}

/// A call of that cost, or more, is denied until then.
struct Until {
    time: Instant,
    cost: u64,
}

impl Denied {
    /// `None`: for no clients.
    pub(super) fn new(clients: usize) -> Option<Denied> {
        (clients > 0).then(|| Denied { most: clients.div_ceil(2), generations: Mutex::default() })
    }

    /// How long a call of this cost is still denied.
    pub(super) fn left(&self, client: &[u8], cost: u64) -> Option<Duration> {
        let generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        let until = generations.iter().find_map(|generation| generation.get(client))?;
        let left = until.time.checked_duration_since(Instant::now())?;
        (cost >= until.cost && !left.is_zero()).then_some(left)
    }

    /// A call of this cost that was `sent` then has been told to come again after that: no earlier, as it was answered later.
    pub(super) fn put(&self, client: &[u8], cost: u64, sent: Instant, retry_after: Duration) {
        let Some(time) = sent.checked_add(retry_after) else { return };
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        let [newer, older] = &mut *generations;
        if newer.len() >= self.most && !newer.contains_key(client) {
            std::mem::swap(newer, older);
            newer.clear();
        }
        newer.insert(client.into(), Until { time, cost });
    }

    pub(super) fn remove(&self, client: &[u8]) {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        for generation in generations.iter_mut() {
            generation.remove(client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn until_then_and_for_no_less() {
        let denied = Denied::new(4).expect("for some");
        denied.put(b"a", 3, Instant::now(), SECOND);
        assert_eq!(denied.left(b"a", 3), Some(SECOND));
        assert_eq!((denied.left(b"a", 2), denied.left(b"b", 3)), (None, None));
        tokio::time::advance(SECOND / 2).await;
        assert_eq!(denied.left(b"a", 4), Some(SECOND / 2));
        tokio::time::advance(SECOND / 2).await;
        assert_eq!(denied.left(b"a", 4), None);
        assert!(Denied::new(0).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn the_newest_stay() {
        let denied = Denied::new(4).expect("for some");
        for client in 0..100_u8 {
            denied.put(&[client], 1, Instant::now(), SECOND);
        }
        let known = (0..100).filter(|&client| denied.left(&[client], 1).is_some()).count();
        assert!((2..=4).contains(&known), "{known}");
        assert!(denied.left(&[99], 1).is_some());
        denied.remove(&[99]);
        assert!(denied.left(&[99], 1).is_none());
    }
}
