//! Snapshots as docs/snapshot-format.md describes them, to be damaged with checksums that are right; and those of earlier versions.

use std::{fs, path::Path};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// A snapshot in its parts.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    /// Without its checksum.
    pub(crate) header: Vec<u8>,
    /// Sections and contents of the frames, with the end.
    pub(crate) frames: Vec<(u32, Vec<u8>)>,
}

fn half(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

impl Parts {
    pub(crate) fn of(bytes: &[u8]) -> Parts {
        let mut at = half(bytes, 16) as usize;
        let header = bytes[..at - 8].to_vec();
        let mut frames = Vec::new();
        while at < bytes.len() {
            let (length, section) = (half(bytes, at) as usize, half(bytes, at + 4));
            frames.push((section, bytes[at + 8..at + 8 + length].to_vec()));
            at += 8 + length + 8;
        }
        Parts { header, frames }
    }

    /// With lengths and checksums that fit.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.header.clone();
        let length = u32::try_from(bytes.len() + 8).expect("short");
        bytes[16..20].copy_from_slice(&length.to_le_bytes());
        let id = xxh3_64(&bytes);
        bytes.extend_from_slice(&id.to_le_bytes());
        for ((section, content), number) in self.frames.iter().zip(0..) {
            let start = bytes.len();
            bytes.extend_from_slice(&u32::try_from(content.len()).expect("short").to_le_bytes());
            bytes.extend_from_slice(&section.to_le_bytes());
            bytes.extend_from_slice(content);
            let sum = xxh3_64_with_seed(&bytes[start..], id.wrapping_add(number));
            bytes.extend_from_slice(&sum.to_le_bytes());
        }
        bytes
    }

    /// One byte of a frame's content, or of the header behind its fixed part.
    pub(crate) fn flip(&mut self, frame: usize, at: usize, by: u8) {
        let frames = self.frames.len();
        let content = match self.frames.get_mut(frame % (frames + 1)) {
            Some((_, content)) => &mut content[..],
            None => &mut self.header[24..],
        };
        let len = content.len();
        if len > 0 {
            content[at % len] ^= by;
        }
    }

    /// The number at a place of the first frame of a section is another.
    pub(crate) fn set(mut self, section: u32, at: usize, value: u64) -> Parts {
        let frame = self.frames.iter_mut().find(|frame| frame.0 == section).expect("the section");
        frame.1[at..at + 8].copy_from_slice(&value.to_le_bytes());
        self
    }
}

/// The snapshot of this name that an earlier version, or this one, has written: to be read for ever. With `WINDLASS_WRITE_GOLDEN=1` what `write` gives
/// takes its place, if there is none as yet.
pub(crate) fn golden(name: &str, write: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("WINDLASS_WRITE_GOLDEN").is_some_and(|v| v == "1") && !path.exists() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
        fs::write(&path, write()).expect("writable");
    }
    fs::read(&path).expect("tests/golden has it (or WINDLASS_WRITE_GOLDEN=1 puts it there)")
}
