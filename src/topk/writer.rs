//! What a [`Writer`] needs of a [`TopK`].

use super::TopK;
use crate::{
    count::{Added, Counts, Hold, Terms, Writer},
    hash::{Key, KeyHash},
    sync::epoch,
    time::Tick,
};

impl Counts for TopK {
    #[inline(always)]
    fn add_now(&self, key: impl Key, hash: KeyHash, n: u64, now: Tick) -> Added {
        self.add_hashed(&key, hash, n, now, &epoch::pin())
    }

    fn add_more(&self, hash: KeyHash, n: u64, now: Tick, guard: &Hold) {
        // Its row has a name: the hash is not taken for one.
        let _ = self.add_hashed(&hash, hash, n, now, &guard.0);
    }

    fn terms(&self) -> Terms<'_> {
        let TopK { panes, seed, clock, .. } = self;
        Terms { seed: *seed, clock, pane: panes.pane, counts_events: panes.counts_events }
    }
}

impl TopK {
    /// A thread's own way to add, for hot keys: see [`Writer`].
    pub fn writer(&self) -> Writer<'_, TopK> {
        Writer::new(self)
    }
}
