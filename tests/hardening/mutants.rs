//! Bytes that were changed. What is kept intact and what is not is up to the way: see [`Way`].

use crate::common::{Random, snapshot::Parts};
use xxhash_rust::xxh3::xxh3_64;

/// How far a change goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// As it would be damaged on its way: checksums find it.
    Raw,
    /// As somebody would who knows the format: lengths and checksums fit again.
    Sealed,
}

/// Numbers at which something often changes.
const EDGES: [u64; 20] = [
    0,
    1,
    2,
    3,
    7,
    8,
    15,
    16,
    64,
    127,
    255,
    256,
    1 << 16,
    (1 << 16) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 58,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

fn at(random: &mut Random, len: usize) -> usize {
    usize::try_from(random.below(len as u64 + 1)).expect("an index")
}

/// A stretch, mostly a short one.
fn stretch(random: &mut Random, len: usize) -> std::ops::Range<usize> {
    let from = at(random, len);
    let most = if random.below(4) == 0 { len - from } else { (len - from).min(24) };
    from..from + at(random, most)
}

/// One change. `other`: where what is spliced comes from.
fn change(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    let len = bytes.len();
    match random.below(10) {
        0 | 1 if len > 0 => {
            for _ in 0..=random.below(3) {
                let i = at(random, len - 1);
                bytes[i] ^= 1 << random.below(8);
            }
        }
        2 => bytes.truncate(at(random, len)),
        3 => drop(bytes.drain(stretch(random, len))),
        4 => {
            let part = other[stretch(random, other.len())].to_vec();
            let there = stretch(random, len);
            bytes.splice(there, part);
        }
        5 => {
            let part = bytes[stretch(random, len)].to_vec();
            let there = at(random, len);
            bytes.splice(there..there, part);
        }
        // Two stretches change places.
        6 => {
            let (a, b) = (stretch(random, len), stretch(random, len));
            let (a, b) = if a.start <= b.start { (a, b) } else { (b, a) };
            if a.end <= b.start {
                let (first, second) = (bytes[a.clone()].to_vec(), bytes[b.clone()].to_vec());
                bytes.splice(b, first);
                bytes.splice(a, second);
            }
        }
        // A number: a length, most of all. Most stand at a multiple of 4 or 8.
        _ => {
            let size = [1, 2, 4, 8, 8, 8][at(random, 5)];
            if len >= size {
                let free = at(random, len - size);
                let i = if random.below(4) == 0 { free } else { free / size * size };
                let mut old = [0; 8];
                old[..size].copy_from_slice(&bytes[i..i + size]);
                let old = u64::from_le_bytes(old);
                let new = match random.below(6) {
                    0 => old.wrapping_add(1),
                    1 => old.wrapping_sub(1),
                    2 => old.wrapping_mul(2),
                    3 => old ^ 1 << random.below(8 * size as u64),
                    4 => random.next(),
                    _ => EDGES[at(random, EDGES.len() - 1)],
                };
                bytes[i..i + size].copy_from_slice(&new.to_le_bytes()[..size]);
            }
        }
    }
}

/// A snapshot, with a few changes. `other`: another one.
pub(crate) fn snapshot(random: &mut Random, way: Way, bytes: &[u8], other: &[u8]) -> Vec<u8> {
    let changes = 1 + random.below(3);
    if way == Way::Raw {
        let mut bytes = bytes.to_vec();
        (0..changes).for_each(|_| change(random, &mut bytes, other));
        return bytes;
    }
    let (mut parts, other) = (Parts::of(bytes), Parts::of(other));
    for _ in 0..changes {
        let end = parts.frames.len() - 1;
        let (frame, from) = (at(random, end), at(random, other.frames.len() - 1));
        match random.below(16) {
            0 => parts.frames.swap(frame, at(random, end)),
            1 if end > 0 => drop(parts.frames.remove(frame)),
            2 => parts.frames.insert(frame, parts.frames[frame].clone()),
            3 => parts.frames.insert(frame, other.frames[from].clone()),
            4 => parts.frames[frame].0 = other.frames[from].0,
            5 => parts.frames[frame].0 ^= 1 << random.below(32),
            // Cut in two: which is no other content.
            6 => {
                let cut = at(random, parts.frames[frame].1.len());
                let rest = parts.frames[frame].1.split_off(cut);
                parts.frames.insert(frame + 1, (parts.frames[frame].0, rest));
            }
            7 => {
                let mut rest = parts.header.split_off(24.min(parts.header.len()));
                change(random, &mut rest, &other.header);
                parts.header.append(&mut rest);
            }
            _ => {
                change(random, &mut parts.frames[frame].1, &other.frames[from].1);
                parts.frames[frame].1.truncate(1 << 16);
            }
        }
    }
    // The end says how many frames there are: mostly it is to be believed, so that more is looked at.
    let before = parts.frames.len() as u64 - 1;
    if let Some((_, end)) = parts.frames.last_mut()
        && end.len() >= 8
        && random.below(8) > 0
    {
        end[..8].copy_from_slice(&before.to_le_bytes());
    }
    parts.header.truncate((1 << 16) - 8);
    parts.bytes()
}

/// An export, with a few changes.
pub(crate) fn export(random: &mut Random, way: Way, bytes: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if way == Way::Sealed {
        bytes.truncate(bytes.len() - 8);
    }
    (0..=random.below(3)).for_each(|_| change(random, &mut bytes, other));
    if way == Way::Sealed {
        let length = bytes.len() as u64 + 8;
        if bytes.len() >= 16 {
            bytes[8..16].copy_from_slice(&length.to_le_bytes());
        }
        let sum = xxh3_64(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
    }
    bytes
}
