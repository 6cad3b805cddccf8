//! The stream through `HashRing`: which node owns a key, and what moves when one more comes.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use windlass::{HashRing, Node};

use super::{Card, Event, Stage, line};
use crate::{failure::Failure, generate::Shape, output};

/// Nodes at first.
const NODES: u32 = 4;

pub(super) struct RingStage {
    ring: HashRing,
    keys: Vec<u64>,
    owners: Vec<u32>,
    /// One more node comes when so many events have.
    change_at: u64,
    /// The share of the ring that it has taken over.
    moved: Option<f64>,
    /// Who owns each key, and who did before the change.
    recount: HashMap<u64, u32>,
    events: u64,
    /// Of each node, with the one that comes.
    loads: [u64; NODES as usize + 1],
    moved_keys: u64,
    wrong: u64,
}

impl RingStage {
    pub(super) fn new(shape: &Shape) -> Result<RingStage, Failure> {
        let nodes = (0..NODES).map(node);
        let ring = HashRing::builder().nodes(nodes).build().map_err(Failure::bad)?;
        Ok(RingStage {
            ring,
            keys: Vec::new(),
            owners: Vec::new(),
            change_at: shape.events / 2,
            moved: None,
            recount: HashMap::new(),
            events: 0,
            loads: [0; NODES as usize + 1],
            moved_keys: 0,
            wrong: 0,
        })
    }

    fn change(&mut self) -> Result<(), Failure> {
        let before = self.ring.placement();
        self.ring.add(node(NODES)).map_err(Failure::bad)?;
        self.moved = Some(self.ring.placement().moved_from(&before));
        Ok(())
    }

    /// A key stays where it is, unless the node that has come takes it.
    fn check(&mut self, key: u64, owner: u32) {
        let before = *self.recount.entry(key).or_insert(owner);
        if before != owner {
            let may_move = self.moved.is_some() && owner == NODES;
            self.wrong += u64::from(!may_move);
            self.moved_keys += u64::from(may_move);
            self.recount.insert(key, owner);
        }
        self.events += 1;
        match self.loads.get_mut(owner as usize) {
            Some(load) => *load += 1,
            None => self.wrong += 1,
        }
    }
}

fn node(id: u32) -> Node {
    Node::new(id, format!("node-{id}"))
}

impl Stage for RingStage {
    fn title(&self) -> &'static str {
        "ring: each key has its node, of four; halfway a fifth one comes"
    }

    fn take(&mut self, events: &[Event]) -> Result<Duration, Failure> {
        if self.moved.is_none() && self.events >= self.change_at {
            self.change()?;
        }
        self.keys.clear();
        self.keys.extend(events.iter().map(|event| event.key));
        let start = Instant::now();
        let has_nodes = self.ring.route_batch(&self.keys, &mut self.owners);
        let took = start.elapsed();
        if !has_nodes || self.owners.len() != self.keys.len() {
            return Err(Failure::Running("demo: ring: not every key has a node".to_owned()));
        }
        for i in 0..self.keys.len() {
            self.check(self.keys[i], self.owners[i]);
        }
        Ok(took)
    }

    fn so_far(&self) -> String {
        format!("{} keys, {} moved", output::count(self.recount.len() as u64), output::count(self.moved_keys))
    }

    fn summary(&self, took: Duration) -> (Vec<String>, bool) {
        let placement = self.ring.placement();
        let shares: Vec<_> = self.loads.iter().map(|load| output::share(*load, self.events)).collect();
        let moved = self.moved.map_or_else(
            || "no node came".to_owned(),
            |share| format!("to the fifth node, with {:.1} % of the ring", 100.0 * share),
        );
        let lines = vec![
            line("events", self.events, &output::seconds(took, self.events)),
            line("keys", self.recount.len() as u64, &format!("events by node: {}", shares.join(", "))),
            line("moved", self.moved_keys, &moved),
            format!(
                "{} points for each node in {}",
                placement.vnodes(),
                output::memory(placement.memory_bytes())
            ),
            match self.wrong {
                0 => "kept in a plain hash map: no key moved but to the new node".to_owned(),
                wrong => {
                    format!("kept in a plain hash map: {} KEYS MOVED that should not", output::count(wrong))
                }
            },
        ];
        (lines, self.wrong == 0)
    }

    fn card(&self) -> Card {
        Card { name: "ring", calls: self.events, memory_bytes: self.ring.placement().memory_bytes() }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::stream, *};

    #[test]
    fn a_key_that_should_not_move_is_noticed() {
        let shape = stream::shape(40_000, 1).unwrap();
        let mut stage = RingStage::new(&shape).unwrap();
        let events: Vec<Event> = stream::events(&shape).collect();
        for part in events.chunks(10_000) {
            stage.take(part).unwrap();
        }
        let (lines, right) = stage.summary(Duration::ZERO);
        assert!(right && stage.moved_keys > 0 && stage.loads[NODES as usize] > 0, "{lines:?}");
        stage.ring.remove(0).unwrap();
        stage.take(&events).unwrap();
        let (lines, right) = stage.summary(Duration::ZERO);
        assert!(!right && lines.iter().any(|line| line.contains("MOVED")), "{lines:?}");
    }
}
