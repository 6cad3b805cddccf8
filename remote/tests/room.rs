//! `RemoteRoom`.

use crate::servers::{Cluster, Server, available};
use std::{
    collections::{HashSet, VecDeque},
    time::Duration,
};
use windlass_remote::{ErrorKind, Remote, RemoteRoom};

const EVERY: u64 = 1000;

/// Pseudo-random numbers (SplitMix64), the same every time.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A room by its definition.
#[derive(Default)]
struct Room {
    seen: HashSet<Vec<u8>>,
    waiting: VecDeque<Vec<u8>>,
    due: Option<u64>,
    now: u64,
}

impl Room {
    fn arrive(&mut self, keys: &[&[u8]], at: u64) -> Vec<Option<u64>> {
        self.now = self.now.max(at);
        let mut due = self.due.unwrap_or(self.now + EVERY);
        while due <= self.now {
            self.waiting.pop_front();
            due += EVERY;
        }
        for &key in keys {
            if self.seen.insert(key.to_vec()) {
                self.waiting.push_back(key.to_vec());
            }
        }
        self.due = (!self.seen.is_empty()).then_some(due);
        let rank = |key: &&[u8]| self.waiting.iter().position(|other| other == key).map(|rank| rank as u64);
        keys.iter().map(rank).collect()
    }
}

/// Times that stand, go on, jump and go back; keys that come anew and again; batches of none and of some.
#[tokio::test]
async fn as_defined() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = Remote::connect(&server.address()).await.expect("it is there");
    for seed in 0..4 {
        let name = format!("room-{seed}");
        let room = RemoteRoom::new(&remote, &name, Duration::from_micros(EVERY)).expect("valid");
        let (mut state, mut expected, mut at) = (seed, Room::default(), 1_795_348_800_123_457);
        let (mut let_in, mut empty) = (0, 0);
        for _ in 0..400 {
            at = match random(&mut state) % 10 {
                0 => at - random(&mut state) % 3000,
                1 => at + random(&mut state) % 30_000,
                2 => (at / EVERY + 1) * EVERY,
                _ => at + random(&mut state) % 900,
            };
            let keys: Vec<Vec<u8>> = (0..random(&mut state) % 4)
                .map(|_| format!("key-{}", random(&mut state) % 300).into_bytes())
                .collect();
            let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            let view = room.arrive_at(&keys, at).await.expect("an answer");
            assert_eq!(view.ranks, expected.arrive(&keys, at), "{seed}: {keys:?} at {at}");
            let numbers = (expected.seen.len() as u64, expected.waiting.len() as u64);
            assert_eq!((view.keys, view.waiting), numbers, "{seed}: at {at}");
            let_in += view.ranks.iter().filter(|rank| rank.is_none()).count();
            empty += u32::from(view.waiting == 0);
        }
        assert!(let_in > 20 && empty > 5, "{let_in} let in, {empty} times empty");
        assert!(
            server
                .cli(&["PTTL", &format!("wl:{{{name}:}}:r:seen")])
                .trim()
                .parse::<i64>()
                .is_ok_and(|left| left > 86_000_000)
        );
    }
}

/// Of many that come to a cluster at the same time, each in an order of its own, all are told one order.
#[tokio::test(flavor = "multi_thread")]
async fn one_order_for_all() {
    if !available() {
        return;
    }
    let cluster = Cluster::start(Duration::from_secs(5));
    let tasks: Vec<_> = (0..8_usize)
        .map(|task| {
            let address = cluster.address();
            tokio::spawn(async move {
                let remote = Remote::builder(&address)
                    .timeout(Duration::from_secs(20))
                    .connect()
                    .await
                    .expect("it is there");
                let room = RemoteRoom::new(&remote, "a", Duration::from_secs(3600)).expect("valid");
                // 7 and 1500 have no common divisor: each comes once.
                let order: Vec<usize> = (0..1500).map(|i| (task * 181 + i * 7) % 1500).collect();
                let mut ranks = vec![None; 1500];
                for some in order.chunks(700) {
                    let keys: Vec<String> = some.iter().map(|key| format!("{{{key}")).collect();
                    let view = room.arrive_batch(&keys).await.expect("an answer");
                    some.iter().zip(view.ranks).for_each(|(&key, rank)| ranks[key] = rank);
                }
                assert_eq!(room.arrive_batch(&[""; 0]).await.expect("an answer").waiting, 1500);
                ranks
            })
        })
        .collect();
    let mut all = Vec::new();
    for task in tasks {
        all.push(task.await.expect("no failure"));
    }
    assert!(all.iter().all(|ranks| *ranks == all[0]), "one order");
    let places: HashSet<Option<u64>> = all[0].iter().copied().collect();
    assert!(places.len() == 1500 && !places.contains(&None), "{}", places.len());
}

#[tokio::test]
async fn what_is_wrong_is_said() {
    if !available() {
        return;
    }
    let server = Server::start(&[]);
    let remote = Remote::connect(&server.address()).await.expect("it is there");
    for every in [Duration::ZERO, Duration::from_nanos(1500), Duration::from_secs(367 * 86_400)] {
        let error = RemoteRoom::new(&remote, "a", every).expect_err("refused");
        assert!(error.kind() == ErrorKind::Config && error.to_string().contains("every"), "{error}");
    }
    let second = Duration::from_secs(1);
    assert_eq!(RemoteRoom::new(&remote, "a:b", second).expect_err("refused").kind(), ErrorKind::Config);
    // A room to which nobody has come leaves nothing behind.
    let room = RemoteRoom::new(&remote, "a", second).expect("valid");
    room.arrive_batch(&[""; 0]).await.expect("an answer");
    assert_eq!(server.cli(&["DBSIZE"]).trim(), "0");
    server.cli(&["SET", "wl:{a:}:r:order", "x"]);
    let error = room.arrive("ann").await.expect_err("of another type");
    assert_eq!((error.kind(), error.key()), (ErrorKind::WrongType, Some(&b"wl:{a:}:r:state"[..])), "{error}");
    server.cli(&["ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all", "-@scripting"]);
    let remote = Remote::connect(&format!("redis://app:secret@{}", server.at())).await.expect("it is there");
    assert_eq!(RemoteRoom::new(&remote, "a", second).expect_err("refused").kind(), ErrorKind::Unsupported);
}
