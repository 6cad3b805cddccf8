//! Which node owns a key? A ring that can be changed under its readers.

mod node;
mod placement;
mod snapshot;

use crate::{
    error::ConfigError,
    hash::{Key, Seed},
    sync::{
        epoch::{Link, pin},
        retry, twin,
    },
};
pub use node::{Node, NodeShare};
pub use placement::Placement;
use std::{fmt, sync::Arc};

/// Consistent hashing with weighted virtual nodes, for any number of threads: each key belongs to one node, and when a node
/// comes or goes only the keys move that it gets or had.
///
/// Each node has `vnodes` points for each unit of its weight on a circle of 2^64 places; a key belongs to the node of the next point at or after
/// its own place. Changes make a new, immutable [`Placement`] and publish it by one CAS; who reads goes on with the old one, which is freed
/// through the epoch. So a route never waits, and sees one placement as a whole.
///
/// ```
/// use windlass::{HashRing, Node};
///
/// let ring = HashRing::builder().nodes([Node::new(0, "cache-a"), Node::new(1, "cache-b").weight(2)]).build()?;
/// let owner = ring.route("user-4711").expect("the ring has nodes");
/// let mut replicas = Vec::new();
/// ring.route_n("user-4711", 2, &mut replicas);
/// assert_eq!((replicas[0], replicas.len()), (owner, 2));
///
/// let change = ring.add(Node::new(2, "cache-c"))?;
/// assert!((0.18..0.32).contains(&change.moved), "{}", change.moved); // it has a quarter of the weight
/// # Ok::<(), windlass::ConfigError>(())
/// ```
///
/// # Promise
/// - Placement depends on seed, names, weights and the number of virtual nodes, and on nothing else: not on ids, nor on the order in which nodes came. It is
///   the same in every release, on every platform and from every language; docs/ring.md defines it, with test vectors.
/// - Nodes that come take keys from all others, and give none; keys of nodes that go are shared out, and others stay. In expectation
///   that is the node's share of the weight.
/// - A key's place is independent of where a structure with the same seed keeps it: the keys of one node fill its tables evenly.
///
/// # Cost
/// A route is a hash, an epoch pin, and one or two cache misses in a large ring: an index of the places, then on average one and a half points, of 16
/// bytes. Memory is 20 to 24 bytes a point. A change sorts the points anew, O(points log points), by whoever calls it. With v virtual nodes
/// each the standard deviation of a node's share is about 1/sqrt(v): 9 % with 128, the busiest of 10 is about 14 % above the mean.
///
/// D. Karger et al.: "Consistent Hashing and Random Trees", STOC 1997.
pub struct HashRing {
    placement: Link<Arc<Placement>>,
}

/// What a change of the ring has done.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// The share of all keys that have another owner now: 0 to 1. (1 where the ring had no node, or has none now.)
    pub moved: f64,
    /// The number of the placement that it made.
    pub version: u64,
}

/// Plain figures about a [`HashRing`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RingStats {
    /// Its nodes.
    pub nodes: u64,
    /// Their points.
    pub points: u64,
    /// How many changes have been made since it was built.
    pub version: u64,
    /// Bytes of the present placement. (While a change is made there are two.)
    pub memory_bytes: u64,
    /// The keys of the node with the most for its weight, as a multiple of what its weight entitles it to: 1 if all are even. 0 without nodes.
    pub imbalance: f64,
}

/// Settings of a [`HashRing`]. Made by [`HashRing::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct HashRingBuilder {
    vnodes: u32,
    seed: Option<Seed>,
    nodes: Vec<Node>,
}

impl HashRingBuilder {
    /// Points of a node for each unit of its weight: 1 to 65,536. Default: 128.
    pub fn vnodes(mut self, vnodes: u32) -> Self {
        self.vnodes = vnodes;
        self
    }

    /// The seed of the hash. Default: 0, since all who route must agree. With a seed that is known keys can be made that
    /// all belong to one node.
    pub fn seed(mut self, seed: Seed) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The nodes it begins with. Default: none.
    pub fn nodes(mut self, nodes: impl IntoIterator<Item = Node>) -> Self {
        self.nodes.extend(nodes);
        self
    }

