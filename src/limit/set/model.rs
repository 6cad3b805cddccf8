//! What `loom-tests` sees of the sets.

use super::{
    admit::{MOST, Parts, admit},
    answer::Settled,
    hold,
    refunds::Refunds,
    snapshot::{self, in_order},
};
use crate::{
    hash::KeyHash,
    limit::{
        admission::Answer,
        algorithm::Algorithm,
        keyed::raise,
        meter::Charge,
        quota::Quota,
        sole::{Sole, State, with_sole},
        word::Word,
    },
    sync::{AtomicU64, Ordering::Relaxed, twin},
    table::model::{Stop, Table},
};
use std::{io, time::Duration};

/// Words of clients, whatever limit they belong to. Times are microseconds.
pub struct Words {
    states: Vec<State>,
    refunds: Vec<Refunds>,
    newest: AtomicU64,
}

/// A charge of a word, and what had been given back before.
#[derive(Clone, Copy)]
pub struct HeldAt(usize, Charge, u64);

const NOBODY: KeyHash = KeyHash { hi: 0, lo: 0 };

impl Words {
    /// So many permits in so long for each of so many.
    #[allow(clippy::panic)] // in a model
    pub fn new(words: usize, permits: u64, micros: u64) -> Words {
        let quota = Quota::new(permits, Duration::from_micros(micros));
        let state = || match Algorithm::Gcra.rule_of_set(quota) {
            Ok(rule) => rule.into(),
            Err(error) => panic!("{error}"),
        };
        Words {
            states: (0..words).map(|_| state()).collect(),
            refunds: (0..words).map(|_| Refunds::new(1)).collect(),
            newest: AtomicU64::new(0),
        }
    }

    /// `LimitSet::check_at` of cost 1: the words of its keys, one for each limit.
    pub fn admit(&self, words: &[usize], turns: bool, micros: u64) -> bool {
        raise(&self.newest, micros * 1000);
        admit(&Call { all: self, words, turns, at: micros * 1000 }, 1).is_ok()
    }

    /// Charges one word, to be given back.
    pub fn hold(&self, word: usize, micros: u64) -> Option<HeldAt> {
        raise(&self.newest, micros * 1000);
        let before = self.refunds[word].done(NOBODY);
        let (_, charge) = with_sole!(&self.states[word], state => state.charge(1, micros * 1000));
        charge.map(|charge| HeldAt(word, charge, before))
    }

    /// Gives it back.
    pub fn cancel(&self, held: HeldAt, micros: u64) {
        raise(&self.newest, micros * 1000);
        self.give_back(held.0, held.1, micros * 1000, Some(held.2));
    }

    /// Permits that a word has.
    pub fn room(&self, word: usize, micros: u64) -> u64 {
        match with_sole!(&self.states[word], state => state.peek(0, micros * 1000)) {
            Answer::Allowed { remaining, .. } => remaining,
            Answer::Denied { .. } => 0,
        }
    }

    fn give_back(&self, word: usize, charge: Charge, at: u64, before: Option<u64>) {
        let known = self.newest.load(Relaxed);
        let latest = || match twin!(TimeBefore) {
            true => at.max(known),
            false => at.max(self.newest.load(Relaxed)),
        };
        with_sole!(&self.states[word], state => {
            self.refunds[word].around(NOBODY, state.given(1), before, |others| {
                state.give_back(charge, 1, latest, others)
            })
        });
    }
}

struct Call<'a> {
    all: &'a Words,
    words: &'a [usize],
    turns: bool,
    at: u64,
}

impl Parts for Call<'_> {
    fn len(&self) -> usize {
        self.words.len().min(MOST)
    }

    fn peek(&self, limit: usize, cost: u64) -> Answer {
        with_sole!(&self.all.states[self.words[limit]], state => state.peek(cost, self.at))
    }

    fn charge(&self, limit: usize, cost: u64) -> (Answer, Option<Charge>) {
        with_sole!(&self.all.states[self.words[limit]], state => state.charge(cost, self.at))
    }

    fn give_back(&self, limit: usize, charge: Charge, _: u64) {
        self.all.give_back(self.words[limit], charge, self.at, None);
    }

    fn turns(&self) -> bool {
        self.turns
    }
}

