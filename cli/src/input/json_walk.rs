//! Walks over JSON text with serde, noting where values stand instead of building them.

use std::{fmt, ops::Range};

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::json::{Field, Found, part_of};

/// The line's object: notes where its wanted fields stand.
pub(super) struct Top<'a> {
    pub(super) line: &'a [u8],
    pub(super) fields: &'a [Field],
    pub(super) found: &'a mut [Found],
}

impl<'de> DeserializeSeed<'de> for Top<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Top<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(hits) = map.next_key_seed(Name(self.fields))? {
            if hits == (Hits { exact: 0, root: 0 }) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value: &'de RawValue = map.next_value()?;
            let part = part_of(self.line, value.get().as_bytes());
            for (at, found) in self.found.iter_mut().enumerate() {
                // Of two fields with the same name the last one counts, as nearly everywhere.
                if hits.exact >> at & 1 == 1 {
                    found.exact = Some(part.clone());
                }
                if hits.root >> at & 1 == 1 {
                    found.root = Some(part.clone());
                }
            }
        }
        Ok(())
    }
}

/// A name in the object: which wanted fields (a bit each) it is, and of which it is the first step.
struct Name<'a>(&'a [Field]);

/// How many fields the bits of [`Hits`] can tell apart.
pub(super) const MOST_FIELDS: usize = 64;

#[derive(PartialEq)]
struct Hits {
    exact: u64,
    root: u64,
}

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Hits;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Hits, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Hits;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Hits, E> {
        let mut hits = Hits { exact: 0, root: 0 };
        for (at, field) in self.0.iter().enumerate() {
            hits.exact |= u64::from(field.is_exactly(name)) << at;
            hits.root |= u64::from(field.is_root(name)) << at;
        }
        Ok(hits)
    }
}

/// One step down: the member of an object or the element of an array; `None` if it has none such.
pub(super) struct Child<'a> {
    pub(super) step: &'a str,
}

impl<'de> Visitor<'de> for Child<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut child = None;
        while let Some(name) = map.next_key::<String>()? {
            if name == self.step {
                child = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(child)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        let index: Option<usize> = self.step.parse().ok();
        let (mut child, mut at) = (None, 0);
        while let Some(element) = array.next_element()? {
            if Some(at) == index {
                child = Some(element);
            }
            at += 1;
        }
        Ok(child)
    }
}

/// An array: notes where its elements stand.
pub(super) struct Elements<'a> {
    pub(super) line: &'a [u8],
    pub(super) parts: &'a mut Vec<Range<usize>>,
}

impl<'de> Visitor<'de> for Elements<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        while let Some(element) = array.next_element::<&'de RawValue>()? {
            self.parts.push(part_of(self.line, element.get().as_bytes()));
        }
        Ok(())
    }
}
