//! Filters in files: panes and ring are the file's memory, so what is put in outlives the process, however it ends.
//!
//! ```text
//! page 0:  magic (8) | byte order (8) | header as of a snapshot | .. | wall time of tick 0, by the clock (8, at 4032)
//! from 4096 on: the ring's words, up to the next page; then the columns
//! ```
//! A file of one page is one that was not finished: nothing has been put in.
//!
//! **Killed at any point** is, for the ring, as if all threads had stalled there; and of those nobody waits for any, but for who has claimed a chunk and not
//! yet cleared it. Such chunks are cleared when the file is opened (`PaneRing::mend`).

use super::{
    BloomBuilder, RotatingBloom,
    columns::{Columns, with_columns},
    snapshot::settings_of,
};
use crate::{
    codec::{Header, Kind, Reader, RestoreError, Restored, Writer},
    hash::Seed,
    mem::Mapped,
    pane::{PaneRing, Words},
    settings,
    sync::Ordering::Relaxed,
    time::Tick,
};
use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, Write},
    path::Path,
    time::Duration,
};

const MAGIC: [u8; 8] = *b"\x89WLB\r\n\x1a\n";
/// As the machine has it.
const ORDER: u64 = 0x0102_0304_0506_0708;
const PAGE: usize = 4096;
const LINE: usize = 64;
/// Where the wall time is: the last line of the page.
const WALL: usize = PAGE - LINE;

