//! What cannot be built, what is refused, and what comes back of keys.

use std::time::Duration;
use windlass::{Added, KeyHash, Namespaced, Seed, Tick, TopK, TopKBuilder, TopKey, Window};

const SECOND: Duration = Duration::from_secs(1);

#[track_caller]
fn refused(builder: &TopKBuilder, field: &str, limit: &str) {
    let error = builder.clone().build().expect_err("out of range");
    assert_eq!(error.field, field, "{error}");
    assert!(error.limit.contains(limit), "{error}");
}

#[test]
fn settings() {
    let top = |window, pane, k| TopK::builder(SECOND * window, SECOND * pane, k).capacity(10);
    assert!(top(60, 10, 10).build().is_ok());
    refused(&top(60, 10, 0), "k", "1 to 10, the capacity");
    refused(&top(60, 10, 11), "k", "1 to 10");
    refused(&top(60, 7, 5), "pane", "a divisor of the window");
    refused(&top(60, 120, 5), "pane", "a divisor of the window");
    refused(&top(60, 0, 5), "pane", "1 to");
    refused(&top(60, 10, 5).capacity(0), "capacity", "1 to");
    refused(&top(60, 10, 5).max_memory(1000), "max_memory", "for the capacity");
    refused(&top(60, 10, 5).lateness(Window::last_n(3)), "lateness", "a span of time");
    refused(&top(60, 10, 5).refresh_every(Window::last_n(3)), "refresh_every", "a span of time");
    refused(&top(60, 10, 5).clock(windlass::Clock::events()), "clock", "one of time");
    assert!(top(60, 10, 5).memory_bytes().expect("valid") > 0);
}

#[test]
fn what_it_was_built_as() {
    let top = TopK::builder(SECOND * 60, SECOND * 10, 7).capacity(10).seed(Seed(3)).build().expect("valid");
    assert_eq!((top.window(), top.pane()), (Window::time(SECOND * 60), Window::time(SECOND * 10)));
    assert_eq!((top.seed(), top.k()), (Seed(3), 7));
    let nothing = top.snapshot();
    assert!(nothing.rows.is_empty() && !nothing.certified && nothing.tail == u64::MAX);
    let list = top.refresh_at(Tick(7));
    assert!(list.rows.is_empty() && list.certified && list.tail == 0);
    assert!(top.top_complete_at(Tick(u64::MAX)).certified);
    assert!(!top.maintain_at(Tick(u64::MAX), 10));
    assert!(format!("{top:?}").contains("TopK"));
}

fn small(k: usize) -> TopK {
    TopK::builder(Window::last_n(60), Window::last_n(10), k)
        .capacity(100)
        .seed(Seed(1))
        .build()
        .expect("valid")
}

/// Keys of all kinds, as they came; of equal counts in their order.
#[test]
fn keys() {
    let top = small(10);
    let hash = KeyHash { hi: 5, lo: 9 };
    let now = Tick(3);
    top.add_at("b", 2, now);
    top.add_at(b"10".as_slice(), 2, now);
    top.add_at("9", 2, now);
    top.add_at(10_u64, 2, now);
    top.add_at(9_u64, 2, now);
    top.add_at(hash, 2, now);
    top.add_at(Namespaced("x", "b"), 3, now);
    top.add_at(Namespaced("x", 9_u64), 1, now);
    top.add_at("", 4, now);
    top.add_at(KeyHash { hi: 0, lo: 0 }, 5, now);
    let list = top.refresh_at(now);
    let bytes = |text: &str| TopKey::Bytes(text.as_bytes().into());
    let in_x = |key| TopKey::Namespaced(b"x".as_slice().into(), Box::new(key));
    let keys: Vec<_> = list.rows.iter().map(|row| row.key.clone()).collect();
    assert_eq!(
        keys,
        [
            TopKey::Hash(0, 0),
            bytes(""),
            in_x(bytes("b")),
            bytes("10"),
            bytes("9"),
            bytes("b"),
            TopKey::Number(9),
            TopKey::Number(10),
            TopKey::Hash(5, 9),
            in_x(TopKey::Number(9)),
        ]
    );
    assert!(list.certified);
    let shown: Vec<_> = keys.iter().map(ToString::to_string).collect();
    assert_eq!((shown[2].as_str(), shown[3].as_str(), shown[7].as_str()), ("x: b", "10", "10"));
    assert_eq!(shown[8], "00000000000000050000000000000009");
    assert_eq!(
        (keys[3].bytes(), keys[7].number(), keys[7].bytes()),
        (Some(b"10".as_slice()), Some(10), None)
    );
    assert_eq!((top.count_at("b", now), top.total_at(now), top.count_at(10_u64, now)), (2, 25, 2));
}

