//! Bad settings are told in one line that names field, value and limit; after that nothing fails, whatever the ticks and
//! the keys.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use std::time::Duration;

use windlass::{
    Claim, Clock, ConfigError, Dedup, DedupBuilder, DedupStats, Key, KeyHash, OnFull, Outcome, Refresh,
    Refused, Seed, Tick, Ticket, Verdict, Window,
};

const MAX: u64 = Window::MAX_TICKS;

/// Stamps end 2^58 nanoseconds after the first, or 2^48 events.
const RANGE: u64 = 1 << 58;

fn refused(builder: DedupBuilder) -> ConfigError {
    match builder.build() {
        Ok(_) => panic!("it was built"),
        Err(error) => error,
    }
}

/// The whole text, in one line.
#[track_caller]
fn says(builder: DedupBuilder, text: &str) {
    let error = refused(builder);
    assert_eq!(error.to_string(), text);
    assert_eq!(text.lines().count(), 1);
    assert_eq!(text, format!("{}: {} is out of range: {}", error.field, error.value, error.limit));
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[test]
fn window() {
    says(Dedup::builder(Duration::ZERO), &format!("window: 0 ns is out of range: 1 to {MAX} ns"));
    says(Dedup::builder(Window::last_n(0)), &format!("window: 0 events is out of range: 1 to {MAX} events"));
    says(
        Dedup::builder(Duration::from_nanos(MAX + 1)),
        &format!("window: {} ns is out of range: 1 to {MAX} ns", MAX + 1),
    );
    says(
        Dedup::builder(Window::last_n(u64::MAX)),
        &format!("window: 18446744073709551615 events is out of range: 1 to {MAX} events"),
    );
    says(
        Dedup::builder(Duration::MAX),
        &format!("window: 18446744073709551615999999999 ns is out of range: 1 to {MAX} ns"),
    );
    for window in [
        Window::last_n(1),
        Window::last_n(MAX),
        Duration::from_nanos(1).into(),
        Duration::from_nanos(MAX).into(),
    ] {
        assert!(Dedup::builder(window).capacity(1).build().is_ok(), "{window}");
    }
}

#[test]
fn lateness() {
    let minute = || Dedup::builder(seconds(60)).capacity(1);
    says(
        minute().lateness(Duration::from_nanos(MAX + 1)),
        &format!("lateness: {} ns is out of range: 0 to {MAX} ns", MAX + 1),
    );
    says(
        minute().lateness(Duration::from_nanos(MAX)),
        &format!("lateness: {MAX} ns is out of range: at most {MAX} ticks less the window (60000000000)"),
    );
    says(
        Dedup::builder(Window::last_n(MAX)).lateness(Window::last_n(1)),
        &format!("lateness: 1 events is out of range: at most {MAX} ticks less the window ({MAX})"),
    );
    says(
        minute().lateness(Window::last_n(5)),
        "lateness: 5 events is out of range: the window is a span of time, so this must be one",
    );
    says(
        Dedup::builder(Window::last_n(10)).lateness(Duration::from_nanos(5)),
        "lateness: 5 ns is out of range: the window is a number of events, so this must be one",
    );
    // Not even of length 0: it would hide a mistake.
    says(
        minute().lateness(Window::last_n(0)),
        "lateness: 0 events is out of range: the window is a span of time, so this must be one",
    );
    assert!(Dedup::builder(Window::last_n(1)).lateness(Window::last_n(MAX - 1)).capacity(1).build().is_ok());
}

#[test]
fn max_jump() {
    let minute = || Dedup::builder(seconds(60)).capacity(1);
    says(
        minute().max_jump(Window::last_n(5)),
        "max_jump: 5 events is out of range: the window is a span of time, so this must be one",
    );
    says(
        Dedup::builder(Window::last_n(10)).max_jump(seconds(1)),
        "max_jump: 1000000000 ns is out of range: the window is a number of events, so this must be one",
    );
    says(minute().max_jump(Duration::ZERO), &format!("max_jump: 0 ns is out of range: 1 to {MAX} ns"));
    says(
        minute().max_jump(Duration::MAX),
        &format!("max_jump: 18446744073709551615999999999 ns is out of range: 1 to {MAX} ns"),
    );
    assert!(minute().max_jump(Duration::from_nanos(MAX)).build().is_ok());
}

#[test]
fn clock() {
    let (manual, _) = Clock::manual(Tick(0));
    says(
        Dedup::builder(seconds(60)).clock(Clock::events()),
        "clock: a clock of events is out of range: one of time",
    );
    for clock in [Clock::monotonic(), Clock::coarse()] {
        says(
            Dedup::builder(Window::last_n(60)).clock(clock),
            "clock: a clock of time is out of range: one of events",
        );
    }
    assert!(Dedup::builder(seconds(60)).clock(manual.clone()).capacity(1).build().is_ok());
    assert!(Dedup::builder(Window::last_n(60)).clock(manual).capacity(1).build().is_ok());
    assert!(Dedup::builder(seconds(60)).clock(Clock::coarse()).capacity(1).build().is_ok());
}

/// The limit depends on the machine. What it says is the last capacity that is accepted, and what is accepted is no more
/// than its memory.
#[test]
fn capacity() {
    let with = |ids| Dedup::builder(seconds(60)).capacity(ids);
    let error = refused(with(0));
    let limit: usize = error
        .limit
        .strip_prefix("1 to ")
        .and_then(|rest| rest.strip_suffix(" fit into this machine's memory"))
        .expect("the limit's text")
        .parse()
        .expect("a number");
    let text = |ids| format!("capacity: {ids} is out of range: 1 to {limit} fit into this machine's memory");
    for ids in [0, limit + 1, usize::MAX / 40, usize::MAX] {
        says(with(ids), &text(ids));
        assert_eq!(with(ids).memory_bytes().map_err(|error| error.to_string()), Err(text(ids)));
    }
    let bytes = with(limit).memory_bytes().expect("as many as fit");
    assert!(bytes / 40 <= limit as u64 && bytes > 100_000_000, "{bytes}");
}

/// The memory is known before, is what was announced, and is at most 40 bytes an id.
#[test]
fn memory() {
    for ids in [1, 25, 26, 77, 78, 1000, 100_000, 1_000_000] {
        let builder = Dedup::builder(seconds(60)).capacity(ids);
        let announced = builder.memory_bytes().expect("valid");
        let dedup = builder.build().expect("valid");
        assert_eq!((dedup.memory_bytes(), dedup.stats().memory_bytes), (announced, announced));
        if ids >= 100_000 {
            assert!(announced <= 40 * ids as u64, "{announced} bytes for {ids}");
        }
    }
}

#[test]
fn refusals_are_errors_with_one_line() {
    let errors: [(Box<dyn std::error::Error>, &str); 2] = [
        (Refused::Full.into(), "no room for a new id: the capacity is reached"),
        (Refused::Jump.into(), "the time lies too far ahead of the newest one seen"),
    ];
    for (error, text) in errors {
        assert_eq!(error.to_string(), text);
    }
}

/// All that can be asked and that must not change with a refusal.
fn all(dedup: &Dedup, now: u64) -> (Vec<bool>, u64, DedupStats) {
    let ids = (0..20_u64).map(|id| dedup.contains_at(id, Tick(now))).collect();
    (ids, dedup.live_at(Tick(now)), dedup.stats())
}

#[test]
fn a_jump_changes_nothing() {
    let builder =
        Dedup::builder(Window::last_n(100)).lateness(Window::last_n(10)).max_jump(Window::last_n(50));
    let dedup = builder.capacity(50).refresh(Refresh::OnDuplicate).build().expect("valid");
    // The first tick is far ahead of nothing.
    assert_eq!(dedup.observe_at(1_u64, Tick(1 << 50)), Ok(Verdict::Fresh));
    let now = (1 << 50) + 50;
    assert_eq!(dedup.observe_at(2_u64, Tick(now)), Ok(Verdict::Fresh), "as far as is allowed");
    let before = all(&dedup, now);
    let mut out = Vec::new();
    for tick in [now + 51, now + 1000, u64::MAX] {
        assert_eq!(dedup.observe_at(3_u64, Tick(tick)), Err(Refused::Jump), "a new id");
        assert_eq!(dedup.observe_at(2_u64, Tick(tick)), Err(Refused::Jump), "a known one");
        dedup.observe_batch_at(&[1_u64, 9], Tick(tick), &mut out);
        assert_eq!(out, [Err(Refused::Jump), Err(Refused::Jump)]);
        dedup.maintain_at(Tick(tick), 1);
        assert_eq!(dedup.claim_at(3_u64, Tick(tick), Window::last_n(5)), Err(Refused::Jump));
    }
    let mut after = all(&dedup, now);
    assert_eq!(after.2.jumps, 15);
    after.2.jumps = 0;
    assert_eq!(before, after);
    // What is not too far goes on being judged, late as well.
    let seen = |at| Ok(Verdict::Duplicate { first_seen: Some(Tick(at)) });
    assert_eq!(dedup.observe_at(2_u64, Tick(now - 10)), seen(now));
    assert_eq!(dedup.observe_at(2_u64, Tick(now + 50)), seen(now));
    assert_eq!(dedup.observe_at(2_u64, Tick(now + 100)), seen(now + 50));
    assert_eq!(dedup.stats().jumps, 15);
}

/// A batch with one wild tick in it: only that event is refused.
#[test]
fn a_jump_inside_a_batch() {
    let dedup =
        Dedup::builder(Window::last_n(100)).max_jump(Window::last_n(50)).capacity(9).build().expect("valid");
    let mut out = Vec::new();
    dedup.observe_events(&[("a", Tick(5)), ("b", Tick(500)), ("b", Tick(6)), ("a", Tick(56))], &mut out);
    let known = Ok(Verdict::Duplicate { first_seen: Some(Tick(5)) });
    assert_eq!(out, [Ok(Verdict::Fresh), Err(Refused::Jump), Ok(Verdict::Fresh), known]);
}

/// "Refuses ticks further ahead of the newest one seen than this": and no others, also where the horizon moves in steps.
#[test]
fn steps_within_max_jump_are_not_refused() {
    for window in [100, 2047, 2048, 4096, 1 << 20, 1 << 40] {
        for jump in [1, 2, 3, 5, 1000, 1 << 30] {
            let builder =
                Dedup::builder(Window::last_n(window)).max_jump(Window::last_n(jump)).capacity(1000);
            let dedup = builder.build().expect("valid");
            for id in 0..600 {
                let now = Tick(7 + id * jump);
                assert_eq!(
                    dedup.observe_at(id, now),
                    Ok(Verdict::Fresh),
                    "window {window}, steps of {jump}: {now}"
                );
            }
        }
    }
}

#[test]
fn a_full_table_changes_nothing() {
    let dedup = Dedup::builder(Window::last_n(1000)).capacity(1).build().expect("valid");
    let mut id = 100;
    while dedup.observe_at(id, Tick(1)) == Ok(Verdict::Fresh) {
        id += 1;
    }
    let before = all(&dedup, 1);
    assert_eq!(dedup.observe_at(id, Tick(1)), Err(Refused::Full));
    assert_eq!(dedup.claim_at(id, Tick(1), Window::last_n(5)), Err(Refused::Full));
    let mut after = all(&dedup, 1);
    assert_eq!((before.2.refused, after.2.refused), (1, 3));
    after.2.refused = 1;
    assert_eq!(before, after);
    assert!((100..id).all(|id| dedup.contains_at(id, Tick(1))));
    assert!(!dedup.contains_at(id, Tick(1)));
}

/// What a lease may not be is refused, and nothing is changed: not even the first tick is fixed.
#[test]
fn leases() {
    let dedup = Dedup::builder(seconds(60)).capacity(10).max_jump(seconds(1)).build().expect("valid");
    let claim = |now, lease: Window| dedup.claim_at("a", Tick(now), lease);
    for lease in [
        Duration::ZERO.into(),
        (seconds(60) + Duration::from_nanos(1)).into(),
        Duration::MAX.into(),
        Window::last_n(5),
    ] {
        assert_eq!(claim(0, lease), Err(Refused::Lease), "{lease}");
    }
    assert_eq!(Refused::Lease.to_string(), "the lease is not 1 tick to the window, in the window's unit");
    assert_eq!((dedup.live_at(Tick(0)), dedup.stats().jumps), (0, 0));
    assert!(matches!(claim(1 << 50, seconds(60).into()), Ok(Claim::Claimed(_))));

    let dedup = Dedup::builder(Window::last_n(MAX)).capacity(10).build().expect("valid");
    for lease in [Window::last_n(0), Window::last_n(MAX + 1), Window::last_n(u64::MAX), seconds(1).into()] {
        assert_eq!(dedup.claim_at("a", Tick(0), lease), Err(Refused::Lease), "{lease}");
    }
    assert!(matches!(dedup.claim_at("a", Tick(0), Window::last_n(MAX)), Ok(Claim::Claimed(_))));
}

/// Claims at any ticks: no panic, no overflow, nobody's claim but one's own, and words that are no ticket do nothing.
#[test]
fn claims_at_the_ends() {
    let ends = [0, 1, 1023, 1024, 1025, 1 << 32, MAX, RANGE, 1 << 63, u64::MAX - 1, u64::MAX];
    for span in [Window::last_n as fn(u64) -> Window, |ns| Duration::from_nanos(ns).into()] {
        for window in [1, 2, 60, 1 << 12, 1 << 20, 1 << 40, MAX] {
            for (a, b) in ends.iter().flat_map(|&a| ends.map(|b| (a, b))) {
                let builder = Dedup::builder(span(window)).capacity(1).on_full(OnFull::EvictOldest);
                let dedup = builder.build().expect("valid");
                let claim = |now, lease| dedup.claim_at("id", Tick(now), span(lease));
                let what = format!("{a}, {b}: {dedup:?}");
                let Ok(Claim::Claimed(first)) = claim(a, window) else { panic!("{what}") };
                assert!(matches!(claim(a, 1), Ok(Claim::InProgress { until }) if until.0 >= a), "{what}");
                assert!(dedup.contains_at("id", Tick(a)) && dedup.live_at(Tick(a)) == 1, "{what}");
                match claim(b, 1) {
                    Ok(Claim::Claimed(second)) => {
                        assert!(b >= a.saturating_add(window), "{what}");
                        assert!(!dedup.commit(first) && !dedup.abort(first), "{what}");
                        assert!(dedup.abort(second) && !dedup.commit(second), "{what}");
                    }
                    Ok(answer) => {
                        assert!(matches!(answer, Claim::InProgress { .. }), "{what}");
                        assert!(dedup.commit(first) && dedup.commit(first) && !dedup.abort(first), "{what}");
                    }
                    Err(refused) => assert_eq!(refused, Refused::Jump, "{what}"),
                }
                for words in [[0; 4], [u64::MAX; 4], [0, 0, 1, 0], [u64::MAX, 0, 2, 0]] {
                    assert!(!dedup.commit(Ticket::from(words)) && !dedup.abort(Ticket::from(words)));
                }
            }
        }
    }
}

/// A ticket of before a reset is worth nothing after it, though another of the same id, tick and lease is.
#[test]
fn tickets_end_with_a_reset() {
    let dedup = Dedup::builder(Window::last_n(100)).capacity(10).build().expect("valid");
    let claim = || match dedup.claim_at("a", Tick(5), Window::last_n(10)) {
        Ok(Claim::Claimed(ticket)) => ticket,
        other => panic!("{other:?}"),
    };
    let old = claim();
    dedup.reset().expect("memory");
    assert!(!dedup.commit(old));
    let new = claim();
    assert!(!dedup.commit(old) && !dedup.abort(old));
    let sent = <[u64; 4]>::from(new);
    assert!(dedup.commit(Ticket::from(sent)));
}

/// Ticks from one end of the range to the other, in any order: no panic (overflow is one in a debug build), and every
/// answer is one that the ticks allow.
#[test]
fn ticks_at_the_ends() {
    let ends = [0, 1, 2, 1 << 32, MAX - 1, MAX, RANGE - (1 << 32), RANGE, 1 << 63, u64::MAX - 1, u64::MAX];
    let spans = [(1, 0), (1, MAX - 1), (60, 7), (1 << 40, 1 << 20), (MAX / 2, MAX / 2), (MAX, 0)];
    let mut sequences: Vec<[u64; 3]> = Vec::new();
    for a in ends {
        for b in ends {
            sequences.extend(ends.map(|c| [a, b, c]));
        }
    }
    for (window, lateness) in spans {
        for max_jump in [None, Some(1), Some(MAX)] {
            for refresh in [Refresh::Never, Refresh::OnDuplicate] {
                let span = Dedup::builder(Window::last_n(window)).lateness(Window::last_n(lateness));
                let mut builder = span.capacity(1).refresh(refresh).on_full(OnFull::EvictOldest);
                if let Some(jump) = max_jump {
                    builder = builder.max_jump(Window::last_n(jump));
                }
                for ticks in &sequences {
                    through(&builder.clone().build().expect("valid"), ticks, window);
                }
            }
        }
    }
}

fn through(dedup: &Dedup, ticks: &[u64], window: u64) {
    let mut newest: Option<u64> = None;
    for &now in ticks {
        let what = format!("{now} of {ticks:?}: {dedup:?}");
        let (_, _) = (dedup.contains_at("id", Tick(now)), dedup.live_at(Tick(now)));
        let known = dedup.contains_at("id", Tick(now));
        match dedup.observe_at("id", Tick(now)) {
            Ok(Verdict::Fresh) => {
                // Never fresh twice within a window of the newest tick.
                assert!(newest.is_none_or(|newest| now >= newest && now - newest >= window), "{what}");
                assert!(!known, "{what}");
            }
            Ok(_) => assert!(known && newest.is_some(), "{what}"),
            Err(refused) => {
                assert_eq!(refused, Refused::Jump, "{what}");
                assert!(newest.is_some_and(|newest| now > newest), "{what}");
                continue;
            }
        }
        newest = newest.max(Some(now));
        dedup.maintain_at(Tick(now), usize::MAX);
        assert!(dedup.contains_at("id", Tick(now)), "{what}");
        assert_eq!(dedup.live_at(Tick(now)), 1, "{what}");
    }
    let last = ticks[ticks.len() - 1];
    dedup.forget_at("id", Tick(last));
    assert!(!dedup.contains_at("id", Tick(last)), "{ticks:?}");
}

/// The range of stamps begins with the first tick, wherever that lies; window and lateness go off it.
#[test]
fn the_end_of_the_range() {
    for first in [0, 1 << 33, 1 << 62] {
        let dedup = Dedup::builder(seconds(60)).capacity(10).build().expect("valid");
        assert_eq!(dedup.observe_at("a", Tick(first)), Ok(Verdict::Fresh));
        let last = first + RANGE - (1 << 43);
        assert_eq!(dedup.observe_at("a", Tick(first + RANGE)), Err(Refused::Jump), "beyond the range");
        assert!(dedup.contains_at("a", Tick(first + 1)));
        assert_eq!(dedup.observe_at("a", Tick(last)), Ok(Verdict::Fresh), "within it");
        assert_eq!(
            dedup.observe_at("a", Tick(first)),
            Ok(Verdict::Duplicate { first_seen: Some(Tick(last)) })
        );
        assert!(dedup.forget_at("a", Tick(last)));
        assert_eq!(dedup.observe_at("a", Tick(last)), Ok(Verdict::Fresh));
    }
}

/// For events that come a little late.
fn roomy(capacity: usize) -> DedupBuilder {
    Dedup::builder(Window::last_n(1000)).lateness(Window::last_n(10)).capacity(capacity)
}

/// One id, from absent to forgotten, beside all those that are there already.
fn lives(dedup: &Dedup, id: impl Key + Copy, now: u64) {
    let observe = |at| -> Outcome { dedup.observe_at(id, Tick(at)) };
    assert!(!dedup.contains_at(id, Tick(now)));
    assert!(!dedup.forget_at(id, Tick(now)));
    assert_eq!(observe(now), Ok(Verdict::Fresh));
    assert_eq!(observe(now + 1), Ok(Verdict::Duplicate { first_seen: Some(Tick(now)) }));
    assert!(dedup.contains_at(id, Tick(now + 1)));
    assert!(dedup.forget_at(id, Tick(now + 1)));
    assert!(!dedup.forget_at(id, Tick(now + 1)));
    assert_eq!(observe(now + 1), Ok(Verdict::Fresh));
    assert_eq!(observe(now + 2), Ok(Verdict::Duplicate { first_seen: Some(Tick(now + 1)) }));
}

#[test]
fn fingerprint_0() {
    // In several groups; all in the first bucket of theirs.
    let dedup = roomy(200).build().expect("valid");
    for group in 0..8_u64 {
        let id = KeyHash { hi: group << 61, lo: 0 };
        lives(&dedup, id, 10);
        assert_eq!(dedup.live_at(Tick(12)), group + 1);
    }
    // Still told apart from others in the same group when all its cells are taken.
    let mut others = 0;
    while dedup.observe_at(KeyHash { hi: 0, lo: 1 + others }, Tick(12)) == Ok(Verdict::Fresh) {
        others += 1;
    }
    assert_eq!(others, 63);
    assert_eq!(dedup.observe_at(KeyHash { hi: 0, lo: 1 + others }, Tick(12)), Err(Refused::Full));
    for group in 0..8_u64 {
        assert!(dedup.contains_at(KeyHash { hi: group << 61, lo: 0 }, Tick(12)));
    }
    assert_eq!(dedup.live_at(Tick(12)), 8 + others);
}

/// Fingerprint 0 as the id that comes last into a bucket, and lives outside of it.
#[test]
fn fingerprint_0_in_a_bucket_that_overflows() {
    let dedup = roomy(1).build().expect("valid");
    for lo in 1..=8 {
        lives(&dedup, KeyHash { hi: 0, lo: 8 * lo }, 10);
    }
    assert_eq!(dedup.stats().overflown_buckets, 0);
    lives(&dedup, KeyHash { hi: 0, lo: 0 }, 10);
    assert_eq!(dedup.stats().overflown_buckets, 1);
    // All expire and are taken over, the one of fingerprint 0 too.
    let mut others = 100;
    while dedup.observe_at(KeyHash { hi: 0, lo: others }, Tick(5000)) == Ok(Verdict::Fresh) {
        others += 1;
    }
    assert_eq!(others, 164);
    assert_eq!(dedup.observe_at(KeyHash { hi: 0, lo: 0 }, Tick(5000)), Err(Refused::Full));
    lives(&dedup, KeyHash { hi: 0, lo: 0 }, 10_000);
}

#[test]
fn u64_ids_at_the_ends() {
    for seed in [Seed(0), Seed(1), Seed(u64::MAX), Seed(0x9e37_79b9_7f4a_7c15)] {
        let dedup = roomy(10).seed(seed).build().expect("valid");
        // `seed.0` is the id whose mixed value is 0; under Seed(0) that is id 0.
        assert_eq!(seed.hash(seed.0).lo, 0);
        let mut ids = vec![0, 1, 2, 1 << 63, u64::MAX - 1, u64::MAX, seed.0, seed.0 ^ 1];
        ids.sort_unstable();
        ids.dedup();
        for &id in &ids {
            lives(&dedup, id, 5);
        }
        assert_eq!(dedup.live_at(Tick(7)), ids.len() as u64);
    }
}

#[test]
fn keys_of_any_length() {
    let dedup = roomy(100).build().expect("valid");
    let long = vec![b'x'; 10_000_000];
    let zeros: Vec<Vec<u8>> = (0..20).map(|n| vec![0; n]).collect();
    for key in &zeros {
        lives(&dedup, key, 5); // the first of them is empty
    }
    lives(&dedup, &long, 5);
    lives(&dedup, &long[1..], 5);
    lives(&dedup, b"\xff\xfe not UTF-8".as_slice(), 5);
    assert!(dedup.contains_at("", Tick(7)), "empty text is the empty key");
    assert_eq!(dedup.live_at(Tick(7)), 23);
}

#[test]
fn empty_batches() {
    let dedup = Dedup::builder(Window::last_n(10)).capacity(1).build().expect("valid");
    let mut out = vec![Err(Refused::Full); 3];
    dedup.observe_batch::<&str>(&[], &mut out);
    assert!(out.is_empty());
    dedup.observe_events::<u64>(&[], &mut out);
    dedup.observe_batch_at::<KeyHash>(&[], Tick(u64::MAX), &mut out);
    assert!(out.is_empty());
    // No time has been seen.
    assert_eq!(dedup.observe_at("a", Tick(0)), Ok(Verdict::Fresh));
    assert_eq!(dedup.stats().late, 0);
}

/// To ask first must not fix where time begins.
#[test]
fn questions_before_the_first_event() {
    let dedup =
        Dedup::builder(Window::last_n(10)).capacity(1).max_jump(Window::last_n(5)).build().expect("valid");
    assert!(!dedup.contains_at("a", Tick(u64::MAX)));
    assert!(!dedup.forget_at("a", Tick(0)));
    assert_eq!(dedup.live_at(Tick(1 << 50)), 0);
    assert_eq!(dedup.stats().live, 0);
    assert_eq!(dedup.observe_at("a", Tick(1000)), Ok(Verdict::Fresh));
    assert_eq!((dedup.stats().late, dedup.stats().jumps), (0, 0));
}

/// With a clock at its end, too.
#[test]
fn clocks_at_the_end() {
    let (clock, hand) = Clock::manual(Tick(u64::MAX));
    let dedup = Dedup::builder(seconds(1)).capacity(10).clock(clock).build().expect("valid");
    let mut out = Vec::new();
    dedup.observe_batch(&["a", "b", "a"], &mut out);
    assert!(out[0] == Ok(Verdict::Fresh) && out[1] == Ok(Verdict::Fresh) && out[2] != Ok(Verdict::Fresh));
    hand.set(Tick(0));
    assert!(dedup.observe("a") != Ok(Verdict::Fresh) && dedup.contains("b"));
    assert_eq!(Tick::from_duration(Duration::MAX), None);
    assert_eq!(Tick::from_millis(u64::MAX), None);
    assert_eq!(Tick::from_millis(3), Tick::from_duration(Duration::from_millis(3)));
}
