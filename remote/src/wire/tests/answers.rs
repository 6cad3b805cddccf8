//! What the parser makes of bytes, however they come.

use super::super::{
    parser::{Malformed, Parser},
    value::{ServerError, Value},
};
use proptest::prelude::*;

/// All answers, from bytes that come in these pieces. What is not done with comes again, with the next piece behind it.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<(Vec<Value>, bool), Malformed> {
    let (mut parser, mut values, mut unread) = (Parser::new(), Vec::new(), Vec::new());
    for piece in pieces {
        unread.extend_from_slice(piece);
        loop {
            let (read, value) = parser.next(&unread)?;
            unread.drain(..read);
            match value {
                Some(value) => values.push(value),
                None => break,
            }
        }
    }
    Ok((values, unread.is_empty() && parser.is_between()))
}

fn error(line: &str) -> Value {
    Value::Error(ServerError::new(line.as_bytes()))
}

fn bulk(bytes: &[u8]) -> Value {
    Value::Bulk(bytes.to_vec())
}

const STREAM: &[u8] = b"+OK\r\n$-1\r\n:-42\r\n+QUEUED\r\n-MOVED 3999 127.0.0.1:6381\r\n$0\r\n\r\n$5\r\na\r\nb\r\r\n\
    *-1\r\n*0\r\n*3\r\n:9223372036854775807\r\n*2\r\n$1\r\nx\r\n*0\r\n-ERR no\r\n:-9223372036854775808\r\n+O\r\n+OKAY\r\n$-1\r\n";

fn stream() -> Vec<Value> {
    vec![
        Value::Okay,
        Value::Nil,
        Value::Int(-42),
        Value::Simple("QUEUED".into()),
        error("MOVED 3999 127.0.0.1:6381"),
        bulk(b""),
        bulk(b"a\r\nb\r"),
        Value::Nil,
        Value::Array(vec![]),
        Value::Array(vec![
            Value::Int(i64::MAX),
            Value::Array(vec![bulk(b"x"), Value::Array(vec![])]),
            error("ERR no"),
        ]),
        Value::Int(i64::MIN),
        Value::Simple("O".into()),
        Value::Simple("OKAY".into()),
        Value::Nil,
    ]
}

#[test]
fn in_one_piece_and_in_any_two() {
    assert_eq!(read([STREAM]), Ok((stream(), true)));
    for at in 0..=STREAM.len() {
        let (one, other) = STREAM.split_at(at);
        assert_eq!(read([one, other]), Ok((stream(), true)), "at {at}");
    }
}

#[test]
fn byte_by_byte() {
    assert_eq!(read(STREAM.chunks(1)), Ok((stream(), true)));
}

/// What is cut off is waited for, and is no error.
#[test]
fn truncated() {
    for length in 0..STREAM.len() {
        let (values, whole) = read([&STREAM[..length]]).expect("no error");
        assert_eq!(values, stream()[..values.len()], "{length}");
        assert!(values.len() < stream().len());
        let again = read([&STREAM[..length], &STREAM[length..]]);
        assert!(again == Ok((stream(), true)) && (!whole || !values.is_empty() || length == 0), "{length}");
    }
}

#[test]
fn what_is_not_the_protocol() {
    for wrong in [
        "?\r\n",
        "\r\n",
        "HTTP/1.1 400 Bad Request\r\n",
        "_\r\n", // a nil of another version, which was not asked for
        "%1\r\n",
        ":\r\n",
        ":-\r\n",
        ":+1\r\n",
        ":1x\r\n",
        ":1\rx",
        ":9223372036854775808\r\n",
        ":-9223372036854775809\r\n",
        ":000000000000000000000",
        "$-2\r\n",
        "$\r\n",
        "$536870913\r\n",
        "$9223372036854775807\r\n",
        "$1\r\nab\r\n",
        "$1\r\na\rb",
        "*-2\r\n",
        "*99999999999999999999\r\n",
        "*2\r\n:1\r\n?",
        "+a\rb\r\n",
        "-a\rb\r\n",
    ] {
        assert!(read([wrong.as_bytes()]).is_err(), "{wrong:?}");
        // .. and it stays so with every byte for itself.
        assert!(read(wrong.as_bytes().chunks(1)).is_err(), "{wrong:?}");
    }
}

