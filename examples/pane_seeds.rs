//! Do panes of a Bloom filter share a key's place and bits, or has each its own? A simulation of eight panes in arrays of 512-bit blocks that
//! counts errors, how long they last and what a question costs. It printed the tables of docs/panes.md.
//!
//! ```text
//! cargo run --release --example pane_seeds
//! ```
//!
//! One thread, no atomics. Each pane takes as many ids; the ring turns until it is full and then for as many panes again. In one traffic all
//! ids are new, in the other every pane takes the same ones. After each turn the same strangers, ids that are never put in, are asked
//! for in all panes.

use std::{hint::black_box, time::Instant};
use windlass::{KeyHash, Seed};

const PANES: usize = 8;
/// Blocks of 512 bits in a pane: not a power of two, as it is with most sizes.
const BLOCKS: usize = 3000;
const IDS: u64 = 150_000;
/// Bits of an id.
const PROBES: u32 = 6;
const STRANGERS: u64 = 1_000_000;
/// Turns after the ring is full.
const TURNS: usize = 24;

/// How a pane finds a key's place and bits.
#[derive(Clone, Copy)]
enum Way {
    Shared,
    Xor,
    Multiply,
    XorThenMix,
    Seeded,
}

const WAYS: [(Way, &str); 5] = [
    (Way::Shared, "shared"),
    (Way::Xor, "xor with the pane's number"),
    (Way::Multiply, "times the pane's number (odd)"),
    (Way::XorThenMix, "xor, then mixed (`SeededArrays`)"),
    (Way::Seeded, "hashed again, a seed for each pane"),
];

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A key of 16 bytes and its hash.
struct Id([u8; 16], KeyHash);

impl Id {
    fn new(number: u64) -> Id {
        let mut key = [0; 16];
        key[..8].copy_from_slice(&mix(number.wrapping_add(GOLDEN)).to_le_bytes());
        key[8..].copy_from_slice(&mix(!number).to_le_bytes());
        Id(key, Seed(1).hash(key))
    }

    /// Its hash in a pane.
    fn in_pane(&self, way: Way, pane: u64) -> KeyHash {
        let (number, KeyHash { hi, lo }) = (pane + 1, self.1);
        match way {
            Way::Shared => self.1,
            Way::Xor => {
                KeyHash { hi: hi ^ number.wrapping_mul(GOLDEN), lo: lo ^ number.wrapping_mul(GOLDEN) }
            }
            Way::Multiply => {
                KeyHash { hi: hi.wrapping_mul(2 * number + 1), lo: lo.wrapping_mul(2 * number + 1) }
            }
            Way::XorThenMix => {
                let seed = number.wrapping_mul(GOLDEN);
                KeyHash { hi: mix(hi ^ seed), lo: mix(lo ^ seed.rotate_left(32)) }
            }
            Way::Seeded => Seed(1 + number).hash(self.0),
        }
    }
}

type Block = [u64; 8];

/// The block and the bits in it: by the highest bits of both halves.
fn place(KeyHash { hi, lo }: KeyHash) -> (usize, Block) {
    let block = (u128::from(hi) * BLOCKS as u128) >> 64;
    let (mut bits, mut mask) = (lo, [0; 8]);
    for _ in 0..PROBES {
        bits = bits.rotate_left(9);
        mask[usize::try_from(bits >> 6 & 7).unwrap_or(0)] |= 1 << (bits % 64);
    }
    (usize::try_from(block).unwrap_or(0), mask)
}

/// The ring. A pane's number is that of its turn; pane p lies in array p modulo the number of panes.
struct Ring {
    way: Way,
    panes: Vec<Vec<Block>>,
    /// The next pane's number.
    next: u64,
}

impl Ring {
    fn new(way: Way) -> Ring {
        Ring { way, panes: vec![vec![[0; 8]; BLOCKS]; PANES], next: 0 }
    }

    fn array(pane: u64) -> usize {
        usize::try_from(pane % PANES as u64).unwrap_or(0)
    }

