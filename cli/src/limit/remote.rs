//! `windlass limit --remote`: allowed or denied among all who ask the same servers.

use windlass::Seed;
use windlass_remote::{Admission, LimiterDown, RemoteLimiter};

use super::{
    Counts, FIGURES,
    clients::Clients,
    judge::{ALLOWED, DENIED, Delays, Told, algorithm, quota},
    passed, policy,
    report::Report,
};
use crate::{
    args::{LimitArgs, PassedKind, UnknownKind, WhenDown},
    failure::Failure,
    input::{Batch, Need},
    metrics::Metrics,
    output,
    remote::{self, Calls, Engine, Figures},
    sift::{Sifter, sift},
};

pub(super) fn run(args: &LimitArgs, address: &str) -> Result<(), Failure> {
    check(args)?;
    let down = down(args)?;
    if let Some(file) = &args.policy {
        return policy::remote::run(args, (file, address), down);
    }
    remote::refuse_memory(&args.state, "--clients")?;
    let (_, quota) = quota(args)?;
    let engine = Engine::connect(&args.remote.engine, address)?;
    let limiter = RemoteLimiter::builder(&engine.remote, &args.remote.engine.remote_namespace, quota)
        .algorithm(algorithm(args.algorithm))
        .down(down);
    let limiter = if args.remote.by_module { limiter.by_module() } else { limiter };
    let limiter = limiter.build().map_err(|error| remote::failed(&error))?;
    let metrics = Metrics::start(&args.sift.metrics, "limit", &FIGURES, |_| Ok(()))?;
    let keyed = !args.key.is_empty();
    let need = Need {
        key: &args.key,
        option: "--key",
        parts: &[],
        beside: &[],
        may_be_none: true,
        names: keyed.then_some(remote::LONGEST),
        text: args.emit != PassedKind::None,
        numbered: false,
        seed: Seed(0),
    };
    let whole = remote::is_whole(&args.key, &args.sift.input);
    let counts = Counts { clients: keyed.then(Clients::default), ..Counts::default() };
    let mut running = Running { engine, limiter, keyed, whole, delays: Delays::default(), counts };
    let (input, took) = sift(&args.sift, need, passed(args), &metrics, (None, None), &mut running)?;
    let Running { engine, limiter, delays, counts, .. } = running;
    let stats = limiter.stats();
    let told = Told { quota, delays, late: 0, unknown: 0, memory_bytes: None, seed: None };
    let mut report = Report::new(args, &counts, &told, &input, took);
    report.remote = Some(Figures {
        calls: Calls::of(&engine.remote),
        local: stats.denied_here,
        alone: stats.allowed_alone + stats.denied_alone,
    });
    output::summary(&args.sift.output, &report, || report.text(&input), args.emit == PassedKind::None)
}

/// What can only be done where the limits are kept here is refused.
fn check(args: &LimitArgs) -> Result<(), Failure> {
    remote::refuse_times(&args.sift.input)?;
    remote::refuse(&[
        (args.save.state.is_some(), "--state", "the servers know who has had what, also after this run"),
        (!args.sift.lateness.duration.is_zero(), "--lateness", "without event times none is late"),
        (args.on_unknown == UnknownKind::Allow, "--on-unknown", "the servers have room for all, or say so"),
    ])
}

fn down(args: &LimitArgs) -> Result<LimiterDown, Failure> {
    match (args.remote.when_down, args.remote.instances) {
        (WhenDown::LocalShare, _) if args.policy.is_some() => Err(Failure::bad(
            "--when-down local-share does not go with --policy: several limits are not shared out; deny, or allow",
        )),
        (WhenDown::LocalShare, Some(instances)) => Ok(LimiterDown::LocalShare { instances: instances.0 }),
        (WhenDown::LocalShare, None) => Err(Failure::bad(
            "--when-down local-share needs --instances N: how many processes share the limit",
        )),
        (_, Some(_)) => Err(Failure::bad("--instances goes with --when-down local-share alone")),
        (WhenDown::Deny, None) => Ok(LimiterDown::Deny),
        (WhenDown::Allow, None) => Ok(LimiterDown::Allow),
    }
}

struct Running {
    engine: Engine,
    limiter: RemoteLimiter,
    /// Each client by itself.
    keyed: bool,
    /// The client is one field.
    whole: bool,
    delays: Delays,
    counts: Counts,
}

impl Sifter for Running {
    fn mark(&mut self, batch: &Batch<'_>, marks: &mut Vec<u8>) -> Option<Failure> {
        marks.clear();
        let clients = match self.keyed {
            true => remote::ids(batch, self.whole),
            false => vec![Vec::new(); batch.events.len()],
        };
        let calls: Vec<(Vec<u8>, u64)> = clients.into_iter().map(|client| (client, 1)).collect();
        let mut failed = None;
        for answer in self.engine.wait(self.limiter.check_batch(&calls)) {
            match answer.map(|decision| decision.admission) {
                Ok(Admission::Allowed { delay, .. }) => {
                    self.delays.add(delay);
                    marks.push(ALLOWED);
                }
                Ok(Admission::Denied { .. } | Admission::Never) => marks.push(DENIED),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        self.counts.add(batch, marks);
        failed.map(|error| remote::failed_at(self.counts.events + 1, &error))
    }

    fn told(&self) -> [u64; FIGURES.len()] {
        let Counts { events, allowed, .. } = self.counts;
        [events, allowed, events - allowed]
    }
}
