//! What `loom-tests` sees of the limiters.

use super::{
    admission::Answer,
    algorithm::{Algorithm, Judges, with_judge},
    change::Inherit,
    judge::{Clients, Home, Judge},
    keyed::raise,
    logs::{Logs, kept::Entries},
    overrides::Overrides,
    quota::Quota,
    ring::LogRule,
    single::Core,
    sole::{Log, Sole, State, with_sole},
};
use crate::{
    codec::{Header, Kind, Reader, Writer},
    hash::{KeyHash, Seed},
    sync::{AtomicU64, Ordering::Relaxed, epoch},
    table::{
        Decision, Full,
        model::{Stop, Table},
    },
    time::Tick,
};
use std::time::Duration;

/// A limiter for all. Its times are microseconds.
pub struct OneLimiter(State);

impl OneLimiter {
    /// So many permits in so long.
    #[allow(clippy::panic)] // in a model
    pub fn new(algorithm: Algorithm, permits: u64, micros: u64) -> OneLimiter {
        match algorithm.rule(Quota::new(permits, Duration::from_micros(micros))) {
            Ok(rule) => OneLimiter(rule.into()),
            Err(error) => panic!("{error}"),
        }
    }

    /// `Limiter::check_at`: whether it is allowed.
    pub fn take(&self, cost: u64, micros: u64) -> bool {
        with_sole!(&self.0, state => allowed(state.check(cost, micros * 1000)))
    }

    /// Of a log: what a snapshot has of it.
    #[allow(clippy::panic)] // in a model
    pub fn copy(&self) -> OneLimiter {
        let State::Log(rule, log) = &self.0 else { panic!("of a log") };
        let (mut times, copy) = (Vec::new(), Log::new(*rule));
        let given_back = log.ring(*rule).saved(&mut times);
        copy.ring(*rule).put_back(&times, given_back);
        OneLimiter(State::Log(*rule, copy))
    }

    /// `Limiter::forget_at`.
    pub fn forget(&self, micros: u64) -> bool {
        with_sole!(&self.0, state => state.forget(micros * 1000))
    }
}

/// A limiter for all, whose quota changes. Its times are microseconds.
pub struct Changing(Core);

impl Changing {
    /// So many permits in so long.
    pub fn new(algorithm: Algorithm, permits: u64, micros: u64) -> Changing {
        Changing(core(algorithm, permits, micros))
    }

    /// `Limiter::set_quota_at`.
    #[allow(clippy::panic)] // in a model
    pub fn set(&self, permits: u64, micros: u64, inherit: Inherit, at: u64) {
        let quota = Quota::new(permits, Duration::from_micros(micros));
        if let Err(error) = self.0.set_quota(quota, inherit, at * 1000) {
            panic!("{error}");
        }
    }

    /// `Limiter::check_at`: whether it is allowed.
    pub fn take(&self, cost: u64, micros: u64) -> bool {
        self.0.check(cost, micros * 1000).is_allowed()
    }

    /// Permits that there are.
    pub fn room(&self, micros: u64) -> u64 {
        match self.0.peek(0, micros * 1000) {
            Some(Answer::Allowed { remaining, .. }) => remaining,
            _ => 0,
        }
    }
}

#[allow(clippy::panic)] // in a model
fn core(algorithm: Algorithm, permits: u64, micros: u64) -> Core {
    match Core::new(algorithm, Quota::new(permits, Duration::from_micros(micros)), false) {
        Ok(core) => core,
        Err(error) => panic!("{error}"),
    }
}

/// Clients with quotas of their own, of a shard.
#[derive(Default)]
pub struct Own(Overrides<Core>);

impl Own {
    /// `KeyedLimiter::set_quota_for_at`: so many permits in so long. `false`: it has a quota of its own already.
    pub fn set(&self, client: u64, permits: u64, micros: u64) -> bool {
        let hash = KeyHash { hi: 0, lo: client };
        let there = self.0.insert(hash, || Ok::<_, Full>(core(Algorithm::Gcra, permits, micros)), |_| {});
        matches!(there, Ok(None))
    }

    /// `KeyedLimiter::clear_quota_for_at`: whether it had one.
    pub fn clear(&self, client: u64) -> bool {
        self.0.remove(KeyHash { hi: 0, lo: client }).is_some()
    }

