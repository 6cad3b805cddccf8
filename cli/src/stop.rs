//! Who asks a run to end, as at the end of its input: a flag that is looked at between batches.

use std::{
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};

use crate::failure::{Failure, reason};

#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

/// The one of the process.
static SIGNALS: OnceLock<Stop> = OnceLock::new();

impl Stop {
    /// That of SIGINT and SIGTERM: the first of them asks the run to end; another one ends it at once. The same for all who want it.
    pub(crate) fn on_signals() -> Result<Stop, Failure> {
        if let Some(stop) = SIGNALS.get() {
            return Ok(stop.clone());
        }
        let stop = Stop::default();
        stop.register()
            .map_err(|error| Failure::Running(format!("cannot wait for signals: {}", reason(&error))))?;
        Ok(SIGNALS.get_or_init(|| stop).clone())
    }

    fn register(&self) -> io::Result<()> {
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, self.0.clone())?;
            flag::register(signal, self.0.clone())?;
        }
        Ok(())
    }

    /// Relaxed: nothing is read that came before it.
    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// Does what a signal does. Relaxed: as above.
    pub(crate) fn ask(&self) {
        self.0.store(true, Relaxed);
    }
}
