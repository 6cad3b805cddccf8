//! How many cells to a bucket, how many buckets to a group, and where does an id go that finds its bucket full? A simulation of
//! a sliding window that counts how many buckets have to look further and how often a new id finds no room. It printed the
//! tables of docs/geometry.md.
//!
//! ```text
//! cargo run --release --example geometry
//! ```
//!
//! One thread, no atomics: only where entries lie is simulated. Time is counted in windows. New ids come to a group as a
//! Poisson process, each to a bucket chosen at random, at the rate that gives the table so many bytes per live id. There
//! are no duplicates (they change nothing) and no lateness. An entry is gone when it is a window old. A sweep comes by
//! once per window and makes every row narrow whose ids all live in it.

use std::{fmt, ops::Range};

/// At capacity.
const BYTES_PER_ID: f64 = 40.0;
const BYTES_PER_CELL: usize = 16;
/// Groups begin at a border of this.
const ALIGNMENT: usize = 128;
const WINDOWS: u32 = 30;
/// Looked at after so many windows.
const MARKS: [u32; 3] = [1, 10, WINDOWS];
/// Arrivals simulated for each geometry, about.
const ARRIVALS: f64 = 2e7;

/// Where a row that is full goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// In the group's own cells for this.
    SpillLine(usize),
    /// In all of the group.
    Group,
    /// In the pair of buckets, then in all of the group.
    PairThenGroup,
}

#[derive(Clone, Copy)]
struct Geometry {
    rule: Rule,
    buckets: usize,
    cells: usize,
}

const SHIPPED: Geometry = new(Rule::PairThenGroup, 8, 8);

const GEOMETRIES: [Geometry; 9] = [
    new(Rule::SpillLine(16), 16, 4),
    new(Rule::SpillLine(23), 16, 8),
    new(Rule::Group, 8, 8),
    new(Rule::Group, 4, 8),
    new(Rule::PairThenGroup, 8, 4),
    new(Rule::PairThenGroup, 16, 4),
    new(Rule::PairThenGroup, 4, 8),
    SHIPPED,
    new(Rule::PairThenGroup, 8, 16),
];

const fn new(rule: Rule, buckets: usize, cells: usize) -> Geometry {
    Geometry { rule, buckets, cells }
}

impl Geometry {
    fn spill(self) -> usize {
        if let Rule::SpillLine(cells) = self.rule { cells } else { 0 }
    }

    #[allow(clippy::cast_precision_loss)] // small numbers
    fn ids_per_bucket(self, bytes_per_id: f64) -> f64 {
        let bytes = BYTES_PER_CELL * (self.buckets * self.cells + self.spill());
        bytes.next_multiple_of(ALIGNMENT) as f64 / bytes_per_id / self.buckets as f64
    }

    /// How many widths a row can have.
    fn widths(self) -> usize {
        if self.rule == Rule::PairThenGroup { 3 } else { 2 }
    }

    /// The cells of a bucket's row, which may go on at the spill line.
    fn row(self, bucket: usize, width: usize) -> (Range<usize>, Range<usize>) {
        let all = self.buckets * self.cells;
        let of = |first: usize, buckets: usize| first * self.cells..(first + buckets) * self.cells;
        match (width, self.rule) {
            (0, _) => (of(bucket, 1), 0..0),
            (_, Rule::SpillLine(cells)) => (of(bucket, 1), all..all + cells),
            (1, Rule::PairThenGroup) => (of(bucket & !1, 2), 0..0),
            _ => (0..all, 0..0),
        }
    }
}

/// What a simulation counts.
#[derive(Default)]
struct Counts {
    buckets: u64,
    /// Buckets that look further at each mark.
    wide: [u64; MARKS.len()],
    /// Those of the last that look at the whole group.
    widest: u64,
    arrivals: u64,
    refused: u64,
}

#[derive(Clone, Copy)]
struct Entry {
    came: f64,
    bucket: usize,
}

/// One group.
struct Group {
    geometry: Geometry,
    cells: Vec<Entry>,
    /// How far each bucket looks. (That of a pair is its first bucket's, where it counts.)
    width: Vec<usize>,
}

impl Group {
    fn new(geometry: Geometry) -> Group {
        let cells = geometry.buckets * geometry.cells + geometry.spill();
        Group {
            geometry,
            cells: vec![Entry { came: f64::NEG_INFINITY, bucket: 0 }; cells],
            width: vec![0; geometry.buckets],
        }
    }

    /// A new id comes to `bucket`: to its own least cell if that is gone, else to the least of the row. Whether there was room.
    fn arrive(&mut self, bucket: usize, now: f64) -> bool {
        for width in 0..self.geometry.widths() {
            if width > 0 {
                self.width[bucket] = self.width[bucket].max(width);
            }
            let (own, further) = self.geometry.row(bucket, width);
            let cells = own.chain(further);
            let Some(cell) = cells.min_by(|&a, &b| self.cells[a].came.total_cmp(&self.cells[b].came)) else {
                return false;
            };
            if self.cells[cell].came <= now - 1.0 {
                self.cells[cell] = Entry { came: now, bucket };
                return true;
            }
        }
        false
    }

