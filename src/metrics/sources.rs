//! What each structure puts on a page.

use super::{
    Page, Source,
    page::{Labels, Value},
};
use crate::{
    bloom::RotatingBloom,
    count::{CounterStats, WindowedCounter, WindowedTotal},
    dedup::Dedup,
    fifo::FifoIndex,
    hashring::HashRing,
    limit::{KeyedLimiter, LimitSet, LimiterStats},
    topk::{BoundedTopK, TopK, TopSnapshot},
};
use std::sync::Arc;

/// A page, for metrics whose names begin alike.
struct Of<'a> {
    page: &'a mut Page,
    prefix: &'static str,
    labels: Labels<'a>,
}

impl<'a> Of<'a> {
    fn new(page: &'a mut Page, prefix: &'static str) -> Of<'a> {
        Of { page, prefix, labels: &[] }
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Into<Value>) {
        self.page.gauge(&format!("windlass_{}_{name}", self.prefix), help, self.labels, value);
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.page.counter(&format!("windlass_{}_{name}_total", self.prefix), help, self.labels, value);
    }

    fn buckets(&mut self, buckets: u64, overflown: u64, overflows: u64) {
        self.gauge("buckets", "Buckets of the table.", buckets);
        self.gauge(
            "overflown_buckets",
            "Buckets that have overflowed and not yet come back: their calls look further.",
            overflown,
        );
        self.counter("overflows", "How often a bucket has overflowed.", overflows);
    }

    fn list(&mut self, list: &TopSnapshot) {
        // Before the first.
        let made = list.tail < u64::MAX || list.certified || !list.rows.is_empty();
        let certified = if made { f64::from(u8::from(list.certified)) } else { f64::NAN };
        self.gauge(
            "list_certified",
            "Whether the last list is exact: 1 or 0; NaN before the first.",
            certified,
        );
    }
}

impl Source for Dedup {
    fn measure(&self, page: &mut Page) {
        let (stats, mut of) = (self.stats(), Of::new(page, "dedup"));
        of.gauge("entries", "Live ids, estimated from a sample of the table.", stats.live);
        of.gauge("capacity_entries", "Live ids that it is meant for at its present size.", stats.capacity);
        of.gauge("load_ratio", "Live ids as a share of the capacity.", stats.load());
        of.gauge("memory_bytes", "Bytes of all tables.", stats.memory_bytes);
        of.gauge("tables", "Tables: more than 1 while one takes the place of another.", stats.tables);
        of.counter("growths", "How often it has grown.", stats.grown);
        of.counter("shrinks", "How often it has shrunk.", stats.shrunk);
        of.counter("forwarded_entries", "Live ids that were put into the next table.", stats.forwarded);
        of.counter("evictions", "Ids dropped before their time, for lack of room.", stats.evicted);
        of.counter("refused_events", "Events refused for lack of room.", stats.refused);
        of.counter("late_events", "Events later than the lateness allows.", stats.late);
        of.counter("jumps", "Events refused since their time lay too far ahead.", stats.jumps);
        of.buckets(stats.buckets, stats.overflown_buckets, stats.overflows);
    }
}

impl Source for RotatingBloom {
    fn measure(&self, page: &mut Page) {
        let (stats, plan, mut of) = (self.stats(), self.plan(), Of::new(page, "bloom"));
        of.gauge("memory_bytes", "Bytes of all panes.", stats.memory_bytes);
        of.gauge("active_pane", "The number of the pane that takes what comes.", stats.active_pane);
        of.gauge("live_panes", "Panes that count.", stats.panes.len() as u64);
        of.gauge(
            "load_ratio",
            "The largest fill of a pane that is over, as a share of what it is meant for; NaN before one is over.",
            stats.load.unwrap_or(f64::NAN),
        );
        of.gauge(
            "designed_error_ratio",
            "The share of new ids taken for seen, with as many ids as expected.",
            plan.expected_error,
        );
        of.gauge(
            "expected_error_ratio",
            "The same to be expected from the present fill.",
            stats.expected_error,
        );
        of.gauge(
            "sampled_error_ratio",
            "The share of made-up ids that are taken for seen now.",
            stats.sampled_error,
        );
        of.counter("rotations", "How often a pane took over from the one before.", stats.rotations);
        of.counter("cleared_bytes", "Bytes cleared for that.", stats.cleared_bytes);
        of.counter("late_clears", "How often a pane had to go on, since the next was not clean.", stats.late);
        of.counter("jumps", "Events whose time lay too far ahead.", stats.jumps);
        for (age, pane) in stats.panes.iter().enumerate() {
            let age = age.to_string();
            let help =
                "The share of a pane's bits that is set; pane 0 takes what comes, 1 is the one before.";
            page.gauge("windlass_bloom_fill_ratio", help, &[("pane", &age)], pane.fill);
        }
    }
}

