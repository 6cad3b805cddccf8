//! How a format's records are found in a block and taken apart.

use memchr::memchr;

use super::{
    batch::Span,
    columns::Columns,
    combined::Combined,
    csv::{CsvParser, Found},
    format::Format,
    json::Json,
    maker::{Maker, Unfit},
    portion::Made,
    slots::Wanted,
    tsv::Tsv,
};

/// Takes the wanted fields out of records.
#[derive(Clone, Debug)]
pub(super) enum Fields {
    Lines,
    Tsv(Tsv),
    Csv(Box<CsvParser>, Columns),
    Jsonl(Json),
    Combined(Combined),
}

/// A record in the data: its text with its line end.
pub(super) struct Record {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) trouble: Option<Unfit>,
}

impl Fields {
    pub(super) fn new(format: Format, wanted: &Wanted, columns: Columns) -> Result<Fields, String> {
        Ok(match format {
            Format::Lines => Fields::Lines,
            Format::Tsv => Fields::Tsv(Tsv::new(columns)),
            Format::Csv => Fields::Csv(Box::new(CsvParser::new()), columns),
            Format::Jsonl => Fields::Jsonl(Json::new(wanted)),
            Format::Combined => Fields::Combined(Combined::new(&wanted.names)?),
        })
    }

    /// The first record; `None` at the end. Blank lines count to the csv record behind them, and are empty records else.
    pub(super) fn find(&mut self, data: &[u8]) -> Option<Record> {
        let all = data.len();
        let Fields::Csv(parser, _) = self else {
            let end = memchr(b'\n', data).map_or(all, |newline| newline + 1);
            return (end > 0).then_some(Record { start: 0, end, trouble: None });
        };
        match parser.next(data) {
            Found::Record { start, end } => Some(Record { start, end, trouble: None }),
            Found::End => None,
            Found::OpenQuote { start } => {
                let trouble = Some(Unfit::Wrong("a quoted field is never closed".to_owned()));
                Some(Record { start, end: all, trouble })
            }
        }
    }

    /// Makes events of a record.
    pub(super) fn read(
        &mut self,
        text: &[u8],
        span: Span,
        wanted: &Wanted,
        maker: &mut Maker,
        made: &mut Made,
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
                if let Some(each) = wanted.each {
                    if maker.slots.get(line, each).is_none() {
                        return Err(maker.absent(&wanted.names[each]));
                    }
                    return each_element(json, line, wanted, maker, made);
                }
            }
        }
        maker.push(line, wanted, Some(span), made)
    }
}

/// An event per element. An element may lack a field, if that was said to be fine; if one is wrong the whole line is, and
/// none of its events stays.
fn each_element(
    json: &Json,
    line: &[u8],
    wanted: &Wanted,
    maker: &mut Maker,
    made: &mut Made,
) -> Result<(), Unfit> {
    let mark = made.mark();
    made.before.clear();
    let (mut lacking, mut first) = (0_u64, None);
    for number in 0..json.elements() {
        let read = json.read_element(number, line, &mut maker.slots).map_err(Unfit::Wrong);
        match read.and_then(|()| maker.push(line, wanted, None, made)) {
            Ok(()) => {}
            Err(Unfit::Absent { what, .. }) => {
                lacking += 1;
                first.get_or_insert(what);
            }
            Err(unfit) => {
                made.back_to(&mark);
                return Err(unfit);
            }
        }
    }
    first.map_or(Ok(()), |what| Err(Unfit::Absent { what, events: lacking }))
}

/// Without `\n` or `\r\n`.
pub(super) fn trim_end(text: &[u8]) -> &[u8] {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.strip_suffix(b"\r").unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use std::iter::repeat_n;

    use clap::Parser as _;
    use windlass::Seed;

    use super::{
        super::spec::{Need, Spec},
        *,
    };
    use crate::args::{Cli, Command};

    /// A long field beside a long array is kept once for all events of its line, where it is unescaped and where it is not.
    #[test]
    fn what_events_have_in_common_is_kept_once() {
        let args =
            ["windlass", "dedup", "--window", "1s", "--format", "jsonl", "--each", "l", "--id", "s,@,m"];
        let Command::Dedup(args) =
            Cli::try_parse_from(args.into_iter().chain(["--missing", "none"])).unwrap().command
        else {
            unreachable!()
        };
        let key = ["s", "@", "m"].map(str::to_owned);
        let need = Need {
            key: &key,
            option: "--id",
            parts: &[],
            beside: &[],
            may_be_none: false,
            names: Some(256),
            text: true,
            numbered: true,
            seed: Seed(0),
        };
        let spec = Spec::new(&args.sift.input, need).unwrap();
        let mut wanted = Wanted { keys: key.len(), ..Wanted::default() };
        for name in &key {
            wanted.add(name);
        }
        wanted.each = Some(wanted.add("l"));
        let (mut maker, mut made) = (Maker::new(&spec), Made::default());
        let mut fields = Fields::Jsonl(Json::new(&wanted));
        let (many, long) = (300, 10_000);
        for escaped in ["", "\\n"] {
            let array = repeat_n("7", many).collect::<Vec<_>>().join(",");
            let line = format!("{{\"s\":\"{}{escaped}\",\"l\":[{array}]}}\n", "x".repeat(long));
            fields.read(line.as_bytes(), Span::default(), &wanted, &mut maker, &mut made).unwrap();
        }
        assert_eq!((made.events.len(), made.pieces.len()), (2 * many, 6 * many));
        // Of each line the long field and "none" once, and an element for each event.
        assert_eq!(made.texts.len(), 2 * (long + 4 + many) + 1);
        // What is told of a key is short, and kept once for neighbours.
        assert_eq!((made.names.len(), made.name_texts.len()), (2 * many, 256));
    }
}
