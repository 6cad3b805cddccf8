//! Against a plain queue: every call, in any order.

#![allow(clippy::expect_used)] // clippy knows tests only by their attribute

use proptest::prelude::*;
use std::{collections::VecDeque, time::Duration};
use windlass::{Entry, FifoIndex, OnPresent, PushRefused, Pushed, Tick};

#[derive(Clone, Debug)]
enum Call {
    Push(u64, u64),
    Pop,
    Remove(u64),
    PopUntil(u64),
    PopBatch(usize),
    PushBatch(Vec<u64>),
    Ask(u64),
    Maintain,
    /// Written, and restored.
    Restart,
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let key = 0..40_u64;
    let call = prop_oneof![
        8 => (key.clone(), 0..5_u64).prop_map(|(key, more)| Call::Push(key, more)),
        3 => Just(Call::Pop),
        2 => key.clone().prop_map(Call::Remove),
        1 => (0..40_u64).prop_map(Call::PopUntil),
        1 => (0..9_usize).prop_map(Call::PopBatch),
        1 => prop::collection::vec(key.clone(), 0..40).prop_map(Call::PushBatch),
        6 => key.prop_map(Call::Ask),
        1 => Just(Call::Maintain),
        1 => Just(Call::Restart),
    ];
    prop::collection::vec(call, 0..400)
}

struct Plain {
    entries: VecDeque<(u64, u64, u64, u64)>,
    on_present: OnPresent,
    capacity: usize,
    now: u64,
    value: u64,
}

impl Plain {
    fn place(&self, key: u64) -> Option<usize> {
        self.entries.iter().position(|entry| entry.1 == key)
    }

    /// `seq`: what the index has given.
    fn push(&mut self, key: u64, seq: Option<u64>) -> Result<Pushed, PushRefused> {
        let seq = || seq.expect("a number was given");
        let entry = |seq| (seq, key, self.value, self.now);
        match (self.place(key), self.on_present) {
            (Some(at), OnPresent::Keep) => Ok(Pushed::Present(self.entries[at].0)),
            (Some(at), OnPresent::MoveToTail) => {
                let entry = entry(seq());
                self.entries.remove(at);
                self.entries.push_back(entry);
                Ok(Pushed::Moved(entry.0))
            }
            (None, _) if self.entries.len() == self.capacity => Err(PushRefused::Full),
            (None, _) => {
                let entry = entry(seq());
                self.entries.push_back(entry);
                Ok(Pushed::New(entry.0))
            }
        }
    }
}

fn plain(entry: Entry<u64>) -> (u64, u64, u64, u64) {
    (entry.seq, entry.key.as_u64().expect("a number"), entry.value, entry.pushed_at.0)
}

