//! Calls that bytes tell, against plain twins: what a fuzzer drives, and in the tests a generator of bytes with a fixed seed.

use super::common::twin::{Claimed, Twin};
use std::{collections::VecDeque, time::Duration};
use windlass::{
    Claim, Dedup, FifoIndex, Identity, OnPresent, Pushed, Refresh, Restored, Seed, Tick, Window,
    WindowedCounter,
};

/// Numbers, until the bytes are at their end.
struct Told<'b>(&'b [u8]);

impl Told<'_> {
    fn byte(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some((*first).into())
    }

    /// Small, or seldom as large as two bytes.
    fn number(&mut self) -> Option<u64> {
        match self.byte()? {
            255 => Some(self.byte()? << 8 | self.byte()?),
            small => Some(small),
        }
    }
}

/// An id, a queue or a counter: the first byte says which.
pub(crate) fn drive(bytes: &[u8]) {
    let mut told = Told(bytes);
    // (The end of the bytes ends it.)
    let _ = match told.byte().map(|byte| byte % 3) {
        Some(0) => ids(&mut told),
        Some(1) => queue(&mut told),
        _ => counts(&mut told),
    };
}

fn ids(told: &mut Told<'_>) -> Option<()> {
    let (window, lateness) = (1 + told.number()?, told.number()?);
    let kind = told.byte()?;
    let refresh = if kind & 1 == 0 { Refresh::Never } else { Refresh::OnDuplicate };
    let identity = if kind & 2 == 0 { Identity::Hash } else { Identity::Bytes };
    let builder = Dedup::builder(Window::last_n(window)).lateness(Window::last_n(lateness)).refresh(refresh);
    let builder = builder.identity(identity).seed(Seed(7));
    // Bounded in such a way that nothing is refused: there are 256 ids.
    let builder = if kind & 4 == 0 { builder.capacity(400) } else { builder.capacity(4).max_memory(8 << 20) };
    let mut dedup = builder.clone().build().expect("valid");
    let (mut twin, mut newest, mut tickets) = (Twin::new(window, lateness, refresh), 1000, Vec::new());
    let name = |id: u64| format!("id-{id}");
    loop {
        let (what, id) = (told.byte()?, told.byte()?);
        // Ahead, or late.
        let step = told.number()?;
        let now = if what & 64 == 0 { newest + step / 4 } else { newest - step.min(newest) };
        // The first tick that is seen may be any.
        let seen = twin.seen();
        match what % 16 {
            0..6 => {
                assert_eq!(
                    dedup.observe_at(name(id), Tick(now)),
                    Ok(twin.observe(id, now)),
                    "observe {id} at {now}"
                );
                newest = if seen { newest.max(now) } else { now };
            }
            6 => assert_eq!(
                dedup.contains_at(name(id), Tick(now)),
                twin.contains(id, now),
                "contains {id} at {now}"
            ),
            7 => {
                assert_eq!(dedup.forget_at(name(id), Tick(now)), twin.forget(id, now), "forget {id} at {now}")
            }
            8 | 9 => {
                let lease = 1 + told.number()? % window;
                let ours = dedup.claim_at(name(id), Tick(now), Window::last_n(lease)).expect("room");
                newest = if seen { newest.max(now) } else { now };
                match (ours, twin.claim(id, now, lease)) {
                    (Claim::Claimed(ours), Claimed::Ours(twins)) => tickets.push((ours, twins)),
                    (Claim::Duplicate { first_seen }, Claimed::Duplicate(at)) => {
                        assert_eq!(first_seen, Some(at))
                    }
                    (Claim::InProgress { until }, Claimed::InProgress(end)) => assert_eq!(until, end),
                    (ours, twins) => panic!("claim {id} at {now}: {ours:?}, not {twins:?}"),
                }
            }
            10 | 11 => {
                let ticket =
                    tickets.len().checked_sub(1 + usize::try_from(id).expect("a byte")).map(|i| tickets[i]);
                match (ticket, what % 16) {
                    (Some((ours, twins)), 10) => assert_eq!(dedup.commit(ours), twin.commit(twins), "commit"),
                    (Some((ours, twins)), _) => assert_eq!(dedup.abort(ours), twin.abort(twins), "abort"),
                    (None, _) => {}
                }
            }
            12 => assert_eq!(dedup.live_at(Tick(now)), twin.live(now), "live at {now}"),
            13 if seen => drop(dedup.maintain_at(Tick(now.min(newest)), 8)),
            13 => {}
            14 => {
                dedup.reset().expect("memory");
                twin.reset();
            }
            _ => {
                let mut bytes = Vec::new();
                dedup.snapshot_at(&mut bytes, Tick(newest), Duration::ZERO).expect("memory");
                let Restored { structure, resumed, .. } = builder
                    .clone()
                    .restore(&bytes[..], Duration::ZERO)
                    .unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(resumed, Tick(newest));
                dedup = structure;
                // Tickets of ids that are known by where they lay are good for nothing.
                if identity == Identity::Bytes {
                    tickets.clear();
                }
            }
        }
    }
}

