//! Reading: one frame at a time, and nothing of it before its checksum has been verified.

use super::{
    CHECKSUM, END, EVENTS, FIXED, FRAME, Header, Kind, MAGIC, MAX_CONTENT, MAX_HEADER, RestoreError, Setting,
    VERSION, setting, write::checksum,
};
use crate::{hash::Seed, time::Tick};
use std::{
    io::{self, Read},
    time::Duration,
};
use xxhash_rust::xxh3::xxh3_64;

/// Reads a snapshot. Takes no byte behind its end from the input.
pub(crate) struct Reader<R> {
    input: Input<R>,
    header: Header,
    id: u64,
    frame: Frame,
    /// The section in hand. Of the next one a frame may have been read.
    section: Option<u32>,
    /// Frames that have been read.
    frames: u64,
    entries: u64,
}

/// The frame in hand.
struct Frame {
    /// Where it begins.
    start: u64,
    kind: u32,
    /// From its length to the end of its content.
    bytes: Vec<u8>,
    /// So much of it has been taken.
    taken: usize,
}

struct Input<R> {
    input: R,
    /// Bytes that have been read.
    at: u64,
}

impl<R: Read> Input<R> {
    /// Appends so many bytes.
    fn more(&mut self, len: usize, out: &mut Vec<u8>) -> Result<(), RestoreError> {
        let before = out.len();
        // (A buffer for all of it only when there is as much.)
        let read = (&mut self.input).take(len as u64).read_to_end(out);
        self.at += (out.len() - before) as u64;
        match read {
            Ok(n) if n == len => Ok(()),
            Ok(_) => Err(RestoreError::Truncated { at: self.at }),
            Err(source) if source.kind() == io::ErrorKind::UnexpectedEof => {
                Err(RestoreError::Truncated { at: self.at })
            }
            Err(source) => Err(RestoreError::Io { at: self.at, source }),
        }
    }
}

fn damaged(at: u64, part: &'static str, problem: impl Into<String>) -> RestoreError {
    RestoreError::Damaged { at, part, problem: problem.into() }
}

/// The number at a place of bytes that are long enough.
fn word<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

