//! The nodes of a ring.

use crate::error::ConfigError;

/// A node of a [`crate::HashRing`]: an id to answer with, a name that places it, and a weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub(super) id: u32,
    pub(super) name: String,
    pub(super) weight: u32,
}

impl Node {
    /// A node of weight 1. The id is what routes answer, the name is what its points are made from: an address, say.
    pub fn new(id: u32, name: impl Into<String>) -> Node {
        Node { id, name: name.into(), weight: 1 }
    }

    /// How many times the keys of a node of weight 1 it should have: at least 1.
    #[must_use]
    pub fn weight(mut self, weight: u32) -> Node {
        self.weight = weight;
        self
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.name.is_empty() {
            return Err(ConfigError::new("name", format_args!("\"\" (node {})", self.id), "at least a byte"));
        }
        if self.weight == 0 {
            let value = format!("0 (node {}, {})", self.id, self.name);
            return Err(ConfigError::new("weight", value, "at least 1; a node that gets no keys is removed"));
        }
        Ok(())
    }
}

/// A node and what it has.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NodeShare {
    /// Its id.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its weight.
    pub weight: u32,
    /// The share of all keys that it owns, 0 to 1: of the circle, exactly.
    pub share: f64,
}
