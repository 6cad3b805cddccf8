//! A command under way: its words, its time, and what becomes of it elsewhere.

use crate::{
    reply::{Answer, Failure, Reply},
    server::{Key, Sent, Server, Word},
};
use std::{ffi::CStr, time::Duration};
use windlass::Tick;

/// The latest time that a command may say, in microseconds since 1970 (the year 2255).
pub(crate) const LATEST: u64 = 1 << 53;

/// The longest span, in milliseconds: a year and a day.
pub(crate) const LONGEST: u64 = 366 * 86_400_000;

/// A command that is carried out.
pub(crate) struct Call<'a> {
    pub(crate) server: Server<'a>,
    /// Its name, without `WL.`: as replicas are sent it.
    pub(crate) verb: &'static CStr,
    /// Its words after its name; the first is the key.
    pub(crate) words: Vec<Word<'a>>,
    /// The time that it was given, in microseconds since 1970. `None`: it is now.
    pub(crate) at: Option<u64>,
}

impl<'a> Call<'a> {
    /// Opens the key to be changed.
    pub(crate) fn key_to_write(&self) -> Result<Key<'a>, Failure> {
        self.key(true)
    }

    /// Opens the key to be read.
    pub(crate) fn key_to_read(&self) -> Result<Key<'a>, Failure> {
        self.key(false)
    }

    fn key(&self, writes: bool) -> Result<Key<'a>, Failure> {
        Ok(self.server.open(self.word(0)?, writes))
    }

    pub(crate) fn word(&self, at: usize) -> Result<Word<'a>, Failure> {
        self.words.get(at).copied().ok_or(Failure::Arity)
    }

    /// The words from this one on.
    pub(crate) fn rest(&self, from: usize) -> &[Word<'a>] {
        self.words.get(from..).unwrap_or(&[])
    }

    /// A number of a range.
    pub(crate) fn number(&self, at: usize, name: &str, least: u64, most: u64) -> Result<u64, Failure> {
        in_range(self.word(at)?, name, least, most)
    }

    /// A span in milliseconds.
    pub(crate) fn millis(&self, at: usize, name: &str) -> Result<u64, Failure> {
        self.number(at, name, 1, LONGEST)
    }

    /// Microseconds of now; never before `newest`, so that a clock that goes back, or another primary's, finds nothing new.
    pub(crate) fn now(&self, newest: u64) -> u64 {
        self.at.unwrap_or_else(|| self.server.micros().min(LATEST)).max(newest)
    }

    /// Something was changed at this time by this command: so it is with the replicas and in the append-only file.
    pub(crate) fn changed(&self, now: u64) -> Result<(), Failure> {
        self.changed_by(now, self.words.iter().map(|&word| Sent::Word(word)))
    }

    /// .. by this command with other words.
    pub(crate) fn changed_by<'w>(
        &self,
        now: u64,
        words: impl Iterator<Item = Sent<'w>>,
    ) -> Result<(), Failure> {
        self.server.replicate_at(now, self.verb, words);
        self.server.changed(self.word(0)?);
        Ok(())
    }
}

pub(crate) fn in_range(word: Word<'_>, name: &str, least: u64, most: u64) -> Result<u64, Failure> {
    let number = word.number().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| Failure::new(format_args!("{name} is not a whole number of {least} to {most}")))
}

/// A time as the core has it.
pub(crate) fn tick(micros: u64) -> Tick {
    Tick(micros.saturating_mul(1000))
}

/// .. and back.
pub(crate) fn micros(tick: Tick) -> u64 {
    tick.0 / 1000
}

/// A span in whole microseconds, rounded up.
pub(crate) fn rounded_up(span: Duration) -> u64 {
    u64::try_from(span.as_nanos().div_ceil(1000)).unwrap_or(u64::MAX)
}

/// That a key was made with the same.
pub(crate) fn agree(name: &str, has: u64, says: u64) -> Result<(), Failure> {
    if has == says {
        return Ok(());
    }
    Err(Failure::new(format_args!("the key has {name} {has}, not {says}")))
}

/// As many equal answers.
pub(crate) fn all(count: usize, answer: u64) -> Answer {
    Ok(Reply::Numbers(vec![answer; count]))
}
