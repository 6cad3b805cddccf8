//! Quotas of single clients, beside the one of all.
//!
//! Few against the clients, and changed seldom: in each of some shards an immutable map behind a pointer. Whoever changes one copies
//! its shard's map, and exchanges the pointer; a call looks into one map. Lock-free. Model: loom-tests/tests/quotas.rs.

use crate::{
    hash::KeyHash,
    sync::{
        epoch::{Guard, Link, pin},
        retry, twin,
    },
};
use std::{collections::HashMap, sync::Arc};

/// By the client's whole hash.
type Map<T> = HashMap<KeyHash, Arc<T>>;

pub(crate) struct Overrides<T: Send + Sync + 'static> {
    shards: [Link<Map<T>>; SHARDS],
}

#[cfg(not(windlass_loom))]
pub(super) const SHARDS: usize = 64;
#[cfg(windlass_loom)]
pub(super) const SHARDS: usize = 1;

impl<T: Send + Sync + 'static> Default for Overrides<T> {
    fn default() -> Self {
        Overrides { shards: std::array::from_fn(|_| Link::none()) }
    }
}

impl<T: Send + Sync + 'static> Overrides<T> {
    fn shard(&self, hash: KeyHash) -> &Link<Map<T>> {
        &self.shards[Self::shard_of(hash)]
    }

    #[allow(clippy::cast_possible_truncation)] // less than there are
    fn shard_of(hash: KeyHash) -> usize {
        (hash.lo >> 32) as usize % SHARDS
    }

    /// Acquire, in `Link`: who knows of an override finds it.
    pub(crate) fn get<'g>(&'g self, hash: KeyHash, guard: &'g Guard) -> Option<&'g T> {
        self.shard(hash).get(guard)?.get(&hash).map(Arc::as_ref)
    }

    /// Puts in what `make` makes and `begin` has brought to where it begins, unless there is one: that is given back then.
    ///
    /// It begins before anybody else finds it: what its client has used counts from its first call on (twin `ChargeLater`).
    pub(crate) fn insert<E>(
        &self,
        hash: KeyHash,
        make: impl FnOnce() -> Result<T, E>,
        begin: impl Fn(&T),
    ) -> Result<Option<Arc<T>>, E> {
        let mut make = Some(make);
        let mut made: Option<Arc<T>> = None;
        let mut there = None;
        self.change(hash, |map| {
            there = map.get(&hash).cloned();
            if there.is_some() {
                return Ok(false);
            }
            if let Some(make) = make.take() {
                let new = Arc::new(make()?);
                if !twin!(ChargeLater) {
                    begin(&new);
                }
                made = Some(new);
            }
            map.extend(made.clone().map(|made| (hash, made)));
            Ok(true)
        })?;
        if twin!(ChargeLater)
            && let Some(made) = &made
        {
            begin(made);
        }
        Ok(there)
    }

    /// Takes one out.
    pub(crate) fn remove(&self, hash: KeyHash) -> Option<Arc<T>> {
        let mut was = None;
        let removed = self.change(hash, |map| {
            was = map.remove(&hash);
            Ok::<_, std::convert::Infallible>(was.is_some())
        });
        removed.ok().and(was)
    }

    /// All of a shard. (So that nothing is pinned while they are written.)
    pub(crate) fn of_shard(&self, shard: usize) -> Vec<(KeyHash, Arc<T>)> {
        let guard = pin();
        let map = self.shards.get(shard).and_then(|shard| shard.get(&guard));
        map.into_iter().flatten().map(|(&hash, own)| (hash, own.clone())).collect()
    }

    /// With these. `None`: a client has two.
    pub(crate) fn of(all: impl IntoIterator<Item = (KeyHash, T)>) -> Option<Self> {
        let mut maps: [Map<T>; SHARDS] = std::array::from_fn(|_| Map::new());
        for (hash, own) in all {
            if maps[Self::shard_of(hash)].insert(hash, Arc::new(own)).is_some() {
                return None;
            }
        }
        Some(Overrides { shards: maps.map(|map| if map.is_empty() { Link::none() } else { Link::new(map) }) })
    }

    pub(crate) fn len(&self) -> usize {
        let guard = pin();
        self.shards.iter().filter_map(|shard| shard.get(&guard)).map(HashMap::len).sum()
    }

    /// What `edit` makes of a copy takes the place of the map, if it says so: of the map that was copied, or it begins again.
    fn change<E>(
        &self,
        hash: KeyHash,
        mut edit: impl FnMut(&mut Map<T>) -> Result<bool, E>,
    ) -> Result<(), E> {
        let guard = pin();
        let shard = self.shard(hash);
        loop {
            let present = shard.get(&guard);
            let mut map = present.cloned().unwrap_or_default();
            if !edit(&mut map)? {
                return Ok(());
            }
            let map = (!map.is_empty()).then_some(map);
            let present = if twin!(PublishStale) { shard.get(&guard) } else { present };
            if shard.exchange(present, map, &guard).is_ok() {
                return Ok(());
            }
            retry();
        }
    }
}