fn limiter(stats: &LimiterStats, page: &mut Page, labels: Labels<'_>) {
    let mut of = Of { page, prefix: "limiter", labels };
    of.gauge(
        "clients",
        "Clients that have used some of their quota, estimated from a sample.",
        stats.clients,
    );
    of.gauge("capacity_clients", "Clients that it is meant for at its present size.", stats.capacity);
    of.gauge("load_ratio", "Clients as a share of the capacity.", stats.load());
    of.gauge("memory_bytes", "Bytes of all tables.", stats.memory_bytes);
    of.gauge("tables", "Tables: more than 1 while one takes the place of another.", stats.tables);
    of.counter("growths", "How often it has grown.", stats.grown);
    of.counter("shrinks", "How often it has shrunk.", stats.shrunk);
    of.counter("unknown_calls", "Calls of clients for which there was no room.", stats.unknown);
    of.counter("late_calls", "Calls later than the lateness allows.", stats.late);
    of.counter("jumps", "Calls whose time lay too far ahead.", stats.jumps);
    of.buckets(stats.buckets, stats.overflown_buckets, stats.overflows);
}

impl Source for KeyedLimiter {
    fn measure(&self, page: &mut Page) {
        limiter(&self.stats(), page, &[]);
    }
}

impl Source for LimitSet {
    fn measure(&self, page: &mut Page) {
        for (limit, stats) in self.limit_stats() {
            limiter(&stats, page, &[("limit", limit)]);
        }
        let (stats, mut of) = (self.stats(), Of::new(page, "limit_set"));
        of.gauge("memory_bytes", "Bytes of all tables, those of holds included.", stats.memory_bytes);
        of.gauge("holds", "Holds that have neither been settled nor run out, from a sample.", stats.holds);
        of.counter("unreturned", "How often something could not be given back.", stats.unreturned);
    }
}

/// Of what is counted in panes.
fn panes(stats: &CounterStats, of: &mut Of<'_>) {
    of.gauge(
        "memory_bytes",
        "Bytes of all tables, also of those that wait for their next use.",
        stats.memory_bytes,
    );
    of.gauge("active_pane", "The number of the newest pane.", stats.active_pane);
    of.gauge("generations", "Generations of panes that are kept.", stats.generations);
    of.counter("opened_generations", "Generations opened.", stats.opened);
    of.counter("late_events", "Events that came after their pane had gone: not counted.", stats.late);
    of.counter("jumps", "Events whose time lay too far ahead: not counted.", stats.jumps);
    of.counter("saturated_adds", "Adds to a count that was at its end.", stats.saturated);
}

fn counter(stats: &CounterStats, of: &mut Of<'_>) {
    of.gauge("rows", "Rows of all generations, estimated from samples.", stats.rows);
    of.gauge("newest_rows", "Rows of the newest generation: keys seen in it.", stats.newest_rows);
    of.gauge("capacity_keys", "Keys that the newest generation is meant for.", stats.capacity);
    of.gauge("load_ratio", "Keys of the newest generation as a share of those.", stats.load());
    of.gauge("tables", "Tables: more than generations if some had to grow.", stats.tables);
    of.counter("growths", "Tables put behind one that was full.", stats.grown);
    of.counter("recycled_tables", "Tables cleared to be used again.", stats.recycled);
    of.counter(
        "refused_events",
        "Events of keys for which there was no room: counted in the total alone.",
        stats.refused,
    );
    panes(stats, of);
}

impl Source for WindowedCounter {
    fn measure(&self, page: &mut Page) {
        counter(&self.stats(), &mut Of::new(page, "counts"));
    }
}

