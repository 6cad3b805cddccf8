//! One open file: finds its records and has events made of them.

use std::sync::{Arc, atomic::AtomicU64};

use memchr::{memchr, memchr_iter};
use windlass::Seed;

use super::{
    batch::{BATCH, Span},
    blocks::Blocks,
    columns::Columns,
    combined::Combined,
    csv::{CsvParser, Found},
    format::Format,
    json::Json,
    maker::{Maker, Unfit},
    slots::Wanted,
    source::Source,
    spec::Spec,
    time::TimeReader,
    tsv::{self, Tsv},
};
use crate::failure::Failure;

/// How the file's records are taken apart.
enum Fields {
    Lines,
    Tsv(Tsv),
    Csv(CsvParser, Columns),
    Jsonl(Json),
    Combined(Combined),
    /// The first row says where the columns are: tsv, csv.
    TsvHeader,
    CsvHeader(CsvParser),
}

/// An open file.
pub(crate) struct Reading {
    source: Source,
    blocks: Blocks,
    fields: Fields,
    wanted: Wanted,
    times: TimeReader,
    /// Lines before the data that is in `blocks`.
    lines: u64,
    begun: bool,
    /// It has a size, so nobody waits at its other end.
    pub(crate) plain: bool,
    pub(crate) header: Option<Vec<u8>>,
}

/// How far a parse came.
pub(crate) enum Step {
    /// Records were read, or the batch is full.
    Records,
    /// No further record is complete: [`Reading::more`].
    Hungry,
    End,
}

impl Reading {
    pub(crate) fn open(
        source: Source,
        format: Format,
        spec: &Spec,
        count: Arc<AtomicU64>,
    ) -> Result<Reading, Failure> {
        let wanted = spec.wanted(format);
        let header = spec.has_header(format);
        let by_number = || Columns::by_number(&wanted.names).map_err(Failure::Bad);
        let fields = match format {
            Format::Lines => Fields::Lines,
            Format::Tsv if header => Fields::TsvHeader,
            Format::Tsv => Fields::Tsv(Tsv::new(by_number()?)),
            Format::Csv if header => Fields::CsvHeader(CsvParser::new()),
            Format::Csv => Fields::Csv(CsvParser::new(), by_number()?),
            Format::Jsonl => Fields::Jsonl(Json::new(&wanted)),
            Format::Combined => Fields::Combined(Combined::new(&wanted.names).map_err(Failure::Bad)?),
        };
        Ok(Reading {
            blocks: Blocks::new(source.open(count)?),
            fields,
            wanted,
            times: TimeReader::new(spec.time_format(format), spec.resolution),
            lines: 0,
            begun: false,
            plain: source.size().is_some(),
            header: None,
            source,
        })
    }

    /// The block that spans point into.
    pub(crate) fn block(&self) -> &[u8] {
        self.blocks.buffer()
    }

    /// Reads more bytes. Events made before are void.
    pub(crate) fn more(&mut self) -> Result<(), Failure> {
        // A csv record with many newlines is parsed from its start every time: let it double in between.
        let least = if matches!(self.fields, Fields::Csv(..)) { self.blocks.data().len() } else { 0 };
        self.blocks.more(least).map_err(|e| self.source.failed(&e))?;
        let bom = b"\xef\xbb\xbf";
        if !self.begun && !matches!(self.fields, Fields::Lines) && self.blocks.data().starts_with(bom) {
            self.blocks.consume(bom.len());
        }
        self.begun = true;
        Ok(())
    }

    /// Makes events of complete records until the batch is full.
    pub(crate) fn parse(&mut self, maker: &mut Maker) -> Result<Step, Failure> {
        let data = self.blocks.data();
        if data.is_empty() && self.blocks.eof() {
            return Ok(Step::End);
        }
        let (base, eof) = (self.blocks.start(), self.blocks.eof());
        if matches!(self.fields, Fields::Lines) {
            let seed = maker.seed;
            let consumed = whole_lines(data, base, eof, seed, maker);
            self.blocks.consume(consumed);
            return Ok(if consumed == 0 { Step::Hungry } else { Step::Records });
        }
        let mut at = 0;
        while !maker.full() {
            let Some(record) = self.fields.find(&data[at..], eof) else { break };
            let (start, end) = (at + record.start, at + record.end);
            let outcome = match record.trouble {
                Some(unfit) => Err(unfit),
                None => {
                    let span = Span::new(0, base + start, base + end);
                    let text = &data[start..end];
                    self.fields.read(text, span, &self.wanted, &mut self.times, maker, &mut self.header)
                }
            };
            if let Err(unfit) = outcome {
                let ends = maker.ends(&unfit);
                let (Unfit::Absent(what) | Unfit::Wrong(what) | Unfit::Fatal(what)) = unfit;
                let line = || self.lines + memchr_iter(b'\n', &data[..start]).count() as u64 + 1;
                let describe = || format!("{}:{}: {what}", self.source, line());
                if ends {
                    return Err(Failure::Bad(describe()));
                }
                maker.skipped.add(describe);
            }
            at = end;
        }
        self.lines += memchr_iter(b'\n', &data[..at]).count() as u64;
        self.blocks.consume(at);
        Ok(if at == 0 { Step::Hungry } else { Step::Records })
    }
}

