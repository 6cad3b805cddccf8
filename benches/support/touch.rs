//! The limit: a random cache line read and written for each key, of as many as windlass uses, and nothing else.

#![allow(unsafe_code)] // prefetches, and asks for large pages as windlass does

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{
    filter::{Filter, Load},
    filters::{PICKED, rotating},
    keys::Event,
    mix::below,
};

#[repr(align(64))]
#[derive(Default)]
struct Line([AtomicU64; 8]);

pub(crate) struct LineTouch(Vec<Line>);

/// As far as windlass looks ahead.
const AHEAD: usize = 16;

impl LineTouch {
    /// The key looks random: it is not hashed.
    fn line(&self, (key, _): &Event) -> &Line {
        let random = key.first_chunk().map_or(0, |half| u64::from_le_bytes(*half));
        &self.0[usize::try_from(below(random, self.0.len() as u64)).unwrap_or(0)]
    }
}

fn prefetch(line: &Line) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect that a program can see.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(line).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

impl Filter for LineTouch {
    const NAME: &'static str = "line_touch";
    type Scratch = ();

    fn new(load: &Load) -> Self {
        let bytes = rotating(load, PICKED).memory_bytes();
        let count = usize::try_from(bytes / 64).expect("it is to be allocated");
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
        LineTouch(lines)
    }

    fn take(&self, events: &[Event], (): &mut ()) -> u64 {
        for (i, event) in events.iter().enumerate() {
            if let Some(ahead) = events.get(i + AHEAD) {
                prefetch(self.line(ahead));
            }
            let word = &self.line(event).0[i % 8];
            word.store(word.load(Relaxed) | 1, Relaxed);
        }
        0
    }

    fn contains(&self, _: &Event) -> bool {
        true // it promises nothing
    }

    fn bytes(&self) -> u64 {
        64 * self.0.len() as u64
    }

    fn describe(&self) -> String {
        "a line of each id".to_owned()
    }
}
