//! Every function of the ABI in any order, with any arguments that C can pass: what bytes say.
//!
//! What is wrong about arguments is known when they are made. A call with none that is wrong does not say so; one with some returns
//! one of the codes for them. An error leaves all outputs alone, but for what tells how much room is needed. Nothing panics.

#![allow(clippy::multiple_unsafe_ops_per_block)] // one call after the other, of the same kind
#![allow(clippy::cast_possible_truncation)] // numbers are any numbers

mod calls;
mod snapshots;
mod structures;

use std::{ptr::null_mut, slice};

use crate::{
    hash::windlass_hash,
    sized::Plain,
    status::{
        WINDLASS_E_NULL, WINDLASS_E_OFFSETS, WINDLASS_E_PANIC, WINDLASS_E_RANGE, WINDLASS_E_STRUCT_SIZE,
        WINDLASS_E_TOO_SMALL, windlass_error, windlass_status,
    },
};

/// What no library writes by chance.
const LEFT_ALONE: u64 = 0xA5A5_5A5A_C3C3_3C3C;

/// Words of memory for an argument, so that structs of other releases fit.
const WORDS: usize = 520;

/// Codes for arguments that are wrong in themselves, and not for what a structure holds.
const OF_ARGUMENTS: [windlass_status; 4] =
    [WINDLASS_E_NULL, WINDLASS_E_RANGE, WINDLASS_E_STRUCT_SIZE, WINDLASS_E_OFFSETS];

/// An output: where, what its first word is before, and whether it tells how much room is needed.
struct Output {
    words: Box<[u64]>,
    first: u64,
    tells: bool,
}

/// Makes arguments of bytes, and judges what calls return.
struct Source<'a> {
    bytes: &'a [u8],
    /// What the arguments of the next call lie in.
    memory: Vec<Box<[u64]>>,
    outputs: Vec<Output>,
    /// Codes for what is wrong about them.
    wrong: Vec<windlass_status>,
    /// Calls with none that is wrong, and with some.
    fine: u64,
    refused: u64,
}

