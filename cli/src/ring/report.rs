//! What happened.

use std::time::Duration;

use serde::Serialize;

use super::spread::{Side, Spread, Tally};
use crate::{
    args::{ReportKind, RingArgs},
    input::Input,
    output,
};

/// As `--report json` has it.
#[derive(Serialize)]
pub(super) struct Report {
    command: &'static str,
    events: u64,
    keys: u64,
    nodes: Vec<NodeLine>,
    /// With `--change`.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved: Option<Moved>,
    /// Of all nodes the largest of keys / (keys it should have by its weight).
    busiest: Option<f64>,
    skipped: u64,
    seconds: f64,
    memory_bytes: u64,
    vnodes: u32,
    seed: u64,
}

/// A node of either side.
#[derive(Serialize)]
struct NodeLine {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Part>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Part>,
}

#[derive(Clone, Copy, Serialize)]
struct Part {
    weight: u32,
    /// Of the ring.
    share: f64,
    keys: u64,
    events: u64,
}

#[derive(Serialize)]
struct Moved {
    /// Of the ring.
    share: f64,
    keys: u64,
    events: u64,
}

impl Report {
    pub(super) fn new(spread: &Spread, input: &Input, took: Duration) -> Report {
        let mut nodes: Vec<NodeLine> = Vec::new();
        for (side, is_after) in [(Some(&spread.before), false), (spread.after.as_ref(), true)] {
            let Some(side) = side else { continue };
            for (name, part) in parts(side) {
                // Who goes and comes again has one line.
                let known = nodes.iter().position(|line| line.name == name);
                let at = known.unwrap_or_else(|| {
                    nodes.push(NodeLine { name: name.to_owned(), before: None, after: None });
                    nodes.len() - 1
                });
                let place = if is_after { &mut nodes[at].after } else { &mut nodes[at].before };
                *place = Some(part);
            }
        }
        let moved = spread.after.as_ref().map(|after| Moved {
            share: after.placement.moved_from(&spread.before.placement),
            keys: spread.moved.keys,
            events: spread.moved.events,
        });
        Report {
            command: "ring",
            events: spread.all.events,
            keys: spread.all.keys,
            nodes,
            moved,
            busiest: busiest(&spread.before, spread.all.keys),
            skipped: input.skipped().records,
            seconds: took.as_secs_f64(),
            memory_bytes: spread.memory_bytes(),
            vnodes: spread.before.placement.vnodes(),
            seed: spread.before.placement.seed().0,
        }
    }

    /// Whether the table is what was asked for.
    pub(super) fn is_result(&self, args: &RingArgs) -> bool {
        args.output.report != Some(ReportKind::Json)
    }

    /// A line for each node.
    pub(super) fn table(&self) -> String {
        let width = self.nodes.iter().map(|node| node.name.chars().count()).max().unwrap_or(0).max(4);
        let head = |when: &str| {
            format!(
                " {:>8}{:>9}{:>14}{:>9}{:>14}{:>9}",
                "weight",
                "ring",
                format!("keys{when}"),
                "",
                "events",
                ""
            )
        };
        let mut text = format!("{:<width$}{}", "node", head(""));
        if self.moved.is_some() {
            text += &head(" after");
        }
        text = format!("{}\n", text.trim_end());
        for node in &self.nodes {
            text += &format!("{:<width$}", node.name);
            text += &self.columns(node.before);
            if self.moved.is_some() {
                text += &self.columns(node.after);
            }
            text = format!("{}\n", text.trim_end());
        }
        text
    }

    fn columns(&self, part: Option<Part>) -> String {
        let Some(part) = part else {
            return format!(" {:>8}{:>9}{:>14}{:>9}{:>14}{:>9}", "-", "", "", "", "", "");
        };
        format!(
            " {:>8}{:>9}{:>14}{:>9}{:>14}{:>9}",
            part.weight,
            format!("{:.1} %", 100.0 * part.share),
            output::count(part.keys),
            output::share(part.keys, self.keys),
            output::count(part.events),
            output::share(part.events, self.events)
        )
    }

    pub(super) fn text(&self, input: &Input) -> String {
        let mut text = format!(
            "{} events of {} keys over {} nodes",
            output::count(self.events),
            output::count(self.keys),
            self.nodes.iter().filter(|node| node.before.is_some()).count()
        );
        if let Some(busiest) = self.busiest {
            text += &format!("; the busiest has {busiest:.2} times the keys that its weight is worth");
        }
        text.push('\n');
        if let Some(moved) = &self.moved {
            text += &format!(
                "moved by the change: {:.1} % of the ring, {} keys ({}), {} events ({})\n",
                100.0 * moved.share,
                output::count(moved.keys),
                output::share(moved.keys, self.keys),
                output::count(moved.events),
                output::share(moved.events, self.events)
            );
        }
        let took = output::seconds(Duration::from_secs_f64(self.seconds), self.events);
        text += &format!("memory {}; {took}\n", output::memory(self.memory_bytes));
        text + &output::skipped(input.skipped().records, input.skipped().first.as_deref())
    }
}

fn parts(side: &Side) -> impl Iterator<Item = (&str, Part)> {
    side.nodes.iter().map(|node| {
        let Tally { keys, events } = side.tallies[node.id as usize];
        (node.name.as_str(), Part { weight: node.weight, share: node.share, keys, events })
    })
}

#[allow(clippy::cast_precision_loss)] // three digits are shown
fn busiest(side: &Side, keys: u64) -> Option<f64> {
    let weights: f64 = side.nodes.iter().map(|node| f64::from(node.weight)).sum();
    let times = |part: Part| part.keys as f64 * weights / (keys as f64 * f64::from(part.weight));
    let all = parts(side).map(|(_, part)| times(part));
    all.reduce(f64::max).filter(|_| keys > 0)
}
