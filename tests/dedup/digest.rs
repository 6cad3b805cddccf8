//! What two can be compared by.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use crate::common::Random;
use std::time::Duration;
use windlass::{Claim, Dedup, DedupBuilder, Identity, Seed, Tick, Window};

fn last_n(n: u64, identity: Identity) -> DedupBuilder {
    Dedup::builder(Window::last_n(n)).capacity(100).seed(Seed(7)).identity(identity)
}

fn both(test: impl Fn(Identity)) {
    [Identity::Hash, Identity::Bytes].into_iter().for_each(test);
}

/// One that grows, one that is large, and one that was restored between, with what was observed in another order at each tick.
#[test]
fn of_any_size_and_order() {
    both(|identity| {
        let growing = last_n(5000, identity).max_memory(16 << 20).build().expect("valid");
        let other = last_n(5000, identity).max_memory(64 << 20).build().expect("valid");
        let mut random = Random(5);
        let mut restored = None;
        for now in 1..20_000_u64 {
            let ids = [random.next() % 9000, random.next() % 9000, random.next() % 9000];
            for id in ids {
                assert!(growing.observe_at(format!("id-{id}"), Tick(now)).is_ok());
            }
            for id in ids.iter().rev() {
                assert!(other.observe_at(format!("id-{id}"), Tick(now)).is_ok());
            }
            if now == 7000 {
                let mut bytes = Vec::new();
                growing.snapshot_at(&mut bytes, Tick(now), Duration::ZERO).expect("memory");
                let builder = last_n(5000, identity).max_memory(16 << 20);
                let again = builder.restore(&bytes[..], Duration::ZERO).expect("its own").structure;
                assert_eq!(again.digest_at(Tick(now)), growing.digest_at(Tick(now)));
                restored = Some(again);
            } else if let Some(restored) = &restored {
                for id in ids {
                    assert!(restored.observe_at(format!("id-{id}"), Tick(now)).is_ok());
                }
            }
            if now % 2500 == 0 {
                let digest = growing.digest_at(Tick(now));
                assert_eq!(other.digest_at(Tick(now)), digest, "{identity:?} at {now}");
                if let Some(restored) = &restored {
                    assert_eq!(restored.digest_at(Tick(now)), digest, "{identity:?}, restored, at {now}");
                }
            }
        }
        assert!(growing.stats().grown > 0);
    });
}

/// Each difference that a call can notice.
#[test]
fn it_differs() {
    both(|identity| {
        let dedup = last_n(100, identity).build().expect("valid");
        let mut before = dedup.digest_at(Tick(1));
        let mut changes = |what: &str| {
            let now = dedup.digest_at(Tick(5));
            assert_ne!(now, std::mem::replace(&mut before, now), "{identity:?}: {what}");
        };
        assert!(dedup.observe_at("a", Tick(3)).is_ok());
        changes("an id");
        assert!(dedup.observe_at("b", Tick(4)).is_ok());
        changes("another one");
        let Ok(Claim::Claimed(ticket)) = dedup.claim_at("c", Tick(5), Window::last_n(50)) else {
            panic!("it is new")
        };
        changes("a claim");
        assert!(dedup.commit(ticket));
        changes("that is committed");
        assert!(dedup.forget_at("a", Tick(5)));
        changes("an id less");
        let (early, late) = (dedup.digest_at(Tick(5)), dedup.digest_at(Tick(104)));
        assert_ne!(early, late, "b is over, c is not");
        assert_eq!(late, dedup.digest_at(Tick(104)), "it changes nothing");
        // Of the same ids, at other times.
        let same = |at| {
            let dedup = last_n(100, identity).build().expect("valid");
            assert!(dedup.observe_at("first", Tick(1)).is_ok());
            assert!(dedup.observe_at("a", Tick(at)).is_ok());
            dedup.digest_at(Tick(9))
        };
        assert_ne!(same(2), same(3));
        assert_eq!(same(2), same(2));
    });
}
