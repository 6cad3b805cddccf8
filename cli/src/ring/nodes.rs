//! From the command line to placements.

use std::sync::Arc;

use windlass::{ConfigError, HashRing, Node, Placement, Seed};

use crate::{
    args::{Change, RingArgs, Weighted},
    failure::Failure,
    room,
};

/// Who owns what before the change, and, if there is one, after it.
pub(super) struct Rings {
    pub(super) before: Arc<Placement>,
    pub(super) after: Option<Arc<Placement>>,
}

/// Nodes have the numbers in which they are named.
pub(super) fn of(args: &RingArgs) -> Result<Rings, Failure> {
    let given = args.nodes.iter().zip(0..).map(|(node, id)| made(node, id));
    let ring = HashRing::builder()
        .vnodes(u32::try_from(args.vnodes.0).unwrap_or(u32::MAX))
        .seed(Seed(args.state.seed))
        .nodes(given)
        .build()
        .map_err(|error| refused("--nodes", &error))?;
    let before = ring.placement();
    let mut names: Vec<&str> = args.nodes.iter().map(|node| node.name.as_str()).collect();
    for change in &args.change {
        let id = |name: &str| match before_last(&names, name).filter(|id| ring_has(&ring, *id)) {
            Some(id) => Ok(id),
            None => Err(Failure::bad(format_args!("--change: there is no node {name:?} to change"))),
        };
        let done = match change {
            Change::Comes(node) => {
                names.push(&node.name);
                ring.add(made(node, u32::try_from(names.len() - 1).unwrap_or(u32::MAX)))
            }
            Change::Goes(name) => ring.remove(id(name)?),
            Change::Weighs(node) => ring.set_weight(id(&node.name)?, node.weight),
        };
        done.map_err(|error| refused("--change", &error))?;
    }
    let after = (!args.change.is_empty()).then(|| ring.placement());
    if after.as_ref().is_some_and(|after| after.nodes().is_empty()) {
        return Err(Failure::bad("--change: no node is left"));
    }
    Ok(Rings { before, after })
}

fn made(node: &Weighted, id: u32) -> Node {
    Node::new(id, node.name.as_str()).weight(node.weight)
}

/// The last node that had this name: one may go and come again.
fn before_last(names: &[&str], name: &str) -> Option<u32> {
    names.iter().rposition(|known| *known == name).and_then(|id| u32::try_from(id).ok())
}

fn ring_has(ring: &HashRing, id: u32) -> bool {
    ring.placement().nodes().iter().any(|node| node.id == id)
}

/// The error in the words of the command line.
fn refused(option: &str, error: &ConfigError) -> Failure {
    match error.field {
        "vnodes" => room::out_of_range(format_args!("--vnodes {}", error.value), &error.limit),
        field => room::out_of_range(format_args!("{option}: {field} {}", error.value), &error.limit),
    }
}
