//! What can go wrong while building.

use std::fmt;

/// A structure cannot be built as asked: which field, what it was, what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The builder's field.
    pub field: &'static str,
    /// What it was given.
    pub value: String,
    /// What is allowed.
    pub limit: String,
}

impl ConfigError {
    pub(crate) fn new(
        field: &'static str,
        value: impl fmt::Display,
        limit: impl fmt::Display,
    ) -> ConfigError {
        ConfigError { field, value: value.to_string(), limit: limit.to_string() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} is out of range: {}", self.field, self.value, self.limit)
    }
}

impl std::error::Error for ConfigError {}