fn compare(calls: Vec<Call>, on_present: OnPresent, capacity: usize) {
    let builder = FifoIndex::builder().capacity(capacity).on_present(on_present);
    let mut index = builder.clone().build().expect("valid");
    let mut twin = Plain { entries: VecDeque::new(), on_present, capacity, now: 0, value: 0 };
    for call in calls {
        match call {
            Call::Push(key, more) => {
                twin.now += more;
                twin.value += 1;
                let pushed = index.push_at(key, twin.value, Tick(twin.now));
                assert_eq!(pushed, twin.push(key, pushed.ok().map(Pushed::seq)));
            }
            Call::PushBatch(keys) => {
                twin.value += 1;
                let mut outcomes = Vec::new();
                let entries = keys.iter().map(|key| (*key, twin.value));
                index.push_batch_at(entries, Tick(twin.now), &mut outcomes);
                assert_eq!(outcomes.len(), keys.len());
                for (key, pushed) in keys.into_iter().zip(outcomes) {
                    assert_eq!(pushed, twin.push(key, pushed.ok().map(Pushed::seq)));
                }
            }
            Call::Pop => {
                assert_eq!(index.peek().map(plain), twin.entries.front().copied());
                assert_eq!(index.pop().map(plain), twin.entries.pop_front());
            }
            Call::Remove(key) => {
                let expected = twin.place(key).and_then(|at| twin.entries.remove(at));
                assert_eq!(index.remove(key).map(plain), expected);
            }
            Call::PopUntil(ago) => {
                let until = twin.now.saturating_sub(ago);
                let due = twin.entries.front().is_some_and(|entry| entry.3 <= until);
                let expected = if due { twin.entries.pop_front() } else { None };
                assert_eq!(index.pop_until(Tick(until)).map(plain), expected);
            }
            Call::PopBatch(n) => {
                let mut entries = Vec::new();
                index.pop_batch(n, &mut entries);
                let n = n.min(twin.entries.len());
                let popped: Vec<_> = twin.entries.drain(..n).collect();
                assert_eq!(entries.into_iter().map(plain).collect::<Vec<_>>(), popped);
            }
            Call::Ask(key) => {
                let at = twin.place(key);
                assert_eq!(index.rank(key), at.map(|at| at as u64));
                assert_eq!(index.get(key), at.map(|at| twin.entries[at].2));
                let place = index.find(key).map(|place| (place.seq, place.rank, place.pushed_at.0));
                assert_eq!(place, at.map(|at| (twin.entries[at].0, at as u64, twin.entries[at].3)));
                if let Some(at) = at {
                    assert_eq!(index.at_rank(at as u64).map(plain), Some(twin.entries[at]));
                    assert_eq!(index.key_at(twin.entries[at].0).and_then(|key| key.as_u64()), Some(key));
                    let rest: Vec<_> = index.iter_from(twin.entries[at].0).map(plain).collect();
                    assert_eq!(rest, twin.entries.range(at..).copied().collect::<Vec<_>>());
                }
                assert_eq!(index.at_rank(twin.entries.len() as u64), None);
                let time = twin.now.saturating_sub(key);
                let before = twin.entries.iter().filter(|entry| entry.3 < time).count();
                assert_eq!(index.count_before(Tick(time)), before as u64);
            }
            Call::Maintain => drop(index.maintain_at(Tick(0), 4)),
            Call::Restart => {
                let (mut bytes, tail) = (Vec::new(), index.stats().tail);
                let encode = |value: &u64, out: &mut Vec<u8>| out.extend_from_slice(&value.to_le_bytes());
                index.snapshot_with(&mut bytes, Tick(0), Duration::ZERO, encode).expect("memory");
                let decode = |value: &[u8]| value.try_into().ok().map(u64::from_le_bytes);
                let restored = builder.clone().restore_with(&bytes[..], Duration::ZERO, decode);
                index = restored.expect("as it was written").structure;
                assert_eq!(index.stats().tail, tail, "numbers go on");
            }
        }
        assert_eq!(index.len(), twin.entries.len() as u64);
        let stats = index.stats();
        assert_eq!(stats.tail - stats.head - stats.holes, stats.len);
    }
    let keys: Vec<u64> = (0..40).collect();
    let (mut ranks, mut places) = (Vec::new(), Vec::new());
    index.rank_batch(&keys, &mut ranks);
    index.find_batch(&keys, &mut places);
    for (key, (rank, place)) in keys.into_iter().zip(ranks.into_iter().zip(places)) {
        let at = twin.place(key);
        assert_eq!(rank, at.map(|at| at as u64));
        assert_eq!(place.map(|place| place.value), at.map(|at| twin.entries[at].2));
    }
    assert_eq!(index.iter().map(plain).collect::<Vec<_>>(), Vec::from(twin.entries));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 64 } else { 256 }))]

    #[test]
    // (With so many that the holes of what is removed find room as well.)
    fn present_keys_are_kept(calls in calls(), capacity in prop_oneof![1..50_usize, 1000..1050_usize]) {
        compare(calls, OnPresent::Keep, capacity);
    }

    #[test]
    // (So many that their holes find room as well.)
    fn present_keys_move(calls in calls(), capacity in 1000..1050_usize) {
        compare(calls, OnPresent::MoveToTail, capacity);
    }
}
