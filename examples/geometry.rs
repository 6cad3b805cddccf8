//! How many buckets to a group, how many cells to a bucket, how many spill cells? A simulation of a sliding window that
//! counts how often a bucket overflows and how often a new id finds no room. It printed the table of docs/geometry.md.
//!
//! ```text
//! cargo run --release --example geometry
//! ```
//!
//! One thread, no atomics: only where entries lie is simulated. Time is counted in windows. New ids come to a group as a
//! Poisson process, each to a bucket chosen at random, at the rate that gives the table so many bytes per live id. There
//! are no duplicates (they change nothing) and no lateness. An entry is gone when it is a window old. The sweep comes by
//! once per window.

use std::fmt;

/// At capacity.
const BYTES_PER_ID: f64 = 40.0;
const BYTES_PER_CELL: usize = 16;
/// Groups begin at a border of this.
const ALIGNMENT: usize = 128;
const WINDOWS: usize = 30;
/// Looked at after so many windows.
const MARKS: [usize; 3] = [1, 10, WINDOWS];
/// Arrivals simulated for each geometry, about.
const ARRIVALS: f64 = 2e7;

/// Which cell a new id takes in a bucket that has the spill line, and for how long the bucket has it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// The least of all, its own cells and the spill line's. For ever.
    Least,
    /// Its own least cell if that is gone, else the least of the spill line. For ever.
    HomeFirst,
    /// The same, until a sweep has found the spill line empty twice and the bucket did not need it in between.
    Swept,
}

#[derive(Clone, Copy)]
struct Geometry {
    rule: Rule,
    buckets: usize,
    cells: usize,
    spill: usize,
}

const SHIPPED: Geometry = new(Rule::Swept, 16, 8, 23);

const GEOMETRIES: [Geometry; 11] = [
    new(Rule::Least, 16, 8, 16),
    new(Rule::Least, 16, 8, 24),
    new(Rule::Least, 16, 12, 24),
    new(Rule::Least, 16, 16, 16),
    new(Rule::Least, 16, 16, 24),
    new(Rule::HomeFirst, 16, 8, 16),
    new(Rule::HomeFirst, 16, 8, 8),
    new(Rule::HomeFirst, 32, 8, 16),
    new(Rule::HomeFirst, 8, 8, 8),
    new(Rule::HomeFirst, 16, 4, 16),
    SHIPPED,
];

const fn new(rule: Rule, buckets: usize, cells: usize, spill: usize) -> Geometry {
    Geometry { rule, buckets, cells, spill }
}

impl Geometry {
    #[allow(clippy::cast_precision_loss)] // small numbers
    fn ids_per_bucket(self, bytes_per_id: f64) -> f64 {
        let bytes = BYTES_PER_CELL * (self.buckets * self.cells + self.spill);
        bytes.next_multiple_of(ALIGNMENT) as f64 / bytes_per_id / self.buckets as f64
    }
}

/// What a simulation counts.
#[derive(Default)]
struct Counts {
    buckets: u64,
    /// Buckets with the spill line at each mark.
    flagged: [u64; MARKS.len()],
    arrivals: u64,
    refused: u64,
}

/// One group: when the entry in each cell came.
struct Group {
    geometry: Geometry,
    cells: Vec<f64>,
    spill: Vec<f64>,
    flagged: Vec<bool>,
    /// Buckets that are about to give up the spill line.
    closing: Vec<bool>,
    sweeps: u32,
}

impl Group {
    fn new(geometry: Geometry) -> Group {
        Group {
            geometry,
            cells: vec![f64::NEG_INFINITY; geometry.buckets * geometry.cells],
            spill: vec![f64::NEG_INFINITY; geometry.spill],
            flagged: vec![false; geometry.buckets],
            closing: vec![false; geometry.buckets],
            sweeps: 0,
        }
    }

