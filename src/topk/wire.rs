//! Exports as bytes: little endian, with a version and a checksum.
//!
//! ```text
//! "WLTK" | version (2) | flags (2) | length of all (8) | as of | pane | first | end | total | tail | seed (8 each)
//!        | k (4) | capacity (4) | rows (4) | 0 (4) | rows | XXH3-64 of all before it (8)
//! a row: lower (8) | upper (8) | kind of key (4) | length of key (4) | key
//! ```
//! flags: 1: the panes are events. A reader trusts nothing: lengths are checked before anything is allocated for them, and what it reads is
//! what [`Export::to_bytes`] would write.

use super::{Export, ExportRow, TopK, TopKey};
use crate::time::Tick;
use std::{collections::HashSet, fmt};
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: [u8; 4] = *b"WLTK";
const VERSION: u16 = 1;
const EVENTS: u16 = 1;

const CHECKSUM: usize = 8;
/// Bytes of what is before the rows, and of a row before its key.
const HEADER: usize = 4 + 2 + 2 + 8 + 7 * 8 + 4 * 4;
const ROW: usize = 8 + 8 + 4 + 4;

/// How often a key may be in a namespace in a namespace.
const DEPTH: u32 = 8;

/// Bytes that are not an export: where, and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WireError {
    /// The byte at which that begins which is wrong.
    pub at: usize,
    /// Which part it is.
    pub field: &'static str,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "export, byte {}: {}: {}", self.at, self.field, self.problem)
    }
}

impl std::error::Error for WireError {}

impl Export {
    /// Its bytes, for [`Export::from_bytes`] on any machine.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER + self.rows.len() * (ROW + 16) + CHECKSUM);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&(if self.counts_events { EVENTS } else { 0 }).to_le_bytes());
        let length_at = out.len();
        let (as_of, total, tail) = (self.as_of.0, self.total, self.tail);
        for word in [0, as_of, self.pane, self.first, self.end, total, tail, self.seed_id] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        let rows = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        for half in [self.k, self.capacity, rows, 0] {
            out.extend_from_slice(&half.to_le_bytes());
        }
        for row in &self.rows {
            out.extend_from_slice(&row.lower.to_le_bytes());
            out.extend_from_slice(&row.upper.to_le_bytes());
            let head = out.len();
            out.extend_from_slice(&[0; 8]);
            let kind = row.key.write(&mut out);
            let len = u32::try_from(out.len() - head - 8).unwrap_or(u32::MAX);
            out[head..head + 4].copy_from_slice(&kind.to_le_bytes());
            out[head + 4..head + 8].copy_from_slice(&len.to_le_bytes());
        }
        let length = (out.len() + CHECKSUM) as u64;
        out[length_at..length_at + 8].copy_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&xxh3_64(&out).to_le_bytes());
        out
    }

    /// What [`Export::to_bytes`] has written.
    ///
    /// Of bytes from anywhere: memory is asked for in proportion to their number, and no more. [`Export::MAX_ROWS`] rows at most, keys of
    /// [`TopK::MAX_LEN`] bytes.
    ///
    /// # Errors
    /// It is something else, cut off, or damaged; of a later version; or says what cannot be.
    pub fn from_bytes(bytes: &[u8]) -> Result<Export, WireError> {
        let mut reader = Reader { bytes, at: 0 };
        if reader.take("magic")? != MAGIC {
            return Err(wrong(0, "magic", "not an export"));
        }
        let version = u16::from_le_bytes(reader.take("version")?);
        if version != VERSION {
            return Err(wrong(4, "version", format!("{version}, where {VERSION} is known")));
        }
        let flags = u16::from_le_bytes(reader.take("flags")?);
        if flags & !EVENTS != 0 {
            return Err(wrong(6, "flags", format!("{flags:#x}, where {EVENTS:#x} is known")));
        }
        let length = reader.word("length")?;
        if length != bytes.len() as u64 {
            return Err(wrong(8, "length", format!("{length} bytes, and there are {}", bytes.len())));
        }
        let (rest, sum) = bytes.split_last_chunk().unwrap_or((bytes, &[0; CHECKSUM]));
        if xxh3_64(rest) != u64::from_le_bytes(*sum) {
            return Err(wrong(rest.len(), "checksum", "the bytes are damaged"));
        }
        reader.bytes = rest;
        reader.export(flags & EVENTS != 0)
    }
}

