//! A value: bytes.

use std::sync::Arc;

/// Handed out as a copy: of a long one that is a reference.
#[derive(Clone)]
pub(crate) enum Value {
    Short { len: u8, bytes: [u8; SHORT] },
    Long(Arc<[u8]>),
}

const SHORT: usize = 22;

impl Value {
    pub(super) fn new(value: &[u8]) -> Value {
        let mut bytes = [0; SHORT];
        match (u8::try_from(value.len()), bytes.get_mut(..value.len())) {
            (Ok(len), Some(place)) => {
                place.copy_from_slice(value);
                Value::Short { len, bytes }
            }
            _ => Value::Long(value.into()),
        }
    }

    pub(super) fn of(value: &[u8]) -> Option<Value> {
        Some(Value::new(value))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Value::Short { len, bytes } => &bytes[..usize::from(*len)],
            Value::Long(bytes) => bytes,
        }
    }
}

const _: () = assert!(size_of::<Value>() == 24);
