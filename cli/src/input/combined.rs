//! The access log of Apache and nginx: `ip ident user [time] "request" status bytes "referer" "agent"`.
//!
//! The common log format, which ends after the bytes, is read as well; its referer and agent are absent.

use std::ops::Range;

use memchr::memchr;

use super::slots::Slots;

const FIELDS: [&str; 10] =
    ["ip", "user", "time", "request", "method", "path", "status", "bytes", "referer", "agent"];
const IP: usize = 0;
const USER: usize = 1;
const TIME: usize = 2;
const REQUEST: usize = 3;
const METHOD: usize = 4;
const PATH: usize = 5;
const STATUS: usize = 6;
const BYTES: usize = 7;
const REFERER: usize = 8;
const AGENT: usize = 9;

/// Takes the wanted fields out of a log line.
#[derive(Clone, Debug)]
pub(crate) struct Combined {
    wanted: Vec<usize>,
}

impl Combined {
    pub(crate) fn new(names: &[String]) -> Result<Combined, String> {
        let find = |name: &String| {
            let known = || format!("format combined has no field \"{name}\"; it has {}", FIELDS.join(", "));
            FIELDS.iter().position(|field| field == name).ok_or_else(known)
        };
        Ok(Combined { wanted: names.iter().map(find).collect::<Result<_, _>>()? })
    }

    pub(crate) fn read(&self, line: &[u8], slots: &mut Slots) -> Result<(), String> {
        slots.clear(self.wanted.len());
        let fields = parse(line).ok_or(
            "not a combined log line: ip ident user [time] \"request\" status bytes \"referer\" \"agent\" is expected",
        )?;
        for (slot, &field) in self.wanted.iter().enumerate() {
            if let Some(part) = fields[field].clone() {
                slots.set(slot, part);
            }
        }
        Ok(())
    }
}

fn parse(line: &[u8]) -> Option<[Option<Range<usize>>; 10]> {
    let mut fields = [const { None }; 10];
    let mut at = Cursor { line, at: 0 };
    fields[IP] = Some(at.word()?);
    at.word()?;
    // A user name may hold spaces, so it goes up to the bracket.
    let user = at.at;
    let bracket = user + memchr::memmem::find(&line[user..], b" [")?;
    fields[USER] = Some(user..bracket);
    at.at = bracket + 2;
    let end = at.at + memchr(b']', &line[at.at..])?;
    fields[TIME] = Some(at.at..end);
    at.at = end + 1;
    at.space()?;
    let request = at.quoted()?;
    (fields[METHOD], fields[PATH]) = words(line, &request);
    fields[REQUEST] = Some(request);
    at.space()?;
    fields[STATUS] = Some(at.word()?);
    fields[BYTES] = Some(at.word()?);
    if at.at < line.len() {
        fields[REFERER] = Some(at.quoted()?);
        at.space()?;
        fields[AGENT] = Some(at.quoted()?);
    }
    Some(fields)
}

/// The first two words of a request, `GET /path?query HTTP/1.1`. Garbage sent to a server may have none.
fn words(line: &[u8], request: &Range<usize>) -> (Option<Range<usize>>, Option<Range<usize>>) {
    let Some(first) = memchr(b' ', &line[request.clone()]) else { return (None, None) };
    let path = request.start + first + 1;
    let end = memchr(b' ', &line[path..request.end]).map_or(request.end, |space| path + space);
    (Some(request.start..path - 1), Some(path..end))
}

struct Cursor<'a> {
    line: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    /// Up to the next space or the end, and past it.
    fn word(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        let end = memchr(b' ', &self.line[start..]).map_or(self.line.len(), |space| start + space);
        self.at = (end + 1).min(self.line.len());
        (end > start).then_some(start..end)
    }

    fn space(&mut self) -> Option<()> {
        let found = self.line.get(self.at) == Some(&b' ');
        self.at += usize::from(found);
        found.then_some(())
    }

    /// What stands between quotes, escapes left as they are: `\"` does not end it.
    fn quoted(&mut self) -> Option<Range<usize>> {
        let start = self.at + 1;
        if self.line.get(self.at) != Some(&b'"') {
            return None;
        }
        let mut end = start;
        loop {
            match self.line.get(end)? {
                b'"' => break,
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        self.at = end + 1;
        Some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::slots::tests::{some, texts},
        *,
    };

    fn read(names: &[&str], line: &str) -> Result<Vec<Option<String>>, String> {
        let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
        let mut slots = Slots::default();
        Combined::new(&names)?.read(line.as_bytes(), &mut slots)?;
        Ok(texts(&slots, line.as_bytes()))
    }

    const LINE: &str = r#"83.149.9.216 - a b [17/May/2015:10:05:03 +0000] "GET /x?q=1 HTTP/1.1" 200 203 "http://r/" "M \"5\" (X)""#;

    #[test]
    fn all_fields() {
        let values =
            ["83.149.9.216", "a b", "17/May/2015:10:05:03 +0000", "GET /x?q=1 HTTP/1.1", "GET", "/x?q=1"];
        assert_eq!(read(&FIELDS[..6], LINE), Ok(some(&values)));
        assert_eq!(read(&FIELDS[6..], LINE), Ok(some(&["200", "203", "http://r/", r#"M \"5\" (X)"#])));
    }

    #[test]
    fn common_format_and_odd_requests() {
        let common = r#"::1 - - [17/May/2015:10:05:03 +0000] "-" 408 -"#;
        assert_eq!(read(&["status", "bytes", "request"], common), Ok(some(&["408", "-", "-"])));
        assert_eq!(read(&["method", "path", "agent"], common), Ok(vec![None, None, None]));
        let old = r#"::1 - - [t] "GET /old" 200 5"#;
        assert_eq!(read(&["method", "path"], old), Ok(some(&["GET", "/old"])));
    }

    #[test]
    fn what_is_no_log_line() {
        assert!(read(&["host"], LINE).unwrap_err().contains("it has ip, user"));
        for end in 0..LINE.len() {
            let cut = &LINE[..end];
            // Cut within or after the bytes it is a common log line.
            let common = cut.find(" 200 ").is_some_and(|at| (6..=9).contains(&(end - at)));
            assert_eq!(read(&["ip"], cut).is_ok(), common, "{cut}");
        }
    }
}
