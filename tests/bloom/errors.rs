//! A filter's bad settings are told in one line that names field, value and limit, at once and before memory is taken.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use std::time::Duration;

use crate::common;
use proptest::prelude::*;
use windlass::{BloomBuilder, Clock, Layout, RotatingBloom, Rotation, Seed, Tick, Window};

const MAX: u64 = Window::MAX_TICKS;

fn minute() -> BloomBuilder {
    RotatingBloom::builder(Duration::from_secs(60)).expected_ids(1_000)
}

/// The whole text, in one line, of plan and build.
#[track_caller]
fn says(builder: BloomBuilder, text: &str) {
    let error = builder.plan().expect_err("refused");
    assert_eq!(error.to_string(), text);
    assert_eq!(text, format!("{}: {} is out of range: {}", error.field, error.value, error.limit));
    assert_eq!(text.lines().count(), 1);
    assert_eq!(builder.build().expect_err("refused").to_string(), text);
}

#[test]
fn error() {
    for (error, value) in
        [(0.0, "0"), (1.0, "1"), (-0.5, "-0.5"), (f64::NAN, "NaN"), (f64::INFINITY, "inf"), (2.0, "2")]
    {
        says(minute().error(error), &format!("error: {value} is out of range: above 0 and below 1"));
    }
    assert!(minute().error(0.999_999).build().is_ok());
    // What no number of bits gives is not promised.
    says(
        minute().error(1e-300),
        &format!("error: {} is out of range: a larger one: no memory is enough for it", 1e-300),
    );
    says(
        minute().layout(Layout::Rows(1)).probes(1).error(1e-5),
        "error: 0.00001 is out of range: a larger one: no memory is enough for it",
    );
}

#[test]
fn ids() {
    let limit = "1 to 281474976710656";
    says(minute().expected_ids(0), &format!("expected_ids: 0 is out of range: {limit}"));
    says(
        minute().expected_ids(u64::MAX),
        &format!("expected_ids: 18446744073709551615 is out of range: {limit}"),
    );
    assert!(minute().expected_ids(1).build().is_ok());
}

#[test]
fn panes() {
    for layout in common::blocks::LAYOUTS {
        let most = if matches!(layout, Layout::Arrays | Layout::SeededArrays) { 1024 } else { 64 };
        for panes in [0, 1, most + 1, usize::MAX] {
            says(
                minute().layout(layout).panes(panes),
                &format!("panes: {panes} is out of range: 2 to {most} in this layout"),
            );
        }
        for panes in [2, most] {
            assert!(minute().layout(layout).panes(panes).build().is_ok(), "{layout}");
        }
    }
    says(minute().panes(1025), "panes: 1025 is out of range: 2 to 1024 in this layout");
    assert_eq!(minute().panes(65).plan().expect("valid").layout, Layout::Arrays);
}

#[test]
fn pane() {
    let length = |ns| minute().pane(Duration::from_nanos(ns));
    says(length(0), &format!("pane: 0 ns is out of range: 1 to {MAX} ns"));
    says(
        minute().pane(Window::last_n(7)),
        "pane: 7 events is out of range: the window is a span of time, so this must be one",
    );
    says(
        RotatingBloom::builder(Window::last_n(60)).pane(Duration::from_secs(1)),
        "pane: 1000000000 ns is out of range: the window is a number of events, so this must be one",
    );
    says(
        length(1_000_000_000).panes(61),
        "panes: a number beside the length of a pane is out of range: one of the two",
    );
    // A window has room for 63 of 64 panes.
    says(
        length(900_000_000).layout(Layout::Rows(1)),
        "pane: 900000000 ns is out of range: 952380953 ns or more: at most 64 panes in this layout",
    );
    let exact = length(952_380_953).layout(Layout::Rows(1)).build().expect("valid");
    assert_eq!(exact.plan().panes, 64);
    says(length(1), "pane: 1 ns is out of range: 58651027 ns or more: at most 1024 panes in this layout");
    assert_eq!(minute().pane(Duration::from_secs(60)).plan().expect("valid").panes, 2);
    says(
        length(60_000_000_001),
        "pane: 60000000001 ns is out of range: at most window and lateness (60000000000 ns)",
    );
    // An 8th of a pane before the last of them ends it is retired.
    let guaranteed = |ns| length(ns).plan().expect("valid").guaranteed;
    assert_eq!((guaranteed(7_000_000_000), guaranteed(20_000_000_000)), (60_000_000_000, 57_500_000_000));
    says(length(MAX + 1), &format!("pane: {} ns is out of range: 1 to {MAX} ns", MAX + 1));
}

