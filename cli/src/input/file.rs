//! What all blocks of a file have in common.

use memchr::memchr_iter;

use super::{
    columns::Columns,
    csv::{CsvParser, Found},
    fields::{Fields, trim_end},
    format::Format,
    slots::Wanted,
    source::Source,
    spec::Spec,
    time::TimeReader,
    tsv,
};

/// A file as whoever parses its blocks must know it.
#[derive(Clone, Debug)]
pub(super) struct InputFile {
    pub(super) source: Source,
    /// It has no size, or grows: somebody may be waiting for what is made of its first records.
    pub(super) live: bool,
    pub(super) wanted: Wanted,
    /// To be cloned: parsing needs memory of its own.
    pub(super) fields: Fields,
    pub(super) times: TimeReader,
    /// The first row, without its line end.
    pub(super) header: Option<Vec<u8>>,
}

impl InputFile {
    pub(super) fn new(source: Source, format: Format, spec: &Spec, grows: bool) -> Result<InputFile, String> {
        let wanted = spec.wanted(format);
        // Where a header says which columns, they are known with its first row.
        let columns = if spec.has_header(format) {
            Columns::default()
        } else if matches!(format, Format::Tsv | Format::Csv) {
            Columns::by_number(&wanted.names)?
        } else {
            Columns::default()
        };
        Ok(InputFile {
            live: grows || source.size().is_none(),
            source,
            fields: Fields::new(format, &wanted, columns)?,
            times: TimeReader::new(spec.time_format(format), spec.resolution),
            wanted,
            header: None,
        })
    }
}

/// A file's first row.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) text: Vec<u8>,
    pub(super) columns: Columns,
    /// Where in the data it ends.
    pub(super) end: usize,
}

impl Header {
    /// The header in a file's first data; `None`: there are only blank lines so far, or a quote that is never closed. An
    /// error has its line, from 0.
    pub(super) fn find(
        format: Format,
        wanted: &Wanted,
        data: &[u8],
    ) -> Result<Option<Header>, (u64, String)> {
        let (start, end, columns) = if format == Format::Csv {
            let mut parser = CsvParser::new();
            let Found::Record { start, end } = parser.next(data) else { return Ok(None) };
            let names: Vec<&[u8]> = parser.fields().collect();
            (start, end, Columns::by_header(&wanted.names, &names))
        } else {
            let mut end = 0;
            let lines = data.split_inclusive(|&byte| byte == b'\n');
            let Some(row) = lines.inspect(|line| end += line.len()).find(|line| !trim_end(line).is_empty())
            else {
                return Ok(None);
            };
            let names: Vec<&[u8]> = tsv::cells(trim_end(row)).collect();
            (end - row.len(), end, Columns::by_header(&wanted.names, &names))
        };
        let line = || memchr_iter(b'\n', &data[..start]).count() as u64;
        let columns = columns.map_err(|what| (line(), what))?;
        Ok(Some(Header { text: trim_end(&data[start..end]).to_vec(), columns, end }))
    }
}
