//! `windlass limit --policy --remote`: several limits in one decision, among all who ask the same servers.

use std::{path::Path, sync::Arc};

use windlass::KeyHash;
use windlass_remote::{DecidedBy, LimiterDown, RemoteLimitRule, RemoteLimitSet};

use super::{
    Counts, Judged,
    denials::Denials,
    file::{self, Limit},
    keys, need,
    report::Report,
};
use crate::{
    args::{LimitArgs, PassedKind},
    failure::Failure,
    input::Batch,
    limit::{FIGURES, judge::algorithm, passed},
    metrics::Metrics,
    output,
    remote::{self, Calls, Engine, Figures},
    sift::{Sifter, sift},
};

/// All limits count in one group: they are of different keys, and any of them may meet any other in an event.
const GROUP: &str = "";

pub(in crate::limit) fn run(
    args: &LimitArgs,
    (file, address): (&Path, &str),
    down: LimiterDown,
) -> Result<(), Failure> {
    let limits = file::read(file)?;
    let engine = Engine::connect(&args.remote.engine, address)?;
    let builder = RemoteLimitSet::builder(&engine.remote, &args.remote.engine.remote_namespace);
    let builder = limits.iter().fold(builder, |builder, limit| builder.limit(rule(limit)));
    let builder = if down == LimiterDown::Allow { builder.allow_when_down() } else { builder };
    let set = builder.build().map_err(|error| remote::failed(&error))?;
    let (key, parts) = keys(&limits);
    let denials = Arc::new(Denials::of(&limits));
    let metrics =
        Metrics::start(&args.sift.metrics, "limit", &FIGURES, |metrics| metrics.add("policy", &denials))?;
    let counts = Counts::new(&denials);
    let mut running = Running { engine, set, keys: parts.len(), alone: 0, counts };
    let need = need(args, &key, &parts);
    let (input, took) = sift(&args.sift, need, passed(args), &metrics, (None, None), &mut running)?;
    let judged = Judged { counts: &running.counts, late: 0, unknown: 0, memory_bytes: None };
    let mut report = Report::new(args, judged, &limits, &input, took);
    let calls = Calls::of(&running.engine.remote);
    report.remote = Some(Figures { calls, local: 0, alone: running.alone });
    output::summary(&args.sift.output, &report, || report.text(&input), args.emit == PassedKind::None)
}

/// (What the file says of memory is for limits that are here.)
fn rule(limit: &Limit) -> RemoteLimitRule {
    let rule = match limit.key[..] {
        [] => RemoteLimitRule::global(&limit.name, limit.quota),
        _ => RemoteLimitRule::keyed(&limit.name, limit.quota),
    };
    rule.algorithm(algorithm(limit.algorithm))
}

struct Running<'a> {
    engine: Engine,
    set: RemoteLimitSet,
    /// Keys of an event.
    keys: usize,
    alone: u64,
    counts: Counts<'a>,
}

impl Sifter for Running<'_> {
    fn mark(&mut self, batch: &Batch<'_>, marks: &mut Vec<u8>) -> Option<Failure> {
        marks.clear();
        let clients: Vec<String> = batch.parts.iter().map(name).collect();
        let call = |i: usize| (GROUP, &clients[i * self.keys..][..self.keys], 1);
        let calls: Vec<(&str, &[String], u64)> = (0..batch.events.len()).map(call).collect();
        let answers = self.engine.wait(self.set.check_batch(&calls));
        for (answer, &(_, at)) in answers.into_iter().zip(batch.events) {
            match answer {
                Ok(decision) => {
                    self.alone += u64::from(decision.by == DecidedBy::Alone);
                    marks.push(self.counts.add(decision.admission, at));
                }
                Err(error) => return Some(remote::failed_at(self.counts.events + 1, &error)),
            }
        }
        None
    }

    fn told(&self) -> [u64; FIGURES.len()] {
        self.counts.told()
    }
}

/// As the servers know a client: by the hash of its fields, of which each limit has its own.
fn name(hash: &KeyHash) -> String {
    format!("{:016x}{:016x}", hash.hi, hash.lo)
}
