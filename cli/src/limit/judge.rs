//! Allowed or denied.

use std::{io, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use windlass::{
    Admission, Algorithm, ConfigError, KeyHash, KeyedLimiter, LimiterStats, OnUnknown, Quota, Seed, Tick,
};

use super::reach::Reach;
use crate::{
    args::{AlgorithmKind, Limit, LimitArgs, UnknownKind},
    failure::Failure,
    metrics::Metrics,
    output, room,
    state::Loaded,
};

/// As `--decisions` writes it.
pub(super) const DENIED: u8 = b'0';
pub(super) const ALLOWED: u8 = b'1';

pub(super) struct Judge {
    limiter: Arc<KeyedLimiter>,
    /// Without `--key` all events have this one.
    one: Option<KeyHash>,
    delays: Delays,
    reach: Reach,
    /// What limiters of the runs before have counted. One that is restored begins at 0.
    before: Figures,
}

/// What the report has of whoever has judged.
pub(super) struct Told {
    pub(super) quota: Quota,
    pub(super) delays: Delays,
    pub(super) late: u64,
    pub(super) unknown: u64,
    /// Of a limiter that is in this process.
    pub(super) memory_bytes: Option<u64>,
    pub(super) seed: Option<u64>,
}

/// What `leaky-queue` told to wait, in nanoseconds.
#[derive(Clone, Copy, Default)]
pub(super) struct Delays {
    pub(super) greatest: u64,
    pub(super) sum: u128,
}

/// What of a [`Judge`] is not in the limiter's snapshot.
#[derive(Serialize, Deserialize)]
pub(super) struct Saved {
    first: Option<u64>,
    newest: u64,
    figures: Figures,
    greatest_delay: u64,
    /// Its high and its low half.
    sum_of_delays: (u64, u64),
}

/// Figures of limiters that go on in the next run.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Figures {
    pub(super) late: u64,
    pub(super) unknown: u64,
}

impl Judge {
    /// Anew, or with the limiter as a run before has left it.
    pub(super) fn new(args: &LimitArgs, loaded: Option<&mut Loaded>) -> Result<Judge, Failure> {
        let (limit, quota) = quota(args)?;
        let keyed = !args.key.is_empty();
        let seed = Seed(args.state.seed);
        let limiter = KeyedLimiter::builder(quota)
            .algorithm(algorithm(args.algorithm))
            .clients(if keyed {
                usize::try_from(room::capacity(&args.state)).unwrap_or(usize::MAX)
            } else {
                1
            })
            .on_unknown(match args.on_unknown {
                UnknownKind::Allow => OnUnknown::Allow,
                UnknownKind::Deny => OnUnknown::Deny,
            })
            .lateness(args.sift.lateness.duration)
            .seed(seed);
        let limiter = match (args.algorithm, args.state.max_memory) {
            (AlgorithmKind::SlidingLog, None) => limiter,
            (AlgorithmKind::SlidingLog, Some(most)) => {
                return Err(Failure::bad(format_args!(
                    "--max-memory {} does not go with sliding-log, which does not grow: it has room for --clients",
                    output::memory(most.0)
                )));
            }
            (_, most) => limiter.max_memory(most.map_or(u64::MAX, |most| most.0)),
        };
        let refused = |error: ConfigError| refused(args, limit, &error);
        let limiter = match loaded {
            None => limiter.build().map_err(refused)?,
            // Ticks are the events', whatever the time is.
            Some(loaded) => loaded.restore(|rest| limiter.restore(rest, Duration::ZERO), refused)?,
        };
        Ok(Judge {
            limiter: Arc::new(limiter),
            one: (!keyed).then(|| seed.hash(0_u64)),
            delays: Delays::default(),
            reach: Reach::new(args.sift.lateness.duration, quota.per()),
            before: Figures::default(),
        })
    }

    /// .. with what else there was.
    #[allow(clippy::cast_possible_truncation)] // halves
    pub(super) fn saved(&self) -> Saved {
        let LimiterStats { late, unknown, .. } = self.stats();
        let Delays { greatest, sum } = self.delays;
        Saved {
            first: self.reach.first.map(|first| first.0),
            newest: self.reach.newest.0,
            figures: Figures { late, unknown },
            greatest_delay: greatest,
            sum_of_delays: ((sum >> 64) as u64, sum as u64),
        }
    }

