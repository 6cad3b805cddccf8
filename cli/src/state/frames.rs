//! What a command keeps beside its structures, if it is too much for the head: bytes in pieces, with a checksum each.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | n: length of the piece, 65536 at most; 0: the last |
//! | n | the piece |
//! | 8 | checksum of length and piece: XXH3-128 with the piece's number, from 0, for a seed, the high half |

use std::io::{self, Read, Write};

use windlass::Seed;

const LONGEST: usize = 64 << 10;

/// Writes pieces. [`Framed::finish`] writes the last.
pub(crate) struct Framed<W> {
    out: W,
    /// Room for its length, and the piece.
    piece: Vec<u8>,
    number: u64,
}

const LENGTH: usize = 4;

fn checksum(number: u64, piece: &[u8]) -> [u8; 8] {
    Seed(number).hash(piece).hi.to_le_bytes()
}

impl<W: Write> Framed<W> {
    pub(crate) fn new(out: W) -> Framed<W> {
        Framed { out, piece: vec![0; LENGTH], number: 0 }
    }

    pub(crate) fn u64(&mut self, number: u64) -> io::Result<()> {
        self.bytes(&number.to_le_bytes())
    }

    /// Piece by piece.
    pub(crate) fn bytes(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (some, rest) = bytes.split_at(bytes.len().min(LENGTH + LONGEST - self.piece.len()));
            self.piece.extend_from_slice(some);
            bytes = rest;
            if self.piece.len() == LENGTH + LONGEST {
                self.end()?;
            }
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        if self.piece.len() > LENGTH {
            self.end()?;
        }
        self.end()
    }

    #[allow(clippy::cast_possible_truncation)] // no piece is longer
    fn end(&mut self) -> io::Result<()> {
        let length = (self.piece.len() - LENGTH) as u32;
        self.piece[..LENGTH].copy_from_slice(&length.to_le_bytes());
        self.out.write_all(&self.piece)?;
        self.out.write_all(&checksum(self.number, &self.piece))?;
        self.number += 1;
        self.piece.truncate(LENGTH);
        Ok(())
    }
}

/// Reads pieces. Nothing of one is given out before its checksum is known to be right.
pub(crate) struct Unframed<R> {
    input: R,
    piece: Vec<u8>,
    /// What of it has been read.
    at: usize,
    number: u64,
}

/// What is wrong with the bytes.
pub(crate) fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl<R: Read> Unframed<R> {
    pub(super) fn new(input: R) -> Unframed<R> {
        Unframed { input, piece: Vec::new(), at: 0, number: 0 }
    }

    pub(crate) fn u64(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    pub(crate) fn bytes(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        let mut filled = 0;
        while filled < bytes.len() {
            if self.at == self.piece.len() && !self.next()? {
                return Err(invalid("a part ends too early"));
            }
            let some = (bytes.len() - filled).min(self.piece.len() - self.at);
            bytes[filled..filled + some].copy_from_slice(&self.piece[self.at..self.at + some]);
            self.at += some;
            filled += some;
        }
        Ok(())
    }

    /// All has been read.
    pub(super) fn end(mut self) -> io::Result<()> {
        if self.at < self.piece.len() || self.next()? { Err(invalid("a part is too long")) } else { Ok(()) }
    }

    /// The next piece, if there is one.
    fn next(&mut self) -> io::Result<bool> {
        let mut length = [0; LENGTH];
        self.read(&mut length)?;
        let count = u32::from_le_bytes(length) as usize;
        if count > LONGEST {
            return Err(invalid("a piece is longer than there are"));
        }
        let mut piece = [&length[..], &vec![0; count][..]].concat();
        self.read(&mut piece[LENGTH..])?;
        let mut sum = [0; 8];
        self.read(&mut sum)?;
        if sum != checksum(self.number, &piece) {
            return Err(invalid("a piece is not as it was written"));
        }
        self.number += 1;
        (self.piece, self.at) = (piece, LENGTH);
        Ok(count > 0)
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.input.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => invalid("it ends too early"),
            _ => error,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

    use super::*;

    fn written(lengths: &[usize]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut out = Framed::new(&mut bytes);
        for (i, &length) in lengths.iter().enumerate() {
            out.u64(length as u64).unwrap();
            out.bytes(&vec![u8::try_from(i).unwrap(); length]).unwrap();
        }
        out.finish().unwrap();
        bytes
    }

    fn read(bytes: &[u8], parts: usize) -> io::Result<Vec<usize>> {
        let mut input = Unframed::new(bytes);
        let mut lengths = Vec::new();
        for i in 0..parts {
            let length = usize::try_from(input.u64()?).unwrap();
            let mut part = vec![0; length];
            input.bytes(&mut part)?;
            assert!(part.iter().all(|&byte| usize::from(byte) == i));
            lengths.push(length);
        }
        input.end().map(|()| lengths)
    }

    #[test]
    fn as_they_were_written() {
        for lengths in [&[][..], &[0], &[LONGEST - 8], &[LONGEST - 7], &[5, 3 * LONGEST, 0, 70_000]] {
            assert_eq!(read(&written(lengths), lengths.len()).unwrap(), lengths);
        }
    }

    #[test]
    fn damaged() {
        let lengths = [90_000, 7, 40_000];
        let bytes = written(&lengths);
        let wrong = |bytes: &[u8], parts| read(bytes, parts).unwrap_err().to_string();
        assert_eq!(wrong(&bytes, 2), "a part is too long");
        assert_eq!(wrong(&bytes, 4), "a part ends too early");
        for end in (0..bytes.len()).step_by(997).chain([bytes.len() - 1]) {
            assert_eq!(wrong(&bytes[..end], 3), "it ends too early");
        }
        for at in (0..bytes.len()).step_by(997).chain([0, 3]) {
            let mut other = bytes.clone();
            other[at] ^= 1 << (at % 8);
            assert!(read(&other, 3).is_err(), "{at}");
        }
        // Two pieces change places.
        let piece = LENGTH + LONGEST + 8;
        let mut other = written(&[3 * LONGEST]);
        other[..2 * piece].rotate_left(piece);
        assert_eq!(wrong(&other, 1), "a piece is not as it was written");
    }
}