/// Whatever is said of lengths, nothing is taken for what has not come.
#[test]
fn hostile_lengths() {
    for length in ["$536870912\r\nabc", "*2147483647\r\n", "*9223372036854775807\r\n:1\r\n"] {
        assert_eq!(read([length.as_bytes()]), Ok((vec![], false)), "{length}");
    }
    let line = |bytes: usize| [b"+".to_vec(), b"x".repeat(bytes)].concat();
    assert_eq!(read([&*line(64 * 1024)]), Ok((vec![], false)));
    assert!(read([&*line(64 * 1024 + 1)]).is_err());
}

#[test]
fn nested_without_end() {
    let nested = |depth| [b"*1\r\n".repeat(depth), b":1\r\n".to_vec()].concat();
    let (values, whole) = read([&*nested(32)]).expect("as deep as it may be");
    assert!(whole && values.len() == 1);
    assert!(read([&*nested(33)]).is_err());
    assert!(read([&*b"*1\r\n".repeat(100_000)]).is_err());
}

/// An array of empty arrays is five bytes each where it comes from, and more here.
#[test]
fn too_many() {
    let (mut parser, some) = (Parser::new(), b"*0\r\n".repeat(1 << 16));
    let (read, none) = parser.next(b"*2000000000\r\n").expect("so many");
    assert_eq!((read, none), (13, None));
    let most = (1_usize << 30) / size_of::<Value>();
    let mut taken = 0;
    let refused = loop {
        match parser.next(&some) {
            Ok((read, None)) if read == some.len() => taken += 1 << 16,
            Ok(other) => panic!("{other:?}"),
            Err(refused) => break refused,
        }
        if taken == 1 << 20 {
            // So far is far enough for a test: the rest is put down as taken.
            parser.take(most - taken - 1000);
        }
        assert!(taken <= 1 << 20);
    };
    assert_eq!(refused, Malformed("more than there may be"));
    // The next pipeline's answers have the whole again.
    let mut parser = Parser::new();
    parser.take(most);
    assert!(parser.next(b"$100\r\n").is_ok());
    let hundred = [b"$100\r\n".to_vec(), b"x".repeat(100), b"\r\n".to_vec()].concat();
    assert!(parser.next(&hundred).is_err());
    parser.renew();
    assert!(parser.next(&hundred).is_ok());
}

/// An answer by the words of the specification: lines, and what they say follows. `Err`: it is none. `Ok(None)`: it is not all there.
fn plainly(input: &[u8], depth: usize) -> Result<Option<(Value, &[u8])>, ()> {
    let Some(end) = input.windows(2).position(|two| two == b"\r\n") else { return Ok(None) };
    let (line, rest) = (&input[..end], &input[end + 2..]);
    let Some((kind, line)) = line.split_first() else { return Err(()) };
    if line.contains(&b'\r') {
        return Err(());
    }
    let text = String::from_utf8_lossy(line);
    let number = || {
        let digits = text.strip_prefix('-').unwrap_or(&text);
        if digits.is_empty() || digits.len() > 19 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(());
        }
        text.parse::<i64>().map_err(drop)
    };
    Ok(Some(match kind {
        b'+' if &*text == "OK" => (Value::Okay, rest),
        b'+' => (Value::Simple((&*text).into()), rest),
        b'-' => (Value::Error(ServerError::new(line)), rest),
        b':' => (Value::Int(number()?), rest),
        b'$' => match number()? {
            -1 => (Value::Nil, rest),
            length @ 0..=536_870_912 => {
                let length = usize::try_from(length).expect("it fits");
                let Some((bytes, end)) = rest.split_at_checked(length) else { return Ok(None) };
                match end {
                    [b'\r', b'\n', rest @ ..] => (Value::Bulk(bytes.to_vec()), rest),
                    [_, _, ..] => return Err(()),
                    _ => return Ok(None),
                }
            }
            _ => return Err(()),
        },
        b'*' => match number()? {
            -1 => (Value::Nil, rest),
            0 => (Value::Array(vec![]), rest),
            1.. if depth == 32 => return Err(()),
            count @ 1.. => {
                let (mut values, mut rest) = (Vec::new(), rest);
                for _ in 0..count {
                    let Some((value, after)) = plainly(rest, depth + 1)? else { return Ok(None) };
                    values.push(value);
                    rest = after;
                }
                (Value::Array(values), rest)
            }
            _ => return Err(()),
        },
        _ => return Err(()),
    }))
}