fn queue(told: &mut Told<'_>) -> Option<()> {
    let on_present = if told.byte()? & 1 == 0 { OnPresent::Keep } else { OnPresent::MoveToTail };
    let builder = FifoIndex::builder().capacity(300).max_memory(16 << 20).on_present(on_present);
    let mut index = builder.clone().build::<Vec<u8>>().expect("valid");
    let (mut plain, mut time) = (VecDeque::<(u64, u64)>::new(), 0);
    loop {
        let (what, key) = (told.byte()?, told.byte()?);
        let place = plain.iter().position(|entry| entry.0 == key);
        match what % 8 {
            0..3 => {
                time += what / 8;
                match (index.push_at(key, vec![7; 3], Tick(time)).expect("room"), place, on_present) {
                    (Pushed::New(_), None, _) => plain.push_back((key, time)),
                    (Pushed::Present(_), Some(_), OnPresent::Keep) => {}
                    (Pushed::Moved(_), Some(at), OnPresent::MoveToTail) => {
                        plain.remove(at);
                        plain.push_back((key, time));
                    }
                    (pushed, ..) => panic!("{key} at {place:?}: {pushed:?}"),
                }
            }
            3 => {
                let popped =
                    index.pop().map(|entry| (entry.key.as_u64().expect("a number"), entry.pushed_at.0));
                assert_eq!(popped, plain.pop_front());
            }
            4 => {
                assert_eq!(index.rank(key), place.map(|at| at as u64), "rank of {key}");
                let before = plain.iter().filter(|entry| entry.1 < key).count();
                assert_eq!(index.count_before(Tick(key)), before as u64);
            }
            5 => {
                let at = index.at_rank(key).and_then(|entry| entry.key.as_u64());
                let expected = plain.get(usize::try_from(key).expect("a byte")).map(|entry| entry.0);
                assert_eq!((at, index.len()), (expected, plain.len() as u64));
            }
            6 => drop(index.maintain_at(Tick(0), 8)),
            _ => {
                let mut bytes = Vec::new();
                index.snapshot_at(&mut bytes, Tick(time), Duration::ZERO).expect("memory");
                let restored = builder.clone().restore::<Vec<u8>>(&bytes[..], Duration::ZERO);
                index = restored.unwrap_or_else(|error| panic!("{error}")).structure;
            }
        }
    }
}

fn counts(told: &mut Told<'_>) -> Option<()> {
    let (pane, panes, late) = (1 + told.byte()? % 16, 1 + told.byte()? % 20, told.byte()? % 8);
    let (window, lateness) = (Window::last_n(pane * panes), Window::last_n(pane * late));
    let builder = WindowedCounter::builder(window, Window::last_n(pane)).lateness(lateness);
    let builder = match told.byte()? & 1 {
        0 => builder.capacity(400),
        _ => builder.capacity(4).max_memory(32 << 20),
    };
    let mut counter = builder.clone().build().expect("valid");
    // Key, pane and number; and the newest pane.
    let (mut plain, mut now, mut newest) = (Vec::<(u64, u64, u64)>::new(), 1000, None);
    loop {
        let (what, key) = (told.byte()?, told.byte()?);
        now += told.byte()? / 8;
        match what % 8 {
            0..4 => {
                let n = what / 8;
                assert_eq!(counter.add_at(key, n, Tick(now)), windlass::Added::Counted);
                newest = newest.max(Some(now / pane));
                plain.push((key, now / pane, n));
            }
            4 | 5 => {
                let live = |of: u64| of <= now / pane && of + panes > now / pane;
                let count = |all: bool| -> u64 {
                    plain.iter().filter(|add| (all || add.0 == key) && live(add.1)).map(|add| add.2).sum()
                };
                assert_eq!(counter.count_at(key, Tick(now)), count(false), "count of {key} at {now}");
                assert_eq!(counter.total_at(Tick(now)), count(true), "total at {now}");
            }
            6 => drop(counter.maintain_at(Tick(now), 8)),
            _ => {
                let mut bytes = Vec::new();
                counter.snapshot_at(&mut bytes, Tick(now), Duration::ZERO).expect("memory");
                let restored = builder.clone().restore(&bytes[..], Duration::ZERO);
                counter = restored.unwrap_or_else(|error| panic!("{error}")).structure;
            }
        }
    }
}

#[cfg(test)]
#[test]
fn as_their_twins() {
    let mut random = super::common::Random(5);
    for round in 0..1500_u64 {
        let mut bytes: Vec<u8> = (0..random.below(700)).map(|_| random.next().to_le_bytes()[0]).collect();
        if let Some(first) = bytes.first_mut() {
            *first = round.to_le_bytes()[0];
        }
        let told = std::panic::catch_unwind(|| drive(&bytes));
        assert!(told.is_ok(), "round {round}: {bytes:?}");
    }
}
