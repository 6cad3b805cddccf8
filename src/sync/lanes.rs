//! Eight words of a line, looked at together.

use super::AtomicU64;

/// Two bits for each of the words, from the lowest: in this half of it, all bits of the mask are set. The masks of W words repeat along
/// the line.
///
/// Relaxed. A word may even be read in parts, at different moments.
#[cfg(not(all(target_arch = "x86_64", not(windlass_loom), not(miri))))]
#[inline(always)]
pub(crate) fn halves_with<const N: usize, const W: usize>(line: &[AtomicU64; N], mask: &[u64; W]) -> u32 {
    let has = |(word, mask): (&AtomicU64, u64)| word.load(super::Ordering::Relaxed) & mask == mask;
    let masks = (0..N).map(|i| mask[i % W]);
    line.iter()
        .zip(masks)
        .map(has)
        .enumerate()
        .fold(0, |bits, (i, has)| bits | if has { 3 << (2 * i) } else { 0 })
}

#[cfg(all(target_arch = "x86_64", not(windlass_loom), not(miri)))]
#[allow(unsafe_code)]
#[inline(always)]
pub(crate) fn halves_with<const W: usize>(line: &[AtomicU64; 8], mask: &[u64; W]) -> u32 {
    use std::arch::asm;
    let at = line.as_ptr();
    let halves: u32;
    // Sound: SSE2, which all of these processors have; 64 bytes of the line. To the language these are relaxed loads of its words.
    // Should the machine split them further, nothing is lost: bits are only ever added, until the whole word is cleared, and whoever
    // finds a bit missing looks at the ring again.
    if W <= 2 {
        // From registers: a load of 16 bytes would wait until the words that have just been made are written.
        // SAFETY: see above.
        unsafe {
            asm!("movq {m}, {low}",
                 "movq {a}, {high}",
                 "punpcklqdq {m}, {a}",
                 "movdqu {a}, xmmword ptr [{at}]",
                 "movdqu {b}, xmmword ptr [{at} + 16]",
                 "movdqu {c}, xmmword ptr [{at} + 32]",
                 "movdqu {d}, xmmword ptr [{at} + 48]",
                 "pand {a}, {m}", "pand {b}, {m}", "pand {c}, {m}", "pand {d}, {m}",
                 "pcmpeqd {a}, {m}", "pcmpeqd {b}, {m}", "pcmpeqd {c}, {m}", "pcmpeqd {d}, {m}",
                 "packssdw {a}, {b}", "packssdw {c}, {d}", "packsswb {a}, {c}",
                 "pmovmskb {halves:e}, {a}",
                 at = in(reg) at, low = in(reg) mask[0], high = in(reg) mask[W - 1], halves = lateout(reg) halves,
                 m = out(xmm_reg) _,
                 a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
                 options(nostack, preserves_flags, readonly));
        }
    } else {
        // SAFETY: see above.
        unsafe {
            asm!("movdqu {m}, xmmword ptr [{mask} + {m0}]",
                 "movdqu {a}, xmmword ptr [{at}]", "pand {a}, {m}", "pcmpeqd {a}, {m}",
                 "movdqu {m}, xmmword ptr [{mask} + {m1}]",
                 "movdqu {b}, xmmword ptr [{at} + 16]", "pand {b}, {m}", "pcmpeqd {b}, {m}",
                 "movdqu {m}, xmmword ptr [{mask} + {m2}]",
                 "movdqu {c}, xmmword ptr [{at} + 32]", "pand {c}, {m}", "pcmpeqd {c}, {m}",
                 "movdqu {m}, xmmword ptr [{mask} + {m3}]",
                 "movdqu {d}, xmmword ptr [{at} + 48]", "pand {d}, {m}", "pcmpeqd {d}, {m}",
                 "packssdw {a}, {b}", "packssdw {c}, {d}", "packsswb {a}, {c}",
                 "pmovmskb {halves:e}, {a}",
                 m0 = const 0, m1 = const 16 % (8 * W), m2 = const 32 % (8 * W), m3 = const 48 % (8 * W),
                 at = in(reg) at, mask = in(reg) mask.as_ptr(), halves = lateout(reg) halves, m = out(xmm_reg) _,
                 a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
                 options(nostack, preserves_flags, readonly));
        }
    }
    halves
}
