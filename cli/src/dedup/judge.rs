//! Fresh or duplicate: by the ids themselves, or by a filter.

use std::sync::Arc;

use windlass::{
    ConfigError, Dedup, KeyHash, OnFull, Refresh, Refused, RotatingBloom, Seed, Tick, Verdict, Window,
};

use crate::{
    args::{DedupArgs, OnFullKind},
    failure::Failure,
    filter,
    metrics::Metrics,
    room,
};

/// As `--decisions` writes it.
pub(super) const FRESH: u8 = b'0';
pub(super) const DUPLICATE: u8 = b'1';

pub(super) enum Judge {
    Exact(Box<Exact>),
    Approx(Box<Approx>),
}

impl Judge {
    pub(super) fn new(args: &DedupArgs) -> Result<Judge, Failure> {
        filter::check(&args.approx, &args.state)?;
        match (args.approx.approx, args.panes) {
            (true, _) => Ok(Judge::Approx(Box::new(Approx::new(args)?))),
            (false, Some(panes)) => Err(Failure::bad(format_args!("--panes {panes} needs --approx"))),
            (false, None) => Ok(Judge::Exact(Box::new(Exact::new(args)?))),
        }
    }

    /// Has what it goes by served.
    pub(super) fn show(&self, metrics: &Metrics) -> Result<(), Failure> {
        match self {
            Judge::Exact(exact) => metrics.add("ids", &exact.dedup),
            Judge::Approx(approx) => metrics.add("filter", &approx.filter),
        }
    }

    pub(super) fn window(&self) -> Window {
        match self {
            Judge::Exact(exact) => exact.dedup.window(),
            Judge::Approx(approx) => approx.filter.window(),
        }
    }

    pub(super) fn seed(&self) -> Seed {
        match self {
            Judge::Exact(exact) => exact.dedup.seed(),
            Judge::Approx(approx) => approx.filter.seed(),
        }
    }

    /// A mark per event, up to the first that was refused.
    pub(super) fn mark(&mut self, events: &[(KeyHash, Tick)], marks: &mut Vec<u8>) -> Option<Refused> {
        match self {
            Judge::Exact(exact) => exact.mark(events, marks),
            Judge::Approx(approx) => {
                approx.mark(events, marks);
                None
            }
        }
    }
}

fn window(args: &DedupArgs) -> Window {
    match (&args.window, args.window_count) {
        (Some(span), _) => Window::time(span.duration),
        (None, count) => Window::last_n(count.map_or(0, |n| n.0)),
    }
}

fn lateness(args: &DedupArgs) -> Window {
    // Event numbers are given in processing order: none is ever late.
    if args.window.is_none() { Window::last_n(0) } else { Window::time(args.sift.lateness.duration) }
}

/// The builder's error in the words of the command line, if it is about time.
fn refused(args: &DedupArgs, error: &ConfigError) -> Option<Failure> {
    const LONGEST: &str = "1667d (4.5 years)"; // Window::MAX_TICKS
    let (option, limit) = match (error.field, &args.window, args.window_count) {
        ("window", Some(span), _) => (format!("--window {span}"), format!("1ns to {LONGEST}")),
        ("window", None, Some(count)) => (format!("--window-count {count}"), error.limit.clone()),
        ("lateness", ..) => {
            (format!("--lateness {}", args.sift.lateness), format!("with the window {LONGEST} at most"))
        }
        _ => return None,
    };
    Some(room::out_of_range(option, &limit))
}

pub(super) struct Exact {
    pub(super) dedup: Arc<Dedup>,
    on_full: OnFullKind,
    verdicts: Vec<Result<Verdict, Refused>>,
}

impl Exact {
    fn new(args: &DedupArgs) -> Result<Exact, Failure> {
        let builder = room::of(&args.state, Dedup::builder(window(args)))
            .lateness(lateness(args))
            .refresh(if args.refresh { Refresh::OnDuplicate } else { Refresh::Never })
            .on_full(match args.on_full {
                OnFullKind::Reject => OnFull::Reject,
                OnFullKind::Evict => OnFull::EvictOldest,
            });
        let refused =
            |error: ConfigError| refused(args, &error).unwrap_or_else(|| room::refused(&args.state, &error));
        let dedup = builder.build().map_err(refused)?;
        Ok(Exact { dedup: Arc::new(dedup), on_full: args.on_full, verdicts: Vec::new() })
    }

    fn mark(&mut self, events: &[(KeyHash, Tick)], marks: &mut Vec<u8>) -> Option<Refused> {
        self.dedup.observe_events(events, &mut self.verdicts);
        marks.clear();
        for verdict in &self.verdicts {
            match verdict {
                Ok(Verdict::Fresh) => marks.push(FRESH),
                Ok(_) => marks.push(DUPLICATE),
                // Only new ids are refused. Those near it are all too young to be evicted, so it is the one that is forgotten.
                Err(Refused::Full) if self.on_full == OnFullKind::Evict => marks.push(FRESH),
                Err(refused) => return Some(*refused),
            }
        }
        None
    }
}

pub(super) struct Approx {
    pub(super) filter: Arc<RotatingBloom>,
    refresh: bool,
    /// Ticks in a pane, and where the next one begins.
    pane: u64,
    next: u64,
}

impl Approx {
    fn new(args: &DedupArgs) -> Result<Approx, Failure> {
        let builder = filter::of(&args.approx, &args.state, RotatingBloom::builder(window(args)));
        let builder = builder.lateness(lateness(args));
        let builder = match args.panes {
            Some(panes) => builder.panes(usize::try_from(panes.0).unwrap_or(usize::MAX)),
            None => builder,
        };
        let filter = builder.build().map_err(|error| match (error.field, args.panes) {
            ("panes", Some(panes)) => room::out_of_range(format_args!("--panes {panes}"), "2 to 1024"),
            _ => refused(args, &error).unwrap_or_else(|| filter::refused(&args.state, &error)),
        })?;
        let pane = filter.plan().pane.ticks().unwrap_or(1);
        Ok(Approx { filter: Arc::new(filter), refresh: args.refresh, pane, next: 0 })
    }

    fn mark(&mut self, events: &[(KeyHash, Tick)], marks: &mut Vec<u8>) {
        marks.clear();
        let mut done = 0;
        for (i, (_, now)) in events.iter().enumerate() {
            if now.0 >= self.next {
                self.put(&events[done..i], marks);
                done = i;
                // All of the clearing at once, as no other thread waits for it: else what came before a gap could linger.
                self.filter.advance_to(*now);
                self.next = (now.0 / self.pane + 1).saturating_mul(self.pane);
            }
        }
        self.put(&events[done..], marks);
    }

    fn put(&self, events: &[(KeyHash, Tick)], marks: &mut Vec<u8>) {
        let mut marks = Marks(marks);
        if self.refresh {
            self.filter.insert_each(events.len(), |i| events[i], &mut marks);
        } else {
            self.filter.observe_each(events.len(), |i| events[i], &mut marks);
        }
    }
}

/// Takes the filter's answers as marks.
struct Marks<'a>(&'a mut Vec<u8>);

impl Extend<bool> for Marks<'_> {
    fn extend<I: IntoIterator<Item = bool>>(&mut self, seen: I) {
        self.0.extend(seen.into_iter().map(|seen| if seen { DUPLICATE } else { FRESH }));
    }
}

impl Extend<Verdict> for Marks<'_> {
    fn extend<I: IntoIterator<Item = Verdict>>(&mut self, verdicts: I) {
        self.extend(verdicts.into_iter().map(|verdict| !verdict.is_fresh()));
    }
}
