//! `--metrics`: the figures of a command and of its structures, over HTTP while it runs.

mod board;
mod http;
mod server;

use std::sync::{Arc, atomic::AtomicU64};

use windlass::metrics::{Registry, Source};

use crate::{args::MetricsArgs, failure::Failure};
use board::Board;
pub(crate) use board::Figure;

/// What is served, if anything is. It is, until the process ends.
pub(crate) struct Metrics(Option<Served>);

struct Served {
    registry: Arc<Registry>,
    board: Arc<Board>,
}

impl Metrics {
    /// Listens, if that is asked for. `figures`: those of the report, whose values are told as the command goes on. `show` adds its structures, before anybody
    /// can ask.
    pub(crate) fn start(
        args: &MetricsArgs,
        command: &'static str,
        figures: &'static [Figure],
        show: impl FnOnce(&Metrics) -> Result<(), Failure>,
    ) -> Result<Metrics, Failure> {
        let Some(address) = &args.metrics else { return Ok(Metrics(None)) };
        let (registry, board) = (Arc::new(Registry::new()), Arc::new(Board::new(figures)));
        let metrics = Metrics(Some(Served { registry: registry.clone(), board: board.clone() }));
        metrics.add(command, &board)?;
        show(&metrics)?;
        server::start(address, registry)?;
        Ok(metrics)
    }

    /// .. with the figures of one more structure, under this name.
    pub(crate) fn add<T: Source + 'static>(&self, name: &str, structure: &Arc<T>) -> Result<(), Failure> {
        match &self.0 {
            Some(served) => served.registry.add(name, structure).map_err(Failure::bad),
            None => Ok(()),
        }
    }

    /// The bytes that have been read are counted there.
    pub(crate) fn reads(&self, read: Arc<AtomicU64>) {
        if let Some(served) = &self.0 {
            served.board.reads(read);
        }
    }

    /// The figures as they are now, all of one moment.
    pub(crate) fn tell(&self, values: &[u64]) {
        if let Some(served) = &self.0 {
            served.board.tell(values);
        }
    }

    /// The records that gave no event.
    pub(crate) fn skipped(&self, records: u64) {
        if let Some(served) = &self.0 {
            served.board.skipped(records);
        }
    }
}