impl BloomBuilder {
    /// A filter whose panes lie in a file: a new one if there is none there, or as its last process left it. `wall`: the present by the system's clock, since
    /// 1970 (UTC). With feature `mmap`, on Unix.
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass::{RotatingBloom, Tick};
    ///
    /// let path = std::env::temp_dir().join(format!("windlass-example-{}", std::process::id()));
    /// let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    /// let builder = RotatingBloom::builder(Duration::from_secs(60)).expected_ids(10_000);
    /// let seen = builder.clone().file(&path, wall)?.structure;
    /// seen.insert_at("order-4711", Tick(5_000_000_000));
    /// drop(seen); // or the process is killed
    ///
    /// let seen = builder.file(&path, wall)?.structure;
    /// assert!(seen.contains_at("order-4711", Tick(9_000_000_000)));
    /// # drop(seen);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # What holds
    /// - *The process is killed*, at any point: every call that has returned is in the file, and the next process finds it.
    /// - *The machine stops*: what had been put in before the last [`RotatingBloom::flush`] that returned is found, as long as it is in the window. Of what
    ///   came later nothing is promised; some ids that have expired may count as seen for as long as a pane lives.
    /// - *Two at once*: the second one, of this process or another, is refused ([`io::ErrorKind::WouldBlock`]), where both use this library. Nothing keeps other
    ///   programs from changing the file; one that makes it shorter ends the process.
    ///
    /// A file belongs to machines of one byte order. Settings that say what bits mean must be those of the file, as with
    /// [`BloomBuilder::restore`]; the seed is that of the file.
    ///
    /// # Time
    /// [`Restored::resumed`] is where the structure's own clock stands and goes on: it is taken from the system's clock since the file was made (so a step of
    /// that counts as time that passed), and is not before the newest pane. For windows of events it is the first of that pane. [`Restored::elapsed`]: since the
    /// newest pane began. Panes are moved on by the calls that come. With `max_jump`, and after a silence that was longer, [`RotatingBloom::advance_to`]
    /// moves them on.
    ///
    /// # Errors
    /// What the system says; or what is wrong with the settings or the file.
    pub fn file(
        self,
        path: impl AsRef<Path>,
        wall: Duration,
    ) -> Result<Restored<RotatingBloom>, RestoreError> {
        let plan = self.plan()?;
        let broken = |source| RestoreError::Io { at: 0, source };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(broken)?;
        if !Mapped::lock(&file).map_err(broken)? {
            return Err(broken(io::Error::new(io::ErrorKind::WouldBlock, "the file is in use")));
        }
        let ring_bytes = (Words::lines(plan.panes) * LINE).next_multiple_of(PAGE);
        let size = plan.bytes.saturating_add((PAGE + ring_bytes) as u64);
        let length = file.metadata().map_err(broken)?.len();
        let is_new = length == 0;
        if is_new {
            let seed = self.seed.unwrap_or_else(Seed::random);
            self.write_page(&file, seed, &settings_of(self.window, self.lateness, &plan)).map_err(broken)?;
        }
        let reader = read_page(&mut file)?;
        reader.agree(
            self.window.counts_events(),
            self.seed,
            &settings_of(self.window, self.lateness, &plan),
        )?;
        let seed = reader.header().seed;
        match file.metadata().map_err(broken)?.len() {
            length if length == PAGE as u64 => file.set_len(size).map_err(broken)?,
            length if length == size => {}
            length if length < size => return Err(RestoreError::Truncated { at: length }),
            _ => return Err(reader.wrong("file", "longer than what it says")),
        }
        let map = Mapped::new(file).map_err(broken)?;
        let no_memory = || RestoreError::Memory { needed: size, limit: size };
        let origin = map.lines(WALL, 1).ok_or_else(no_memory)?;
        let words = map.lines(PAGE, Words::lines(plan.panes)).ok_or_else(no_memory)?;
        let mut at = PAGE + ring_bytes;
        let columns = Columns::over(&plan.choice(), |len| {
            let lines = map.lines(at, len);
            at += len * LINE;
            lines
        });
        let columns = columns.ok_or_else(no_memory)?;
        let ring = PaneRing::new(self.ring_of(&plan), Words::over(words));
        if !with_columns!(&columns, columns => ring.mend(columns)) {
            return Err(reader.wrong("ring", "not as a filter leaves it"));
        }
        let newest = ring.newest_start();
        let wall = u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX);
        // Relaxed: the file is this process's alone.
        let begun = origin[0][0].load(Relaxed);
        let resumed = match (self.window.counts_events(), begun) {
            (true, _) | (false, 0) => newest,
            (false, begun) => wall.saturating_sub(begun).max(newest),
        };
        let clock = settings::clock_from(self.clock.clone(), self.window, Tick(resumed))?;
        if begun == 0 {
            // (0 is what a new file has.)
            origin[0][0].store(wall.saturating_sub(clock.now().0).max(1), Relaxed);
        }
        let entries = ring.panes(0).0.live() as u64;
        let (window, lateness) = (self.window, self.lateness);
        let structure = RotatingBloom { ring, columns, plan, window, lateness, seed, clock, file: Some(map) };
        let elapsed = if window.counts_events() { 0 } else { resumed - newest };
        Ok(Restored { structure, resumed: Tick(resumed), elapsed: Duration::from_nanos(elapsed), entries })
    }

    /// Makes the first page of a file.
    fn write_page(&self, mut file: &File, seed: Seed, settings: &[crate::codec::Setting]) -> io::Result<()> {
        let header = Header {
            kind: Kind::Bloom,
            counts_events: self.window.counts_events(),
            seed,
            wall: Duration::ZERO,
            now: Tick(0),
            settings: settings.to_vec(),
        };
        let mut page = Vec::from(MAGIC);
        page.extend_from_slice(&ORDER.to_ne_bytes());
        Writer::begin(&mut page, &header)?;
        if page.len() > WALL {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the settings do not fit into a page"));
        }
        page.resize(PAGE, 0);
        file.write_all(&page)?;
        file.sync_all()
    }
}

/// What the first page of a file says.
fn read_page(file: &mut File) -> Result<Reader<io::Cursor<Vec<u8>>>, RestoreError> {
    let mut page = Vec::new();
    let broken = |source| RestoreError::Io { at: 0, source };
    file.rewind().map_err(broken)?;
    Read::by_ref(file).take(PAGE as u64).read_to_end(&mut page).map_err(broken)?;
    if !page.starts_with(&MAGIC) {
        return Err(RestoreError::Foreign);
    }
    if page.len() < PAGE {
        return Err(RestoreError::Truncated { at: page.len() as u64 });
    }
    let order = page[MAGIC.len()..MAGIC.len() + 8].try_into().map_or(0, u64::from_ne_bytes);
    if order != ORDER {
        let problem = if order == ORDER.swap_bytes() { "that of other machines" } else { "neither" };
        return Err(RestoreError::Damaged { at: 8, part: "byte order", problem: problem.into() });
    }
    let header = io::Cursor::new(page.split_off(MAGIC.len() + 8));
    Reader::begin(header, Kind::Bloom)
}

impl RotatingBloom {
    /// Of a filter in a file ([`BloomBuilder::file`]): returns when all that was put in before is on the disk. Others go on. Of one in memory: does nothing.
    ///
    /// # Errors
    /// What the system says.
    pub fn flush(&self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), |file| file.flush())
    }
}