/// A record in the data: its text with its line end.
struct Record {
    start: usize,
    end: usize,
    trouble: Option<Unfit>,
}

impl Fields {
    /// The first complete record; `None` if there is none yet, or none any more. Blank lines count to the record behind
    /// them, and make an empty one at the end of the data.
    fn find(&mut self, data: &[u8], eof: bool) -> Option<Record> {
        let all = data.len();
        let (Fields::Csv(parser, _) | Fields::CsvHeader(parser)) = self else {
            let end = memchr(b'\n', data).map(|newline| newline + 1);
            let end = end.or_else(|| (eof && all > 0).then_some(all))?;
            return Some(Record { start: 0, end, trouble: None });
        };
        match parser.next(data, eof) {
            Found::Record { start, end } => Some(Record { start, end, trouble: None }),
            Found::End if all > 0 => Some(Record { start: all, end: all, trouble: None }),
            Found::Incomplete | Found::End => None,
            Found::OpenQuote => {
                let trouble = Some(Unfit::Wrong("a quoted field is never closed".to_owned()));
                Some(Record { start: 0, end: all, trouble })
            }
        }
    }

    /// Makes events of a record.
    fn read(
        &mut self,
        text: &[u8],
        span: Span,
        wanted: &Wanted,
        times: &mut TimeReader,
        maker: &mut Maker,
        header: &mut Option<Vec<u8>>,
    ) -> Result<(), Unfit> {
        let line = trim_end(text);
        if line.is_empty() {
            return Ok(());
        }
        match self {
            Fields::Lines => {}
            Fields::Tsv(tsv) => tsv.read(line, &mut maker.slots),
            Fields::Csv(parser, columns) => parser.pick(columns, &mut maker.slots),
            Fields::Combined(combined) => combined.read(line, &mut maker.slots)?,
            Fields::Jsonl(json) => {
                json.read(line, &mut maker.slots)?;
                let Some(each) = wanted.each else { return maker.push(line, wanted, times, Some(span)) };
                if maker.slots.get(line, each).is_none() {
                    return Err(maker.absent(&wanted.names[each]));
                }
                return each_element(json, line, wanted, times, maker);
            }
            Fields::TsvHeader => {
                let names: Vec<&[u8]> = tsv::cells(line).collect();
                let columns = Columns::by_header(&wanted.names, &names).map_err(Unfit::Fatal)?;
                *header = Some(line.to_vec());
                *self = Fields::Tsv(Tsv::new(columns));
                return Ok(());
            }
            Fields::CsvHeader(parser) => {
                let names: Vec<&[u8]> = parser.fields().collect();
                let columns = Columns::by_header(&wanted.names, &names).map_err(Unfit::Fatal)?;
                *header = Some(line.to_vec());
                *self = Fields::Csv(std::mem::replace(parser, CsvParser::new()), columns);
                return Ok(());
            }
        }
        maker.push(line, wanted, times, Some(span))
    }
}

/// An event per element. An element may lack a field, if that was said to be fine; if one is wrong the whole line is, and
/// none of its events stays.
fn each_element(
    json: &Json,
    line: &[u8],
    wanted: &Wanted,
    times: &mut TimeReader,
    maker: &mut Maker,
) -> Result<(), Unfit> {
    let mark = maker.mark();
    let mut lacking = Vec::new();
    for number in 0..json.elements() {
        let read = json.read_element(number, line, &mut maker.slots).map_err(Unfit::Wrong);
        match read.and_then(|()| maker.push(line, wanted, times, None)) {
            Ok(()) => {}
            Err(unfit @ Unfit::Absent(_)) => lacking.push(unfit),
            Err(unfit) => {
                maker.back_to(&mark);
                return Err(unfit);
            }
        }
    }
    // The caller counts one of them.
    maker.skipped.records += lacking.len().saturating_sub(1) as u64;
    lacking.into_iter().next().map_or(Ok(()), Err)
}

/// Without `\n` or `\r\n`.
fn trim_end(text: &[u8]) -> &[u8] {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.strip_suffix(b"\r").unwrap_or(text)
}

/// The hot path: every line is an id. Returns how many bytes were consumed.
fn whole_lines(data: &[u8], base: usize, eof: bool, seed: Seed, maker: &mut Maker) -> usize {
    let now = maker.now;
    let mut at = 0;
    for newline in memchr_iter(b'\n', data).take(BATCH) {
        maker.events.push((seed.hash(&data[at..newline]), now));
        maker.spans.push(Span::new(0, base + at, base + newline + 1));
        at = newline + 1;
    }
    if eof && at < data.len() && !maker.full() {
        maker.events.push((seed.hash(&data[at..]), now));
        maker.spans.push(Span::new(0, base + at, base + data.len()));
        at = data.len();
    }
    at
}
