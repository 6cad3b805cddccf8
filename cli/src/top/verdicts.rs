//! What a dedup and a limit would say of the same events. They are counted all the same.

use std::{collections::BTreeMap, sync::Arc};

use windlass::{
    Admission, ConfigError, Dedup, KeyedLimiter, OnFull, Quota, Refused, Seed, TopKey, TopSnapshot, Verdict,
};

use super::counts::{Counts, Live};
use crate::{
    args::TopArgs,
    failure::Failure,
    input::Batch,
    limit::Reach,
    metrics::Metrics,
    output,
    room::{self, out_of_range},
};

/// As far as `--id` and `--limit` ask for them.
pub(super) struct Verdicts {
    ids: Option<Ids>,
    limit: Option<Limit>,
}

struct Ids {
    dedup: Arc<Dedup>,
    duplicates: u64,
    /// Of a batch.
    verdicts: Vec<Result<Verdict, Refused>>,
}

struct Limit {
    limiter: Arc<KeyedLimiter>,
    reach: Reach,
    judged: u64,
    denied: u64,
    /// The events that were denied, by key.
    denials: Counts,
    /// Of a batch.
    admissions: Vec<Admission>,
    events: Vec<usize>,
}

impl Verdicts {
    pub(super) fn new(args: &TopArgs) -> Result<Verdicts, Failure> {
        let ids = (!args.id.is_empty()).then(|| Ids::new(args)).transpose()?;
        Ok(Verdicts { ids, limit: args.limit.map(|limit| Limit::new(args, limit.0)).transpose()? })
    }

    pub(super) fn show(&self, metrics: &Metrics) -> Result<(), Failure> {
        if let Some(Ids { dedup, .. }) = &self.ids {
            metrics.add("ids", dedup)?;
        }
        self.limit.as_ref().map_or(Ok(()), |limit| metrics.add("limit", &limit.limiter))
    }

    /// Judges a batch.
    pub(super) fn take(&mut self, batch: &Batch<'_>) -> Result<(), Failure> {
        if let Some(ids) = &mut self.ids {
            ids.take(batch);
        }
        self.limit.as_mut().map_or(Ok(()), |limit| limit.take(batch))
    }

    pub(super) fn duplicates(&self) -> Option<u64> {
        self.ids.as_ref().map(|ids| ids.duplicates)
    }

    pub(super) fn denied(&self) -> Option<u64> {
        self.limit.as_ref().map(|limit| limit.denied)
    }

    /// The keys whose events were denied most, in the window that ends there.
    pub(super) fn denials(&self, end: u64) -> Option<TopSnapshot> {
        self.limit.as_ref().map(|limit| limit.denials.list(end))
    }

    /// .. to look at from another thread.
    pub(super) fn live(&self) -> Option<Arc<Live>> {
        self.limit.as_ref().map(|limit| limit.denials.live())
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        let ids = self.ids.as_ref().map_or(0, |ids| ids.dedup.memory_bytes());
        let limit = self.limit.as_ref();
        ids + limit.map_or(0, |limit| limit.limiter.memory_bytes() + limit.denials.memory_bytes())
    }

    /// What there was no room for: of ids, and of the limit's keys.
    pub(super) fn without_room(&self) -> [u64; 2] {
        [
            self.ids.as_ref().map_or(0, |ids| ids.dedup.stats().evicted),
            self.limit.as_ref().map_or(0, |limit| limit.limiter.stats().unknown + limit.denials.refused),
        ]
    }
}

impl Ids {
    fn new(args: &TopArgs) -> Result<Ids, Failure> {
        let dedup = Dedup::builder(args.window.duration)
            .lateness(args.lateness.duration)
            .max_memory(room::most(&args.state))
            .on_full(OnFull::EvictOldest)
            .seed(Seed(args.state.seed))
            .build()
            .map_err(|error| refused(args, "--id", &error))?;
        Ok(Ids { dedup: Arc::new(dedup), duplicates: 0, verdicts: Vec::new() })
    }

    fn take(&mut self, batch: &Batch<'_>) {
        let Ids { dedup, duplicates, verdicts } = self;
        verdicts.clear();
        dedup.observe_each(batch.events.len(), |i| (batch.parts[i], batch.events[i].1), verdicts);
        *duplicates +=
            verdicts.iter().filter(|verdict| verdict.is_ok_and(|it| !it.is_fresh())).count() as u64;
    }
}

impl Limit {
    fn new(args: &TopArgs, quota: Quota) -> Result<Limit, Failure> {
        let limiter = KeyedLimiter::builder(quota)
            .lateness(args.lateness.duration)
            .max_memory(room::most(&args.state))
            .seed(Seed(args.state.seed))
            .build()
            .map_err(|error| refused(args, "--limit", &error))?;
        Ok(Limit {
            reach: Reach::new(args.lateness.duration, quota.per()),
            limiter: Arc::new(limiter),
            judged: 0,
            denied: 0,
            denials: Counts::new(args, None)?,
            admissions: Vec::new(),
            events: Vec::new(),
        })
    }

    fn take(&mut self, batch: &Batch<'_>) -> Result<(), Failure> {
        let (events, wrong) = self.reach.take(batch.events);
        self.admissions.clear();
        let call = |i: usize| (events[i].0, 1, events[i].1);
        self.limiter.check_each(events.len(), call, &mut self.admissions);
        self.events.clear();
        let denied = self.admissions.iter().enumerate().filter(|(_, it)| !it.is_allowed());
        self.events.extend(denied.map(|(event, _)| event));
        self.denials.add_some(batch, &self.events);
        self.judged += events.len() as u64;
        self.denied += self.events.len() as u64;
        match wrong {
            Some(what) => Err(Failure::bad(format_args!("--limit: event {}: {what}", self.judged + 1))),
            None => Ok(()),
        }
    }
}

/// The builder's error in the words of the command line.
fn refused(args: &TopArgs, option: &str, error: &ConfigError) -> Failure {
    match error.field {
        "window" => out_of_range(format_args!("{option} with --window {}", args.window), &error.limit),
        "lateness" => out_of_range(format_args!("{option} with --lateness {}", args.lateness), &error.limit),
        "quota" | "burst" => {
            let limit = args.limit.map(|limit| limit.to_string()).unwrap_or_default();
            out_of_range(format_args!("--limit {limit}"), &error.limit)
        }
        _ => room::refused(&args.state, error),
    }
}

/// How many of a key's events were denied, as far as a list says.
pub(super) struct Denied<'a> {
    counts: BTreeMap<&'a TopKey, u64>,
    /// Of a key that is not in the list, at most.
    tail: u64,
}

impl<'a> Denied<'a> {
    pub(super) fn of(denials: &'a TopSnapshot) -> Denied<'a> {
        let counts = denials.rows.iter().map(|row| (&row.key, row.count)).collect();
        Denied { counts, tail: denials.tail }
    }

    /// `None`: less often than all keys of the list.
    pub(super) fn count(&self, key: &TopKey) -> Option<u64> {
        self.counts.get(key).copied().or((self.tail == 0).then_some(0))
    }

    pub(super) fn text(&self, key: &TopKey) -> String {
        self.count(key).map_or_else(|| format!("<= {}", output::count(self.tail)), output::count)
    }
}
