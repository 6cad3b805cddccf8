//! L2: the format of snapshots, which all structures share: a header with settings, sections of bytes in frames with checksums, an end. A
//! structure says what its sections hold. Layout and promises: docs/snapshot-format.md.

mod error;
mod read;
mod setting;
#[cfg(all(test, not(windlass_loom)))]
mod tests;
mod write;

use crate::{hash::Seed, time::Tick};
pub use error::RestoreError;
pub(crate) use read::Reader;
pub(crate) use setting::{Setting, Value};
use std::{fmt, time::Duration};
pub(crate) use write::Writer;

/// What no text has at its beginning, and what does not survive whoever takes line ends for text.
const MAGIC: [u8; 8] = *b"\x89WLS\r\n\x1a\n";

/// Of the format. A change of what is written is another version; every earlier one is read for ever.
const VERSION: u16 = 1;

/// Flags of the header: ticks are numbers of events.
const EVENTS: u32 = 1;

/// Bytes of a header up to its texts, and the most that it has in all.
const FIXED: usize = 48;
const MAX_HEADER: usize = 1 << 16;

/// Bytes of a frame before its content, and the most that its content has.
const FRAME: usize = 8;
const MAX_CONTENT: usize = 1 << 16;

const CHECKSUM: usize = 8;

/// The kind of the last frame; what it holds is the number of frames before it, and of entries.
const END: u32 = u32::MAX;

/// Which structure a snapshot is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Dedup = 1,
    Bloom = 2,
    Counter = 3,
    Total = 4,
    TopK = 5,
    BoundedTopK = 6,
    Fifo = 7,
    Ring = 8,
    Limiter = 9,
    KeyedLimiter = 10,
    LimitSet = 11,
}

impl Kind {
    const ALL: [Kind; 11] = [
        Kind::Dedup,
        Kind::Bloom,
        Kind::Counter,
        Kind::Total,
        Kind::TopK,
        Kind::BoundedTopK,
        Kind::Fifo,
        Kind::Ring,
        Kind::Limiter,
        Kind::KeyedLimiter,
        Kind::LimitSet,
    ];

    /// The public name of the structure.
    fn name(self) -> &'static str {
        match self {
            Kind::Dedup => "Dedup",
            Kind::Bloom => "RotatingBloom",
            Kind::Counter => "WindowedCounter",
            Kind::Total => "WindowedTotal",
            Kind::TopK => "TopK",
            Kind::BoundedTopK => "BoundedTopK",
            Kind::Fifo => "FifoIndex",
            Kind::Ring => "HashRing",
            Kind::Limiter => "Limiter",
            Kind::KeyedLimiter => "KeyedLimiter",
            Kind::LimitSet => "LimitSet",
        }
    }

    fn of(code: u16) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| *kind as u16 == code)
    }
}

/// What a snapshot says before all else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) counts_events: bool,
    pub(crate) seed: Seed,
    /// When it was begun: since 1970, to the nanosecond.
    pub(crate) wall: Duration,
    /// .. and on the structure's own coordinate.
    pub(crate) now: Tick,
    /// What must be the same where it is restored.
    pub(crate) settings: Vec<Setting>,
}

impl Header {
    /// Where the coordinate stands at `wall`, and how long it has been since the snapshot: nothing if the system's clock went back
    /// meanwhile. Numbers of events go on where they were.
    pub(crate) fn resume(&self, wall: Duration) -> (Tick, Duration) {
        let elapsed = wall.saturating_sub(self.wall);
        let ticks = if self.counts_events { 0 } else { nanos(elapsed) };
        (Tick(self.now.0.saturating_add(ticks)), elapsed)
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// What a snapshot came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SnapshotSummary {
    /// Bytes that were written.
    pub bytes: u64,
    /// Ids, clients, entries, nodes: whatever the structure holds.
    pub entries: u64,
}

/// A structure that was restored from a snapshot, and where its coordinate stands.
///
/// **Ticks go on**: what was restored counts from the same origin as before. `resumed` is the tick of the snapshot and the time that has
/// passed since, by the system's clock (for windows of events: the number of the next event). The structure's own clock starts there, unless
/// the builder was given one. Whoever brings ticks of his own that began anew, such as a monotonic clock's after a boot, adds the difference.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Restored<T> {
    /// The structure.
    pub structure: T,
    /// The tick of now.
    pub resumed: Tick,
    /// The time since the snapshot by the system's clock; 0 if that went back.
    pub elapsed: Duration,
    /// Entries that were restored: all that the snapshot has.
    pub entries: u64,
}

impl<T> Restored<T> {
    /// With what is made of the structure.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Restored<U> {
        let Restored { structure, resumed, elapsed, entries } = self;
        Restored { structure: f(structure), resumed, elapsed, entries }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
