//! The progress bar: on a terminal, while it disturbs nobody.

use std::{
    cell::Cell,
    io::{IsTerminal, stderr, stdin, stdout},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// A run that is over by then needs no bar.
const PATIENCE: Duration = Duration::from_millis(300);

/// Where the end is known.
const KNOWN: &str = "{bar:30} {percent:>3} %  {events} events, {rate}/s, {eta} left";

/// .. and there is something to say.
const NAMED: &str = "{bar:24} {percent:>3} %  {wide_msg}";

/// Shows how far a run is. Gone when dropped, so before any summary or error.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    /// Bytes read; without it the position is the number of events.
    read: Option<Arc<AtomicU64>>,
    events: Arc<AtomicU64>,
    begun: Instant,
    visible: Cell<bool>,
}

impl Progress {
    /// Over an input of `size` bytes, if that is known. `records`: stdout gets records, so it must not be the terminal too.
    pub(crate) fn over_input(
        quiet: bool,
        records: bool,
        size: Option<u64>,
        read: Arc<AtomicU64>,
    ) -> Progress {
        let typing = size.is_none() && stdin().is_terminal();
        if quiet || !stderr().is_terminal() || typing || records && stdout().is_terminal() {
            return Progress::none();
        }
        let (bar, template) = match size {
            Some(size) => (ProgressBar::new(size), KNOWN),
            None => (ProgressBar::no_length(), "{spinner} {bytes}  {events} events, {rate}/s, {elapsed}"),
        };
        Progress::show(bar, template, Some(read))
    }

    /// Over a known number of events.
    pub(crate) fn over_events(quiet: bool, events: u64) -> Progress {
        if quiet || !stderr().is_terminal() {
            return Progress::none();
        }
        Progress::show(ProgressBar::new(events), NAMED, None)
    }

    /// Over a known number of steps, of which each is named.
    pub(crate) fn over_steps(quiet: bool, steps: u64) -> Progress {
        if quiet || !stderr().is_terminal() {
            return Progress::none();
        }
        Progress::show(ProgressBar::new(steps), NAMED, None)
    }

    /// Over a known number of events that go to stdout as records. Whoever reads them from a pipe may have a bar as well.
    pub(crate) fn over_records(quiet: bool, events: u64) -> Progress {
        if quiet || !stderr().is_terminal() || stdout().is_terminal() || stdout_is_pipe() {
            return Progress::none();
        }
        Progress::show(ProgressBar::new(events), KNOWN, None)
    }

    fn none() -> Progress {
        Progress {
            bar: None,
            read: None,
            events: Arc::default(),
            begun: Instant::now(),
            visible: Cell::new(false),
        }
    }

    fn show(bar: ProgressBar, template: &str, read: Option<Arc<AtomicU64>>) -> Progress {
        let events = Arc::new(AtomicU64::new(0));
        let (shown, rated) = (events.clone(), events.clone());
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let style = style
            .with_key("events", move |_: &ProgressState, f: &mut dyn std::fmt::Write| {
                let _ = write!(f, "{}", HumanCount(shown.load(Relaxed)));
            })
            .with_key("rate", move |state: &ProgressState, f: &mut dyn std::fmt::Write| {
                let nanos = state.elapsed().as_nanos().max(1);
                let rate = u128::from(rated.load(Relaxed)) * 1_000_000_000 / nanos;
                let _ = write!(f, "{}", HumanCount(u64::try_from(rate).unwrap_or(u64::MAX)));
            });
        bar.set_draw_target(ProgressDrawTarget::hidden());
        bar.set_style(style);
        Progress { bar: Some(bar), read, events, begun: Instant::now(), visible: Cell::new(false) }
    }

    pub(crate) fn shown(&self) -> bool {
        self.bar.is_some()
    }

    pub(crate) fn advance(&self, events: u64) {
        let Some(bar) = &self.bar else { return };
        if !self.visible.get() && self.begun.elapsed() > PATIENCE {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            // A stream may stand still: the clock goes on.
            bar.enable_steady_tick(Duration::from_millis(100));
            self.visible.set(true);
        }
        // Relaxed: figures to look at.
        let all = self.events.fetch_add(events, Relaxed) + events;
        bar.set_position(self.read.as_ref().map_or(all, |read| read.load(Relaxed)));
    }

    pub(crate) fn say(&self, message: String) {
        if let Some(bar) = &self.bar {
            bar.set_message(message);
        }
    }
}

fn stdout_is_pipe() -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        std::fs::metadata("/dev/stdout").is_ok_and(|meta| meta.file_type().is_fifo())
    }
    #[cfg(not(unix))]
    false
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
