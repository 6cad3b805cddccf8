//! Events as text: lines, tsv, csv, jsonl.

use itoa::Buffer;

use super::{names::Names, shape::NANOS, stream::Event};
use crate::{
    args::{Field, RecordFormat, RecordsArgs},
    failure::Failure,
};

/// How a record is written: what stands before each of its values, and behind the last.
#[derive(Debug)]
pub(super) struct Layout {
    /// With its line end; empty if there is none.
    pub(super) header: String,
    values: Vec<(String, Field)>,
    end: String,
}

impl Layout {
    pub(super) fn of(args: &RecordsArgs) -> Result<Layout, Failure> {
        let fields = match (args.format, &args.fields[..]) {
            (RecordFormat::Lines, []) => &[Field::Id][..],
            (_, []) => &[Field::Time, Field::Id, Field::Client, Field::Key],
            (RecordFormat::Lines, [_, _, ..]) => {
                return Err(Failure::bad(
                    "--fields: a line has one field; --format tsv, csv and jsonl have more",
                ));
            }
            (_, fields) => fields,
        };
        for (at, field) in fields.iter().enumerate() {
            if fields[..at].contains(field) {
                return Err(Failure::bad(format_args!("--fields: {} is there twice", field.name())));
            }
        }
        Ok(match args.format {
            RecordFormat::Lines => Layout { header: String::new(), ..Layout::columns(fields, "") },
            RecordFormat::Tsv => Layout::columns(fields, "\t"),
            RecordFormat::Csv => Layout::columns(fields, ","),
            RecordFormat::Jsonl => Layout::members(fields),
        })
    }

    fn columns(fields: &[Field], separator: &str) -> Layout {
        let names: Vec<&str> = fields.iter().map(|field| field.name()).collect();
        let before = |at| if at > 0 { separator } else { "" };
        let values = fields.iter().enumerate().map(|(at, &field)| (before(at).to_owned(), field));
        Layout { header: names.join(separator) + "\n", values: values.collect(), end: "\n".to_owned() }
    }

    fn members(fields: &[Field]) -> Layout {
        let (mut values, mut before) = (Vec::new(), "{".to_owned());
        for &field in fields {
            let quote = if field == Field::Time { "" } else { "\"" };
            values.push((format!("{before}\"{}\":{quote}", field.name()), field));
            before = format!("{quote},");
        }
        let end = format!("{}}}\n", before.trim_end_matches(','));
        Layout { header: String::new(), values, end }
    }

    pub(super) fn write(&self, event: Event, names: &Names, out: &mut Vec<u8>) {
        for (before, field) in &self.values {
            out.extend_from_slice(before.as_bytes());
            match field {
                Field::Time => write_time(event.time, out),
                Field::Id => out.extend_from_slice(&names.id(event.id)),
                Field::Client => write_numbered(b'c', names.client(event.id), out),
                Field::Key => write_numbered(b'k', names.key(event.id), out),
            }
        }
        out.extend_from_slice(self.end.as_bytes());
    }
}

fn write_numbered(letter: u8, number: u64, out: &mut Vec<u8>) {
    out.push(letter);
    out.extend_from_slice(Buffer::new().format(number).as_bytes());
}

/// Seconds with nine decimals.
fn write_time(nanos: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(Buffer::new().format(nanos / NANOS).as_bytes());
    let point = out.len();
    // A digit in front keeps the zeros; the point takes its place.
    out.extend_from_slice(Buffer::new().format(NANOS + nanos % NANOS).as_bytes());
    out[point] = b'.';
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let text = |nanos| {
            let mut out = b"x".to_vec();
            write_time(nanos, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(0), "x0.000000000");
        assert_eq!(text(1), "x0.000000001");
        assert_eq!(text(1_999_999_999), "x1.999999999");
        assert_eq!(text(u64::MAX), "x18446744073.709551615");
    }
}