fn wrong(at: usize, field: &'static str, problem: impl Into<String>) -> WireError {
    WireError { at, field, problem: problem.into() }
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    fn bytes(&mut self, len: usize, field: &'static str) -> Result<&'b [u8], WireError> {
        let left = self.bytes.get(self.at..).unwrap_or(&[]);
        let Some(part) = left.get(..len) else {
            return Err(wrong(self.at, field, format!("{len} bytes, and there are {}", left.len())));
        };
        self.at += len;
        Ok(part)
    }

    fn take<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], WireError> {
        let at = self.at;
        self.bytes(N, field)?.try_into().map_err(|_| wrong(at, field, "cut off"))
    }

    fn word(&mut self, field: &'static str) -> Result<u64, WireError> {
        self.take(field).map(u64::from_le_bytes)
    }

    fn half(&mut self, field: &'static str) -> Result<u32, WireError> {
        self.take(field).map(u32::from_le_bytes)
    }

    fn export(mut self, counts_events: bool) -> Result<Export, WireError> {
        let as_of = Tick(self.word("as of")?);
        let at = self.at;
        let (pane, first, end) = (self.word("pane")?, self.word("first pane")?, self.word("end")?);
        if pane == 0 || end < first {
            return Err(wrong(at, "pane", format!("{first}..{end}, of {pane} ticks")));
        }
        let (total, tail, seed_id) = (self.word("total")?, self.word("tail")?, self.word("seed")?);
        let (k, capacity, at) = (self.half("k")?, self.half("capacity")?, self.at);
        let rows = self.half("rows")?;
        let left = self.bytes.len().saturating_sub(self.at + 4);
        let count = usize::try_from(rows).unwrap_or(usize::MAX);
        if rows > capacity || count > Export::MAX_ROWS || count > left / ROW {
            let most = Export::MAX_ROWS.min(left / ROW);
            return Err(wrong(
                at,
                "rows",
                format!("{rows}, with a capacity of {capacity}, and bytes for {most}"),
            ));
        }
        if self.half("reserved")? != 0 {
            return Err(wrong(self.at - 4, "reserved", "not 0"));
        }
        let (mut all, mut seen) = (Vec::with_capacity(count), HashSet::with_capacity(count));
        for _ in 0..count {
            let at = self.at;
            let row = self.row()?;
            if !seen.insert(row.key.clone()) {
                return Err(wrong(at, "key", "a second time"));
            }
            all.push(row);
        }
        if self.at != self.bytes.len() {
            return Err(wrong(
                self.at,
                "rows",
                format!("{} bytes behind the last", self.bytes.len() - self.at),
            ));
        }
        Ok(Export { as_of, total, tail, rows: all, capacity, k, pane, first, end, counts_events, seed_id })
    }

    fn row(&mut self) -> Result<ExportRow, WireError> {
        let at = self.at;
        let (lower, upper) = (self.word("lower")?, self.word("upper")?);
        if lower > upper {
            return Err(wrong(at, "bounds", format!("{lower} and more, {upper} at most")));
        }
        let at = self.at;
        let (kind, len) = (self.half("kind")?, self.half("length of key")?);
        if kind / 4 > DEPTH {
            return Err(wrong(at, "kind", format!("{kind}, where {} is the greatest", 4 * DEPTH + 3)));
        }
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if len > TopK::MAX_LEN {
            return Err(wrong(
                at + 4,
                "length of key",
                format!("{len}, where {} is the most", TopK::MAX_LEN),
            ));
        }
        let bytes = self.bytes(len, "key")?;
        let (key, mut same) = (TopKey::new(kind, bytes), Vec::with_capacity(len));
        if key.write(&mut same) != kind || same != bytes {
            return Err(wrong(at + 8, "key", format!("not one of kind {kind}")));
        }
        Ok(ExportRow { key, lower, upper })
    }
}
