//! Pages: all structures, names and labels of all kinds, two one after the other.

use crate::{
    every::{Every, SECOND},
    format::{against_conventions, of, parse, promtool, value},
};
use proptest::prelude::*;
use std::{sync::Arc, time::Duration};
use windlass::{
    Dedup, HashRing, Node, Tick,
    metrics::{Latency, Page, Registry, Source},
};

#[test]
fn of_all_structures() {
    let every = Every::new();
    for second in 0..200 {
        every.happen(second);
    }
    let text = every.registry.prometheus();
    let page = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(against_conventions(&page), [] as [&str; 0]);
    if let Some(said) = promtool(&text) {
        assert_eq!(said, Ok(()));
    }
    let only = |family: &str, name: &str| value(&page, &format!("windlass_{family}"), name);
    assert_eq!(only("dedup_entries", "dedup"), every.dedup.stats().live as f64);
    assert_eq!(only("dedup_memory_bytes", "dedup"), every.dedup.memory_bytes() as f64);
    assert_eq!(only("dedup_load_ratio", "dedup"), every.dedup.stats().load());
    assert_eq!(only("bloom_rotations_total", "bloom"), every.bloom.stats().rotations as f64);
    assert!(every.bloom.stats().rotations > 10);
    let fills: Vec<f64> = of(&page, "windlass_bloom_fill_ratio", "bloom").iter().map(|s| s.value).collect();
    assert_eq!(fills, every.bloom.stats().panes.iter().map(|pane| pane.fill).collect::<Vec<_>>());
    assert_eq!(only("limiter_clients", "limiter"), every.limiter.stats().clients as f64);
    let user = of(&page, "windlass_limiter_clients", "set");
    assert_eq!((user.len(), user[0].label("limit")), (1, Some("user")));
    assert_eq!(only("counts_active_pane", "counter"), 19.0);
    assert_eq!(only("windowed_total_active_pane", "total"), 19.0);
    assert_eq!(only("topk_list_certified", "topk"), 1.0);
    assert_eq!(only("bounded_topk_taken_slots", "bounded"), every.bounded.stats().taken as f64);
    assert_eq!(only("fifo_entries", "fifo"), every.fifo.len() as f64);
    let shares = of(&page, "windlass_ring_node_share_ratio", "ring");
    assert_eq!(shares.iter().map(|s| s.label("node")).collect::<Vec<_>>(), [Some("a"), Some("b")]);
    assert_eq!(shares.iter().map(|s| s.value).sum::<f64>(), 1.0);
}

/// Counters only rise, whatever is done meanwhile.
#[test]
fn counters_rise() {
    let every = Every::new();
    let mut before = parse(&every.registry.prometheus()).expect("a page");
    let mut risen = 0;
    for round in 0..40_u64 {
        // Forward, back behind all windows, and far ahead.
        let second = [round * 10, round * 10 + 5, 0, round * 10 + 7][round as usize % 4];
        every.happen(second);
        match round {
            10 => every.dedup.reset().expect("there is memory"),
            20 => drop(every.ring.add(Node::new(2, "c")).expect("new")),
            30 => drop(every.ring.remove(2).expect("there")),
            _ => {}
        }
        every.counter.maintain_at(Tick(second * SECOND), 1000);
        let after = parse(&every.registry.prometheus()).expect("a page");
        for (name, family) in &before {
            // Of a histogram all are; of a summary all but the quantiles.
            let kind = family.kind.as_deref().expect("it has a type");
            for sample in &family.samples {
                if kind == "gauge" || kind == "summary" && sample.name == *name {
                    continue;
                }
                let same = |other: &&crate::format::Sample| {
                    (&other.name, &other.labels) == (&sample.name, &sample.labels)
                };
                let now =
                    after[name].samples.iter().find(same).unwrap_or_else(|| panic!("{sample:?} is gone"));
                assert!(now.value >= sample.value, "{sample:?} {now:?}");
                risen += u64::from(now.value > sample.value);
            }
        }
        before = after;
    }
    assert!(risen > 300, "{risen}");
    assert!(value(&before, "windlass_counts_late_events_total", "counter") > 0.0);
    assert!(value(&before, "windlass_dedup_late_events_total", "dedup") > 0.0);
}

#[test]
fn one_that_is_gone_is_forgotten() {
    let registry = Registry::new();
    let build = || Arc::new(Dedup::builder(Duration::from_secs(1)).capacity(10).build().expect("valid"));
    let first = build();
    registry.add("ids", &first).expect("new");
    let other = build();
    let error = registry.add("ids", &other).expect_err("the name is taken");
    assert_eq!(error.to_string(), "name: \"ids\" is out of range: a name that no other has");
    drop(first);
    assert!(!registry.prometheus().contains("windlass_dedup"));
    registry.add("ids", &other).expect("free again");
    assert!(registry.prometheus().contains("windlass_dedup_entries{name=\"ids\"} 0\n"));
}

/// One that does as it likes.
struct Odd {
    name: String,
    help: String,
    labels: Vec<(String, String)>,
    value: f64,
}

impl Source for Odd {
    fn measure(&self, page: &mut Page) {
        let labels: Vec<_> = self.labels.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        page.gauge(&self.name, &self.help, &labels, self.value);
    }
}

proptest! {
    /// Whatever names, helps and labels are made of, the page is well-formed, and values of labels are what they were.
    #[test]
    fn texts(
        name in any::<String>(),
        help in any::<String>(),
        structure in any::<String>(),
        labels in prop::collection::vec((any::<String>(), any::<String>()), 0..4),
        value in any::<f64>(),
    ) {
        let registry = Registry::new();
        let odd = Arc::new(Odd { name, help, labels, value });
        registry.add(structure.clone(), &odd).expect("new");
        let text = registry.prometheus();
        let page = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let (_, family) = page.iter().find(|(name, _)| !name.starts_with("windlass_")).expect("it is there");
        prop_assert_eq!(family.help.as_deref(), Some(odd.help.trim_end_matches([' ', '\t'])));
        let sample = &family.samples[0];
        prop_assert_eq!(sample.label("name"), Some(structure.as_str()));
        prop_assert_eq!(sample.labels.len(), 1 + odd.labels.len());
        for (_, value) in &odd.labels {
            prop_assert!(sample.labels.values().any(|other| other == value));
        }
        prop_assert!(sample.value == value || sample.value.is_nan() && value.is_nan());
    }
}

/// Names of limits and nodes come from elsewhere, and are labels.
#[test]
fn hostile_names() {
    let registry = Registry::new();
    let name = "a\"} 1\nwindlass_fake_total 7\\";
    let ring = Arc::new(HashRing::builder().nodes([Node::new(0, name)]).build().expect("valid"));
    registry.add(name, &ring).expect("new");
    let page = parse(&registry.prometheus()).expect("a page");
    assert!(!page.contains_key("windlass_fake_total"));
    assert_eq!(of(&page, "windlass_ring_node_share_ratio", name)[0].label("node"), Some(name));
}

#[test]
fn nothing_is_measured_yet() {
    let registry = Registry::new();
    let latency = Arc::new(Latency::new());
    registry.add("latency", &latency).expect("new");
    let page = parse(&registry.prometheus()).expect("a page");
    let quantiles = of(&page, "windlass_latency_quantile_seconds", "latency");
    assert_eq!(quantiles.iter().filter(|sample| sample.value.is_nan()).count(), 3);
    assert_eq!(of(&page, "windlass_latency_seconds", "latency").iter().map(|s| s.value).sum::<f64>(), 0.0);
}