#[test]
fn probes() {
    for (layout, rows) in [(Layout::Rows(1), 1), (Layout::Rows(3), 3), (Layout::Arrays, 1)] {
        for probes in [0, 33, u32::MAX] {
            says(
                minute().layout(layout).probes(probes),
                &format!("probes: {probes} is out of range: a multiple of the rows ({rows}), 32 at most"),
            );
        }
    }
    says(
        minute().layout(Layout::Rows(3)).probes(8),
        "probes: 8 is out of range: a multiple of the rows (3), 32 at most",
    );
    for layout in common::blocks::LAYOUTS {
        let (_, rows) = common::blocks::shape(layout);
        for probes in [rows, 32 / rows * rows] {
            assert_eq!(minute().layout(layout).probes(probes).plan().expect("valid").probes, probes);
        }
    }
    // Without a layout: one that these can be shared out in.
    for probes in 1..=32 {
        let plan = minute().probes(probes).plan().expect("valid");
        assert_eq!(plan.probes, probes);
        let (_, rows) = common::blocks::shape(plan.layout);
        assert!(probes.is_multiple_of(rows), "{plan}");
    }
}

#[test]
fn layout() {
    for layout in
        [Layout::Rows(0), Layout::Rows(5), Layout::Blocks(0), Layout::Blocks(64), Layout::Blocks(1024)]
    {
        says(
            minute().layout(layout),
            &format!(
                "layout: {layout:?} is out of range: Rows(1 to 4), Blocks(128, 256 or 512), Arrays or SeededArrays"
            ),
        );
    }
}

#[test]
fn bits() {
    says(minute().bits(0), "bits: 0 is out of range: at least 2048 for 8 panes");
    says(minute().bits(2047), "bits: 2047 is out of range: at least 2048 for 8 panes");
    says(
        minute().bits(40_000).layout(Layout::Arrays).panes(20),
        "bits: 40000 is out of range: at least 40960 for 20 panes",
    );
    assert_eq!(minute().bits(2048).build().expect("valid").memory_bytes(), 256);
    let error = minute().bits(u64::MAX).plan().expect_err("refused").to_string();
    assert!(error.contains("2305843009213693888 bytes is out of range: at most"), "{error}");
}

/// Told at once: nothing of it is allocated.
#[test]
fn beyond_memory() {
    let memory = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0)
    };
    let before = memory();
    for layout in common::blocks::LAYOUTS {
        let error = minute().layout(layout).expected_ids(1 << 48).build().expect_err("too large").to_string();
        assert!(error.starts_with("expected_ids: "), "{error}");
        assert!(error.contains("bytes is out of range: at most"), "{error}");
        assert!(error.ends_with("fewer ids, or a larger error"), "{error}");
        assert!(minute().layout(layout).bits(1 << 60).build().is_err());
    }
    // Threads of other tests map some, too.
    assert!(memory() < before + (1 << 20), "kB");
}

#[test]
fn window_lateness_and_jump() {
    says(RotatingBloom::builder(Duration::ZERO), &format!("window: 0 ns is out of range: 1 to {MAX} ns"));
    says(
        RotatingBloom::builder(Window::last_n(0)),
        &format!("window: 0 events is out of range: 1 to {MAX} events"),
    );
    says(
        RotatingBloom::builder(Duration::MAX),
        &format!("window: 18446744073709551615999999999 ns is out of range: 1 to {MAX} ns"),
    );
    says(
        minute().lateness(Window::last_n(0)),
        "lateness: 0 events is out of range: the window is a span of time, so this must be one",
    );
    says(
        minute().lateness(Duration::from_nanos(MAX)),
        &format!("lateness: {MAX} ns is out of range: at most {MAX} ticks less the window (60000000000)"),
    );
    says(minute().max_jump(Duration::ZERO), &format!("max_jump: 0 ns is out of range: 1 to {MAX} ns"));
    says(
        minute().max_jump(Window::last_n(5)),
        "max_jump: 5 events is out of range: the window is a span of time, so this must be one",
    );
    for ticks in [1, MAX] {
        let bloom = RotatingBloom::builder(Window::last_n(ticks)).expected_ids(10).build().expect("valid");
        assert!(!bloom.insert_at(1, Tick(0)) && bloom.contains_at(1, Tick(ticks)));
    }
}