    /// The oldest pane is cleared and takes these ids.
    fn turn(&mut self, ids: impl Iterator<Item = u64>) {
        let (way, pane) = (self.way, self.next);
        let array = &mut self.panes[Ring::array(pane)];
        array.fill([0; 8]);
        for id in ids {
            let (block, mask) = place(Id::new(id).in_pane(way, pane));
            array[block].iter_mut().zip(mask).for_each(|(word, bits)| *word |= bits);
        }
        self.next += 1;
    }

    /// In how many live panes the id is; with `first`, no more is asked after one.
    fn count(&self, id: &Id, first: bool) -> usize {
        let (mut found, mut at) = (0, place(id.1));
        for pane in self.next.saturating_sub(PANES as u64)..self.next {
            if !matches!(self.way, Way::Shared) {
                at = place(id.in_pane(self.way, pane));
            }
            let block = &self.panes[Ring::array(pane)][at.0];
            found += usize::from(block.iter().zip(at.1).all(|(word, bits)| word & bits == bits));
            if first && found > 0 {
                return 1;
            }
        }
        found
    }
}

/// What a simulation counts.
struct Found {
    /// Of strangers, in a full ring.
    error: f64,
    /// In how many of the eight panes a stranger is that is in any.
    panes: f64,
    /// For how many turns on end a stranger that is taken for seen stays so; those that never were otherwise count as all turns.
    turns: f64,
    /// Of strangers that were taken for seen when the ring was full: the share that is after all of it has been replaced.
    again: f64,
    nanos: f64,
}

#[allow(clippy::cast_precision_loss)]
fn simulate(way: Way, all_new: bool) -> Found {
    let mut ring = Ring::new(way);
    let ids = |turn: u64| if all_new { turn * IDS..(turn + 1) * IDS } else { 0..IDS };
    (0..PANES as u64).for_each(|turn| ring.turn(ids(turn)));
    let strangers: Vec<Id> = (0..STRANGERS).map(|i| Id::new(i | 1 << 40)).collect();
    let begun = Instant::now();
    let taken: Vec<&Id> = strangers.iter().filter(|id| black_box(ring.count(id, true)) > 0).collect();
    let nanos = begun.elapsed().as_nanos() as f64 / STRANGERS as f64;
    let panes: usize = taken.iter().map(|id| ring.count(id, false)).sum();
    let (mut on_end, mut turns, mut again) = (vec![true; taken.len()], taken.len(), 0);
    for turn in 1..=TURNS {
        ring.turn(ids(ring.next));
        for (id, on_end) in taken.iter().zip(&mut on_end) {
            let seen = ring.count(id, true) > 0;
            *on_end &= seen;
            turns += usize::from(*on_end);
            again += usize::from(turn == PANES && seen);
        }
    }
    let n = taken.len() as f64;
    Found {
        error: n / STRANGERS as f64,
        panes: panes as f64 / n,
        turns: turns as f64 / n,
        again: f64::from(u32::try_from(again).unwrap_or(u32::MAX)) / n,
        nanos,
    }
}

fn main() {
    println!(
        "{PANES} panes of {IDS} ids in {BLOCKS} blocks of 512 bits, {PROBES} bits of each id; {STRANGERS} strangers asked for"
    );
    for (all_new, traffic) in [(true, "All ids new"), (false, "The same ids in every pane")] {
        println!("\n{traffic}:\n");
        println!(
            "| a key's place in a pane | error, % | panes that err together, of {PANES} | turns on end (at most {}) | again after {PANES} turns, % | ns a question |",
            TURNS + 1
        );
        println!("| --- | --: | --: | --: | --: | --: |");
        for (way, name) in WAYS {
            let found = simulate(way, all_new);
            println!(
                "| {name} | {:.3} | {:.2} | {:.1} | {:.1} | {:.0} |",
                100.0 * found.error,
                found.panes,
                found.turns,
                100.0 * found.again,
                found.nanos
            );
        }
    }
}
