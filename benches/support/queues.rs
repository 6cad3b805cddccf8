//! The queues that take part: windlass's, and what one would put together.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, RwLock},
};

use hashlink::LinkedHashMap;
use indexset::BTreeSet;
use skiplist::OrderedSkipList;
use windlass::{FifoIndex, Seed};

use super::queue::{Call, Contender, Taken, key};

type Hasher = ahash::RandomState;

fn hasher() -> Hasher {
    Hasher::with_seeds(1, 2, 3, 4)
}

fn size(capacity: u64) -> usize {
    usize::try_from(capacity).expect("it fits into memory")
}

/// `rank`, then `get`.
pub(crate) struct Windlass(FifoIndex<u64>);

impl Windlass {
    fn build(capacity: u64) -> FifoIndex<u64> {
        FifoIndex::builder().capacity(size(capacity)).seed(Seed(1)).build().expect("valid")
    }
}

impl Contender for Windlass {
    const NAME: &'static str = "windlass";
    type Scratch = ();

    fn new(capacity: u64) -> Self {
        Windlass(Self::build(capacity))
    }

    #[inline(always)]
    fn push(&self, key: u64, value: u64) {
        self.0.push(key, value).expect("room");
    }

    #[inline(always)]
    fn pop(&self) -> Option<u64> {
        self.0.pop().map(|entry| entry.value)
    }

    #[inline(always)]
    fn read(&self, key: u64) -> Option<(u64, u64)> {
        self.0.rank(key).zip(self.0.get(key))
    }

    fn memory_bytes(&self) -> Option<u64> {
        Some(self.0.memory_bytes())
    }
}

/// Both in one look.
pub(crate) struct Find(FifoIndex<u64>);

impl Contender for Find {
    const NAME: &'static str = "windlass_find";
    type Scratch = ();

    fn new(capacity: u64) -> Self {
        Find(Windlass::build(capacity))
    }

    #[inline(always)]
    fn push(&self, key: u64, value: u64) {
        self.0.push(key, value).expect("room");
    }

    #[inline(always)]
    fn pop(&self) -> Option<u64> {
        self.0.pop().map(|entry| entry.value)
    }

    #[inline(always)]
    fn read(&self, key: u64) -> Option<(u64, u64)> {
        self.0.find(key).map(|place| (place.rank, place.value))
    }

    fn memory_bytes(&self) -> Option<u64> {
        Some(self.0.memory_bytes())
    }
}

/// The reads of a chunk in one call, after its pushes and pops.
pub(crate) struct Batch(FifoIndex<u64>);

#[derive(Default)]
pub(crate) struct Scratch {
    numbers: Vec<u64>,
    keys: Vec<u64>,
    found: Vec<Option<windlass::Place<u64>>>,
}

impl Contender for Batch {
    const NAME: &'static str = "windlass_batch";
    type Scratch = Scratch;

    fn new(capacity: u64) -> Self {
        Batch(Windlass::build(capacity))
    }

    fn push(&self, key: u64, value: u64) {
        self.0.push(key, value).expect("room");
    }

    fn pop(&self) -> Option<u64> {
        self.0.pop().map(|entry| entry.value)
    }

    fn read(&self, key: u64) -> Option<(u64, u64)> {
        self.0.find(key).map(|place| (place.rank, place.value))
    }

    fn take(&self, calls: &[Call], first: u64, scratch: &mut Scratch) -> Taken {
        let mut taken = Taken::default();
        scratch.numbers.clear();
        scratch.keys.clear();
        for call in calls {
            match *call {
                Call::Read(number) => {
                    scratch.numbers.push(first + number);
                    scratch.keys.push(key(first + number));
                }
                Call::Push(number) => self.push(key(first + number), first + number),
                Call::Pop => taken.popped += self.pop().expect("an entry"),
            }
        }
        self.0.find_batch(&scratch.keys, &mut scratch.found);
        for (number, found) in scratch.numbers.iter().zip(&scratch.found) {
            taken.found(*number, found.as_ref().map(|place| (place.rank, place.value)));
        }
        taken
    }

    fn memory_bytes(&self) -> Option<u64> {
        Some(self.0.memory_bytes())
    }
}

/// Numbers and keys in the order of the numbers.
pub(crate) trait Sorted: Send + Sync + 'static {
    const NAME: &'static str;

    fn new(capacity: u64) -> Self;

    fn insert(&mut self, number: u64, key: u64);

    /// The key of the least number.
    fn pop(&mut self) -> Option<u64>;

    fn rank(&self, number: u64, key: u64) -> Option<usize>;
}

/// A hash map from a key to its number and value, and numbers sorted by `S`, under one lock for readers and writers.
pub(crate) struct Locked<S>(RwLock<Inner<S>>);

struct Inner<S> {
    map: HashMap<u64, (u64, u64), Hasher>,
    sorted: S,
    next: u64,
}

impl<S: Sorted> Contender for Locked<S> {
    const NAME: &'static str = S::NAME;
    type Scratch = ();

    fn new(capacity: u64) -> Self {
        let map = HashMap::with_capacity_and_hasher(size(capacity), hasher());
        Locked(RwLock::new(Inner { map, sorted: S::new(capacity), next: 0 }))
    }