impl Source for WindowedTotal {
    fn measure(&self, page: &mut Page) {
        panes(&self.stats(), &mut Of::new(page, "windowed_total"));
    }
}

impl Source for TopK {
    fn measure(&self, page: &mut Page) {
        let (stats, mut of) = (self.stats(), Of::new(page, "topk"));
        counter(&stats.counter, &mut of);
        of.gauge("key_bytes", "Bytes of keys.", stats.key_bytes);
        of.gauge(
            "threshold",
            "The count from which a key is a candidate, in panes that begin.",
            stats.threshold,
        );
        of.counter("scans", "Lists for which all rows were looked at.", stats.scans);
        of.list(&self.snapshot());
    }

    fn hot_keys(&self) -> Option<Arc<TopSnapshot>> {
        Some(self.snapshot())
    }
}

impl Source for BoundedTopK {
    fn measure(&self, page: &mut Page) {
        let (stats, mut of) = (self.stats(), Of::new(page, "bounded_topk"));
        of.gauge("memory_bytes", "Bytes that it takes now.", stats.memory_bytes);
        of.gauge("active_pane", "The number of the newest pane.", stats.active_pane);
        of.gauge("slots", "Keys that a pane has slots for.", stats.slots);
        of.gauge("taken_slots", "Slots of the newest pane that are taken, from a sample.", stats.taken);
        of.gauge("load_ratio", "Taken slots as a share of all: below 1 its counts are exact.", stats.load());
        of.gauge("cells", "Cells of a pane's sketch.", stats.cells);
        of.counter("opened_panes", "Panes opened.", stats.opened);
        of.counter("recycled_tables", "Tables cleared to be used again.", stats.recycled);
        of.counter(
            "bare_panes",
            "Panes for which there were no tables: their adds are known as a sum alone.",
            stats.without,
        );
        of.counter("late_events", "Events that came after their pane had gone: not counted.", stats.late);
        of.counter("jumps", "Events whose time lay too far ahead: not counted.", stats.jumps);
        of.list(&self.snapshot());
    }

    fn hot_keys(&self) -> Option<Arc<TopSnapshot>> {
        Some(self.snapshot())
    }
}

impl<V: Clone + Send + Sync + 'static> Source for FifoIndex<V> {
    fn measure(&self, page: &mut Page) {
        let (stats, mut of) = (self.stats(), Of::new(page, "fifo"));
        of.gauge("entries", "Entries that wait.", stats.len);
        of.gauge("holes", "Numbers between the oldest and the newest that are no entries.", stats.holes);
        of.gauge("capacity_entries", "Entries that it may hold.", stats.capacity);
        of.gauge("load_ratio", "Entries, or holes if there are more, as a share of those.", stats.load());
        of.gauge("memory_bytes", "Bytes of tables and segments.", stats.memory_bytes);
        of.gauge("segments", "Segments of entries.", stats.segments);
        of.gauge("tables", "Tables: more than 1 while one takes the place of another.", stats.tables);
        of.counter("numbers", "Numbers given out: pushes, and moves to the tail.", stats.tail);
        of.counter("passed_numbers", "Numbers that the head has passed: pops, and holes.", stats.head);
        of.counter("refused_pushes", "Pushes refused for lack of room.", stats.refused);
        of.counter("collisions", "Pushes refused since another key has the same hash.", stats.collisions);
        of.buckets(stats.buckets, stats.overflown_buckets, stats.overflows);
    }
}

impl Source for HashRing {
    fn measure(&self, page: &mut Page) {
        let (placement, mut of) = (self.placement(), Of::new(page, "ring"));
        let stats = placement.stats();
        of.gauge("nodes", "Nodes.", stats.nodes);
        of.gauge("points", "Points of all nodes.", stats.points);
        of.gauge("memory_bytes", "Bytes of points and index.", stats.memory_bytes);
        of.gauge(
            "imbalance_ratio",
            "The most that a node has, as a multiple of what its weight entitles it to.",
            stats.imbalance,
        );
        of.counter("changes", "Changes since it was built.", stats.version);
        for node in placement.nodes() {
            let help = "The share of all keys that a node owns.";
            page.gauge("windlass_ring_node_share_ratio", help, &[("node", &node.name)], node.share);
        }
    }
}
