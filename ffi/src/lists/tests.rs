//! Lists as C gets them, and as Rust has them.

use windlass::{TopKey, TopSnapshot};

use crate::{
    sized::Plain,
    status::WINDLASS_OK,
    topk::list::{
        WINDLASS_KEY_BYTES, WINDLASS_KEY_HASH, WINDLASS_KEY_NAMESPACED, WINDLASS_KEY_U64, windlass_top_list,
        windlass_top_row,
    },
};

/// What a call gave: the head, and key and figures of each row.
#[derive(Debug, PartialEq)]
pub(crate) struct Got {
    pub(crate) status: i32,
    pub(crate) list: windlass_top_list,
    pub(crate) rows: Vec<(TopKey, u64, u64, u64)>,
}

/// What a function gives into arrays for so many rows and bytes of keys.
pub(crate) fn got(
    room: (usize, usize),
    ask: impl FnOnce(*mut windlass_top_list, *mut windlass_top_row, *mut u8) -> i32,
) -> Got {
    let mut list = windlass_top_list::DEFAULT;
    let (mut rows, mut keys) = (vec![windlass_top_row::default(); room.0], vec![0; room.1]);
    let status = ask(&raw mut list, rows.as_mut_ptr(), keys.as_mut_ptr());
    if status != WINDLASS_OK {
        assert_eq!((rows, keys), (vec![windlass_top_row::default(); room.0], vec![0; room.1]), "left alone");
        return Got { status, list, rows: Vec::new() };
    }
    let key = |row: &windlass_top_row| {
        let at = usize::try_from(row.key_at).expect("in the array");
        let bytes = &keys[at..][..row.key_len as usize];
        read(row.kind, bytes)
    };
    let some = &rows[..usize::try_from(list.rows).expect("few")];
    let rows = some.iter().map(|row| (key(row), row.count, row.lower, row.upper)).collect();
    Got { status, list, rows }
}

fn read(kind: u32, bytes: &[u8]) -> TopKey {
    let number = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("8 bytes"));
    match kind {
        WINDLASS_KEY_BYTES => TopKey::Bytes(bytes.into()),
        WINDLASS_KEY_U64 => TopKey::Number(number(bytes)),
        WINDLASS_KEY_HASH => TopKey::Hash(number(&bytes[8..]), number(&bytes[..8])),
        _ => {
            let (len, rest) = bytes.split_first_chunk().expect("4 bytes");
            let (name, key) = rest.split_at(u32::from_ne_bytes(*len) as usize);
            TopKey::Namespaced(name.into(), Box::new(read(kind - WINDLASS_KEY_NAMESPACED, key)))
        }
    }
}

/// What a list of Rust's is in C.
pub(crate) fn as_c(from: &TopSnapshot) -> Got {
    let list = windlass_top_list {
        struct_size: 64,
        certified: from.certified.into(),
        rows: from.rows.len() as u64,
        key_bytes: from.rows.iter().map(|row| len(&row.key)).sum(),
        as_of: from.as_of.0,
        start: from.start.0,
        end: from.end.0,
        total: from.total,
        tail: from.tail,
    };
    let rows = from.rows.iter().map(|row| (row.key.clone(), row.count, row.lower, row.upper)).collect();
    Got { status: WINDLASS_OK, list, rows }
}

fn len(key: &TopKey) -> u64 {
    match key {
        TopKey::Bytes(bytes) => bytes.len() as u64,
        TopKey::Number(_) => 8,
        TopKey::Namespaced(name, key) => 4 + name.len() as u64 + len(key),
        _ => 16,
    }
}