    /// `KeyedLimiter::check_at`: whether it is allowed. `None`: it has no quota of its own.
    pub fn take(&self, client: u64, micros: u64) -> Option<bool> {
        let guard = epoch::pin();
        let own = self.0.get(KeyHash { hi: 0, lo: client }, &guard)?;
        Some(own.check(1, micros * 1000).is_allowed())
    }
}

fn allowed(answer: Answer) -> bool {
    matches!(answer, Answer::Allowed { .. })
}

/// The newest time that a limiter has seen.
pub struct Newest(AtomicU64);

impl Newest {
    /// It begins with 0.
    #[allow(clippy::new_without_default)] // in a model
    pub fn new() -> Newest {
        Newest(AtomicU64::new(0))
    }

    /// `KeyedLimiter::advance`.
    pub fn raise(&self, at: u64) {
        raise(&self.0, at);
    }

    /// As every call loads it.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// The pool of rings of sliding logs. Each call is pinned by itself.
pub struct Rings(Logs);

impl Rings {
    /// So many that have all been used and are back, the first one first.
    pub fn new(rings: usize) -> Rings {
        Rings(Logs::of_units(LogRule { limit: 1, window: 10 }, rings, 1 << 12).all_back())
    }

    /// Some for the caller, as far as there are any.
    pub fn take(&self, most: usize) -> Vec<u64> {
        let _guard = epoch::pin();
        std::iter::from_fn(|| self.0.take_ring()).take(most).collect()
    }

    /// Sends one back. Whether it was this call that did.
    pub fn retire(&self, ring: u64) -> bool {
        self.0.retire_ring(ring)
    }

    /// Helps to bring back what was sent.
    pub fn collect(&self) {
        epoch::collect();
    }
}

/// Limiters of clients, beside their table. Times are microseconds.
pub struct Limiters(Judges);

impl Limiters {
    /// So many permits in so long.
    #[allow(clippy::panic)] // in a model
    pub fn new(algorithm: Algorithm, permits: u64, micros: u64) -> Limiters {
        match algorithm
            .rule(Quota::new(permits, Duration::from_micros(micros)))
            .and_then(|rule| rule.for_clients(2))
        {
            Ok(judges) => Limiters(judges),
            Err(error) => panic!("{error}"),
        }
    }

    /// Sliding logs: so many rings, and ages in units of 2^`bits` ns.
    pub fn of_logs(permits: u64, micros: u64, rings: usize, bits: u32) -> Limiters {
        Limiters(Judges::Log(Logs::of_units(LogRule { limit: permits, window: micros }, rings, 1 << bits)))
    }

    /// `KeyedLimiter::check_at`, at once with the horizon moved to its time: whether it is allowed; an error if there is no room.
    pub fn take<const BUCKETS: usize, const CELLS: usize>(
        &self,
        table: &Table<BUCKETS, CELLS>,
        client: u64,
        micros: u64,
    ) -> Result<bool, Stop> {
        let _guard = epoch::pin();
        with_judge!(&self.0, judge => {
            table.advance(judge.gone_at(micros * 1000));
            let (hash, at) = (KeyHash { hi: 0, lo: client }, micros * 1000);
            match judge.check_at_home(table, hash, 1, at) {
                Some(answer) => Ok(allowed(answer)),
                None => judge.check(table, hash, 1, at).map(allowed).map_err(|_| Stop::Full),
            }
        })
    }
}

/// Sliding logs of clients, and their table.
pub struct Clientele {
    logs: Logs,
    table: Table<1, 2>,
}

impl Clientele {
    /// So many permits in so long, so many rings, and ages in units of 2^`bits` ns.
    pub fn new(permits: u64, micros: u64, rings: usize, bits: u32) -> Clientele {
        let logs = Logs::of_units(LogRule { limit: permits, window: micros }, rings, 1 << bits);
        Clientele { logs, table: Table::new([[(0, 0); 2]], 0) }
    }

    /// `KeyedLimiter::check_at`, at once with the horizon moved to its time: whether it is allowed; an error if there is no room.
    pub fn take(&self, client: u64, micros: u64) -> Result<bool, Stop> {
        let (judge, at) = (&self.logs, micros * 1000);
        self.table.advance(judge.gone_at(at));
        judge.check(&self.table, KeyHash { hi: 0, lo: client }, 1, at).map(allowed).map_err(|_| Stop::Full)
    }