impl<R: Read> Reader<R> {
    /// Reads the header, which must be of this kind.
    pub(crate) fn begin(input: R, kind: Kind) -> Result<Reader<R>, RestoreError> {
        let mut input = Input { input, at: 0 };
        let mut bytes = Vec::with_capacity(512);
        match input.more(MAGIC.len(), &mut bytes) {
            Err(RestoreError::Truncated { .. }) if !MAGIC.starts_with(&bytes) => {
                return Err(RestoreError::Foreign);
            }
            read => read?,
        }
        if bytes != MAGIC {
            return Err(RestoreError::Foreign);
        }
        input.more(2, &mut bytes)?;
        let version = u16::from_le_bytes(word(&bytes, 8));
        if version != VERSION {
            return Err(RestoreError::Version { found: version, known: VERSION });
        }
        input.more(FIXED - bytes.len(), &mut bytes)?;
        let length = u32::from_le_bytes(word(&bytes, 16));
        let most = u32::try_from(MAX_HEADER).unwrap_or(u32::MAX);
        let least = u32::try_from(FIXED + CHECKSUM).unwrap_or(u32::MAX);
        if !(least..=most).contains(&length) {
            return Err(damaged(
                16,
                "length of header",
                format!("{length}, where {least} to {most} are possible"),
            ));
        }
        let rest = usize::try_from(length - least).unwrap_or(0);
        input.more(rest, &mut bytes)?;
        let mut sum = Vec::with_capacity(CHECKSUM);
        input.more(CHECKSUM, &mut sum)?;
        let id = xxh3_64(&bytes);
        if id != u64::from_le_bytes(word(&sum, 0)) {
            return Err(damaged(bytes.len() as u64, "checksum of header", "the bytes are damaged"));
        }
        let header = header(&bytes, kind)?;
        let frame = Frame { start: input.at, kind: END, bytes: Vec::new(), taken: 0 };
        Ok(Reader { input, header, id, frame, section: None, frames: 0, entries: 0 })
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// That it was made with the same settings, and with this seed if there is one.
    pub(crate) fn agree(
        &self,
        counts_events: bool,
        seed: Option<Seed>,
        settings: &[Setting],
    ) -> Result<(), RestoreError> {
        setting::agree(&self.header.settings, settings)?;
        let differ = |name: &str, snapshot: &str, builder: &str| {
            Err(RestoreError::Setting {
                name: name.into(),
                snapshot: snapshot.into(),
                builder: builder.into(),
            })
        };
        if self.header.counts_events != counts_events {
            let name = |events| if events { "events" } else { "ns" };
            return differ("ticks", name(self.header.counts_events), name(counts_events));
        }
        match seed {
            Some(seed) if seed != self.header.seed => differ("seed", "(its own)", "another"),
            _ => Ok(()),
        }
    }

    /// Goes on to a section: the one before must have been taken to its end, and this one must be next.
    pub(crate) fn section(&mut self, kind: u32) -> Result<(), RestoreError> {
        if self.section.is_none() {
            self.next()?;
        } else if self.has_more()? {
            return Err(self.wrong("section", "longer than what it says"));
        }
        if self.frame.kind != kind || self.section == Some(kind) {
            let found = self.frame.kind;
            return Err(damaged(self.frame.start, "section", format!("{found}, where {kind} should be")));
        }
        self.section = Some(kind);
        Ok(())
    }

    /// Whether there is more in this section.
    pub(crate) fn has_more(&mut self) -> Result<bool, RestoreError> {
        loop {
            if self.section != Some(self.frame.kind) {
                return Ok(false);
            }
            if self.frame.taken < self.frame.bytes.len() {
                return Ok(true);
            }
            // Behind the end nothing is read.
            if self.frame.kind == END {
                return Ok(false);
            }
            self.next()?;
        }
    }

    /// Counts an entry.
    pub(crate) fn entry(&mut self) {
        self.count(1);
    }

    /// .. or several.
    pub(crate) fn count(&mut self, entries: u64) {
        self.entries += entries;
    }

    /// How many have been counted.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// Appends so many bytes of the section. (`out` grows with what has been verified, not with `len`.)
    pub(crate) fn bytes(
        &mut self,
        len: usize,
        part: &'static str,
        out: &mut Vec<u8>,
    ) -> Result<(), RestoreError> {
        let mut left = len;
        while left > 0 {
            let some = self.some(left, part)?;
            out.extend_from_slice(some);
            left -= some.len();
        }
        Ok(())
    }

    pub(crate) fn u8(&mut self, part: &'static str) -> Result<u8, RestoreError> {
        self.take::<1>(part).map(|[byte]| byte)
    }

    pub(crate) fn u32(&mut self, part: &'static str) -> Result<u32, RestoreError> {
        self.take(part).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self, part: &'static str) -> Result<u64, RestoreError> {
        self.take(part).map(u64::from_le_bytes)
    }

    /// What was read last cannot be.
    pub(crate) fn wrong(&self, part: &'static str, problem: impl Into<String>) -> RestoreError {
        damaged(self.frame.start + self.frame.taken as u64, part, problem)
    }

    /// That the end comes next, and all that was written before it has been read. How many entries there were.
    pub(crate) fn finish(mut self) -> Result<u64, RestoreError> {
        self.section(END)?;
        let frames = self.frames - 1;
        for (part, there) in [("frames", frames), ("entries", self.entries)] {
            let said = self.u64(part)?;
            if said != there {
                return Err(self.wrong(part, format!("{said} were written, and there are {there}")));
            }
        }
        if self.has_more()? {
            return Err(self.wrong("end", "longer than what it says"));
        }
        Ok(self.entries)
    }

    fn take<const N: usize>(&mut self, part: &'static str) -> Result<[u8; N], RestoreError> {
        let mut out = [0; N];
        let mut done = 0;
        while done < N {
            let some = self.some(N - done, part)?;
            out[done..done + some.len()].copy_from_slice(some);
            done += some.len();
        }
        Ok(out)
    }

    /// Takes up to `most` bytes, 1 at least.
    fn some(&mut self, most: usize, part: &'static str) -> Result<&[u8], RestoreError> {
        if !self.has_more()? {
            return Err(damaged(self.frame.start, part, "the section ends before it"));
        }
        let frame = &mut self.frame;
        let start = frame.taken;
        frame.taken = frame.bytes.len().min(start.saturating_add(most));
        Ok(&frame.bytes[start..frame.taken])
    }

    fn next(&mut self) -> Result<(), RestoreError> {
        let frame = &mut self.frame;
        frame.start = self.input.at;
        frame.bytes.clear();
        self.input.more(FRAME, &mut frame.bytes)?;
        let length = u32::from_le_bytes(word(&frame.bytes, 0));
        let Some(length) = usize::try_from(length).ok().filter(|&length| length <= MAX_CONTENT) else {
            return Err(damaged(
                frame.start,
                "length of frame",
                format!("{length}, where {MAX_CONTENT} is the most"),
            ));
        };
        self.input.more(length + CHECKSUM, &mut frame.bytes)?;
        let end = FRAME + length;
        let sum = u64::from_le_bytes(word(&frame.bytes, end));
        frame.bytes.truncate(end);
        if sum != checksum(&frame.bytes, self.id, self.frames) {
            return Err(damaged(frame.start, "checksum of frame", "damaged, or of another place"));
        }
        frame.kind = u32::from_le_bytes(word(&frame.bytes, 4));
        frame.taken = FRAME;
        self.frames += 1;
        Ok(())
    }
}

/// What a header says, of bytes that have been verified.
fn header(bytes: &[u8], kind: Kind) -> Result<Header, RestoreError> {
    let code = u16::from_le_bytes(word(bytes, 10));
    let found = Kind::of(code);
    if found != Some(kind) {
        let found = found.map_or_else(|| format!("structure {code}"), |kind| kind.to_string());
        return Err(RestoreError::Kind { found, wanted: kind.name() });
    }
    let flags = u32::from_le_bytes(word(bytes, 12));
    if flags & !EVENTS != 0 {
        return Err(damaged(12, "flags", format!("{flags:#x}, where {EVENTS:#x} is known")));
    }
    if word(bytes, 20) != [0; 4] {
        return Err(damaged(20, "reserved", "not 0"));
    }
    let mut rest = bytes.get(FIXED..).unwrap_or(&[]);
    let texts = setting::read_short(&mut rest).and_then(|_| setting::read(rest));
    let Some(settings) = texts else { return Err(damaged(FIXED as u64, "settings", "not readable")) };
    let number = |at| u64::from_le_bytes(word(bytes, at));
    Ok(Header {
        kind,
        counts_events: flags & EVENTS != 0,
        seed: Seed(number(24)),
        wall: Duration::from_nanos(number(32)),
        now: Tick(number(40)),
        settings,
    })
}
