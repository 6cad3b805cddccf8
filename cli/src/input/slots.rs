//! The fields of one record that somebody asked for.

use std::ops::Range;

/// The fields wanted, by name, in the order of their slots: the key's first, then those of the key beside it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) names: Vec<String>,
    pub(crate) keys: usize,
    pub(crate) beside: usize,
    pub(crate) time: Option<usize>,
    pub(crate) source: Option<usize>,
    pub(crate) each: Option<usize>,
}

impl Wanted {
    pub(crate) fn add(&mut self, name: &str) -> usize {
        self.names.push(name.to_owned());
        self.names.len() - 1
    }
}

/// A larger buffer is not kept.
const LONG: usize = 1 << 20;

/// Where a field's value stands. Most are slices of the record itself; what had to be unescaped is in the scratch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Slot {
    #[default]
    Absent,
    Record(usize, usize),
    Scratch(usize, usize),
}

/// One slot per wanted field. Reused from record to record.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    slots: Vec<Slot>,
    scratch: Vec<u8>,
}

impl Slots {
    /// All absent.
    pub(crate) fn clear(&mut self, fields: usize) {
        self.slots.clear();
        self.slots.resize(fields, Slot::Absent);
        self.scratch.clear();
        // A long value had it grow.
        self.scratch.shrink_to(LONG);
    }

    pub(crate) fn set_absent(&mut self, field: usize) {
        self.slots[field] = Slot::Absent;
    }

    /// The field's value is this part of the record.
    pub(crate) fn set(&mut self, field: usize, part: Range<usize>) {
        self.slots[field] = Slot::Record(part.start, part.end);
    }

    /// The field's value stands nowhere in the record as it is.
    pub(crate) fn set_bytes(&mut self, field: usize, value: &[u8]) {
        let start = self.scratch.len();
        self.scratch.extend_from_slice(value);
        self.slots[field] = Slot::Scratch(start, self.scratch.len());
    }

    /// The same for two events of one record: they have the same value there.
    pub(super) fn slot(&self, field: usize) -> Slot {
        self.slots[field]
    }

    pub(crate) fn get<'a>(&'a self, record: &'a [u8], field: usize) -> Option<&'a [u8]> {
        match self.slots[field] {
            Slot::Absent => None,
            Slot::Record(start, end) => Some(&record[start..end]),
            Slot::Scratch(start, end) => Some(&self.scratch[start..end]),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// All values of a record as text, `None` for absent ones.
    pub(crate) fn texts(slots: &Slots, record: &[u8]) -> Vec<Option<String>> {
        let text = |i| slots.get(record, i).map(|v| String::from_utf8_lossy(v).into_owned());
        (0..slots.slots.len()).map(text).collect()
    }

    pub(crate) fn some(values: &[&str]) -> Vec<Option<String>> {
        values.iter().map(|v| Some((*v).to_owned())).collect()
    }
}