/// A key that is too long is in the total, and lists know that it may be any of the hottest.
#[test]
fn too_long() {
    let top = small(2);
    let (longest, longer) = (vec![b'x'; TopK::MAX_LEN], vec![b'x'; TopK::MAX_LEN + 1]);
    assert_eq!(top.add_at(&longest, 5, Tick(1)), Added::Counted);
    top.add_at("a", 3, Tick(1));
    let list = top.top_at(Tick(1));
    assert_eq!(list.rows[0].key.bytes().expect("bytes").len(), TopK::MAX_LEN);
    assert!(list.certified);
    assert_eq!(top.add_at(&longer, 2, Tick(2)), Added::TooLong);
    assert!(top.top_at(Tick(2)).certified, "it has less than the last");
    assert_eq!(top.add_at(&longer, 1, Tick(2)), Added::TooLong);
    let list = top.top_at(Tick(2));
    assert!(!list.certified && list.tail == 3);
    assert_eq!((top.total_at(Tick(2)), top.stats().counter.refused), (11, 2));
    let tally = top.add_events(&[(longer, 1, Tick(2)), (b"b".to_vec(), 1, Tick(2))]);
    assert_eq!((tally.refused, tally.counted), (1, 1));
    // When they have left the window the list is exact again.
    top.add_at("a", 1, Tick(61));
    assert!(top.top_at(Tick(62)).certified);
}

/// More bytes of keys than there is room for: refused, and told.
#[test]
fn no_room_for_bytes() {
    let top = small(2);
    let key = |i: u64| [i.to_string().into_bytes(), vec![b'y'; 60_000]].concat();
    let added: Vec<_> = (0..100).map(|i| top.add_at(key(i), 1, Tick(1))).collect();
    let counted = added.iter().filter(|&&added| added == Added::Counted).count();
    assert!((20..100).contains(&counted), "{counted}");
    let again: Vec<_> = (0..100).map(|i| top.add_at(key(i), 1, Tick(2))).collect();
    assert_eq!(added, again, "one or the other");
    assert!(!top.top_at(Tick(2)).certified);
    assert!(top.memory_bytes() < 20 << 20);
}

#[test]
fn saturation() {
    let top = small(2);
    top.add_at("a", u64::MAX, Tick(0));
    top.add_at("b", 7, Tick(0));
    let list = top.top_at(Tick(0));
    assert_eq!((list.rows[0].count, list.rows[0].lower, list.rows[0].upper), (u64::MAX, 1 << 63, u64::MAX));
    assert_eq!(list.rows[1].count, 7);
    assert!(!list.certified);
    assert_eq!(list.total, u64::MAX);
}

/// Ticks that are refused, late ones, and lists of what is kept no more.
#[test]
fn ticks() {
    let top = TopK::builder(Window::last_n(60), Window::last_n(10), 2).capacity(100);
    let top = top.max_jump(Window::last_n(100)).build().expect("valid");
    top.add_at("a", 1, Tick(200));
    assert_eq!(top.add_at("a", 1, Tick(1000)), Added::Jump);
    assert_eq!(top.add_at("a", 1, Tick(100)), Added::Late);
    let list = top.top_at(Tick(120));
    assert!(!list.certified && list.tail == u64::MAX);
    assert_eq!((top.stats().counter.late, top.stats().counter.jumps), (1, 1));
    let list = top.top_at(Tick(259));
    assert!(list.certified);
    assert_eq!(
        (list.start, list.end, list.as_of, list.age(Tick(300))),
        (Tick(200), Tick(260), Tick(259), 41)
    );
}

/// Says that it is a number, and is hashed in a way of its own.
struct Other(u64);

impl windlass::Key for Other {
    fn key_hash(&self, seed: Seed) -> KeyHash {
        seed.hash(self.0.to_be_bytes())
    }

    fn with_bytes<R>(&self, f: impl FnOnce(u32, &[u8]) -> R) -> R {
        f(1, &self.0.to_le_bytes())
    }
}

/// They follow from their hash; what only calls itself one does not.
#[test]
fn numbers_take_no_bytes() {
    let top = TopK::builder(Window::last_n(600), Window::last_n(100), 3).capacity(100);
    let top = top.build().expect("valid");
    for (key, n) in [(0, 4), (u64::MAX, 3)] {
        assert_eq!(top.add_at(key, n, Tick(5)), Added::Counted);
        assert_eq!(top.add_at(key, n, Tick(250)), Added::Counted);
    }
    assert_eq!(top.stats().key_bytes, 0);
    assert_eq!(top.add_at(Other(7), 5, Tick(250)), Added::Counted);
    assert!(top.stats().key_bytes > 0);
    let rows: Vec<_> = top.top_at(Tick(250)).rows.into_iter().map(|row| (row.key, row.count)).collect();
    assert_eq!(rows, [(TopKey::Number(0), 8), (TopKey::Number(u64::MAX), 6), (TopKey::Number(7), 5)]);
}