    /// A new id comes to `bucket`. Whether there was room.
    fn arrive(&mut self, bucket: usize, now: f64) -> bool {
        let gone = now - 1.0;
        if self.geometry.rule == Rule::Swept && 2.0 * now > f64::from(self.sweeps) {
            self.sweep(gone);
        }
        let own = &mut self.cells[bucket * self.geometry.cells..][..self.geometry.cells];
        let home = least(own);
        if own[home] <= gone && (!self.flagged[bucket] || self.geometry.rule != Rule::Least) {
            own[home] = now;
            return true;
        }
        self.flagged[bucket] = true;
        self.closing[bucket] = false;
        let away = least(&self.spill);
        let cell = if own[home] <= self.spill[away] { &mut own[home] } else { &mut self.spill[away] };
        let room = *cell <= gone;
        if room {
            *cell = now;
        }
        room
    }

    /// Twice per window: closes buckets, then opens those that are still closed.
    fn sweep(&mut self, gone: f64) {
        self.sweeps += 1;
        let empty = self.spill.iter().all(|&came| came <= gone);
        let opening = self.sweeps.is_multiple_of(2);
        for (flagged, closing) in self.flagged.iter_mut().zip(&mut self.closing) {
            if opening && *closing && empty {
                (*flagged, *closing) = (false, false);
            }
            *closing |= !opening && *flagged && empty;
        }
    }
}

/// The place of the least, the first of equals.
fn least(cells: &[f64]) -> usize {
    (1..cells.len()).fold(0, |least, i| if cells[i] < cells[least] { i } else { least })
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
    let groups = (ARRIVALS / rate / WINDOWS as f64).ceil() as u64;
    let (mut random, mut counts) = (Random(1), Counts::default());
    for _ in 0..groups {
        let (mut group, mut now) = (Group::new(geometry), 0.0);
        counts.buckets += geometry.buckets as u64;
        for window in 1..=WINDOWS {
            loop {
                now += random.gap(rate);
                if now >= window as f64 {
                    // The process has no memory: what comes after the border may be drawn anew.
                    now = window as f64;
                    break;
                }
                counts.arrivals += 1;
                counts.refused += u64::from(!group.arrive(random.below(geometry.buckets), now));
            }
            if let Some(mark) = MARKS.iter().position(|&mark| mark == window) {
                counts.flagged[mark] += group.flagged.iter().filter(|&&flagged| flagged).count() as u64;
            }
        }
    }
    counts
}

/// As the last columns of a row.
impl fmt::Display for Counts {
    #[allow(clippy::cast_precision_loss)] // for people
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second, third] = self.flagged.map(|n| 100.0 * n as f64 / self.buckets as f64);
        write!(f, "{first:.1} / {second:.1} / {third:.1} | ")?;
        let (refused, millions) = (self.refused, self.arrivals as f64 / 1e6);
        match refused {
            0 => write!(f, "0 of {millions:.0} M |"),
            _ => write!(f, "{:.1e} ({refused} of {millions:.0} M) |", refused as f64 / self.arrivals as f64),
        }
    }
}

fn main() {
    let counted = format!("flagged after {} / {} / {} windows, %", MARKS[0], MARKS[1], MARKS[2]);
    println!("At {BYTES_PER_ID} bytes per live id:\n");
    println!("| new id takes | buckets | cells | spill | ids per bucket | {counted} | no room, per new id |");
    println!("| --- | --: | --: | --: | --: | --: | --: |");
    for geometry in GEOMETRIES {
        let Geometry { rule, buckets, cells, spill } = geometry;
        let rule = match rule {
            Rule::Least => "least",
            Rule::HomeFirst => "home first",
            Rule::Swept => "home first, swept",
        };
        let ids = geometry.ids_per_bucket(BYTES_PER_ID);
        let counts = simulate(geometry, BYTES_PER_ID);
        println!("| {rule} | {buckets} | {cells} | {spill} | {ids:.2} | {counts}");
    }
    println!("\nWhat ships ({}, {}, {}), by load:\n", SHIPPED.buckets, SHIPPED.cells, SHIPPED.spill);
    println!("| live ids, % of capacity | {counted} | no room, per new id |");
    println!("| --: | --: | --: |");
    for load in [0.25, 0.5, 0.75, 1.0, 1.25, 1.5] {
        println!("| {:.0} | {}", 100.0 * load, simulate(SHIPPED, BYTES_PER_ID / load));
    }
}
