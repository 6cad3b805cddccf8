//! Which node serves which slot.

use super::node::Node;
use crate::{
    address::{Host, parse_host},
    key::SLOTS,
    wire::Value,
};
use std::sync::Arc;

/// The owner of every slot, as far as it is known.
pub(crate) struct SlotMap {
    owners: Vec<Option<Arc<Node>>>,
}

impl SlotMap {
    pub(crate) fn empty() -> SlotMap {
        SlotMap { owners: vec![None; usize::from(SLOTS)] }
    }

    pub(crate) fn owner(&self, slot: u16) -> Option<&Arc<Node>> {
        self.owners.get(usize::from(slot))?.as_ref()
    }

    pub(crate) fn set(&mut self, slot: u16, node: &Arc<Node>) {
        if let Some(owner) = self.owners.get_mut(usize::from(slot)) {
            *owner = Some(Arc::clone(node));
        }
    }

    /// The owners, each once.
    pub(crate) fn nodes(&self) -> Vec<Arc<Node>> {
        let mut nodes: Vec<Arc<Node>> = Vec::new();
        for owner in self.owners.iter().flatten() {
            if !nodes.iter().any(|node| Arc::ptr_eq(node, owner)) {
                nodes.push(Arc::clone(owner));
            }
        }
        nodes
    }
}

/// A stretch of slots and their primary, of an answer to CLUSTER SLOTS.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) first: u16,
    pub(crate) last: u16,
    pub(crate) primary: Host,
}

/// Reads the answer of the node at `asked`. A node that does not know its own address tells none: it is where it was asked.
pub(crate) fn ranges(answer: &Value, asked: &str) -> Option<Vec<Range>> {
    let Value::Array(rows) = answer else { return None };
    rows.iter().map(|row| range(row, asked)).collect()
}

fn range(row: &Value, asked: &str) -> Option<Range> {
    let Value::Array(row) = row else { return None };
    let [Value::Int(first), Value::Int(last), Value::Array(primary), ..] = row.as_slice() else {
        return None;
    };
    let [name, Value::Int(port), ..] = primary.as_slice() else { return None };
    let port = u16::try_from(*port).ok()?;
    let name = match name {
        Value::Bulk(name) => std::str::from_utf8(name).ok()?,
        Value::Simple(name) => name,
        _ => "",
    };
    // "?" is what it tells where it is to announce a host name and has none.
    let name =
        if name.is_empty() || name == "?" { parse_host(asked, port).ok()?.name } else { name.to_owned() };
    let (first, last) = (u16::try_from(*first).ok()?, u16::try_from(*last).ok()?);
    (first <= last && last < SLOTS).then_some(Range { first, last, primary: Host { name, port } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(first: i64, last: i64, name: Value) -> Value {
        Value::Array(vec![
            Value::Int(first),
            Value::Int(last),
            Value::Array(vec![name, Value::Int(7001), Value::Bulk(b"id".to_vec())]),
        ])
    }

    #[test]
    fn answers_are_read() {
        let named = Value::Bulk(b"10.0.0.1".to_vec());
        for (name, host) in [(named.clone(), "10.0.0.1"), (Value::Nil, "a"), (Value::Bulk(vec![]), "a")] {
            let found = ranges(&Value::Array(vec![row(0, 5, name)]), "a:7000").expect("an answer");
            assert_eq!(found, [Range { first: 0, last: 5, primary: Host { name: host.into(), port: 7001 } }]);
        }
        for wrong in [row(0, 16384, named.clone()), row(6, 5, named), Value::Nil, Value::Array(vec![])] {
            assert_eq!(ranges(&Value::Array(vec![wrong]), "a:7000"), None);
        }
    }
}
