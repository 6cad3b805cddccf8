//! Where records end, found without taking them apart.
//!
//! This much has to be known of all that came before, so it is done in the order of the input: to cut a stream into blocks
//! of whole records, whoever takes them apart then.

use memchr::{memchr, memrchr};

/// Goes over a stream piece by piece and finds ends of records.
#[derive(Debug)]
pub(super) enum Borders {
    /// A newline ends a record.
    Lines,
    /// A newline does unless it is quoted.
    Csv(Csv),
}

impl Borders {
    pub(super) fn csv() -> Borders {
        Borders::Csv(Csv::FieldStart)
    }

    /// How many bytes up to the end of the last record that ends in these, which follow on those of the call before.
    pub(super) fn last_in(&mut self, bytes: &[u8]) -> Option<usize> {
        match self {
            Borders::Lines => memrchr(b'\n', bytes).map(|newline| newline + 1),
            Borders::Csv(csv) => csv.last_in(bytes),
        }
    }
}

/// Where in a record it stands, by the rules of the `csv` crate: a quote opens a quoted field at a field's start, and is a
/// character like any other elsewhere; a quoted field goes on up to a quote that is not doubled.
#[derive(Clone, Copy, Debug)]
pub(super) enum Csv {
    FieldStart,
    InField,
    InQuotes,
    /// Behind a quote in a quoted field: its end, or the first of two.
    AfterQuote,
}

impl Csv {
    /// Hops from quote to quote, so what has none costs little.
    fn last_in(&mut self, bytes: &[u8]) -> Option<usize> {
        let (mut at, mut border) = (0, None);
        while at < bytes.len() {
            match *self {
                Csv::InQuotes => {
                    let Some(quote) = memchr(b'"', &bytes[at..]) else { break };
                    at += quote + 1;
                    *self = Csv::AfterQuote;
                }
                Csv::AfterQuote if bytes[at] == b'"' => {
                    at += 1;
                    *self = Csv::InQuotes;
                }
                Csv::FieldStart | Csv::InField | Csv::AfterQuote => {
                    let quote = memchr(b'"', &bytes[at..]);
                    let plain = &bytes[at..quote.map_or(bytes.len(), |quote| at + quote)];
                    border = memrchr(b'\n', plain).map_or(border, |newline| Some(at + newline + 1));
                    let starts = match plain.last() {
                        Some(last) => matches!(last, b',' | b'\n' | b'\r'),
                        None => matches!(self, Csv::FieldStart),
                    };
                    at += plain.len() + usize::from(quote.is_some());
                    *self = match (quote, starts) {
                        (Some(_), true) => Csv::InQuotes,
                        (None, true) => Csv::FieldStart,
                        (_, false) => Csv::InField,
                    };
                }
            }
        }
        border
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::csv::{CsvParser, Found},
        *,
    };

    /// The same, by the parser: the ends of records and blank lines that a newline ends.
    fn by_parser(data: &[u8]) -> Option<usize> {
        let (mut parser, mut at, mut border) = (CsvParser::new(), 0, None);
        loop {
            let (blank, end) = match parser.next(&data[at..]) {
                Found::Record { start, end } => (start, Some(end)),
                Found::OpenQuote { start } => (start, None),
                Found::End => (data.len() - at, None),
            };
            border = memrchr(b'\n', &data[at..at + blank]).map_or(border, |newline| Some(at + newline + 1));
            let Some(end) = end else { return border };
            at += end;
            border = if data[..at].ends_with(b"\n") { Some(at) } else { border };
        }
    }

    #[test]
    fn agrees_with_the_parser_on_all_short_texts() {
        const LETTERS: &[u8; 5] = b"a,\"\n\r";
        for length in 1..=6 {
            for mut number in 0..5_usize.pow(length) {
                let mut text = Vec::new();
                for _ in 0..length {
                    text.push(LETTERS[number % 5]);
                    number /= 5;
                }
                let shown = String::from_utf8_lossy(&text).into_owned();
                let right = by_parser(&text);
                assert_eq!(Csv::FieldStart.last_in(&text), right, "{shown:?}");
                // In two parts.
                for cut in 1..text.len() {
                    let mut borders = Csv::FieldStart;
                    let first = borders.last_in(&text[..cut]);
                    let second = borders.last_in(&text[cut..]).map(|border| cut + border);
                    assert_eq!(second.or(first), right, "{shown:?} cut at {cut}");
                }
            }
        }
    }

    #[test]
    fn lines() {
        assert_eq!(Borders::Lines.last_in(b"a\n\"b\nc"), Some(5));
        assert_eq!(Borders::Lines.last_in(b"abc"), None);
    }
}