fn encoded(value: &Value, to: &mut Vec<u8>) {
    let mut line = |kind: char, text: &str| to.extend_from_slice(format!("{kind}{text}\r\n").as_bytes());
    match value {
        Value::Nil => line('$', "-1"),
        Value::Okay => line('+', "OK"),
        Value::Int(number) => line(':', &number.to_string()),
        Value::Simple(text) => line('+', text),
        Value::Error(error) => line('-', error.text()),
        Value::Bulk(bytes) => {
            line('$', &bytes.len().to_string());
            to.extend_from_slice(bytes);
            to.extend_from_slice(b"\r\n");
        }
        Value::Array(values) => {
            line('*', &values.len().to_string());
            values.iter().for_each(|value| encoded(value, to));
        }
    }
}

fn values() -> impl Strategy<Value = Value> {
    let one = prop_oneof![
        Just(Value::Nil),
        Just(Value::Okay),
        any::<i64>().prop_map(Value::Int),
        "[a-zA-Z ]{0,9}x".prop_map(|text| Value::Simple(text.into())),
        "[A-Z]{1,9} [^\r\n]{0,9}".prop_map(|text| error(&text)),
        proptest::collection::vec(any::<u8>(), 0..50).prop_map(Value::Bulk),
    ];
    one.prop_recursive(5, 60, 6, |within| proptest::collection::vec(within, 0..6).prop_map(Value::Array))
}

/// Bytes that look like the protocol, or nearly.
fn nearly() -> impl Strategy<Value = Vec<u8>> {
    const WORDS: [&str; 16] = [
        "\r\n", "$", "*", ":", "+", "-", "1", "0", "2", "$1\r\n", "*2\r\n", "$-1\r\n", "+OK\r\n", "a", "\r",
        "\n",
    ];
    let word = prop_oneof![
        8 => prop::sample::select(&WORDS).prop_map(|word| word.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 1..4),
    ];
    proptest::collection::vec(word, 0..24).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// What was encoded is read, in whatever pieces it comes.
    #[test]
    fn as_it_was_sent(sent in proptest::collection::vec(values(), 0..6), cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let mut bytes = Vec::new();
        sent.iter().for_each(|value| encoded(value, &mut bytes));
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]);
        prop_assert_eq!(read(pieces), Ok((sent, true)));
    }

    /// Of any bytes the parser makes what the plain reader does. It may find out earlier that they are wrong.
    #[test]
    fn as_a_plain_reader_does(bytes in nearly(), size in 1..9_usize) {
        let (mut rest, mut expected) = (&bytes[..], Vec::new());
        let end = loop {
            match plainly(rest, 0) {
                Ok(Some((value, after))) => {
                    expected.push(value);
                    rest = after;
                }
                other => break other,
            }
        };
        for read in [read([&*bytes]), read(bytes.chunks(size))] {
            match (read, &end) {
                (Ok((values, whole)), Ok(_)) => prop_assert_eq!((values, whole), (expected.clone(), rest.is_empty())),
                (Ok(other), Err(())) => prop_assert!(false, "{:?} is read as {:?}", bytes.escape_ascii().to_string(), other),
                (Err(_), Ok(_)) => prop_assert!(!rest.is_empty(), "all of {:?} is right", bytes.escape_ascii().to_string()),
                (Err(_), Err(())) => {}
            }
        }
    }
}
