//! From a block to events: whole blocks, each by itself, so that any thread can take any of them.

use std::sync::Arc;

use memchr::memchr_iter;
use windlass::{Seed, Tick};

use super::{
    batch::Span,
    fields::Fields,
    file::InputFile,
    format::OnError,
    maker::{Maker, Unfit},
    portion::{Made, Portion},
    spec::Spec,
};
use crate::failure::Failure;

/// Parses blocks; has memory of its own for that.
#[derive(Debug)]
pub(super) struct Parser {
    maker: Maker,
    on_error: OnError,
    /// That of the block before, and how it is read.
    file: Option<(Arc<InputFile>, Fields)>,
}

impl Parser {
    pub(super) fn new(spec: &Spec) -> Parser {
        Parser { maker: Maker::new(spec), on_error: spec.on_error, file: None }
    }

    /// Makes events of the portion's records, up to the first that ends the run.
    pub(super) fn parse(&mut self, portion: &mut Portion) {
        let Some(of) = &portion.file else { return };
        if !self.file.as_ref().is_some_and(|(file, _)| Arc::ptr_eq(file, of)) {
            self.maker.times = of.times.clone();
            self.file = Some((of.clone(), of.fields.clone()));
        }
        let Some((file, fields)) = &mut self.file else { return };
        let data = portion.block.text();
        if matches!(fields, Fields::Lines) {
            whole_lines(data, self.maker.seed, portion.now, &mut portion.made);
            return self.maker.name_lines(data, &mut portion.made);
        }
        self.maker.now = portion.now;
        let mut at = portion.block.start();
        while let Some(record) = fields.find(&data[at..]) {
            let (start, end) = (at + record.start, at + record.end);
            at = end;
            let outcome = record.trouble.map_or(Ok(()), Err).and_then(|()| {
                let (text, span) = (&data[start..end], Span::new(0, start, end));
                fields.read(text, span, &file.wanted, &mut self.maker, &mut portion.made)
            });
            let Err(unfit) = outcome else { continue };
            let line = || portion.lines + memchr_iter(b'\n', &data[..start]).count() as u64 + 1;
            let describe = |what| format!("{}:{}: {what}", file.source, line());
            match unfit {
                Unfit::Absent { what, events } => portion.skipped.add(events, || describe(what)),
                Unfit::Wrong(what) if self.on_error == OnError::Skip => {
                    portion.skipped.add(1, || describe(what));
                }
                Unfit::Wrong(what) | Unfit::Fatal(what) => {
                    portion.failed = Some(Failure::Bad(describe(what)));
                    return;
                }
            }
        }
    }
}

/// The hot path: every line is an id.
fn whole_lines(data: &[u8], seed: Seed, now: Tick, made: &mut Made) {
    let mut push = |start: usize, text: usize, end: usize| {
        made.events.push((seed.hash(&data[start..text]), now));
        made.spans.push(Span::new(0, start, end));
    };
    let mut at = 0;
    for newline in memchr_iter(b'\n', data) {
        push(at, newline, newline + 1);
        at = newline + 1;
    }
    if at < data.len() {
        push(at, data.len(), data.len());
    }
}
