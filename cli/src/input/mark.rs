//! The byte order mark that some programs put before their text.

use std::io::{self, Cursor, Read};

const MARK: &[u8; 3] = b"\xef\xbb\xbf";

/// The source without its mark. Reads no more than it takes to know that there is none.
pub(super) fn without_mark(mut source: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
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
    if head == MARK {
        head.clear();
    }
    Ok(Box::new(Cursor::new(head).chain(source)))
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
            without_mark(Box::new(bytes)).unwrap().read_to_end(&mut read).unwrap();
            assert_eq!(read, text);
        }
    }
}
