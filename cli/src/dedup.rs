//! `windlass dedup`: pass each event on once per window.

use std::time::{Duration, Instant};

use serde::Serialize;
use windlass::{ConfigError, Dedup, OnFull, Refresh, Refused, Seed, Verdict, Window};

use crate::{
    args::{DedupArgs, EmitKind, OnFullKind, ReportKind},
    failure::Failure,
    input::{Input, Need, Skipped},
    output::{self, Decisions, Progress, Records},
};

/// As `--decisions` writes it.
const FRESH: u8 = b'0';
const DUPLICATE: u8 = b'1';

pub(crate) fn run(args: &DedupArgs) -> Result<(), Failure> {
    // All that can be refused is refused before a byte is written.
    let (dedup, window) = build(args)?;
    let need = Need {
        key: &args.id,
        option: "--id",
        text: args.emit != EmitKind::None,
        numbered: window.counts_events(),
        seed: dedup.seed(),
    };
    let mut input = Input::new(&args.input, need)?;
    let mut decisions = args.output.decisions.as_deref().map(Decisions::create).transpose()?;
    let started = Instant::now();
    let counts = stream(args, &dedup, &mut input, decisions.as_mut())?;
    if let Some(decisions) = decisions {
        decisions.finish()?;
    }
    let (took, skipped) = (started.elapsed(), input.skipped());
    report(args, &Report::new(&counts, &dedup, window, skipped, took), window, took, skipped)
}

fn build(args: &DedupArgs) -> Result<(Dedup, Window), Failure> {
    let (window, unit): (Window, fn(u64) -> Window) = match (&args.window, args.window_count) {
        (Some(span), _) => (Window::time(span.duration), |n| Window::time(Duration::from_nanos(n))),
        (None, count) => (Window::last_n(count.map_or(0, |n| n.0)), Window::last_n),
    };
    // Event numbers are given in processing order: none is ever late.
    let lateness = if window.counts_events() { unit(0) } else { Window::time(args.input.lateness.duration) };
    let builder = Dedup::builder(window)
        .capacity(usize::try_from(args.state.capacity.0).unwrap_or(usize::MAX))
        .max_memory(args.state.max_memory.map_or(u64::MAX, |most| most.0))
        .lateness(lateness)
        .seed(Seed(args.state.seed))
        .refresh(if args.refresh { Refresh::OnDuplicate } else { Refresh::Never })
        .on_full(match args.state.on_full {
            OnFullKind::Reject => OnFull::Reject,
            OnFullKind::Evict => OnFull::EvictOldest,
        });
    let refused = |error: ConfigError| refused(args, &error);
    Ok((builder.build().map_err(refused)?, window))
}

/// The builder's error in the words of the command line.
fn refused(args: &DedupArgs, error: &ConfigError) -> Failure {
    const LONGEST: &str = "1667d (4.5 years)"; // Window::MAX_TICKS
    let (option, limit) = match (error.field, &args.window, args.window_count) {
        ("window", Some(span), _) => (format!("--window {span}"), format!("1ns to {LONGEST}")),
        ("lateness", ..) => {
            (format!("--lateness {}", args.input.lateness), format!("with the window {LONGEST} at most"))
        }
        ("window", None, Some(count)) => (format!("--window-count {count}"), error.limit.clone()),
        ("capacity", ..) => (format!("--capacity {}", args.state.capacity), error.limit.clone()),
        ("max_memory", ..) => {
            let given = args.state.max_memory.map_or(u64::MAX, |most| most.0);
            (format!("--max-memory {}", output::memory(given)), error.limit.clone())
        }
        (field, ..) => (format!("{field} {}", error.value), error.limit.clone()),
    };
    Failure::bad(format_args!("{option} is out of range: {limit}"))
}

#[derive(Default)]
struct Counts {
    events: u64,
    fresh: u64,
}

fn stream(
    args: &DedupArgs,
    dedup: &Dedup,
    input: &mut Input,
    mut decisions: Option<&mut Decisions>,
) -> Result<Counts, Failure> {
    let mut records = (args.emit != EmitKind::None).then(Records::stdout);
    let progress =
        Progress::over_input(args.output.quiet, records.is_some(), input.size(), input.read_counter());
    let (mut counts, mut verdicts, mut marks) = (Counts::default(), Vec::new(), Vec::new());
    loop {
        let batch = match input.next() {
            Ok(Some(batch)) => batch,
            Ok(None) => break,
            Err(failure) => {
                // What was judged before it has its place in the output.
                records.as_mut().map_or(Ok(()), Records::flush)?;
                return Err(failure);
            }
        };
        dedup.observe_events(batch.events, &mut verdicts);
        let refused = mark(&verdicts, args.state.on_full, &mut marks);
        counts.events += marks.len() as u64;
        counts.fresh += marks.iter().filter(|&&mark| mark == FRESH).count() as u64;
        if let Some(records) = &mut records {
            match args.emit {
                EmitKind::Fresh => records.write(&batch, &marks, |mark| mark == FRESH)?,
                EmitKind::Duplicates => records.write(&batch, &marks, |mark| mark == DUPLICATE)?,
                EmitKind::All | EmitKind::None => records.write(&batch, &marks, |_| true)?,
            }
            if batch.pause || refused.is_some() {
                records.flush()?;
            }
        }
        if let Some(decisions) = &mut decisions {
            decisions.write(&marks)?;
        }
        if let Some(refused) = refused {
            return Err(full(args, refused, counts.events + 1));
        }
        progress.advance(marks.len() as u64);
    }
    if let Some(records) = &mut records {
        records.header(input.header())?;
        records.flush()?;
    }
    Ok(counts)
}

