//! Commands as they are sent: an array of strings each, `*<words>` and for each word `$<length>` and its bytes.

use crate::key::Key;

/// What can be a word of a command.
pub(crate) trait Word {
    fn write(&self, to: &mut Vec<u8>);
}

impl<T: AsRef<[u8]> + ?Sized> Word for &T {
    fn write(&self, to: &mut Vec<u8>) {
        let bytes = self.as_ref();
        head(to, b'$', bytes.len() as u64);
        to.extend_from_slice(bytes);
        to.extend_from_slice(b"\r\n");
    }
}

impl Word for u64 {
    fn write(&self, to: &mut Vec<u8>) {
        let mut digits = [0; 20];
        (&digits_of(*self, &mut digits)).write(to);
    }
}

/// `*7\r\n`, `$16\r\n`.
#[inline]
fn head(to: &mut Vec<u8>, kind: u8, number: u64) {
    #[allow(clippy::cast_possible_truncation)] // they are digits
    let (tens, ones) = (b'0' + (number / 10 % 10) as u8, b'0' + (number % 10) as u8);
    match number {
        // Nearly all of them.
        0..10 => to.extend_from_slice(&[kind, ones, b'\r', b'\n']),
        10..100 => to.extend_from_slice(&[kind, tens, ones, b'\r', b'\n']),
        _ => {
            to.push(kind);
            to.extend_from_slice(digits_of(number, &mut [0; 20]));
            to.extend_from_slice(b"\r\n");
        }
    }
}

/// In decimal, at the end of `digits`.
fn digits_of(mut number: u64, digits: &mut [u8; 20]) -> &[u8] {
    let mut at = digits.len();
    loop {
        at -= 1;
        #[allow(clippy::cast_possible_truncation)] // it is a digit
        let digit = (number % 10) as u8;
        digits[at] = b'0' + digit;
        number /= 10;
        if number == 0 {
            return &digits[at..];
        }
    }
}

/// How long a key is to live. Many have the same, so what a command says of it is put together once.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) millis: u64,
    words: Vec<u8>,
}

impl Span {
    pub(crate) fn new(millis: u64) -> Span {
        let mut words = b"\r\n$2\r\nNX\r\n$3\r\nGET\r\n$2\r\nPX\r\n".to_vec();
        millis.write(&mut words);
        Span { millis, words }
    }
}

/// A command that is put together before it is known where it is sent: it may be sent more than once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    words: u64,
    /// The words, encoded.
    bytes: Vec<u8>,
}

impl Command {
    pub(crate) fn new(name: &str) -> Command {
        let mut command = Command { words: 0, bytes: Vec::with_capacity(64) };
        command.arg(name);
        command
    }

    pub(crate) fn arg(&mut self, word: impl Word) -> &mut Command {
        word.write(&mut self.bytes);
        self.words += 1;
        self
    }
}

/// Commands that are sent together, as bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pipeline {
    bytes: Vec<u8>,
    commands: usize,
}

impl Pipeline {
    /// Of so many bytes, as a guess.
    pub(crate) fn with_capacity(bytes: usize) -> Pipeline {
        Pipeline { bytes: Vec::with_capacity(bytes), commands: 0 }
    }

    /// One command alone.
    pub(crate) fn of(words: &[&str]) -> Pipeline {
        let mut pipeline = Pipeline::default();
        pipeline.words(words);
        pipeline
    }

    pub(crate) fn add(&mut self, command: &Command) {
        self.begin(command.words);
        self.bytes.extend_from_slice(&command.bytes);
    }

    pub(crate) fn words(&mut self, words: &[&str]) {
        self.begin(words.len() as u64);
        for word in words {
            self.word(*word);
        }
    }

    /// A command of so many words, which are to follow.
    pub(crate) fn begin(&mut self, words: u64) {
        head(&mut self.bytes, b'*', words);
        self.commands += 1;
    }

    pub(crate) fn word(&mut self, word: impl Word) {
        word.write(&mut self.bytes);
    }

    /// `SET key token NX GET PX millis`, of which there are more than of all others.
    #[inline]
    pub(crate) fn admit(&mut self, key: &Key<'_>, token: &[u8; 16], span: &Span) {
        let (to, [prefix, tag, item]) = (&mut self.bytes, key.parts());
        to.extend_from_slice(b"*7\r\n$3\r\nSET\r\n");
        head(to, b'$', (prefix.len() + tag.len() + item.len()) as u64);
        to.extend_from_slice(prefix);
        if !tag.is_empty() {
            to.extend_from_slice(tag);
        }
        to.extend_from_slice(item);
        to.extend_from_slice(b"\r\n$16\r\n");
        to.extend_from_slice(token);
        to.extend_from_slice(&span.words);
        self.commands += 1;
    }

    /// How many answers there will be.
    pub(crate) fn len(&self) -> usize {
        self.commands
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_arrays_of_strings() {
        let mut pipeline = Pipeline::of(&["PING"]);
        let mut command = Command::new("SET");
        command.arg(b"k\r\n\xff").arg(&b""[..]).arg("PX").arg(u64::MAX).arg(&vec![b'x'; 10]);
        pipeline.add(&command);
        pipeline.begin(2);
        pipeline.word("A");
        pipeline.word(0);
        assert_eq!(pipeline.len(), 3);
        let expected = b"*1\r\n$4\r\nPING\r\n\
            *6\r\n$3\r\nSET\r\n$4\r\nk\r\n\xff\r\n$0\r\n\r\n$2\r\nPX\r\n$20\r\n18446744073709551615\r\n$10\r\nxxxxxxxxxx\r\n\
            *2\r\n$1\r\nA\r\n$1\r\n0\r\n";
        assert_eq!(pipeline.into_bytes().escape_ascii().to_string(), expected.escape_ascii().to_string());
    }

    /// What is written at once is what the words come to.
    #[test]
    fn admission_is_a_set() {
        for (key, millis) in [(&b"wl:d:a:1"[..], 600_000), (b"", 1), (&[7; 300], u64::MAX)] {
            let (mut at_once, mut by_words) = (Pipeline::default(), Pipeline::default());
            at_once.admit(&Key::Whole(key.to_vec()), b"0123456789abcdef", &Span::new(millis));
            let mut command = Command::new("SET");
            command.arg(key).arg(b"0123456789abcdef").arg("NX").arg("GET").arg("PX").arg(millis);
            by_words.add(&command);
            assert_eq!((at_once.len(), by_words.len()), (1, 1));
            assert_eq!(at_once.into_bytes(), by_words.into_bytes());
        }
    }

    #[test]
    fn parts_are_one_key() {
        for item in [&b"4711"[..], b"{4711}", b""] {
            let (mut parts, mut whole) = (Pipeline::default(), Pipeline::default());
            let (prefix, span) = (&b"wl:d:a:"[..], Span::new(1));
            let key = Key::Item { prefix, item };
            parts.admit(&key, &[1; 16], &span);
            whole.admit(&Key::Whole(key.to_vec()), &[1; 16], &span);
            assert_eq!(parts.into_bytes(), whole.into_bytes());
        }
    }

    #[test]
    fn numbers() {
        for number in [0, 1, 9, 10, 99, 100, 12_345_678_901, u64::MAX] {
            assert_eq!(digits_of(number, &mut [0; 20]), number.to_string().as_bytes());
        }
    }
}
