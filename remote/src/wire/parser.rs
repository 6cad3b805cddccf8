//! Answers out of bytes, as they come.

use super::value::{ServerError, Value};

/// Arrays within arrays.
const DEEPEST: usize = 32;

/// Bytes of a line: a status, an error.
const LONGEST_LINE: usize = 64 * 1024;

/// Bytes of a string: the servers' own bound.
const LONGEST: usize = 512 * 1024 * 1024;

/// What the answers to one pipeline may take in memory, less what is known of it before.
const MOST: usize = 1024 * 1024 * 1024;

/// What came is not the protocol, or is more than there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed(pub(super) &'static str);

/// Reads answers. What is asked for in memory is in proportion to what has come, whatever lengths are said.
#[derive(Debug)]
pub(super) struct Parser {
    /// Arrays that are not complete, the outermost first.
    open: Vec<Open>,
    left: usize,
}

#[derive(Debug)]
struct Open {
    missing: usize,
    values: Vec<Value>,
}

/// One item: a value that is complete, or the head of an array.
enum Item {
    Value(Value),
    Array(usize),
}

impl Parser {
    pub(super) fn new() -> Parser {
        Parser { open: Vec::new(), left: MOST }
    }

    /// The next answers are to another pipeline.
    pub(super) fn renew(&mut self) {
        self.left = MOST;
    }

    /// As if so many values had come.
    #[cfg(test)]
    pub(super) fn take(&mut self, values: usize) {
        self.left = self.left.saturating_sub(values * size_of::<Value>());
    }

    /// Whether it is between two answers.
    #[cfg(test)]
    pub(super) fn is_between(&self) -> bool {
        self.open.is_empty()
    }

    /// How many bytes are done with, and an answer if one is complete. What is not done with is to come again, with more behind it.
    pub(super) fn next(&mut self, input: &[u8]) -> Result<(usize, Option<Value>), Malformed> {
        let mut at = 0;
        loop {
            let Some((item, length)) = item(&input[at..])? else { return Ok((at, None)) };
            at += length;
            let mut value = match item {
                Item::Value(value) => value,
                Item::Array(missing) => {
                    if self.open.len() >= DEEPEST {
                        return Err(Malformed("arrays in arrays, and so on"));
                    }
                    // It says how many there will be, and may not keep to it.
                    self.open.push(Open { missing, values: Vec::with_capacity(missing.min(64)) });
                    continue;
                }
            };
            // What stands at the top of an answer is its caller's, who knows how many there will be.
            let strings = if let Value::Bulk(bytes) = &value { bytes.len() } else { 0 };
            let takes = strings + if self.open.is_empty() { 0 } else { size_of::<Value>() };
            self.left = self.left.checked_sub(takes).ok_or(Malformed("more than there may be"))?;
            loop {
                let Some(within) = self.open.last_mut() else { return Ok((at, Some(value))) };
                within.values.push(value);
                within.missing -= 1;
                if within.missing > 0 {
                    break;
                }
                value = Value::Array(self.open.pop().map(|open| open.values).unwrap_or_default());
            }
        }
    }
}

/// The item at the front, and its length; `None`: it is not complete.
fn item(input: &[u8]) -> Result<Option<(Item, usize)>, Malformed> {
    let Some((&kind, rest)) = input.split_first() else { return Ok(None) };
    // The two answers that there are most of.
    if input.starts_with(b"$-1\r\n") {
        return Ok(Some((Item::Value(Value::Nil), 5)));
    }
    if input.starts_with(b"+OK\r\n") {
        return Ok(Some((Item::Value(Value::Okay), 5)));
    }
    let value = |value, length| Ok(Some((Item::Value(value), length)));
    match kind {
        b'$' => {
            let Some((length, head)) = number(rest)? else { return Ok(None) };
            if length == -1 {
                return value(Value::Nil, 1 + head);
            }
            let length = usize::try_from(length).ok().filter(|&length| length <= LONGEST);
            let length = length.ok_or(Malformed("the length of a string"))?;
            let Some(bytes) = rest.get(head..head + length) else { return Ok(None) };
            match rest.get(head + length..head + length + 2) {
                Some(b"\r\n") => value(Value::Bulk(bytes.to_vec()), 1 + head + length + 2),
                Some(_) => Err(Malformed("a string that does not end")),
                None => Ok(None),
            }
        }
        b':' => {
            let Some((number, length)) = number(rest)? else { return Ok(None) };
            value(Value::Int(number), 1 + length)
        }
        b'+' => {
            let Some((line, length)) = line(rest)? else { return Ok(None) };
            value(Value::Simple(String::from_utf8_lossy(line).into()), 1 + length)
        }
        b'-' => {
            let Some((line, length)) = line(rest)? else { return Ok(None) };
            value(Value::Error(ServerError::new(line)), 1 + length)
        }
        b'*' => {
            let Some((count, head)) = number(rest)? else { return Ok(None) };
            match usize::try_from(count) {
                Ok(0) => value(Value::Array(Vec::new()), 1 + head),
                Ok(count) => Ok(Some((Item::Array(count), 1 + head))),
                Err(_) if count == -1 => value(Value::Nil, 1 + head),
                Err(_) => Err(Malformed("the length of an array")),
            }
        }
        _ => Err(Malformed("an answer of no known kind")),
    }
}

/// The rest of a line, and its length with its end.
fn line(input: &[u8]) -> Result<Option<(&[u8], usize)>, Malformed> {
    match input.iter().take(LONGEST_LINE + 1).position(|&byte| byte == b'\r') {
        Some(end) => match input.get(end + 1) {
            Some(b'\n') => Ok(Some((&input[..end], end + 2))),
            Some(_) => Err(Malformed("a line that does not end")),
            None => Ok(None),
        },
        None if input.len() > LONGEST_LINE => Err(Malformed("a line without an end")),
        None => Ok(None),
    }
}

/// A number and its length with the line's end.
fn number(input: &[u8]) -> Result<Option<(i64, usize)>, Malformed> {
    const WRONG: Malformed = Malformed("a number that is none");
    let negative = input.first() == Some(&b'-');
    let digits = usize::from(negative);
    // Below zero, where there is one more. 19 digits are the most; a server that writes more is none.
    let mut number = 0_i64;
    for (at, &byte) in input.iter().enumerate().skip(digits).take(20) {
        match byte {
            b'0'..=b'9' => {
                let next = number.checked_mul(10).and_then(|ten| ten.checked_sub(i64::from(byte - b'0')));
                number = next.ok_or(WRONG)?;
            }
            b'\r' if at > digits => {
                return match input.get(at + 1) {
                    Some(b'\n') if negative => Ok(Some((number, at + 2))),
                    Some(b'\n') => Ok(Some((number.checked_neg().ok_or(WRONG)?, at + 2))),
                    Some(_) => Err(WRONG),
                    None => Ok(None),
                };
            }
            _ => return Err(WRONG),
        }
    }
    if input.len() >= digits + 20 { Err(WRONG) } else { Ok(None) }
}
