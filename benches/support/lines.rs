//! Cache lines in memory as windlass has it, and what the machine allows to be done to them: nothing is hashed, compared or kept.

#![allow(unsafe_code)] // prefetches, asks for large pages as windlass does, and exchanges 16 bytes

use std::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Relaxed},
};

use portable_atomic::AtomicU128;

use super::mix::{below, mix};

/// As far as windlass looks ahead.
pub(crate) const AHEAD: usize = 16;

#[repr(align(64))]
#[derive(Default)]
pub(crate) struct Line(pub(crate) [AtomicU64; 8]);

pub(crate) struct Lines(Vec<Line>);

impl Lines {
    /// As many as there are in these bytes, one at least.
    pub(crate) fn of_bytes(bytes: u64) -> Lines {
        let count = usize::try_from(bytes / 64).expect("it is to be allocated").max(1);
        let mut lines: Vec<Line> = Vec::with_capacity(count);
        #[cfg(target_os = "linux")]
        {
            let skip = lines.as_ptr().align_offset(2 << 20);
            if skip < count {
                // SAFETY: advice on pages of our own; whether it is taken does not matter.
                unsafe {
                    libc::madvise(
                        lines.as_mut_ptr().wrapping_add(skip).cast(),
                        64 * (count - skip),
                        libc::MADV_HUGEPAGE,
                    )
                };
            }
        }
        lines.resize_with(count, Line::default);
        Lines(lines)
    }

    pub(crate) fn bytes(&self) -> u64 {
        64 * self.0.len() as u64
    }

    /// The line at a place that looks random.
    #[inline(always)]
    pub(crate) fn at(&self, random: u64) -> &Line {
        &self.0[usize::try_from(below(random, self.0.len() as u64)).unwrap_or(0)]
    }
}

pub(crate) fn prefetch(line: &Line) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect that a program can see.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(line).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

/// What a call cannot do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    /// A line is read.
    Read,
    /// A line, and another one that it leads to.
    ReadTwo,
    /// A word is added to.
    Add,
    /// Two words are exchanged for others, if they are what they were.
    Exchange,
}

impl Touch {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Touch::Read => "a line read",
            Touch::ReadTwo => "two, one after the other",
            Touch::Add => "fetch_add",
            Touch::Exchange => "exchange of 16 bytes",
        }
    }
}

/// Does it to the line of each key, in batches with those to come asked for. The sum of what was read, so that it is.
pub(crate) fn touch(lines: &Lines, touch: Touch, keys: &[u64], in_batches: bool) -> u64 {
    match touch {
        Touch::Read => each(lines, keys, in_batches, |line| line.0[0].load(Relaxed)),
        Touch::Add => each(lines, keys, in_batches, |line| line.0[0].fetch_add(1, Relaxed)),
        Touch::Exchange => each(lines, keys, in_batches, exchange),
        Touch::ReadTwo => {
            // (A line's place is all that it would say of the next.)
            let next = |key: u64| lines.at(mix(mix(key) ^ lines.at(mix(key)).0[0].load(Relaxed)));
            let mut sum = 0_u64;
            for (i, &key) in keys.iter().enumerate() {
                if in_batches {
                    if let Some(&ahead) = keys.get(i + 2 * AHEAD) {
                        prefetch(lines.at(mix(ahead)));
                    }
                    if let Some(&ahead) = keys.get(i + AHEAD) {
                        prefetch(next(ahead));
                    }
                }
                sum = sum.wrapping_add(next(key).0[0].load(Relaxed));
            }
            sum
        }
    }
}

#[inline(always)]
fn each(lines: &Lines, keys: &[u64], in_batches: bool, what: impl Fn(&Line) -> u64) -> u64 {
    let mut sum = 0_u64;
    for (i, &key) in keys.iter().enumerate() {
        if let (true, Some(&ahead)) = (in_batches, keys.get(i + AHEAD)) {
            prefetch(lines.at(mix(ahead)));
        }
        sum = sum.wrapping_add(what(lines.at(mix(key))));
    }
    sum
}

fn exchange(line: &Line) -> u64 {
    let words: *const AtomicU128 = std::ptr::from_ref(line).cast();
    // SAFETY: the first 16 bytes of a line, which lies at a multiple of 64; nobody has them as anything else ([`Touch`] is one for all of the lines).
    let words = unsafe { &*words };
    let old = words.load(Relaxed);
    u64::from(words.compare_exchange(old, old.wrapping_add(1), AcqRel, Relaxed).is_ok())
}
