//! Each file counted by itself, in a thread of its own, as if on a machine of its own; and what they know put together.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{self, Sender},
    },
    thread,
    time::Instant,
};

use windlass::{Aggregator, Export, Keys};

use super::{Lists, counts::Counts, need, report::Report, tell};
use crate::{
    args::{InputArgs, TopArgs},
    failure::Failure,
    grid::Grid,
    input::Input,
    output::Progress,
};

/// A file, what was counted of it, and what came of that.
struct Shard {
    input: Input,
    counts: Counts,
    events: u64,
    /// The first pane, and the last.
    panes: Option<(u64, u64)>,
}

pub(super) fn run(args: &TopArgs, grid: Grid) -> Result<(), Failure> {
    let mut shards =
        args.input.files.iter().map(|file| Shard::new(args, file)).collect::<Result<Vec<_>, _>>()?;
    if shards.is_empty() {
        return Err(Failure::bad("--merge needs files: there are none"));
    }
    let started = Instant::now();
    count_all(args, grid, &mut shards)?;
    let first = shards.iter().filter_map(|shard| Some(shard.panes?.0)).min();
    let last = shards.iter().filter_map(|shard| Some(shard.panes?.1)).max();
    let list = match last {
        Some(last) => Some(merged(args, &shards, grid.begin(last + 1))?.list()),
        None => None,
    };
    let lists = Lists { list, denials: None };
    let sum = |figure: fn(&Shard) -> u64| shards.iter().map(figure).sum::<u64>();
    let mut report = Report::of_all(grid, &lists, args, started.elapsed());
    report.events = sum(|shard| shard.events);
    report.panes = first.zip(last).map_or(0, |(first, last)| last - first + 1);
    report.refused = sum(|shard| shard.counts.refused);
    report.skipped = sum(|shard| shard.input.skipped().records);
    report.memory_bytes = sum(|shard| shard.counts.memory_bytes());
    let skipped = shards.iter().find_map(|shard| shard.input.skipped().first.as_deref());
    tell(args, &lists, &report, shards.iter().any(|shard| shard.input.is_timed()), skipped)
}

/// Reads all files to their ends, while this thread shows how far they are.
fn count_all(args: &TopArgs, grid: Grid, shards: &mut [Shard]) -> Result<(), Failure> {
    let read: Vec<_> = shards.iter().map(|shard| shard.input.read_counter()).collect();
    let (all, size) = (Arc::new(AtomicU64::new(0)), shards.iter().map(|shard| shard.input.size()).sum());
    let progress = Progress::over_input(args.output.quiet, false, size, all.clone());
    thread::scope(|scope| {
        let (told, events) = mpsc::channel();
        let threads: Vec<_> = shards
            .iter_mut()
            .map(|shard| {
                let told = told.clone();
                scope.spawn(move || shard.count(grid, &told))
            })
            .collect();
        drop(told);
        // Until all have ended. (Relaxed: figures to look at.)
        for events in events {
            all.store(read.iter().map(|read| read.load(Relaxed)).sum(), Relaxed);
            progress.advance(events);
        }
        let ended = threads.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| Err(Failure::Running("a thread has failed".to_owned())))
        });
        ended.collect::<Result<(), _>>()
    })
}

/// What they know, each by way of bytes, as another machine would send it.
fn merged(args: &TopArgs, shards: &[Shard], end: u64) -> Result<Aggregator, Failure> {
    let mut all = Aggregator::new(usize::try_from(args.k.0).unwrap_or(usize::MAX), Keys::Shared);
    for shard in shards {
        let bytes = shard.counts.export(end).to_bytes();
        let export = Export::from_bytes(&bytes).map_err(|error| Failure::Running(error.to_string()))?;
        all.merge(&export).map_err(|error| Failure::Running(error.to_string()))?;
    }
    Ok(all)
}

impl Shard {
    fn new(args: &TopArgs, file: &std::path::Path) -> Result<Shard, Failure> {
        let own = InputArgs { files: vec![file.to_owned()], ..args.input.clone() };
        let input = Input::new(&own, need(args))?;
        Ok(Shard { input, counts: Counts::new(args, None)?, events: 0, panes: None })
    }

    fn count(&mut self, grid: Grid, told: &Sender<u64>) -> Result<(), Failure> {
        while let Some(batch) = self.input.next()? {
            for (_, now) in batch.events {
                let pane = now.0 / grid.pane;
                let (first, last) = self.panes.unwrap_or((pane, pane));
                self.panes = Some((first.min(pane), last.max(pane)));
            }
            self.events += batch.events.len() as u64;
            self.counts.add(&batch, 0..batch.events.len());
            // (The other end is there until this one goes.)
            let _ = told.send(batch.events.len() as u64);
        }
        Ok(())
    }
}
