//! Where the points of nodes lie, and who is next. Immutable.
//!
//! **Points.** Node h = XXH3-128(name, seed): its i-th point lies at `mix(h.hi ^ mix(h.lo + i))`, a key of hash k at `mix(k.hi ^ KEYS)`. (`k.hi` itself would
//! lie near to others of its node in all tables that go by it.) Points at one place: the lesser name is first.
//!
//! **Index.** The circle is cut into a power of two of equal parts, at least as many as there are points; the index has for each part the first point in or
//! after it. From there on points are looked through: one and a half on average, the first two at once. (One after the other, each key would mispredict a
//! branch on what is still on its way from memory, and nothing behind it could begin.)

use super::{Node, NodeShare, RingStats};
use crate::{
    error::ConfigError,
    hash::{Key, KeyHash, Seed, mix},
};
use std::{cmp::Ordering, collections::TryReserveError};

/// Who owns what in a [`crate::HashRing`]: as it was when it was taken, whatever becomes of the ring.
#[derive(Clone, Debug)]
pub struct Placement {
    seed: Seed,
    vnodes: u32,
    version: u64,
    /// By id.
    nodes: Vec<Node>,
    /// By place; at the end the first one again, at the last place of all, [`ENDS`] times.
    points: Vec<Point>,
    index: Vec<u32>,
    /// Of a place, to get its part.
    shift: u32,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    place: u64,
    /// Which of the nodes.
    node: u32,
    /// Its id: here it takes no room, and no further line.
    id: u32,
}

/// What tells the places of keys from those that tables give them.
const KEYS: u64 = 0x686173685f72696e; // "hash_rin"

/// Of the circle: one that is found, and one to look at beside it.
const ENDS: usize = 2;

/// Replicas that are told apart without a set.
const FEW: usize = 16;

impl Placement {
    /// Points in a ring at most: of all nodes together, some 100 MB.
    pub const MAX_POINTS: u64 = 1 << 22;

    pub(super) fn empty() -> Placement {
        Placement {
            seed: Seed(0),
            vnodes: 1,
            version: 0,
            nodes: vec![],
            points: vec![],
            index: vec![],
            shift: 63,
        }
    }

    pub(super) fn new(
        nodes: Vec<Node>,
        vnodes: u32,
        seed: Seed,
        version: u64,
    ) -> Result<Placement, ConfigError> {
        if !(1..=MAX_VNODES).contains(&vnodes) {
            return Err(ConfigError::new("vnodes", vnodes, format_args!("1 to {MAX_VNODES}")));
        }
        Placement { seed, vnodes, ..Placement::empty() }.of(nodes, version)
    }

    /// The same ring with other nodes.
    fn of(&self, mut nodes: Vec<Node>, version: u64) -> Result<Placement, ConfigError> {
        nodes.iter().try_for_each(Node::check)?;
        nodes.sort_by_key(|node| node.id);
        if let Some(two) = nodes.windows(2).find(|two| two[0].id == two[1].id) {
            let limit = format!("an id of its own: {} has it", two[0].name);
            return Err(ConfigError::new("id", format_args!("{} (of {})", two[1].id, two[1].name), limit));
        }
        let mut names: Vec<&Node> = nodes.iter().collect();
        names.sort_by_key(|node| &node.name);
        if let Some(two) = names.windows(2).find(|two| two[0].name == two[1].name) {
            let limit = format!("a name of its own: node {} has it", two[0].id);
            return Err(ConfigError::new(
                "name",
                format_args!("{} (of node {})", two[1].name, two[1].id),
                limit,
            ));
        }
        let count = nodes.iter().fold(0, |sum: u64, node| sum.saturating_add(self.points_of(node)));
        if count > Self::MAX_POINTS {
            let limit =
                format!("at most {} points, weights times {} virtual nodes", Self::MAX_POINTS, self.vnodes);
            return Err(ConfigError::new("weight", format_args!("{count} points"), limit));
        }
        let mut placement = Placement { version, nodes, ..self.bare() };
        let no_memory =
            |_| ConfigError::new("weight", format_args!("{count} points"), "what the system can allocate");
        placement.place(count).map_err(no_memory)?;
        Ok(placement)
    }

