//! By whose command an id was admitted: 16 bytes for each command, however many ids it brought.
//!
//! A command with a token admits at a time that no other admission of its key has. So the time of an id's admission, which the table has anyway, says
//! which command it was, and here is told whose that one was.

use crate::types::said;
use std::{
    collections::VecDeque,
    io::{self, Read, Write},
};
use windlass::{Seed, Tick};

/// What is kept of a token: 64 bits of its hash.
pub(crate) type Token = u64;

/// Commands with tokens that have admitted something, by their times, which rise. Those are left out whose ids are all gone.
#[derive(Default)]
pub(crate) struct Tokens(VecDeque<(u64, Token)>);

impl Tokens {
    /// The time of the newest, in microseconds.
    pub(crate) fn newest(&self) -> Option<u64> {
        self.0.back().map(|&(at, _)| at)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn memory(&self) -> usize {
        self.0.capacity() * size_of::<(u64, Token)>()
    }

    /// Whether what was admitted then was so by this token.
    pub(crate) fn has(&self, at: Tick, token: Token) -> bool {
        if !at.0.is_multiple_of(1000) {
            return false;
        }
        let found = self.0.binary_search_by_key(&(at.0 / 1000), |&(at, _)| at);
        found.ok().and_then(|place| self.0.get(place)).is_some_and(|&(_, own)| own == token)
    }

    /// It has admitted something now, which is later than all before. A window is in microseconds, like times.
    pub(crate) fn admitted(&mut self, now: u64, token: Token, window: u64) {
        while self.0.front().is_some_and(|&(at, _)| at.saturating_add(window) <= now) {
            self.0.pop_front();
        }
        // With a margin, so that it is done seldom.
        if self.0.capacity() > 64 && self.0.len() < self.0.capacity() / 4 {
            self.0.shrink_to(self.0.capacity() / 2);
        }
        self.0.push_back((now, token));
    }

    /// All of them, and their checksum.
    pub(crate) fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        let bytes = self.to_bytes();
        out.write_all(&bytes)?;
        out.write_all(&Seed(self.0.len() as u64).hash(&bytes[..]).lo.to_le_bytes())
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|&(at, token)| [at, token]).flat_map(u64::to_le_bytes).collect()
    }

    /// So many as were saved.
    pub(crate) fn load(count: u64, input: &mut dyn Read) -> Result<Tokens, String> {
        let damaged = || "the tokens of the value are damaged".to_owned();
        let mut bytes = Vec::new();
        // What is there is read, not what was said to be.
        let len = count.checked_mul(16).ok_or_else(damaged)?;
        let read = (&mut *input).take(len).read_to_end(&mut bytes).map_err(said)?;
        let mut sum = [0; 8];
        input.read_exact(&mut sum).map_err(|error| format!("the tokens of the value: {error}"))?;
        if read as u64 != len || Seed(count).hash(&bytes[..]).lo.to_le_bytes() != sum {
            return Err(damaged());
        }
        let words: Vec<u64> = bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect();
        let tokens = Tokens(words.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect());
        if !tokens.0.iter().map(|&(at, _)| at).is_sorted_by(|a, b| a < b) {
            return Err(damaged());
        }
        Ok(tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_it_was() {
        let mut tokens = Tokens::default();
        for (at, token) in [(10, 1), (12, 2), (15, 1)] {
            tokens.admitted(at, token, 100);
        }
        let has = |tokens: &Tokens, at: u64, token| tokens.has(Tick(at * 1000), token);
        assert!(has(&tokens, 10, 1) && has(&tokens, 12, 2) && has(&tokens, 15, 1));
        assert!(!has(&tokens, 10, 2) && !has(&tokens, 11, 1) && !tokens.has(Tick(10_001), 1));
        assert_eq!((tokens.newest(), tokens.len()), (Some(15), 3));
        // A window after its time what it has admitted is gone.
        tokens.admitted(110, 3, 100);
        assert_eq!(tokens.len(), 3);
        assert!(!has(&tokens, 10, 1) && has(&tokens, 12, 2));
    }

    #[test]
    fn memory_is_given_back() {
        let mut tokens = Tokens::default();
        (0..100_000).for_each(|at| tokens.admitted(at, 7, 100_000));
        let much = tokens.memory();
        (0..40).for_each(|step| tokens.admitted(300_000 + step, 7, 100_000));
        assert!(tokens.memory() < much / 1000, "{} of {much}", tokens.memory());
    }

    #[test]
    fn written_and_read() {
        let mut tokens = Tokens::default();
        [3, 4, 9].into_iter().for_each(|at| tokens.admitted(at, at << 40, 100));
        let mut bytes = Vec::new();
        tokens.save(&mut bytes).expect("a Vec takes everything");
        let load = |count, bytes: &[u8]| Tokens::load(count, &mut &bytes[..]);
        assert_eq!(load(3, &bytes).expect("its own bytes").to_bytes(), tokens.to_bytes());
        for at in 0..bytes.len() {
            assert!(load(3, &bytes[..at]).is_err(), "cut at {at}");
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert!(load(3, &flipped).is_err(), "byte {at}");
        }
        assert!(
            load(2, &bytes).is_err() && load(u64::MAX, &bytes).is_err() && load(1 << 59, &bytes).is_err()
        );
        // Times that do not rise, under a checksum that fits.
        let wrong = Tokens([(4, 1), (4, 2)].into());
        let mut bytes = Vec::new();
        wrong.save(&mut bytes).expect("a Vec takes everything");
        assert!(load(2, &bytes).is_err());
    }
}
