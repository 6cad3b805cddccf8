//! Writing: content goes into a frame until that is full.

use super::{
    CHECKSUM, END, EVENTS, FIXED, FRAME, Header, MAGIC, MAX_CONTENT, MAX_HEADER, SnapshotSummary, VERSION,
    nanos, setting,
};
use std::io::{self, Write};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Writes a snapshot: sections one after another, the content of each as one stream of bytes.
pub(crate) struct Writer<W> {
    out: W,
    /// Of the header: what follows belongs to it and to no other.
    id: u64,
    /// The frame in hand, with room for what is before its content.
    frame: Vec<u8>,
    section: Option<u32>,
    /// Nothing of the section has been written as yet.
    unwritten: bool,
    frames: u64,
    entries: u64,
    bytes: u64,
}

impl<W: Write> Writer<W> {
    /// # Errors
    /// Those of `out`; or the settings are longer than what fits into a header.
    pub(crate) fn begin(mut out: W, header: &Header) -> io::Result<Writer<W>> {
        let mut bytes = Vec::with_capacity(512);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(header.kind as u16).to_le_bytes());
        bytes.extend_from_slice(&(if header.counts_events { EVENTS } else { 0 }).to_le_bytes());
        let length_at = bytes.len();
        bytes.extend_from_slice(&[0; 8]);
        for word in [header.seed.0, nanos(header.wall), header.now.0] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        debug_assert_eq!(bytes.len(), FIXED);
        setting::short(env!("CARGO_PKG_VERSION"), &mut bytes);
        setting::write(&header.settings, &mut bytes);
        let length = bytes.len() + CHECKSUM;
        let too_long =
            || io::Error::new(io::ErrorKind::InvalidInput, "the settings do not fit into a header");
        let length = u32::try_from(length).ok().filter(|_| length <= MAX_HEADER).ok_or_else(too_long)?;
        bytes[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
        let id = xxh3_64(&bytes);
        bytes.extend_from_slice(&id.to_le_bytes());
        out.write_all(&bytes)?;
        Ok(Writer {
            out,
            id,
            frame: Vec::with_capacity(FRAME + MAX_CONTENT + CHECKSUM),
            section: None,
            unwritten: false,
            frames: 0,
            entries: 0,
            bytes: length.into(),
        })
    }

    /// What follows belongs to this section: another than the one before, and not the greatest number.
    pub(crate) fn section(&mut self, kind: u32) -> io::Result<()> {
        debug_assert!(kind != END && self.section != Some(kind));
        self.close()?;
        (self.section, self.unwritten) = (Some(kind), true);
        Ok(())
    }

    /// Counts an entry: the reader must come to the same number.
    pub(crate) fn entry(&mut self) {
        self.count(1);
    }

    /// .. or several.
    pub(crate) fn count(&mut self, entries: u64) {
        self.entries += entries;
    }

    pub(crate) fn put(&mut self, mut content: &[u8]) -> io::Result<()> {
        while !content.is_empty() {
            if self.frame.is_empty() {
                self.frame.extend_from_slice(&[0; FRAME]);
            }
            let room = FRAME + MAX_CONTENT - self.frame.len();
            let (now, later) = content.split_at(content.len().min(room));
            self.frame.extend_from_slice(now);
            content = later;
            if now.len() == room {
                self.flush()?;
            }
        }
        Ok(())
    }

    pub(crate) fn u8(&mut self, byte: u8) -> io::Result<()> {
        self.put(&[byte])
    }

    pub(crate) fn u32(&mut self, word: u32) -> io::Result<()> {
        self.put(&word.to_le_bytes())
    }

    pub(crate) fn u64(&mut self, word: u64) -> io::Result<()> {
        self.put(&word.to_le_bytes())
    }

    /// Writes the end.
    pub(crate) fn finish(mut self) -> io::Result<SnapshotSummary> {
        self.close()?;
        let (frames, entries) = (self.frames, self.entries);
        self.section = Some(END);
        self.u64(frames)?;
        self.u64(entries)?;
        self.flush()?;
        self.out.flush()?;
        Ok(SnapshotSummary { bytes: self.bytes, entries })
    }

    /// Ends a section: with an empty frame if it has no content, so that it is there.
    fn close(&mut self) -> io::Result<()> {
        if self.section.is_some() && (self.unwritten || !self.frame.is_empty()) {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some(kind) = self.section else { return Ok(()) };
        self.frame.resize(self.frame.len().max(FRAME), 0);
        let length = u32::try_from(self.frame.len() - FRAME).unwrap_or(u32::MAX);
        self.frame[..4].copy_from_slice(&length.to_le_bytes());
        self.frame[4..FRAME].copy_from_slice(&kind.to_le_bytes());
        let sum = checksum(&self.frame, self.id, self.frames);
        self.frame.extend_from_slice(&sum.to_le_bytes());
        self.out.write_all(&self.frame)?;
        self.bytes += self.frame.len() as u64;
        self.frames += 1;
        self.unwritten = false;
        self.frame.clear();
        Ok(())
    }
}

/// Of a frame, from its length to the end of its content: it belongs to this header, and stands at this place behind it.
pub(super) fn checksum(frame: &[u8], id: u64, number: u64) -> u64 {
    xxh3_64_with_seed(frame, id.wrapping_add(number))
}