    pub(super) fn go_on(self, saved: &Saved) -> Judge {
        let (high, low) = saved.sum_of_delays;
        let sum = u128::from(high) << 64 | u128::from(low);
        let delays = Delays { greatest: saved.greatest_delay, sum };
        let reach = self.reach.go_on(saved.first, saved.newest);
        // A limiter that is restored takes whatever time comes first for the newest.
        self.limiter.maintain_at(reach.newest, 0);
        Judge { reach, before: saved.figures, delays, ..self }
    }

    /// The limiter's snapshot. Ticks are the events', whatever the time is.
    pub(super) fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.limiter.snapshot_at(out, Tick(0), Duration::ZERO).map(drop)
    }

    /// Has what it goes by served.
    pub(super) fn show(&self, metrics: &Metrics) -> Result<(), Failure> {
        metrics.add("clients", &self.limiter)
    }

    pub(super) fn told(&self) -> Told {
        let stats = self.stats();
        Told {
            quota: self.limiter.quota(),
            delays: self.delays,
            late: stats.late,
            unknown: stats.unknown,
            memory_bytes: Some(stats.memory_bytes),
            seed: Some(self.limiter.seed().0),
        }
    }

    pub(super) fn seed(&self) -> Seed {
        self.limiter.seed()
    }

    pub(super) fn is_keyed(&self) -> bool {
        self.one.is_none()
    }

    /// The limiter's figures, of all runs together.
    fn stats(&self) -> LimiterStats {
        let mut stats = self.limiter.stats();
        stats.late += self.before.late;
        stats.unknown += self.before.unknown;
        stats
    }

    /// A mark per event, up to the first whose time lies too far from the first of all: what is wrong with that one.
    pub(super) fn mark(&mut self, events: &[(KeyHash, Tick)], marks: &mut Vec<u8>) -> Option<String> {
        marks.clear();
        let (events, wrong) = self.reach.take(events);
        let key = |i: usize| self.one.unwrap_or(events[i].0);
        let mut marks = Marks { marks, delays: &mut self.delays };
        self.limiter.check_each(events.len(), |i| (key(i), 1, events[i].1), &mut marks);
        wrong
    }
}

/// What `--limit` says, and with the burst.
pub(super) fn quota(args: &LimitArgs) -> Result<(Limit, Quota), Failure> {
    let limit = args.limit.ok_or_else(|| Failure::bad("--limit N/DUR, or --policy FILE"))?;
    Ok((limit, args.burst.map_or(limit.0, |burst| limit.0.burst(burst.0))))
}

pub(super) fn algorithm(kind: AlgorithmKind) -> Algorithm {
    match kind {
        AlgorithmKind::Gcra => Algorithm::Gcra,
        AlgorithmKind::FixedWindow => Algorithm::FixedWindow,
        AlgorithmKind::SlidingLog => Algorithm::SlidingLog,
        AlgorithmKind::SlidingCounter => Algorithm::SlidingCounter,
        AlgorithmKind::TokenBucket => Algorithm::TokenBucket,
        AlgorithmKind::LeakyQueue => Algorithm::LeakyQueue,
    }
}

/// The builder's error in the words of the command line.
fn refused(args: &LimitArgs, limit: Limit, error: &ConfigError) -> Failure {
    let given = match (error.field, args.burst) {
        ("quota", Some(burst)) => format!("--limit {limit} with --burst {burst}"),
        ("quota", None) => format!("--limit {limit}"),
        ("burst", _) => format!("--burst {}", error.value),
        ("lateness", _) => {
            let given = format!("--lateness {}", args.sift.lateness);
            return room::out_of_range(given, "1667d (4.5 years) at most"); // Window::MAX_TICKS
        }
        _ => return room::refused(&args.state, error),
    };
    let given = match error.field {
        "quota" | "burst" => format!("{given} (--algorithm {})", args.algorithm.name()),
        _ => given,
    };
    room::out_of_range(given, &error.limit)
}

/// Takes the limiter's answers as marks.
struct Marks<'a> {
    marks: &'a mut Vec<u8>,
    delays: &'a mut Delays,
}

impl Extend<Admission> for Marks<'_> {
    fn extend<I: IntoIterator<Item = Admission>>(&mut self, answers: I) {
        self.marks.extend(answers.into_iter().map(|answer| match answer {
            Admission::Allowed { delay, .. } => {
                self.delays.add(delay);
                ALLOWED
            }
            Admission::Denied { .. } | Admission::Never => DENIED,
        }));
    }
}

impl Delays {
    pub(super) fn add(&mut self, delay: Duration) {
        let delay = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        self.greatest = self.greatest.max(delay);
        self.sum += u128::from(delay);
    }
}
