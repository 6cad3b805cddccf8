//! A ring as bytes, and back. Format: docs/snapshot-format.md.

use super::{HashRing, HashRingBuilder, Node, Placement};
use crate::{
    codec::{Header, Kind, Reader, RestoreError, Restored, Setting, SnapshotSummary, Writer},
    hash::Seed,
    sync::epoch::Link,
    time::{Tick, wall},
};
use std::{io, sync::Arc, time::Duration};

/// The placement's number; the nodes.
const VERSION: u32 = 1;
const NODES: u32 = 2;

/// No placement has a greater number: so many changes nobody makes.
const MOST: u64 = 1 << 62;

/// # Snapshots
/// ```
/// use std::time::{Duration, SystemTime};
/// use windlass::{HashRing, Node};
///
/// let ring = HashRing::builder().nodes([Node::new(0, "cache-a"), Node::new(1, "cache-b").weight(2)]).build()?;
/// ring.add(Node::new(2, "cache-c"))?;
/// let mut bytes = Vec::new();
/// ring.snapshot(&mut bytes)?;
///
/// let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
/// let restored = HashRing::builder().restore(&bytes[..], wall)?.structure;
/// assert_eq!(restored.route("user-4711"), ring.route("user-4711"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It has the nodes of one placement, with ids and weights, and its number.
impl HashRing {
    /// Writes a snapshot.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn snapshot(&self, out: impl io::Write) -> io::Result<SnapshotSummary> {
        self.snapshot_at(out, wall())
    }

    /// Writes a snapshot, which says that it is of the time `wall`, since 1970.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn snapshot_at(&self, out: impl io::Write, wall: Duration) -> io::Result<SnapshotSummary> {
        let placement = self.placement();
        let header = Header {
            kind: Kind::Ring,
            counts_events: false,
            seed: placement.seed(),
            wall,
            now: Tick(0),
            settings: settings(placement.vnodes()),
        };
        let mut writer = Writer::begin(out, &header)?;
        writer.section(VERSION)?;
        writer.u64(placement.version())?;
        writer.section(NODES)?;
        for node in placement.nodes() {
            writer.u32(node.id)?;
            writer.u32(node.weight)?;
            writer.u64(node.name.len() as u64)?;
            writer.put(node.name.as_bytes())?;
            writer.entry();
        }
        writer.finish()
    }
}

impl HashRingBuilder {
    /// Restores what [`HashRing::snapshot`] has written: its nodes, and its seed. `wall`: the time of the system, since 1970.
    ///
    /// The number of virtual nodes must be as it was, and the seed, if one was given. The builder must have no nodes of its own.
    ///
    /// # Errors
    /// What is wrong with the snapshot, or which of the builder's settings differs.
    pub fn restore(self, input: impl io::Read, wall: Duration) -> Result<Restored<HashRing>, RestoreError> {
        let mut reader = Reader::begin(input, Kind::Ring)?;
        reader.agree(false, self.seed, &settings(self.vnodes))?;
        if !self.nodes.is_empty() {
            let builder = self.nodes.len().to_string();
            return Err(RestoreError::Setting { name: "nodes".into(), snapshot: "its own".into(), builder });
        }
        let (resumed, elapsed) = reader.header().resume(wall);
        let seed = reader.header().seed;
        let nodes = self.nodes;
        let placement = read(&mut reader, nodes, self.vnodes, seed)?;
        let entries = reader.finish()?;
        let structure = HashRing { placement: Link::new(Arc::new(placement)) };
        Ok(Restored { structure, resumed, elapsed, entries })
    }
}

fn read(
    reader: &mut Reader<impl io::Read>,
    mut nodes: Vec<Node>,
    vnodes: u32,
    seed: Seed,
) -> Result<Placement, RestoreError> {
    reader.section(VERSION)?;
    let version = reader.u64("version")?;
    if version > MOST {
        return Err(reader.wrong("version", format!("{version}, where {MOST} is the most")));
    }
    reader.section(NODES)?;
    while reader.has_more()? {
        let (id, weight) = (reader.u32("id")?, reader.u32("weight")?);
        let len = usize::try_from(reader.u64("length of name")?).unwrap_or(usize::MAX);
        let mut name = Vec::new();
        reader.bytes(len, "name", &mut name)?;
        let Ok(name) = String::from_utf8(name) else { return Err(reader.wrong("name", "not text")) };
        nodes.push(Node { id, name, weight });
        if (nodes.len() as u64).saturating_mul(vnodes.into()) > Placement::MAX_POINTS {
            return Err(reader.wrong("nodes", "more than a ring may have"));
        }
        reader.entry();
    }
    Placement::new(nodes, vnodes, seed, version).map_err(|error| reader.wrong("nodes", error.to_string()))
}

fn settings(vnodes: u32) -> Vec<Setting> {
    vec![Setting::number("vnodes", vnodes.into())]
}