#[test]
fn clock() {
    let refused = |builder: BloomBuilder, text: &str| {
        assert_eq!(builder.build().expect_err("refused").to_string(), text);
    };
    refused(minute().clock(Clock::events()), "clock: a clock of events is out of range: one of time");
    refused(
        RotatingBloom::builder(Window::last_n(5)).clock(Clock::monotonic()),
        "clock: a clock of time is out of range: one of events",
    );
}

fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1),
        0..100_u64,
        0..10_000_000_000_u64,
        any::<u64>(),
        (0..64_u32).prop_map(|bit| 1 << bit),
        Just(u64::MAX),
    ]
}

fn windows() -> impl Strategy<Value = Window> {
    (any::<bool>(), numbers())
        .prop_map(|(by_time, n)| if by_time { Duration::from_nanos(n).into() } else { Window::last_n(n) })
}

/// Whether a setting is given at all.
fn some<T: std::fmt::Debug>(of: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(0.3, of)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    /// Whatever is set: a plan that can be used, or an error.
    #[test]
    fn any_settings(
        window in windows(),
        lateness in some(windows()),
        jump in some(windows()),
        ids in some(numbers()),
        error in some(prop_oneof![any::<f64>(), 0.0..1.0, Just(1e-300), Just(1.0 - 1e-16), Just(1e-15)]),
        panes in some(prop_oneof![0..1_100_usize, 2..9_usize, any::<usize>()]),
        pane in some(windows()),
        layout in some(prop_oneof![
            prop::sample::select(common::blocks::LAYOUTS.to_vec()),
            any::<u8>().prop_map(Layout::Rows),
            any::<u16>().prop_map(Layout::Blocks),
        ]),
        bits in some(numbers()),
        probes in some(0..40_u32),
    ) {
        let mut builder = RotatingBloom::builder(window).rotation(Rotation::Hybrid).seed(Seed(1));
        macro_rules! set {
            ($($name:ident: $value:expr),*) => {$(
                if let Some(value) = $value {
                    builder = builder.$name(value);
                }
            )*};
        }
        set!(lateness: lateness, max_jump: jump, expected_ids: ids, error: error, panes: panes, pane: pane);
        set!(layout: layout, bits: bits, probes: probes);
        let plan = match builder.plan() {
            Ok(plan) => plan,
            Err(error) => {
                prop_assert!(!error.to_string().contains('\n'));
                prop_assert_eq!(builder.build().map(|_| ()).expect_err("the same").to_string(), error.to_string());
                return Ok(());
            }
        };
        prop_assert!((0.0..=1.0).contains(&plan.expected_error), "{plan}");
        prop_assert!(bits.is_some() || plan.expected_error <= error.unwrap_or(0.01) * 1.001, "{plan}");
        prop_assert!(plan.bits <= bits.unwrap_or(u64::MAX) && plan.bits == 8 * plan.bytes, "{plan}");
        prop_assert!((1..=32).contains(&plan.probes) && plan.panes >= 2, "{plan}");
        if plan.bytes > 1 << 24 {
            return Ok(());
        }
        let bloom = builder.build().expect("planned");
        prop_assert_eq!(*bloom.plan(), plan);
        for now in [0, plan.guaranteed, u64::MAX - 1, u64::MAX, 5] {
            bloom.insert_at(now, Tick(now));
            prop_assert!(bloom.contains_at(now, Tick(now)), "{now}: {plan}");
            bloom.advance_to(Tick(now));
            let _ = (bloom.panes_at(now, Tick(now)), bloom.distinct_at(Tick(now)));
        }
    }
}