/// The holds of a set, by their numbers.
pub struct Holding<const BUCKETS: usize, const CELLS: usize>(pub Table<BUCKETS, CELLS>);

impl<const BUCKETS: usize, const CELLS: usize> Holding<BUCKETS, CELLS> {
    /// `Holds::open`.
    pub fn open(&self, number: u64, until: u64) -> Result<(), Stop> {
        hold::open(&self.0, KeyHash { hi: 0, lo: number }, until).map_err(|_| Stop::Full)
    }

    /// `Holds::close`: whether it was this call that did.
    pub fn close(&self, number: u64, at: u64) -> bool {
        matches!(hold::close(&self.0, KeyHash { hi: 0, lo: number }, at), Settled::Settled { .. })
    }

    /// `Holds::advance`.
    pub fn advance(&self, at: u64) {
        self.0.advance(at << 1 | 1);
    }
}

/// A limit for all, and holds on it.
pub struct Reserving {
    words: Words,
    next: AtomicU64,
    numbers: Table<1, 2>,
}

/// What is needed to settle a hold.
#[derive(Clone, Copy)]
pub struct Ticket(HeldAt, u64);

/// Whatever the time is.
const LEASE: u64 = 1 << 40;

impl Reserving {
    /// So many permits in so long.
    pub fn new(permits: u64, micros: u64) -> Reserving {
        let numbers = Table::new([[(0, 0); 2]], 0);
        Reserving { words: Words::new(1, permits, micros), next: AtomicU64::new(1), numbers }
    }

    /// `LimitSet::check_at` of cost 1.
    pub fn admit(&self, micros: u64) -> bool {
        self.words.admit(&[0], false, micros)
    }

    /// `LimitSet::reserve_at`.
    pub fn reserve(&self, micros: u64) -> Option<Ticket> {
        let held = self.words.hold(0, micros)?;
        let number = hold::number_of(&self.next);
        hold::open(&self.numbers, KeyHash { hi: 0, lo: number }, LEASE).ok()?;
        Some(Ticket(held, number))
    }

    /// `LimitSet::cancel_at`: whether it was this call that did.
    pub fn cancel(&self, Ticket(held, number): Ticket, micros: u64) -> bool {
        let settled = hold::close(&self.numbers, KeyHash { hi: 0, lo: number }, 0);
        let is_ours = matches!(settled, Settled::Settled { .. });
        if is_ours {
            self.words.cancel(held, micros);
        }
        is_ours
    }

    /// Permits that there are.
    pub fn room(&self, micros: u64) -> u64 {
        self.words.room(0, micros)
    }

    /// What a snapshot and its restoration make of it, while others go on.
    #[allow(clippy::panic)] // in a model
    pub fn copy(&self) -> Reserving {
        let mut copy = Copied { of: self, to: Reserving { next: AtomicU64::new(0), ..Reserving::new(1, 1) } };
        in_order(&mut copy).unwrap_or_else(|error| panic!("{error}"));
        copy.to.words.newest = AtomicU64::new(self.words.newest.load(Relaxed));
        copy.to
    }
}

struct Copied<'a> {
    of: &'a Reserving,
    to: Reserving,
}

impl snapshot::Parts for Copied<'_> {
    fn next(&self) -> u64 {
        hold::next_of(&self.of.next)
    }

    fn charges(&mut self) -> io::Result<()> {
        let State::Tat(tat, word) = &self.of.words.states[0] else {
            return Err(io::Error::other("of a bucket"));
        };
        self.to.words.states[0] = State::Tat(*tat, Word::of(word.load()));
        Ok(())
    }

    fn refunds(&mut self) -> io::Result<()> {
        let mut sums = self.of.words.refunds[0].saved();
        self.to.words.refunds[0].put_back(|| sums.next().ok_or_else(|| io::Error::other("one for each")))
    }

    fn holds(&mut self, first: u64) -> io::Result<()> {
        let cells = self.of.numbers.cells();
        let made = hold::next_of(&self.of.next).wrapping_sub(first);
        self.to.numbers = Table::new([[cells[0], cells[1]]], self.of.numbers.horizon());
        hold::close_made(&self.to.numbers, (first, made), |number| KeyHash { hi: 0, lo: number });
        Ok(())
    }
}