    /// Checks the settings and places the nodes.
    ///
    /// # Errors
    /// Names the first setting out of its range, and the range: a weight of 0, an id or a name that is there twice, an empty name,
    /// more than [`Placement::MAX_POINTS`] points.
    pub fn build(self) -> Result<HashRing, ConfigError> {
        let placement = Placement::new(self.nodes, self.vnodes, self.seed.unwrap_or(Seed(0)), 0)?;
        Ok(HashRing { placement: Link::new(Arc::new(placement)) })
    }
}

impl HashRing {
    /// A ring without nodes, to be told otherwise.
    pub fn builder() -> HashRingBuilder {
        HashRingBuilder { vnodes: 128, seed: None, nodes: Vec::new() }
    }

    /// The id of the node that owns `key`. `None`: the ring has no node.
    #[inline]
    #[must_use]
    pub fn route(&self, key: impl Key) -> Option<u32> {
        self.read(|placement| placement.route(key))
    }

    /// The ids of the first `n` different nodes at and after `key`, its owner first: for replicas. All nodes, where there are fewer. What
    /// `out` held is cleared.
    pub fn route_n(&self, key: impl Key, n: usize, out: &mut Vec<u32>) {
        self.read(|placement| placement.route_n(key, n, out));
    }

    /// The owner of each key, all by the same placement. What `out` held is cleared. `false`: the ring has no node, and `out` is
    /// empty.
    pub fn route_batch<K: Key>(&self, keys: &[K], out: &mut Vec<u32>) -> bool {
        self.read(|placement| placement.route_batch(keys, out))
    }

    /// Adds a node.
    ///
    /// # Errors
    /// As for [`HashRingBuilder::build`]; then nothing has changed.
    pub fn add(&self, node: Node) -> Result<Change, ConfigError> {
        self.change(|placement| placement.with(node.clone()))
    }

    /// Removes a node.
    ///
    /// # Errors
    /// If there is no such node; then nothing has changed.
    pub fn remove(&self, id: u32) -> Result<Change, ConfigError> {
        self.change(|placement| placement.without(id))
    }

    /// Gives a node another weight.
    ///
    /// # Errors
    /// If there is no such node, the weight is 0, or there would be too many points; then nothing has changed.
    pub fn set_weight(&self, id: u32, weight: u32) -> Result<Change, ConfigError> {
        self.change(|placement| placement.with_weight(id, weight))
    }

    /// The placement as it is now, to keep: it does not change. For many routes, for comparing, and for asking two of them while
    /// data moves.
    #[must_use]
    pub fn placement(&self) -> Arc<Placement> {
        let guard = pin();
        self.placement.get(&guard).map_or_else(|| Arc::new(Placement::empty()), Arc::clone)
    }

    /// Plain figures. Costs a look at every point, and nothing to others.
    #[must_use]
    pub fn stats(&self) -> RingStats {
        self.placement().stats()
    }

    #[inline(always)]
    fn read<R>(&self, ask: impl FnOnce(&Placement) -> R) -> R {
        let guard = pin();
        match self.placement.get(&guard) {
            Some(placement) => ask(placement),
            // It always points to one.
            None => ask(&Placement::empty()),
        }
    }

    /// Publishes what `change` makes of the present placement. Lock-free: it starts again only if another change came between.
    fn change(
        &self,
        change: impl Fn(&Placement) -> Result<Placement, ConfigError>,
    ) -> Result<Change, ConfigError> {
        let guard = pin();
        let mut stale = None;
        loop {
            let Some(old) = self.placement.get(&guard) else {
                return Err(ConfigError::new("ring", "none", "one that was built"));
            };
            let new = match stale.take() {
                Some(new) if twin!(PublishStale) => new,
                _ => Arc::new(change(old)?),
            };
            let change = Change { moved: new.moved_from(old), version: new.version() };
            // Pairs with the load in `read`: loom-tests/tests/ring.rs.
            match self.placement.exchange(Some(old), Some(new), &guard) {
                Ok(()) => return Ok(change),
                Err(lost) => stale = lost,
            }
            retry();
        }
    }
}

impl fmt::Debug for HashRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HashRing").field("placement", &*self.placement()).finish()
    }
}