impl<'a> Source<'a> {
    fn new(bytes: &'a [u8]) -> Source<'a> {
        Source { bytes, memory: Vec::new(), outputs: Vec::new(), wrong: Vec::new(), fine: 0, refused: 0 }
    }

    /// The next byte; 255 when there are no more.
    fn byte(&mut self) -> u8 {
        let (&first, rest) = self.bytes.split_first().unwrap_or((&255, &[]));
        self.bytes = rest;
        first
    }

    fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    /// Once in a while.
    fn seldom(&mut self) -> bool {
        self.byte() < 12
    }

    fn is_wrong(&mut self, code: windlass_status) {
        self.wrong.push(code);
    }

    /// A number: small as a rule.
    fn number(&mut self) -> u64 {
        match self.byte() {
            0 => u64::MAX,
            1 => u64::MAX / 2,
            2 => 1 << 40,
            byte => u64::from(byte) % 32,
        }
    }

    /// A time: that goes on by little, and seldom far.
    fn now(&mut self) -> u64 {
        match self.byte() {
            0 => u64::MAX,
            1 => 0,
            byte => 1000 + u64::from(byte) * 4,
        }
    }

    fn hash(&mut self) -> windlass_hash {
        windlass_hash { lo: self.number(), hi: self.number() << 58 }
    }

    fn words(&mut self, fill: impl FnMut() -> u64) -> *mut u64 {
        let mut words: Box<[u64]> = std::iter::repeat_with(fill).take(WORDS).collect();
        let at = words.as_mut_ptr();
        self.memory.push(words);
        at
    }

    /// How many there are in a batch.
    fn n(&mut self) -> usize {
        match self.byte() {
            0 => usize::MAX,
            1 => isize::MAX as usize / 2,
            byte => usize::from(byte) % 9,
        }
    }

    /// An array for `n` items, which C may leave out if there are none, or if it is `optional`.
    fn place<T>(&mut self, at: *mut u64, n: usize, optional: bool) -> *mut T {
        let at = at.cast::<T>();
        if self.seldom() {
            if n > 0 && !optional {
                self.is_wrong(WINDLASS_E_NULL);
            }
            return null_mut();
        }
        if n == 0 {
            return at;
        }
        if n > isize::MAX as usize / size_of::<T>() {
            self.is_wrong(WINDLASS_E_RANGE);
        } else {
            // (So many that something else is wrong, or few.)
            assert!(n > 1 << 40 || n * size_of::<T>() < WORDS * 8, "room for {n}");
        }
        if align_of::<T>() > 1 && self.seldom() {
            self.is_wrong(WINDLASS_E_RANGE);
            return at.wrapping_byte_add(1);
        }
        at
    }

    /// Numbers to be read.
    fn items<T>(&mut self, n: usize, optional: bool) -> *const T {
        let all = [self.number(), self.number(), self.number()];
        let mut i = 0;
        let at = self.words(|| {
            i += 1;
            all[i % 3]
        });
        self.place::<T>(at, n, optional)
    }

    /// Times of a batch.
    fn ticks(&mut self, n: usize) -> *const u64 {
        let (first, step) = (self.now(), self.number());
        let mut tick = first;
        let at = self.words(|| {
            tick = tick.wrapping_add(step % 64);
            tick
        });
        self.place(at, n, true)
    }

    fn output(&mut self, tells: bool) -> *mut u64 {
        let mut words: Box<[u64]> = vec![LEFT_ALONE; WORDS].into();
        let at = words.as_mut_ptr();
        self.outputs.push(Output { words, first: LEFT_ALONE, tells });
        at
    }

    /// Room for `n` items.
    fn room<T>(&mut self, n: usize, optional: bool) -> *mut T {
        let at = self.output(false);
        self.place(at, n, optional)
    }

    /// Room for bytes, and how many.
    fn bytes_out(&mut self, optional: bool) -> (*mut u8, usize) {
        let room = match self.byte() {
            0 => usize::MAX,
            byte => usize::from(byte) * 8,
        };
        (self.room(room, optional), room)
    }

    /// Room for one.
    fn out<T>(&mut self, optional: bool) -> *mut T {
        self.one(optional, false)
    }

    /// .. that tells how much room is needed.
    fn told<T>(&mut self) -> *mut T {
        self.one(false, true)
    }

    fn one<T>(&mut self, optional: bool, tells: bool) -> *mut T {
        let at = self.output(tells);
        if self.seldom() {
            if !optional {
                self.is_wrong(WINDLASS_E_NULL);
            }
            return null_mut();
        }
        at.cast()
    }

    /// Room for a struct that begins with its size, or NULL: it is optional.
    fn sized_out<T: Plain>(&mut self) -> *mut T {
        let before = self.wrong.len();
        let size = self.struct_size::<T>();
        let at = self.output(false);
        // SAFETY: room for it.
        let first = unsafe {
            at.cast::<u32>().write(size);
            *at
        };
        if let Some(output) = self.outputs.last_mut() {
            output.first = first;
        }
        if self.byte() < 128 {
            // Then nobody looks at a size.
            self.wrong.truncate(before);
            return null_mut();
        }
        at.cast()
    }

    /// A handle, or NULL.
    fn handle<H>(&mut self, handle: *mut H) -> *mut H {
        let none = handle.is_null() || self.seldom();
        if none {
            self.is_wrong(WINDLASS_E_NULL);
        }
        if none { null_mut() } else { handle }
    }

    /// Bytes and how many.
    fn text(&mut self) -> (*const u8, usize) {
        let len = match self.byte() {
            0 => usize::MAX,
            byte => usize::from(byte) % 12,
        };
        (self.items(len, false), len)
    }

    /// What a caller says the size of a struct is.
    fn struct_size<T: Plain>(&mut self) -> u32 {
        let sizes = [0, 1, T::FIRST_SIZE - 1, 4097, u32::MAX as usize];
        let size = match self.byte() {
            0..8 => {
                self.is_wrong(WINDLASS_E_STRUCT_SIZE);
                sizes[self.below(5)]
            }
            8..16 => T::FIRST_SIZE + 8 * self.below(8),
            _ => size_of::<T>(),
        };
        u32::try_from(size).expect("small")
    }

    /// A struct that begins with its size, and knows perhaps more than we do.
    fn config<T: Plain>(&mut self, mut value: T) -> *const T {
        let size = self.struct_size::<T>();
        // SAFETY: the first field, by the contract of `Plain`.
        unsafe { (&raw mut value).cast::<u32>().write(size) };
        let at = self.words(|| 0);
        // SAFETY: room for it, of another kind of number.
        unsafe { at.cast::<T>().write_unaligned(value) };
        let known = size_of::<T>().div_ceil(8);
        let told = (size as usize).min(4096) / 8;
        if told > known && self.seldom() {
            // (A size that is wrong in itself has the same code.)
            self.is_wrong(WINDLASS_E_STRUCT_SIZE);
            // SAFETY: within the words.
            unsafe { at.add(known).write(1) };
        }
        if self.seldom() {
            self.is_wrong(WINDLASS_E_NULL);
            return std::ptr::null();
        }
        at.cast()
    }

    /// Where what was wrong goes, in words.
    fn error(&mut self) -> *mut windlass_error {
        if self.byte() < 128 {
            return null_mut();
        }
        let size = self.struct_size::<windlass_error>();
        let at = self.words(|| LEFT_ALONE);
        // SAFETY: room for it.
        unsafe { at.cast::<u32>().write(size) };
        at.cast()
    }

    /// What a call returned. `may`: codes for what a structure holds.
    fn returned(&mut self, name: &str, code: impl Into<i64>, may: &[windlass_status]) -> i64 {
        let code = code.into();
        let wrong = std::mem::take(&mut self.wrong);
        let is = |codes: &[windlass_status]| codes.iter().any(|&one| i64::from(one) == code);
        assert_ne!(code, i64::from(WINDLASS_E_PANIC), "{name}");
        if wrong.is_empty() {
            self.fine += 1;
            assert!(!is(&OF_ARGUMENTS) || is(may), "{name}: {code}, and nothing is wrong");
            assert!(code >= 0 || is(may), "{name}: {code}");
        } else {
            self.refused += 1;
            // (Which is found first is not promised.)
            assert!(is(&wrong) || (code < 0 && is(may)), "{name}: {code}, not of {wrong:?}");
        }
        for Output { words, first, tells } in self.outputs.drain(..) {
            let told = tells && code == i64::from(WINDLASS_E_TOO_SMALL);
            let alone = words[0] == first && words[1..].iter().all(|&word| word == LEFT_ALONE);
            assert!(code >= 0 || told || alone, "{name}: {code}, and it has written");
        }
        self.memory.clear();
        code
    }

    /// The keys of a batch in one of four forms, for the function of that form.
    fn batch(
        &mut self,
        name: &str,
        n: usize,
        may: &[windlass_status],
        of: [&mut dyn FnMut(Keys) -> i64; 4],
    ) -> i64 {
        let [packed, fixed, hashes, numbers] = of;
        let code = match self.below(4) {
            0 => {
                let keys = self.packed(n);
                packed(keys)
            }
            1 => {
                let (mut len, mut stride) = (1 + self.below(4), 4);
                if self.seldom() {
                    self.is_wrong(WINDLASS_E_RANGE);
                    (len, stride) = if self.byte() < 128 { (0, 4) } else { (5, 4) };
                }
                // (Of so many the bytes are too many as well.)
                if n > isize::MAX as usize / 8 {
                    self.is_wrong(WINDLASS_E_RANGE);
                }
                let bytes = self.items::<u8>(n.min(64) * 4, false);
                fixed(Keys { bytes, len, stride, ..Keys::default() })
            }
            2 => {
                let hashes_at = self.items(n, false);
                hashes(Keys { hashes: hashes_at, ..Keys::default() })
            }
            _ => {
                let numbers_at = self.items(n, false);
                numbers(Keys { numbers: numbers_at, ..Keys::default() })
            }
        };
        self.returned(name, code, may)
    }

    /// .. one behind the other.
    fn packed(&mut self, n: usize) -> Keys {
        let bytes = self.items::<u8>(64, false);
        let borders = if n == 0 { 0 } else { n.saturating_add(1) };
        let step = u32::try_from(self.below(8)).expect("small");
        let at = self.words(|| 0).cast::<u32>();
        // SAFETY: room for so many.
        let offsets = unsafe { slice::from_raw_parts_mut(at, 16) };
        offsets.iter_mut().zip(0..).for_each(|(offset, i)| *offset = step * i);
        if n > 0 && n < 16 && self.seldom() {
            self.is_wrong(WINDLASS_E_OFFSETS);
            offsets[n] = if step > 0 && n > 1 && self.byte() < 128 { 0 } else { 65 };
        }
        let offsets = self.place(at.cast(), borders, false);
        if n > isize::MAX as usize / 8 {
            self.is_wrong(WINDLASS_E_RANGE);
        }
        Keys { bytes, len: 64, offsets, ..Keys::default() }
    }
}

/// The keys of a batch, in the form that is not NULL.
#[derive(Clone, Copy)]
struct Keys {
    bytes: *const u8,
    /// Of all of them, or of each.
    len: usize,
    stride: usize,
    offsets: *const u32,
    hashes: *const windlass_hash,
    numbers: *const u64,
}

impl Default for Keys {
    fn default() -> Keys {
        let (bytes, offsets) = (std::ptr::null(), std::ptr::null());
        Keys { bytes, len: 0, stride: 0, offsets, hashes: std::ptr::null(), numbers: std::ptr::null() }
    }
}

/// Calls as bytes say. How many had nothing wrong about them, and how many had; and how many structures of each kind were restored.
pub(crate) fn drive(bytes: &[u8]) -> (u64, u64, [u64; 10]) {
    calls::drive(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::drive;

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 32,
            rng_seed: proptest::test_runner::RngSeed::Fixed(7),
            failure_persistence: None,
            max_shrink_iters: 200,
            ..ProptestConfig::default()
        })]

        #[test]
        fn any_calls_in_any_order(bytes in proptest::collection::vec(any::<u8>(), 100..3000)) {
            drive(&bytes);
        }
    }

    /// The cases are not all of one kind: most calls have nothing wrong about them, and many have.
    #[test]
    fn calls_of_both_kinds() {
        let mut state = 7_u64;
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        };
        let bytes: Vec<u8> = std::iter::repeat_with(next).take(80_000).collect();
        let (fine, refused, restored) = drive(&bytes);
        assert!(fine > 1000 && refused > 300, "{fine} and {refused}");
        assert!(restored.iter().all(|&n| n > 0), "{restored:?} were restored");
    }

    /// What the library exports is called here.
    #[test]
    fn all_functions_are_driven() {
        let called =
            concat!(include_str!("calls.rs"), include_str!("structures.rs"), include_str!("snapshots.rs"));
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let words: std::collections::BTreeSet<&str> = called.split(|c| !is_word(c)).collect();
        let missing: Vec<_> =
            include_str!("../../abi/symbols.txt").lines().filter(|name| !words.contains(name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
