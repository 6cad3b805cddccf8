//! The byte order mark that some programs put before their text.

use std::io::{self, Cursor, Read};

const MARK: &[u8; 3] = b"\xef\xbb\xbf";

/// The source without its mark, and how long that was. Reads no more than it takes to know that there is none.
pub(super) fn without_mark(mut source: Box<dyn Read + Send>) -> io::Result<(Box<dyn Read + Send>, u64)> {
    let mut head = Vec::new();
    while head.len() < MARK.len() && MARK.starts_with(&head) {
        let mut byte = [0];
        match source.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => head.extend(byte),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let mut taken = 0;
    if head == MARK {
        taken = head.len() as u64;
        head.clear();
    }
    Ok((Box::new(Cursor::new(head).chain(source)), taken))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_mark_and_nothing_else() {
        for (bytes, text) in [
            (&b"\xef\xbb\xbfid\n"[..], &b"id\n"[..]),
            (b"\xef\xbb\xbf", b""),
            (b"\xef\xbb\xbf\xef\xbb\xbf", b"\xef\xbb\xbf"),
            (b"\xef\xbbid\n", b"\xef\xbbid\n"),
            (b"\xef", b"\xef"),
            (b"", b""),
            (b"id\n", b"id\n"),
        ] {
            let mut read = Vec::new();
            let (mut source, taken) = without_mark(Box::new(bytes)).unwrap();
            source.read_to_end(&mut read).unwrap();
            assert_eq!((read.as_slice(), taken), (text, (bytes.len() - text.len()) as u64));
        }
    }
}
