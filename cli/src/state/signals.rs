//! SIGINT and SIGTERM: a flag that is looked at between batches.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};

pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// The first one asks the run to end; another one ends it at once.
    pub(super) fn on_signals() -> io::Result<Stop> {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, stop.clone())?;
            flag::register(signal, stop.clone())?;
        }
        Ok(Stop(stop))
    }

    /// Relaxed: nothing is read that came before it.
    pub(super) fn is_asked(&self) -> bool {
        self.0.load(Relaxed)
    }
}