    fn bare(&self) -> Placement {
        Placement { seed: self.seed, vnodes: self.vnodes, ..Placement::empty() }
    }

    fn points_of(&self, node: &Node) -> u64 {
        u64::from(node.weight) * u64::from(self.vnodes)
    }

    /// `count`: of points.
    fn place(&mut self, count: u64) -> Result<(), TryReserveError> {
        let (mut points, mut index) = (Vec::new(), Vec::new());
        points.try_reserve_exact(usize::try_from(count).unwrap_or(usize::MAX).saturating_add(ENDS))?;
        index.try_reserve_exact(usize::try_from(count.next_power_of_two()).unwrap_or(usize::MAX).max(2))?;
        for (node, number) in self.nodes.iter().zip(0..) {
            let hash = self.seed.hash(node.name.as_str());
            let place = |i: u64| mix(hash.hi ^ mix(hash.lo.wrapping_add(i)));
            points.extend((0..self.points_of(node)).map(|i| Point {
                place: place(i),
                node: number,
                id: node.id,
            }));
        }
        let name = |point: &Point| &self.nodes[point.node as usize].name;
        points.sort_unstable_by(|a, b| match a.place.cmp(&b.place) {
            Ordering::Equal => name(a).cmp(name(b)),
            unequal => unequal,
        });
        let bits = points.len().next_power_of_two().trailing_zeros().max(1);
        self.shift = 64 - bits;
        let mut next = 0;
        index.extend((0..1_u64 << bits).map(|part| {
            while points.get(next as usize).is_some_and(|point: &Point| point.place < part << self.shift) {
                next += 1;
            }
            next
        }));
        self.index = index;
        if let Some(&first) = points.first() {
            points.extend([Point { place: u64::MAX, ..first }; ENDS]);
        }
        self.points = points;
        Ok(())
    }

    pub(super) fn with(&self, node: Node) -> Result<Placement, ConfigError> {
        let nodes = self.nodes.iter().cloned().chain([node]).collect();
        self.of(nodes, self.version + 1)
    }

    pub(super) fn without(&self, id: u32) -> Result<Placement, ConfigError> {
        let place = self.find(id)?;
        let mut nodes = self.nodes.clone();
        nodes.remove(place);
        self.of(nodes, self.version + 1)
    }

    pub(super) fn with_weight(&self, id: u32, weight: u32) -> Result<Placement, ConfigError> {
        let place = self.find(id)?;
        let mut nodes = self.nodes.clone();
        nodes[place].weight = weight;
        self.of(nodes, self.version + 1)
    }

    fn find(&self, id: u32) -> Result<usize, ConfigError> {
        let found = self.nodes.binary_search_by_key(&id, |node| node.id);
        found.map_err(|_| ConfigError::new("id", id, "the id of a node in the ring"))
    }

    /// Which point is the first at or after the place of a key. There is one.
    #[inline(always)]
    fn first(&self, hash: KeyHash) -> usize {
        let place = mix(hash.hi ^ KEYS);
        #[allow(clippy::cast_possible_truncation)] // fewer than 2^23 parts
        let mut point = self.index[(place >> self.shift) as usize] as usize;
        let lies_before = |point: usize| self.points[point].place < place;
        let before = [lies_before(point), lies_before(point + 1)];
        point += before.map(usize::from).iter().sum::<usize>();
        if before[1] {
            // The last ones are at the last place.
            while lies_before(point) {
                point += 1;
            }
        }
        point
    }

    /// Those of nodes, without what ends the circle.
    fn real(&self) -> &[Point] {
        &self.points[..self.points.len().saturating_sub(ENDS)]
    }

    /// As [`crate::HashRing::route`].
    #[inline]
    #[must_use]
    pub fn route(&self, key: impl Key) -> Option<u32> {
        if self.nodes.is_empty() {
            return None;
        }
        Some(self.points[self.first(key.key_hash(self.seed))].id)
    }

