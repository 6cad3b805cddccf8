//! `windlass dedup --remote`: fresh or duplicate among all who ask the same servers.

use std::time::Duration;

use serde::Serialize;
use windlass::{Seed, Window};
use windlass_remote::{Down, Level, Observed, RemoteDedup, RemoteDedupStats};

use crate::{
    args::{DedupArgs, Durability, EmitKind, OnFullKind, WhenDown},
    failure::Failure,
    input::{Batch, Need, Skipped},
    metrics::Metrics,
    output,
    remote::{self, Calls, Engine},
    sift::{Sifter, sift},
};

use super::{
    FIGURES,
    judge::{DUPLICATE, FRESH},
    passed,
};

pub(super) fn run(args: &DedupArgs, address: &str) -> Result<(), Failure> {
    let window = check(args)?;
    let engine = Engine::connect(&args.remote.engine, address)?;
    let dedup = RemoteDedup::builder(&engine.remote, &args.remote.engine.remote_namespace, window)
        .down(match args.remote.when_down {
            WhenDown::Deny => Down::Deny,
            WhenDown::Allow => Down::Allow,
            WhenDown::LocalShare => Down::LocalShare,
        })
        .level(match args.remote.durability {
            Durability::Fast => Level::Fast,
            Durability::Confirmed => Level::Confirmed,
        });
    let dedup = if args.remote.by_module { dedup.by_module() } else { dedup };
    let dedup = dedup.build().map_err(|error| remote::failed(&error))?;
    let metrics = Metrics::start(&args.sift.metrics, "dedup", &FIGURES, |_| Ok(()))?;
    let need = Need {
        key: &args.id,
        option: "--id",
        parts: &[],
        beside: &[],
        may_be_none: false,
        names: Some(remote::LONGEST),
        text: args.emit != EmitKind::None,
        numbered: false,
        seed: Seed(0),
    };
    let whole = remote::is_whole(&args.id, &args.sift.input);
    let mut running = Running { engine, dedup, whole, events: 0, fresh: 0 };
    let sifted = sift(&args.sift, need, passed(args), &metrics, (None, None), &mut running);
    // Also if it failed: what was passed on meanwhile they shall know.
    running.engine.wait(running.dedup.replay());
    let (input, took) = sifted?;
    let report = Report::new(&running, input.skipped(), took);
    output::summary(
        &args.sift.output,
        &report,
        || report.text(window, took, input.skipped()),
        args.emit == EmitKind::None,
    )
}

/// What can only be done where the ids are kept here is refused. The window.
fn check(args: &DedupArgs) -> Result<Duration, Failure> {
    remote::refuse_times(&args.sift.input)?;
    remote::refuse(&[
        (
            args.window_count.is_some(),
            "--window-count",
            "the servers count no events, only time; take --window",
        ),
        (args.approx.approx, "--approx", "the servers keep ids exactly"),
        (args.approx.fpr.is_some(), "--fpr", "the servers keep ids exactly"),
        (args.panes.is_some(), "--panes", "the servers keep ids exactly"),
        (args.refresh, "--refresh", "there a duplicate changes nothing"),
        (args.on_full == OnFullKind::Evict, "--on-full evict", "servers that forget ids early are refused"),
        (args.save.state.is_some(), "--state", "the servers have the ids, also after this run"),
        (!args.sift.lateness.duration.is_zero(), "--lateness", "without event times none is late"),
    ])?;
    remote::refuse_memory(&args.state, "--capacity")?;
    let Some(window) = &args.window else { return Err(Failure::bad("--remote needs --window")) };
    let whole = window.duration.subsec_nanos().is_multiple_of(1_000_000);
    if window.duration.is_zero() || !whole {
        return Err(Failure::bad(format_args!(
            "--window {window} does not go with --remote: the servers count whole milliseconds, 1ms at least"
        )));
    }
    Ok(window.duration)
}

struct Running {
    engine: Engine,
    dedup: RemoteDedup,
    /// The id is one field.
    whole: bool,
    events: u64,
    fresh: u64,
}

impl Sifter for Running {
    fn mark(&mut self, batch: &Batch<'_>, marks: &mut Vec<u8>) -> Option<Failure> {
        marks.clear();
        let ids = remote::ids(batch, self.whole);
        for answer in self.engine.wait(self.dedup.observe_batch(&ids)) {
            let fresh = match answer.as_ref().map(|observed: &Observed| observed.is_fresh()) {
                Ok(fresh) => fresh,
                Err(error) => return Some(remote::failed_at(self.events + 1, error)),
            };
            self.events += 1;
            self.fresh += u64::from(fresh);
            marks.push(if fresh { FRESH } else { DUPLICATE });
        }
        None
    }

    fn told(&self) -> [u64; FIGURES.len()] {
        [self.events, self.fresh, self.events - self.fresh]
    }
}

/// As `--report json` has it.
#[derive(Serialize)]
struct Report {
    command: &'static str,
    events: u64,
    fresh: u64,
    duplicates: u64,
    /// Records that gave no event.
    skipped: u64,
    seconds: f64,
    memory_bytes: u64,
    window_ns: Option<u64>,
    remote: Figures,
}

/// How the answers came about.
#[derive(Serialize)]
struct Figures {
    #[serde(flatten)]
    calls: Calls,
    /// Duplicates that were known here, or stood in the same batch: no server was asked.
    local: u64,
    /// Passed on, though no replica has said in time that it has them.
    unconfirmed: u64,
    /// Judged here while the servers were away.
    alone: u64,
    /// Of the ids admitted so: those that somebody else had admitted as well.
    conflicts: u64,
    /// .. and those that the servers still have not been told of.
    untold: u64,
}

impl Report {
    fn new(running: &Running, skipped: &Skipped, took: Duration) -> Report {
        let stats: RemoteDedupStats = running.dedup.stats();
        Report {
            command: "dedup",
            events: running.events,
            fresh: running.fresh,
            duplicates: running.events - running.fresh,
            skipped: skipped.records,
            seconds: took.as_secs_f64(),
            memory_bytes: running.dedup.memory_bytes(),
            window_ns: Window::time(running.dedup.window()).ticks(),
            remote: Figures {
                calls: Calls::of(&running.engine.remote),
                local: stats.known + stats.within_batch,
                unconfirmed: stats.unconfirmed,
                alone: stats.admitted_alone + stats.duplicates_alone,
                conflicts: stats.conflicts,
                untold: stats.waiting + stats.dropped,
            },
        }
    }

    fn text(&self, window: Duration, took: Duration, skipped: &Skipped) -> String {
        let told = &self.remote;
        let mut text = format!(
            "{} events: {} fresh, {} duplicates ({})\nwindow {}, {}, {} duplicates known here; {}\n",
            output::count(self.events),
            output::count(self.fresh),
            output::count(self.duplicates),
            output::share(self.duplicates, self.events),
            output::window(Window::time(window)),
            told.calls.round_trips(),
            output::count(told.local),
            output::seconds(took, self.events),
        );
        text += &remote::lines(&[
            (told.unconfirmed, "passed on unconfirmed: no replica has said in time that it has them"),
            (told.alone, "judged alone: the servers were away (--when-down)"),
            (told.conflicts, "of these admitted by somebody else as well"),
            (told.untold, "of these unknown to the servers still"),
        ]);
        text += &told.calls.trouble();
        text += &output::skipped(skipped.records, skipped.first.as_deref());
        text
    }
}