    #[inline(always)]
    fn push(&self, key: u64, value: u64) {
        let mut inner = self.0.write().expect("no panic");
        let number = inner.next;
        inner.next += 1;
        inner.map.insert(key, (number, value));
        inner.sorted.insert(number, key);
    }

    #[inline(always)]
    fn pop(&self) -> Option<u64> {
        let mut inner = self.0.write().expect("no panic");
        let key = inner.sorted.pop()?;
        inner.map.remove(&key).map(|(_, value)| value)
    }

    #[inline(always)]
    fn read(&self, key: u64) -> Option<(u64, u64)> {
        let inner = self.0.read().expect("no panic");
        let &(number, value) = inner.map.get(&key)?;
        Some((inner.sorted.rank(number, key)? as u64, value))
    }
}

impl Sorted for OrderedSkipList<(u64, u64)> {
    const NAME: &'static str = "skiplist_spans";

    fn new(capacity: u64) -> Self {
        OrderedSkipList::with_capacity(size(capacity))
    }

    fn insert(&mut self, number: u64, key: u64) {
        OrderedSkipList::insert(self, (number, key));
    }

    fn pop(&mut self) -> Option<u64> {
        self.pop_front().map(|(_, key)| key)
    }

    fn rank(&self, number: u64, key: u64) -> Option<usize> {
        self.index_of(&(number, key))
    }
}

impl Sorted for BTreeSet<(u64, u64)> {
    const NAME: &'static str = "indexset";

    fn new(_: u64) -> Self {
        BTreeSet::new()
    }

    fn insert(&mut self, number: u64, key: u64) {
        BTreeSet::insert(self, (number, key));
    }

    fn pop(&mut self) -> Option<u64> {
        self.pop_first().map(|(_, key)| key)
    }

    fn rank(&self, number: u64, key: u64) -> Option<usize> {
        Some(BTreeSet::rank(self, &(number, key)))
    }
}

pub(crate) struct Wabi(wabi_tree::OSBTreeMap<u64, u64>);

impl Sorted for Wabi {
    const NAME: &'static str = "wabi_tree";

    fn new(_: u64) -> Self {
        Wabi(wabi_tree::OSBTreeMap::new())
    }

    fn insert(&mut self, number: u64, key: u64) {
        self.0.insert(number, key);
    }

    fn pop(&mut self) -> Option<u64> {
        self.0.pop_first().map(|(_, key)| key)
    }

    fn rank(&self, number: u64, _: u64) -> Option<usize> {
        self.0.rank_of(&number)
    }
}

pub(crate) struct Sweep(sweep_bptree::BPlusTreeMap<u64, u64, sweep_bptree::argument::count::Count>);

impl Sorted for Sweep {
    const NAME: &'static str = "sweep_bptree";

    fn new(_: u64) -> Self {
        Sweep(sweep_bptree::BPlusTreeMap::new())
    }

    fn insert(&mut self, number: u64, key: u64) {
        self.0.insert(number, key);
    }

    fn pop(&mut self) -> Option<u64> {
        self.0.remove_by_argument(0).map(|(_, key)| key)
    }

    fn rank(&self, number: u64, _: u64) -> Option<usize> {
        self.0.rank_by_argument(&number).ok()
    }
}

/// A sorted array. (As a ring: to take the first out of a `Vec` moves all the others.)
impl Sorted for VecDeque<(u64, u64)> {
    const NAME: &'static str = "map_and_vec";

    fn new(capacity: u64) -> Self {
        VecDeque::with_capacity(size(capacity))
    }

    fn insert(&mut self, number: u64, key: u64) {
        self.push_back((number, key));
    }

    fn pop(&mut self) -> Option<u64> {
        self.pop_front().map(|(_, key)| key)
    }

    fn rank(&self, number: u64, _: u64) -> Option<usize> {
        self.binary_search_by_key(&number, |entry| entry.0).ok()
    }
}

/// The same idea under a mutex: numbers in a linked hash map, less that of the first. (Right as long as nothing leaves but by a pop.)
pub(crate) struct MutexLinkedMap(Mutex<(Numbered, u64)>);

/// Number and value of each key.
type Numbered = LinkedHashMap<u64, (u64, u64), Hasher>;

impl Contender for MutexLinkedMap {
    const NAME: &'static str = "mutex_linked_map";
    type Scratch = ();

    fn new(capacity: u64) -> Self {
        let map = LinkedHashMap::with_capacity_and_hasher(size(capacity), hasher());
        MutexLinkedMap(Mutex::new((map, 0)))
    }

    #[inline(always)]
    fn push(&self, key: u64, value: u64) {
        let (map, next) = &mut *self.0.lock().expect("no panic");
        map.insert(key, (*next, value));
        *next += 1;
    }

    #[inline(always)]
    fn pop(&self) -> Option<u64> {
        let (map, _) = &mut *self.0.lock().expect("no panic");
        map.pop_front().map(|(_, (_, value))| value)
    }

    #[inline(always)]
    fn read(&self, key: u64) -> Option<(u64, u64)> {
        let (map, _) = &mut *self.0.lock().expect("no panic");
        let &(number, value) = map.get(&key)?;
        let (_, &(first, _)) = map.front()?;
        Some((number - first, value))
    }
}
