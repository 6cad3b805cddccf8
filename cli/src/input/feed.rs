//! All sources, one after the other, as blocks of whole records: what has to be done in the order of the input.

use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Instant,
    vec,
};

use memchr::memchr_iter;
use windlass::Tick;

use super::{
    blocks::Blocks,
    borders::Borders,
    fields::Fields,
    file::{Header, InputFile},
    format::Format,
    mark::without_mark,
    portion::Portion,
    source::Source,
    spec::Spec,
};
use crate::failure::Failure;

/// The blocks of all sources.
pub(super) struct Feed {
    spec: Arc<Spec>,
    sources: vec::IntoIter<(Source, Format)>,
    open: Option<Open>,
    started: Instant,
    read: Arc<AtomicU64>,
}

impl Feed {
    /// Nothing is opened yet.
    pub(super) fn new(spec: &Arc<Spec>, read: Arc<AtomicU64>) -> Feed {
        Feed {
            sources: spec.sources.clone().into_iter(),
            spec: spec.clone(),
            open: None,
            started: Instant::now(),
            read,
        }
    }

    /// Reads the next block into a portion that is clear; `false` at the end, and after a failure.
    pub(super) fn next(&mut self, portion: &mut Portion) -> Result<bool, Failure> {
        let outcome = self.read_on(portion);
        if outcome.is_err() {
            (self.open, self.sources) = (None, Vec::new().into_iter());
        }
        portion.now = Tick(u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX));
        outcome
    }

    fn read_on(&mut self, portion: &mut Portion) -> Result<bool, Failure> {
        loop {
            if let Some(open) = &mut self.open {
                if open.next(portion)? {
                    return Ok(true);
                }
                self.open = None;
            }
            let Some((source, format)) = self.sources.next() else { return Ok(false) };
            self.open = Some(Open::new(source, format, &self.spec, self.read.clone())?);
        }
    }
}

/// An open file.
struct Open {
    file: Arc<InputFile>,
    format: Format,
    blocks: Blocks,
    /// Lines before the next block.
    lines: u64,
    /// The header is still to come.
    headless: bool,
}

impl Open {
    fn new(source: Source, format: Format, spec: &Spec, count: Arc<AtomicU64>) -> Result<Open, Failure> {
        let mut bytes = source.open(count)?;
        if format != Format::Lines {
            bytes = without_mark(bytes).map_err(|e| source.failed(&e))?;
        }
        let borders = if format == Format::Csv { Borders::csv() } else { Borders::Lines };
        let file = InputFile::new(source, format, spec).map_err(Failure::Bad)?;
        let blocks = Blocks::new(bytes, borders, file.live);
        Ok(Open { file: Arc::new(file), format, blocks, lines: 0, headless: spec.has_header(format) })
    }

    fn next(&mut self, portion: &mut Portion) -> Result<bool, Failure> {
        if !self.blocks.fill(&mut portion.block).map_err(|e| self.file.source.failed(&e))? {
            return Ok(false);
        }
        if self.headless {
            self.find_header(portion)?;
        }
        portion.file = Some(self.file.clone());
        portion.lines = self.lines;
        // Only an id that is a whole line is never wrong, so that nobody asks for its number.
        if self.format != Format::Lines {
            self.lines += memchr_iter(b'\n', portion.block.text()).count() as u64;
        }
        Ok(true)
    }

    /// The columns are where the header says, and records begin behind it.
    fn find_header(&mut self, portion: &mut Portion) -> Result<(), Failure> {
        let wrong =
            |(line, what)| Failure::Bad(format!("{}:{}: {what}", self.file.source, self.lines + line + 1));
        let Some(header) =
            Header::find(self.format, &self.file.wanted, portion.block.text()).map_err(wrong)?
        else {
            return Ok(());
        };
        portion.block.start_at(header.end);
        let mut file = InputFile::clone(&self.file);
        file.fields = Fields::new(self.format, &file.wanted, header.columns).map_err(Failure::Bad)?;
        file.header = Some(header.text);
        (self.file, self.headless) = (Arc::new(file), false);
        Ok(())
    }
}