    /// As [`crate::HashRing::route_n`].
    pub fn route_n(&self, key: impl Key, n: usize, out: &mut Vec<u32>) {
        out.clear();
        let n = n.min(self.nodes.len());
        if n == 0 {
            return;
        }
        let points = self.real();
        let first = self.first(key.key_hash(self.seed)) % points.len();
        // One bit for each node, where looking through what was found would be slow.
        let mut found = vec![0_u64; if n > FEW { self.nodes.len().div_ceil(64) } else { 0 }];
        for point in points[first..].iter().chain(&points[..first]) {
            let (node, id) = (point.node as usize, point.id);
            let known = if n > FEW { found[node / 64] >> (node % 64) & 1 == 1 } else { out.contains(&id) };
            if known {
                continue;
            }
            if n > FEW {
                found[node / 64] |= 1 << (node % 64);
            }
            out.push(id);
            if out.len() == n {
                return;
            }
        }
    }

    /// As [`crate::HashRing::route_batch`].
    pub fn route_batch<K: Key>(&self, keys: &[K], out: &mut Vec<u32>) -> bool {
        out.clear();
        if self.nodes.is_empty() {
            return false;
        }
        out.extend(keys.iter().map(|key| self.points[self.first(key.key_hash(self.seed))].id));
        true
    }

    /// How many changes made it from what was built.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The seed that keys are hashed with.
    #[must_use]
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// Points for each unit of weight.
    #[must_use]
    pub fn vnodes(&self) -> u32 {
        self.vnodes
    }

    /// The nodes by their ids, with the share of the keys that each owns.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeShare> {
        let mut owned = vec![0_u128; self.nodes.len()];
        let mut last = self.real().last().map_or(0, |point| point.place);
        for point in self.real() {
            owned[point.node as usize] += u128::from(point.place.wrapping_sub(last));
            last = point.place;
        }
        if self.nodes.len() == 1 {
            owned[0] = 1 << 64;
        }
        let share = |node: &Node, owned| NodeShare {
            id: node.id,
            name: node.name.clone(),
            weight: node.weight,
            share: of_circle(owned),
        };
        self.nodes.iter().zip(owned).map(|(node, owned)| share(node, owned)).collect()
    }

    /// Plain figures. Costs a look at every point.
    #[must_use]
    pub fn stats(&self) -> RingStats {
        let nodes = self.nodes();
        let weights: f64 = nodes.iter().map(|node| f64::from(node.weight)).sum();
        let multiple = |node: &NodeShare| node.share * weights / f64::from(node.weight);
        RingStats {
            nodes: nodes.len() as u64,
            points: self.real().len() as u64,
            version: self.version,
            memory_bytes: self.memory_bytes(),
            imbalance: nodes.iter().map(multiple).fold(0.0, f64::max),
        }
    }

    /// The share of all keys that have another owner here than there: of the circle, exactly. Both must have one seed.
    #[must_use]
    pub fn moved_from(&self, other: &Placement) -> f64 {
        if self.nodes.is_empty() || other.nodes.is_empty() {
            return f64::from(u8::from(self.nodes.is_empty() != other.nodes.is_empty()));
        }
        // Both sides' points in turn: from the last place to the next of either, one owner here and one there.
        let (mut ours, mut theirs, mut last, mut moved) = (0, 0, None, 0_u128);
        while ours < self.points.len() && theirs < other.points.len() {
            let (a, b) = (self.points[ours], other.points[theirs]);
            let place = a.place.min(b.place);
            let same = {
                let (a, b) = (&self.nodes[a.node as usize], &other.nodes[b.node as usize]);
                (a.id, &a.name) == (b.id, &b.name)
            };
            if !same {
                // Places last + 1 to place.
                moved += u128::from(place) + 1 - last.map_or(0, |last: u64| u128::from(last) + 1);
            }
            last = Some(place);
            ours += usize::from(a.place == place);
            theirs += usize::from(b.place == place);
        }
        of_circle(moved)
    }

    /// Bytes of points and index.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        (size_of_val(&*self.points) + size_of_val(&*self.index)) as u64
    }
}

const MAX_VNODES: u32 = 1 << 16;

#[allow(clippy::cast_precision_loss)]
fn of_circle(places: u128) -> f64 {
    places as f64 / (1_u128 << 64) as f64
}