    /// Buckets that have nothing live further out look at their own cells again.
    fn sweep(&mut self, now: f64) {
        for bucket in 0..self.geometry.buckets {
            let least = (0..self.geometry.widths()).find(|&width| {
                let (own, further) = self.geometry.row(bucket, width);
                let inside = |cell: &usize| own.contains(cell) || further.contains(cell);
                let mut outside = (0..self.cells.len()).filter(|cell| !inside(cell));
                outside.all(|cell| self.cells[cell].came <= now - 1.0 || self.cells[cell].bucket != bucket)
            });
            self.width[bucket] = self.width[bucket].min(least.unwrap_or(0));
        }
    }
}

/// Pseudo-random numbers (SplitMix64), the same every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    #[allow(clippy::cast_possible_truncation)] // less than n
    fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// The time to the next event of a Poisson process with `rate` events per unit of time.
    #[allow(clippy::cast_precision_loss)] // 53 bits
    fn gap(&mut self, rate: f64) -> f64 {
        let uniform = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        -(1.0 - uniform).ln() / rate
    }
}

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // small numbers
fn simulate(geometry: Geometry, bytes_per_id: f64) -> Counts {
    let rate = geometry.ids_per_bucket(bytes_per_id) * geometry.buckets as f64;
    let groups = (ARRIVALS / rate / f64::from(WINDOWS)).ceil() as u64;
    let (mut random, mut counts) = (Random(1), Counts::default());
    for _ in 0..groups {
        let (mut group, mut now) = (Group::new(geometry), 0.0);
        counts.buckets += geometry.buckets as u64;
        for window in 1..=WINDOWS {
            loop {
                now += random.gap(rate);
                if now >= f64::from(window) {
                    // The process has no memory: what comes after the border may be drawn anew.
                    now = f64::from(window);
                    break;
                }
                counts.arrivals += 1;
                counts.refused += u64::from(!group.arrive(random.below(geometry.buckets), now));
            }
            // The mean over a sweep's round: one half of the groups has just been swept, the other is about to be.
            if random.next().is_multiple_of(2) {
                group.sweep(now);
            }
            if let Some(mark) = MARKS.iter().position(|&mark| mark == window) {
                counts.wide[mark] += group.width.iter().filter(|&&width| width > 0).count() as u64;
                if window == WINDOWS {
                    counts.widest += group.width.iter().filter(|&&width| width == 2).count() as u64;
                }
            }
            group.sweep(now);
        }
    }
    counts
}

/// As the last columns of a row.
impl fmt::Display for Counts {
    #[allow(clippy::cast_precision_loss)] // for people
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |n: u64| 100.0 * n as f64 / self.buckets as f64;
        let [first, second, third] = self.wide.map(share);
        write!(f, "{first:.1} / {second:.1} / {third:.1} | {:.3} | ", share(self.widest))?;
        let (refused, millions) = (self.refused, self.arrivals as f64 / 1e6);
        match refused {
            0 => write!(f, "0 of {millions:.0} M |"),
            _ => write!(f, "{:.1e} ({refused} of {millions:.0} M) |", refused as f64 / self.arrivals as f64),
        }
    }
}

fn main() {
    let counted = format!(
        "look further after {} / {} / {} windows, % | at the whole group, %",
        MARKS[0], MARKS[1], MARKS[2]
    );
    println!("At {BYTES_PER_ID} bytes per live id:\n");
    println!(
        "| a full bucket goes on in | buckets | cells | ids per bucket | {counted} | no room, per new id |"
    );
    println!("| --- | --: | --: | --: | --: | --: | --: |");
    for geometry in GEOMETRIES {
        let Geometry { rule, buckets, cells } = geometry;
        let rule = match rule {
            Rule::SpillLine(cells) => format!("{cells} spill cells"),
            Rule::Group => "the group".to_owned(),
            Rule::PairThenGroup => "the pair, the group".to_owned(),
        };
        let ids = geometry.ids_per_bucket(BYTES_PER_ID);
        let counts = simulate(geometry, BYTES_PER_ID);
        println!("| {rule} | {buckets} | {cells} | {ids:.2} | {counts}");
    }
    println!("\nWhat ships ({} buckets of {} cells), by load:\n", SHIPPED.buckets, SHIPPED.cells);
    println!("| live ids, % of capacity | {counted} | no room, per new id |");
    println!("| --: | --: | --: | --: |");
    for load in [0.25, 0.5, 0.75, 1.0, 1.25, 1.5] {
        println!("| {:.0} | {}", 100.0 * load, simulate(SHIPPED, BYTES_PER_ID / load));
    }
}
