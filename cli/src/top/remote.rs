//! `windlass top --remote`: each process counts by itself and publishes what it knows; the table is of all.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use windlass::{Keys, TopSnapshot};
use windlass_remote::RemoteTopK;

use super::{FIGURES, Lists, counts::Counts, need, report::Report, tell};
use crate::{
    args::TopArgs,
    failure::Failure,
    grid::Grid,
    input::{Input, Next},
    metrics::Metrics,
    output::{self, Progress},
    remote::{self, Calls, Engine},
};

pub(super) fn run(args: &TopArgs, grid: Grid, address: &str) -> Result<(), Failure> {
    check(args)?;
    let engine = Engine::connect(&args.remote, address)?;
    let k = usize::try_from(args.k.0).unwrap_or(usize::MAX);
    let hot = RemoteTopK::new(&engine.remote, &args.remote.remote_namespace, k, Keys::Shared)
        .and_then(|hot| hot.life(life(grid)))
        .map_err(|error| remote::failed(&error))?;
    let mut counts = Counts::new(args, None)?;
    let metrics = Metrics::start(&args.metrics, "top", &FIGURES, |metrics| counts.show(metrics))?;
    let mut input = Input::new(&args.input, need(args))?;
    input.go_by_the_clock();
    metrics.reads(input.read_counter());
    let mut publisher = Publisher::new(&engine, hot, grid);
    let started = Instant::now();
    let progress = Progress::over_input(args.output.quiet, false, input.size(), input.read_counter());
    let (mut events, mut panes) = (0, None);
    loop {
        match input.next_within(Some(publisher.patience()))? {
            Next::Batch(batch) => {
                for (_, now) in batch.events {
                    let pane = now.0 / grid.pane;
                    let (first, last) = panes.unwrap_or((pane, pane));
                    panes = Some((first.min(pane), last.max(pane)));
                    publisher.now = publisher.now.max(now.0);
                }
                events += batch.events.len() as u64;
                counts.add(&batch, 0..batch.events.len());
                counts.come_to(publisher.now);
                progress.advance(batch.events.len() as u64);
                metrics.tell(&[events, over(panes), 0, 0, counts.refused, 0, 0]);
                metrics.skipped(input.skipped().records);
            }
            Next::Nothing => {}
            Next::End => break,
        }
        publisher.publish_if_due(&counts);
    }
    drop(progress);
    let (list, merged) = publisher.end(&counts)?;
    let lists = Lists { list: Some(list), denials: None };
    let mut report = Report::of_all(grid, &lists, args, started.elapsed());
    (report.events, report.panes) = (events, over(panes));
    report.refused = counts.refused;
    report.skipped = input.skipped().records;
    report.memory_bytes = counts.memory_bytes();
    report.remote = Some(merged);
    tell(args, &lists, &report, true, input.skipped().first.as_deref())
}

/// What can only be done where all counts are here is refused.
fn check(args: &TopArgs) -> Result<(), Failure> {
    remote::refuse_times(&args.input)?;
    remote::refuse(&[
        (args.save.state.is_some(), "--state", "what others know is not in it"),
        (args.every_pane, "--every-pane", "there is a table at the end of the run"),
        (args.live, "--live", "it shows what this process counts, and not what all know"),
        (args.merge, "--merge", "it merges files, this processes; take one of them"),
        (!args.lateness.duration.is_zero(), "--lateness", "without event times none is late"),
    ])
}

/// How many from the first to the last.
fn over(panes: Option<(u64, u64)>) -> u64 {
    panes.map_or(0, |(first, last)| last - first + 1)
}

/// What is published of a pane counts as long as anybody may be in it.
fn life(grid: Grid) -> Duration {
    (2 * Duration::from_nanos(grid.pane) + Duration::from_secs(10)).min(Duration::from_secs(86_400))
}

/// Tells the others what is known here, now and then.
struct Publisher<'a> {
    engine: &'a Engine,
    hot: RemoteTopK,
    grid: Grid,
    every: Duration,
    next: Instant,
    /// One time on two clocks: the system's, in nanoseconds since 1970, and the one by which it goes on.
    begun: (u64, Instant),
    /// The time up to which it has come.
    now: u64,
    /// The pane of the time before.
    pane: u64,
}

impl<'a> Publisher<'a> {
    fn new(engine: &'a Engine, hot: RemoteTopK, grid: Grid) -> Publisher<'a> {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (now, begun) = (u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX), Instant::now());
        // Each second, and in short panes some times.
        let every =
            Duration::from_nanos(grid.pane / 4).clamp(Duration::from_millis(20), Duration::from_secs(1));
        Publisher { engine, hot, grid, every, next: begun, begun: (now, begun), now, pane: now / grid.pane }
    }

    fn patience(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    fn publish_if_due(&mut self, counts: &Counts) {
        if Instant::now() >= self.next {
            // What could not be published is out of date by the next time.
            let _ = self.publish(counts);
            self.next = Instant::now() + self.every;
        }
    }

    fn publish(&mut self, counts: &Counts) -> Result<(), Failure> {
        let (wall, begun) = self.begun;
        let elapsed = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.now = self.now.max(wall.saturating_add(elapsed));
        let pane = self.now / self.grid.pane;
        let mut exports = vec![counts.export_so_far(self.now)];
        if std::mem::replace(&mut self.pane, pane) < pane {
            // The last of what came in the pane before.
            exports.insert(0, counts.export(self.now));
        }
        for export in &exports {
            let published = self.engine.wait(self.hot.publish(export));
            published.map_err(|error| remote::failed(&error))?;
        }
        Ok(())
    }

    /// The list of all, once they know everything of this process.
    fn end(mut self, counts: &Counts) -> Result<(TopSnapshot, Merged), Failure> {
        self.publish(counts)?;
        let top = self.engine.wait(self.hot.merged()).map_err(|error| remote::failed(&error))?;
        let calls = Calls::of(&self.engine.remote);
        Ok((top.list, Merged { calls, processes: top.merged, missing: top.missing }))
    }
}

/// Whose list it is.
#[derive(Serialize)]
pub(super) struct Merged {
    #[serde(flatten)]
    calls: Calls,
    /// Processes whose counts are in it.
    processes: u64,
    /// Processes that have published something of another window alone.
    missing: u64,
}

impl Merged {
    pub(super) fn text(&self) -> String {
        let all = format!("of {} processes; {}\n", output::count(self.processes), self.calls.round_trips());
        let missing =
            remote::lines(&[(self.missing, "more have published another window, and are not in it")]);
        all + &missing + &self.calls.trouble()
    }
}