/// A mark per event, up to the first that was refused.
fn mark(verdicts: &[Result<Verdict, Refused>], on_full: OnFullKind, marks: &mut Vec<u8>) -> Option<Refused> {
    marks.clear();
    for verdict in verdicts {
        match verdict {
            Ok(Verdict::Fresh) => marks.push(FRESH),
            Ok(_) => marks.push(DUPLICATE),
            // Only new ids are refused. Those near it are all too young to be evicted, so it is the one that is forgotten.
            Err(Refused::Full) if on_full == OnFullKind::Evict => marks.push(FRESH),
            Err(refused) => return Some(*refused),
        }
    }
    None
}

fn full(args: &DedupArgs, refused: Refused, event: u64) -> Failure {
    match refused {
        Refused::Full => Failure::Running(format!(
            "event {event}: no room for another id: {} reached; give more, or --on-full evict",
            match args.state.max_memory {
                Some(most) => format!("--max-memory {} is", output::memory(most.0)),
                None => "three quarters of the machine's memory are".to_owned(),
            }
        )),
        other => Failure::Bad(format!("event {event}: {other}")),
    }
}

/// What happened, as `--report json` has it.
#[derive(Serialize)]
struct Report {
    command: &'static str,
    events: u64,
    fresh: u64,
    duplicates: u64,
    /// Ids within the window at the end, estimated if there are many.
    live: u64,
    /// Records that gave no event.
    skipped: u64,
    /// Events further behind the newest than the lateness.
    late: u64,
    /// Live ids forgotten early, for lack of room.
    evicted: u64,
    /// New ids for which there was no room (with `--on-full evict`: passed on, and not remembered).
    refused: u64,
    seconds: f64,
    memory_bytes: u64,
    capacity: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    window_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window_events: Option<u64>,
    seed: u64,
}

impl Report {
    fn new(counts: &Counts, dedup: &Dedup, window: Window, skipped: &Skipped, took: Duration) -> Report {
        let stats = dedup.stats();
        Report {
            command: "dedup",
            events: counts.events,
            fresh: counts.fresh,
            duplicates: counts.events - counts.fresh,
            live: stats.live,
            skipped: skipped.records,
            late: stats.late,
            evicted: stats.evicted,
            refused: stats.refused,
            seconds: took.as_secs_f64(),
            memory_bytes: dedup.memory_bytes(),
            capacity: stats.capacity,
            window_ns: window.ticks().filter(|_| !window.counts_events()),
            window_events: window.ticks().filter(|_| window.counts_events()),
            seed: dedup.seed().0,
        }
    }

    fn text(&self, window: Window, took: Duration, skipped: &Skipped) -> String {
        let mut text = format!(
            "{} events: {} fresh, {} duplicates ({})\nwindow {}, room for {} live ids in {}; {}\n",
            output::count(self.events),
            output::count(self.fresh),
            output::count(self.duplicates),
            output::share(self.duplicates, self.events),
            output::window(window),
            output::count(self.capacity),
            output::memory(self.memory_bytes),
            output::seconds(took, self.events),
        );
        for (number, what) in [
            (self.late, "later than --lateness, counted as arriving at its edge"),
            (self.evicted, "live ids forgotten early: --max-memory is too small"),
            (self.refused, "ids passed on without being remembered: --max-memory is too small"),
        ] {
            if number > 0 {
                text += &format!("{} {what}\n", output::count(number));
            }
        }
        if let Some(first) = &skipped.first {
            text += &format!("{} records skipped, the first: {first}\n", output::count(self.skipped));
        }
        text
    }
}

fn report(
    args: &DedupArgs,
    report: &Report,
    window: Window,
    took: Duration,
    skipped: &Skipped,
) -> Result<(), Failure> {
    match args.output.report {
        Some(ReportKind::Json) => {
            let mut json = serde_json::to_string(report).map_err(|e| Failure::Running(e.to_string()))?;
            json.push('\n');
            output::report(&json, args.emit == EmitKind::None)
        }
        Some(ReportKind::Text) => output::report(&report.text(window, took, skipped), false),
        None if args.output.quiet => Ok(()),
        None => output::report(&report.text(window, took, skipped), false),
    }
}