    /// Time goes on, and what has run out by then comes back. (No call is under way that might still look at it; a snapshot is not waited for.)
    pub fn come_to(&self, micros: u64) {
        let gone = (&self.logs).gone_at(micros * 1000);
        self.table.advance(gone);
        self.logs.hand_over(gone);
    }

    /// What a snapshot and its restoration make of it, while others go on.
    #[allow(clippy::panic)] // in a model
    pub fn copy(&self) -> Clientele {
        let header = Header {
            kind: Kind::KeyedLimiter,
            counts_events: false,
            seed: Seed(0),
            wall: Duration::ZERO,
            now: Tick(0),
            settings: Vec::new(),
        };
        // As `KeyTable::write`: entries that are not gone, then the horizon.
        let gone = self.table.horizon();
        let cells = self.table.cells();
        let horizon = self.table.horizon();
        let mut bytes = Vec::new();
        let written = Writer::begin(&mut bytes, &header).and_then(|mut writer| {
            self.logs.write(&self.table, &mut writer)?;
            writer.finish()
        });
        written.unwrap_or_else(|error| panic!("{error}"));
        let kept = |at: usize| if cells[at].1 > gone { cells[at] } else { (0, 0) };
        let copy = Clientele { logs: self.logs.like(), table: Table::new([[kept(0), kept(1)]], horizon) };
        let restored = Reader::begin(&bytes[..], Kind::KeyedLimiter).and_then(|mut reader| {
            copy.logs.restore(&copy.table, &mut reader)?;
            reader.finish()
        });
        restored.unwrap_or_else(|error| panic!("{error}"));
        copy
    }
}

impl Entries for Table<1, 2> {
    fn each_state(&self, each: &mut dyn FnMut(u64)) {
        self.cells().into_iter().for_each(|(_, state)| each(state));
    }

    fn horizon(&self) -> u64 {
        Table::horizon(self)
    }

    fn advance(&self, horizon: u64) {
        Table::advance(self, horizon);
    }
}

/// Clients of a bucket, of whom some have quotas of their own. Times are microseconds.
pub struct Overridden {
    limiters: Limiters,
    table: Table<1, 2>,
    own: Overrides<Core>,
    permits: u64,
}

impl Overridden {
    /// So many permits in so long for each.
    pub fn new(permits: u64, micros: u64) -> Overridden {
        let limiters = Limiters::new(Algorithm::Gcra, permits, micros);
        Overridden { limiters, table: Table::new([[(0, 0); 2]], 0), own: Overrides::default(), permits }
    }

    /// `KeyedLimiter::set_quota_for_at`: so many permits in so long, of which those count that were used.
    pub fn set(&self, client: u64, permits: u64, micros: u64, at: u64) {
        let hash = KeyHash { hi: 0, lo: client };
        let make = || Ok::<_, Full>(core(Algorithm::Gcra, permits, micros));
        let _ = self.own.insert(hash, make, |own| {
            let peeked = with_judge!(&self.limiters.0, judge => judge.peek(&self.table, hash, 0, at * 1000));
            if let Ok(Answer::Allowed { remaining, .. }) = peeked {
                own.check((self.permits - remaining).min(permits), at * 1000);
            }
        });
    }

    /// `KeyedLimiter::check_at` of cost 1: whether it is by a quota of its own, and allowed.
    pub fn take(&self, client: u64, at: u64) -> (bool, bool) {
        let (hash, guard) = (KeyHash { hi: 0, lo: client }, epoch::pin());
        match self.own.get(hash, &guard) {
            Some(own) => (true, own.check(1, at * 1000).is_allowed()),
            None => (false, self.limiters.take(&self.table, client, at) == Ok(true)),
        }
    }
}

impl<const BUCKETS: usize, const CELLS: usize> Home for Table<BUCKETS, CELLS> {
    fn update_at_home<R>(
        &self,
        hash: KeyHash,
        decide: impl Fn(Option<u64>, u64) -> Decision<R>,
    ) -> Option<R> {
        self.change_at_home(hash.lo, decide)
    }
}

impl<const BUCKETS: usize, const CELLS: usize> Clients for Table<BUCKETS, CELLS> {
    fn update<R>(
        &self,
        hash: KeyHash,
        decide: impl Fn(Option<u64>, u64) -> Decision<R> + Copy,
    ) -> Result<R, Full> {
        self.change(hash.lo, decide).map_err(|_| Full)
    }

    fn horizon(&self) -> u64 {
        Table::horizon(self)
    }
}
