//! Comma-separated values by RFC 4180, read by the parser of the `csv` crate.
//!
//! A quoted field may hold newlines, so only the parser knows where a record ends.

use csv_core::{ReadRecordResult, Reader};

use super::{columns::Columns, slots::Slots};

/// Buffers beyond this are not kept.
const LONG: usize = 1 << 20;

/// Finds the next record and takes its fields apart.
#[derive(Debug)]
pub(crate) struct CsvParser {
    reader: Reader,
    /// The record's fields without their quotes, one after the other, and where each ends.
    text: Vec<u8>,
    ends: Vec<usize>,
    fields: usize,
}

/// What stands at the start of the data.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A record: `start..end` is its text, with its line end.
    Record { start: usize, end: usize },
    /// Nothing more.
    End,
    /// A record with a quote that is never closed.
    OpenQuote { start: usize },
}

/// Another one: not derived, since a clone of csv-core 0.1.13's reader has but half of its tables.
impl Clone for CsvParser {
    fn clone(&self) -> CsvParser {
        CsvParser::new()
    }
}

impl CsvParser {
    pub(crate) fn new() -> CsvParser {
        CsvParser { reader: Reader::new(), text: vec![0; 1024], ends: vec![0; 32], fields: 0 }
    }

    /// Reads the record at the start of `data`, whose end is the end of a record or of the file.
    pub(crate) fn next(&mut self, data: &[u8]) -> Found {
        // Blank lines are no records (the parser thinks so too, but would count them to the next one).
        let start = data.iter().take_while(|b| matches!(b, b'\n' | b'\r')).count();
        self.reader.reset();
        // A long record had them grow.
        if self.text.len() > LONG {
            self.text = vec![0; 1024];
        }
        if self.ends.len() > LONG {
            self.ends = vec![0; 32];
        }
        let (mut read, mut written, mut ended) = (start, 0, 0);
        // To the parser no input means that there is none any more.
        let mut finished = start == data.len();
        loop {
            let input = if finished { &[] } else { &data[read..] };
            let (result, nin, nout, nend) =
                self.reader.read_record(input, &mut self.text[written..], &mut self.ends[ended..]);
            (read, written, ended) = (read + nin, written + nout, ended + nend);
            match result {
                ReadRecordResult::InputEmpty => finished = true,
                ReadRecordResult::OutputFull => self.text.resize(self.text.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::End => return Found::End,
                ReadRecordResult::Record => break,
            }
        }
        self.fields = ended;
        let record = &data[start..read];
        // A record ended by the end of the data and not by its line end: does a quote swallow the rest?
        if finished && (record.ends_with(b"\n") || memchr::memchr_iter(b'"', record).count() % 2 == 1) {
            return Found::OpenQuote { start };
        }
        let newline = record.ends_with(b"\r") && data.get(read) == Some(&b'\n');
        Found::Record { start, end: read + usize::from(newline) }
    }

    /// The fields of the record that was found last.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).take(self.fields).map(|(start, &end)| &self.text[start..end])
    }

    /// The wanted ones of them.
    pub(crate) fn pick(&self, columns: &Columns, slots: &mut Slots) {
        slots.clear(columns.wanted.len());
        for (field, &column) in columns.wanted.iter().enumerate() {
            if column < self.fields {
                let start = column.checked_sub(1).map_or(0, |before| self.ends[before]);
                slots.set_bytes(field, &self.text[start..self.ends[column]]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(data: &str) -> (Vec<Vec<String>>, Vec<&str>, Found) {
        let (mut parser, mut rows, mut raw, mut at) = (CsvParser::new(), vec![], vec![], 0);
        loop {
            match parser.next(&data.as_bytes()[at..]) {
                Found::Record { start, end } => {
                    raw.push(&data[at + start..at + end]);
                    rows.push(parser.fields().map(|f| String::from_utf8_lossy(f).into_owned()).collect());
                    at += end;
                }
                other => return (rows, raw, other),
            }
        }
    }

    #[test]
    fn records_fields_and_their_text() {
        let data = "a,b\r\n\n\"x,\n1\",\"say \"\"hi\"\"\"\n,\nlast";
        let (rows, raw, end) = all(data);
        assert_eq!(raw, ["a,b\r\n", "\"x,\n1\",\"say \"\"hi\"\"\"\n", ",\n", "last"]);
        assert_eq!(rows, [vec!["a", "b"], vec!["x,\n1", "say \"hi\""], vec!["", ""], vec!["last"]]);
        assert_eq!(end, Found::End);
    }

    #[test]
    fn long_records_and_many_fields() {
        let data = format!("{}\n{}\n", "x".repeat(5000), "y,".repeat(500));
        let (rows, _, end) = all(&data);
        assert_eq!((rows[0][0].len(), rows[1].len(), end), (5000, 501, Found::End));
    }

    #[test]
    fn quotes_left_open() {
        assert_eq!(all("a\n\"b,c\nd\n").2, Found::OpenQuote { start: 0 });
        assert_eq!(all("a\n\n\"b").2, Found::OpenQuote { start: 1 });
        assert_eq!(all("a\n5\" disk,x\n").2, Found::End, "a quote inside a field is a character");
        assert_eq!(all("a\n\"b\"").2, Found::End);
    }

    #[test]
    fn blank_lines_are_the_end() {
        for blank in ["", "\n", "\n\r\n"] {
            assert_eq!(CsvParser::new().next(blank.as_bytes()), Found::End, "{blank:?}");
        }
    }
}
