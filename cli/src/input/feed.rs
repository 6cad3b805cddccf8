//! All sources, one after the other, as blocks of whole records: what has to be done in the order of the input.

use std::{
    path::Path,
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
    place::{self, Identity, Place},
    portion::Portion,
    source::{Opened, Source},
    spec::Spec,
};
use crate::{failure::Failure, stop::Stop};

/// The blocks of all sources.
pub(super) struct Feed {
    spec: Arc<Spec>,
    sources: vec::IntoIter<(usize, (Source, Format))>,
    open: Option<Open>,
    begin: Begin,
    started: Instant,
    read: Arc<AtomicU64>,
}

/// Where an input begins.
#[derive(Debug, Default)]
pub(super) struct Begin {
    /// Of each source that does not begin at its beginning. (Empty: all do.)
    pub(super) places: Vec<Option<Place>>,
    /// What the run's clock begins at.
    pub(super) now: Tick,
}

impl Feed {
    /// Nothing is opened yet.
    pub(super) fn new(spec: &Arc<Spec>, begin: Begin, read: Arc<AtomicU64>) -> Feed {
        let sources: Vec<_> = spec.sources.iter().cloned().enumerate().collect();
        Feed {
            sources: sources.into_iter(),
            begin,
            spec: spec.clone(),
            open: None,
            started: Instant::now(),
            read,
        }
    }

    /// Reads the next block into a portion that is clear; `false` at the end, and after a failure.
    pub(super) fn next(&mut self, portion: &mut Portion) -> Result<bool, Failure> {
        let outcome = match self.read_on(portion) {
            // However reading came to its end then.
            Err(_) if self.is_stopped() => Ok(false),
            outcome => outcome,
        };
        if !matches!(outcome, Ok(true)) {
            (self.open, self.sources) = (None, Vec::new().into_iter());
        }
        let elapsed = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        portion.now = Tick(self.begin.now.0.saturating_add(elapsed));
        outcome
    }

    fn read_on(&mut self, portion: &mut Portion) -> Result<bool, Failure> {
        while !self.is_stopped() {
            let mut after = None;
            if let Some(open) = &mut self.open {
                if open.next(portion)? {
                    return Ok(true);
                }
                // Of a file that was followed the next one has the name.
                after = open.follow.is_some().then(|| (open.number, (open.file.source.clone(), open.format)));
                self.open = None;
            }
            let Some((number, (source, format))) = after.or_else(|| self.sources.next()) else {
                return Ok(false);
            };
            let place = self.begin.places.get_mut(number).and_then(Option::take);
            let mut open = Open::new(number, source, format, &self.spec, self.read.clone())?;
            if let Some(place) = place {
                open.go_on(&place, self.read.clone())?;
            }
            self.open = Some(open);
        }
        Ok(false)
    }

    /// Whether what is followed is to be read no further.
    fn is_stopped(&self) -> bool {
        self.spec.follow.as_ref().is_some_and(Stop::is_asked)
    }
}

/// An open file.
struct Open {
    file: Arc<InputFile>,
    format: Format,
    blocks: Blocks,
    /// The number of the source.
    number: usize,
    /// Of a plain file, and the name by which it is found again.
    identity: Option<(Identity, String)>,
    /// Bytes and lines before the next block.
    offset: u64,
    lines: u64,
    /// The header is still to come.
    headless: bool,
    /// It is read on as it grows.
    follow: Option<Stop>,
}

impl Open {
    fn new(
        number: usize,
        source: Source,
        format: Format,
        spec: &Spec,
        count: Arc<AtomicU64>,
    ) -> Result<Open, Failure> {
        let follow = spec.follow.clone().filter(|_| number + 1 == spec.sources.len());
        let Opened { mut bytes, identity } = match &follow {
            Some(stop) => source.follow_at(0, count, stop)?,
            None => source.open(count)?,
        };
        let mut offset = 0;
        if format != Format::Lines {
            (bytes, offset) = without_mark(bytes).map_err(|e| source.failed(&e))?;
        }
        let name = |identity| match &source {
            Source::File(path) => Some((identity, place::name(path))),
            Source::Stdin => None,
        };
        let identity = identity.and_then(name);
        let file = InputFile::new(source, format, spec, follow.is_some()).map_err(Failure::Bad)?;
        let blocks = Blocks::new(bytes, borders(format), file.live);
        let headless = spec.has_header(format);
        Ok(Open {
            file: Arc::new(file),
            format,
            blocks,
            number,
            identity,
            offset,
            lines: 0,
            headless,
            follow,
        })
    }

    /// Goes on where the file had been read up to. The header is read as ever.
    fn go_on(&mut self, place: &Place, count: Arc<AtomicU64>) -> Result<(), Failure> {
        let mut head = Portion::default();
        while self.headless && self.next(&mut head)? {
            head.clear();
        }
        let source = &self.file.source;
        // (What is followed is opened once more, to be counted then.)
        let counted = if self.follow.is_some() { Arc::default() } else { count.clone() };
        let mut opened = source.open_at(place.offset, counted)?;
        (self.offset, self.lines) = (place.offset, place.lines);
        if place.cut {
            let is_lines = self.format == Format::Lines;
            let taken = opened.finish_line(is_lines).map_err(|e| source.failed(&e))?;
            let Some(taken) = taken else {
                return Err(Failure::bad(format_args!(
                    "{source}: the record before byte {} was read without its line end, and has gone on since: remove \
                     the state to begin anew",
                    place.offset
                )));
            };
            self.offset += taken;
            self.lines += u64::from(taken > 0 && !is_lines);
        }
        if let Some(stop) = &self.follow {
            opened = source.follow_at(self.offset, count, stop)?;
        }
        self.blocks = Blocks::new(opened.bytes, borders(self.format), self.file.live);
        Ok(())
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
        let text = portion.block.text();
        self.offset += text.len() as u64;
        // Only an id that is a whole line is never wrong, so that nobody asks for its number.
        if self.format != Format::Lines {
            self.lines += memchr_iter(b'\n', text).count() as u64;
        }
        if let (Some(_), Some((identity, path))) = (&self.follow, &mut self.identity) {
            identity.learn(Path::new(path));
        }
        // What comes before a header is nothing yet.
        if let (false, Some((identity, path))) = (self.headless, &self.identity) {
            let place = Place {
                path: path.clone(),
                identity: identity.clone(),
                offset: self.offset,
                lines: self.lines,
                cut: !text.ends_with(b"\n"),
            };
            portion.place = Some((self.number, place));
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

fn borders(format: Format) -> Borders {
    if format == Format::Csv { Borders::csv() } else { Borders::Lines }
}
