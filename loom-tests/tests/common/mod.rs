//! Shared by the models.
#![allow(dead_code)] // each model uses a part
#![allow(clippy::expect_used)] // clippy knows tests only by their attribute

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

pub(crate) const EMPTY: (u64, u64) = (0, 0);

/// Runs a model with at most 3 preemptions (`LOOM_MAX_PREEMPTIONS` overrules), which has to be `least` executions or more:
/// a model that explores next to nothing shows nothing.
///
/// loom 0.7.2 skips schedules in which a load of another thread stands before a thread's own load and CAS of the same
/// atomic (its issues 166 and 392). So the writers that matter stay in the main thread, which loom runs first.
pub(crate) fn bounded(least: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(3);
    run(builder, least, model);
}

/// The same with at most 2 preemptions, whatever the variable says: for long calls, of which 3 would take minutes.
pub(crate) fn bounded_by_two(least: usize, model: impl Fn() + Sync + Send + 'static) {
    bounded_by(2, least, model);
}

/// .. with one.
pub(crate) fn bounded_by_one(least: usize, model: impl Fn() + Sync + Send + 'static) {
    bounded_by(1, least, model);
}

/// With so many preemptions less than the variable says.
pub(crate) fn bounded_by_less(less: usize, least: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(builder.preemption_bound.unwrap_or(3).saturating_sub(less));
    run(builder, least, model);
}

fn bounded_by(most: usize, least: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(builder.preemption_bound.map_or(most, |bound| bound.min(most)));
    run(builder, least, model);
}

fn run(builder: loom::model::Builder, least: usize, model: impl Fn() + Sync + Send + 'static) {
    let begun = std::time::Instant::now();
    let executions = Arc::new(AtomicUsize::new(0));
    let counted = executions.clone();
    builder.check(move || {
        counted.fetch_add(1, Relaxed);
        model();
    });
    let executions = executions.load(Relaxed);
    println!("{executions} executions");
    note(executions, begun.elapsed());
    assert!(executions >= least, "{executions} executions, {least} expected");
}

/// Into the file that `WINDLASS_EXECUTIONS` names, one line for each model: its name, executions, milliseconds. For docs/verification.md.
fn note(executions: usize, took: std::time::Duration) {
    use std::io::Write;
    let Some(path) = std::env::var_os("WINDLASS_EXECUTIONS") else { return };
    let thread = std::thread::current();
    let line = format!("{}\t{executions}\t{}\n", thread.name().unwrap_or("?"), took.as_millis());
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the file can be written");
}
