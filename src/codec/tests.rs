#![allow(clippy::unwrap_used)] // clippy knows tests only by their attribute

use super::*;
use crate::time::Window;
use proptest::prelude::*;
use std::{
    error::Error,
    io::{self, Read, Write},
};

fn header(kind: Kind) -> Header {
    Header {
        kind,
        counts_events: false,
        seed: Seed(0x5eed),
        wall: Duration::from_secs(1_700_000_000),
        now: Tick(12_345),
        settings: vec![
            Setting::span("window", Window::time(Duration::from_secs(60))),
            Setting::number("panes", 4),
            Setting::word("identity", "hash"),
        ],
    }
}

/// The sections 7 (numbers), 8 (nothing) and 9 (texts with their lengths).
fn write(numbers: &[u64], texts: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::begin(&mut out, &header(Kind::Dedup)).unwrap();
    writer.section(7).unwrap();
    for &number in numbers {
        writer.u64(number).unwrap();
        writer.entry();
    }
    writer.section(8).unwrap();
    writer.section(9).unwrap();
    for text in texts {
        writer.u32(text.len().try_into().unwrap()).unwrap();
        writer.put(text).unwrap();
        writer.u8(1).unwrap();
        writer.entry();
    }
    let summary = writer.finish().unwrap();
    let entries = (numbers.len() + texts.len()) as u64;
    assert_eq!(summary, SnapshotSummary { bytes: out.len() as u64, entries });
    out
}

fn read(input: impl Read) -> Result<(Vec<u64>, Vec<Vec<u8>>), RestoreError> {
    let mut reader = Reader::begin(input, Kind::Dedup)?;
    reader.agree(false, Some(Seed(0x5eed)), &header(Kind::Dedup).settings)?;
    let (mut numbers, mut texts) = (Vec::new(), Vec::new());
    reader.section(7)?;
    while reader.has_more()? {
        numbers.push(reader.u64("number")?);
        reader.entry();
    }
    reader.section(8)?;
    reader.section(9)?;
    while reader.has_more()? {
        let len = reader.u32("length")? as usize;
        let mut text = Vec::new();
        reader.bytes(len, "text", &mut text)?;
        texts.push(text);
        if reader.u8("one")? != 1 {
            return Err(reader.wrong("one", "is not"));
        }
        reader.entry();
    }
    reader.finish()?;
    Ok((numbers, texts))
}

/// Several frames.
fn some() -> (Vec<u64>, Vec<Vec<u8>>) {
    ((0..20_000).map(|i| i * i).collect(), vec![Vec::new(), b"a".to_vec(), vec![7; 200_000], b"z".to_vec()])
}

#[test]
fn what_was_written_is_read_whatever_the_borders() {
    let (numbers, texts) = some();
    for (numbers, texts) in
        [(&numbers[..], &texts[..]), (&[], &[]), (&numbers[..1], &[]), (&numbers[..8192], &texts[..1])]
    {
        let bytes = write(numbers, texts);
        let there = read(&bytes[..]).unwrap();
        assert_eq!((&there.0[..], &there.1[..]), (numbers, texts));
    }
}

#[test]
fn no_byte_behind_the_end_is_taken() {
    let mut bytes = write(&[1], &[]);
    bytes.extend_from_slice(&write(&[2], &[]));
    bytes.extend_from_slice(b"rest");
    let mut input = &bytes[..];
    assert_eq!(read(&mut input).unwrap().0, [1]);
    assert_eq!(read(&mut input).unwrap().0, [2]);
    assert_eq!(input, b"rest");
}

/// The bytes are little-endian, and where docs/snapshot-format.md says.
#[test]
fn as_documented() {
    let bytes = write(&[0x0102_0304], &[]);
    assert_eq!(&bytes[..12], b"\x89WLS\r\n\x1a\n\x01\x00\x01\x00");
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let half = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!(
        (half(12), half(20), word(24), word(32), word(40)),
        (0, 0, 0x5eed, 1_700_000_000_000_000_000, 12_345)
    );
    let frame = half(16);
    let id = word(frame - 8);
    assert_eq!(id, xxhash_rust::xxh3::xxh3_64(&bytes[..frame - 8]));
    assert_eq!((half(frame), half(frame + 4), word(frame + 8)), (8, 7, 0x0102_0304));
    let sum = |from: usize, to: usize, number| {
        xxhash_rust::xxh3::xxh3_64_with_seed(&bytes[from..to], id.wrapping_add(number))
    };
    assert_eq!(word(frame + 16), sum(frame, frame + 16, 0));
    // Two empty sections, and the end.
    let end = frame + 24 + 2 * 16;
    assert_eq!((half(end), half(end + 4), word(end + 8), word(end + 16)), (16, u32::MAX as usize, 3, 1));
    assert_eq!((word(end + 24), end + 32), (sum(end, end + 24, 3), bytes.len()));
}

#[test]
fn each_fault_has_its_error() {
    let bytes = write(&[1, 2, 3], &[b"text".to_vec()]);
    let text = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
    assert!(matches!(read(&b""[..]), Err(RestoreError::Truncated { at: 0 })));
    assert!(matches!(read(&b"{\"json\": true}"[..]), Err(RestoreError::Foreign)));
    assert!(matches!(read(&b"{"[..]), Err(RestoreError::Foreign)));
    assert!(matches!(read(&bytes[..7]), Err(RestoreError::Truncated { at: 7 })));
    let cut = bytes.len() - 1;
    assert_eq!(text(&bytes[..cut]), format!("snapshot: cut off after byte {cut}"));
    let mut later = bytes.clone();
    later[8] = 9;
    assert_eq!(text(&later), "snapshot: of version 9 of the format, where 1 is the latest that is known");
    let mut flipped = bytes.clone();
    flipped[cut - 40] ^= 1;
    assert!(matches!(read(&flipped[..]), Err(RestoreError::Damaged { part: "checksum of frame", .. })));

    let of = |kind, settings: &[Setting], seed| {
        let mut out = Vec::new();
        let header = Header { settings: settings.to_vec(), seed: Seed(seed), ..header(kind) };
        Writer::begin(&mut out, &header).unwrap().finish().unwrap();
        out
    };
    let mut settings = header(Kind::Dedup).settings;
    assert_eq!(text(&of(Kind::Fifo, &settings, 1)), "snapshot: of a FifoIndex, not of a Dedup");
    let seed = text(&of(Kind::Dedup, &settings, 1));
    assert_eq!(seed, "snapshot: made with seed (its own), and the builder has another");
    settings[0] = Setting::span("window", Window::last_n(9));
    let differs = text(&of(Kind::Dedup, &settings, 0x5eed));
    assert_eq!(differs, "snapshot: made with window 9 events, and the builder has 60000000000 ns");
    assert!(text(&of(Kind::Dedup, &settings[1..], 0x5eed)).contains("made with window none"));
    settings[0] = header(Kind::Dedup).settings[0].clone();
    settings.push(Setting::number("novelty", 3));
    let unknown = text(&of(Kind::Dedup, &settings, 0x5eed));
    assert_eq!(unknown, "snapshot: made with novelty 3, and the builder has none");
}

/// What a writer would not write, with checksums that are right.
#[test]
fn sections_are_not_trusted() {
    type Sections<'a> = &'a [(u32, &'a [u8])];
    let of = |sections: Sections<'_>, entries: u64| {
        let mut out = Vec::new();
        let mut writer = Writer::begin(&mut out, &header(Kind::Dedup)).unwrap();
        for (kind, content) in sections {
            writer.section(*kind).unwrap();
            writer.put(content).unwrap();
        }
        (0..entries).for_each(|_| writer.entry());
        writer.finish().unwrap();
        read(&out[..]).map(|(numbers, _)| numbers).map_err(|error| error.to_string())
    };
    assert_eq!(of(&[(7, &[0; 8]), (8, &[]), (9, &[])], 1), Ok(vec![0]));
    for (sections, entries, problem) in [
        (&[(7, &[0; 8][..]), (8, &[]), (9, &[])][..], 2, "2 were written, and there are 1"),
        (&[(7, &[0; 9]), (8, &[]), (9, &[])], 1, "the section ends before it"),
        (&[(7, &[]), (8, &[1]), (9, &[])], 0, "longer than what it says"),
        (&[(7, &[]), (9, &[])], 0, "9, where 8 should be"),
        (&[(7, &[]), (8, &[])], 0, "4294967295, where 9 should be"),
        (&[(7, &[]), (8, &[]), (9, &[]), (10, &[])], 0, "10, where 4294967295 should be"),
        // A length that nothing is behind.
        (&[(7, &[]), (8, &[]), (9, &[255, 255, 255, 255, 0])], 0, "the section ends before it"),
    ] {
        let error = of(sections, entries).unwrap_err();
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn errors_of_the_input_and_the_output_are_told() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("no line"))
        }
    }
    impl Write for Fails {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::other("no line"))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let bytes = write(&[1], &[]);
    let error = read((&bytes[..100]).chain(Fails)).unwrap_err();
    assert!(matches!(error, RestoreError::Io { at: 100, .. }) && error.source().is_some(), "{error}");
    assert!(Writer::begin(Fails, &header(Kind::Dedup)).is_err());
}

/// A pipe gives what it has, and is interrupted at times.
#[test]
fn an_input_in_pieces() {
    struct Pieces<'b>(&'b [u8], bool);
    impl Read for Pieces<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let n = out.len().min(3);
            (&mut self.0).take(n as u64).read(&mut out[..n])
        }
    }
    let bytes = write(&[1, 2, 3], &[vec![5; 1000]]);
    assert_eq!(read(Pieces(&bytes, false)).unwrap().0, [1, 2, 3]);
}

#[test]
fn the_clock_of_the_system_says_how_long_it_was() {
    let header = header(Kind::Dedup);
    let second = Duration::from_secs(1);
    assert_eq!(header.resume(header.wall + second), (Tick(1_000_012_345), second));
    assert_eq!(header.resume(header.wall - second), (Tick(12_345), Duration::ZERO));
    assert_eq!(header.resume(Duration::MAX).0, Tick(u64::MAX));
    let events = Header { counts_events: true, ..header };
    assert_eq!(events.resume(events.wall + second), (Tick(12_345), second));
}

#[derive(Clone, Debug)]
enum Fault {
    Flip(usize, u8),
    Cut(usize),
    Insert(usize, Vec<u8>),
    Leave(usize, usize),
    Repeat(usize, usize),
    Swap(usize, usize, usize),
}

fn faults() -> impl Strategy<Value = Fault> {
    let at = any::<usize>;
    let len = || prop_oneof![1..64_usize, any::<usize>()];
    prop_oneof![
        (at(), 1..=255_u8).prop_map(|(at, by)| Fault::Flip(at, by)),
        at().prop_map(Fault::Cut),
        (at(), prop::collection::vec(any::<u8>(), 1..40)).prop_map(|(at, bytes)| Fault::Insert(at, bytes)),
        (at(), len()).prop_map(|(at, len)| Fault::Leave(at, len)),
        (at(), len()).prop_map(|(at, len)| Fault::Repeat(at, len)),
        (at(), at(), len()).prop_map(|(a, b, len)| Fault::Swap(a, b, len)),
    ]
}

/// Frames, or bytes: `borders` are where things may be cut.
fn damage(bytes: &[u8], borders: &[usize], fault: &Fault) -> Vec<u8> {
    let place = |at: usize| borders[at % borders.len()];
    let end = |at: usize, len: usize| {
        let i = borders.iter().position(|&border| border == at).unwrap();
        borders[(i + 1 + len % 4).min(borders.len() - 1)]
    };
    let mut out = bytes.to_vec();
    match fault {
        Fault::Flip(at, by) => out[at % bytes.len()] ^= by,
        Fault::Cut(at) => out.truncate(place(*at)),
        Fault::Insert(at, with) => drop(out.splice(place(*at)..place(*at), with.iter().copied())),
        Fault::Leave(at, len) => drop(out.drain(place(*at)..end(place(*at), *len))),
        Fault::Repeat(at, len) => {
            let part = bytes[place(*at)..end(place(*at), *len)].to_vec();
            drop(out.splice(place(*at)..place(*at), part));
        }
        Fault::Swap(a, b, len) => {
            let (a, b) = (place(*a).min(place(*b)), place(*a).max(place(*b)));
            let (a_end, b_end) = (end(a, *len).min(b), end(b, *len));
            out =
                [&bytes[..a], &bytes[b..b_end], &bytes[a_end..b], &bytes[a..a_end], &bytes[b_end..]].concat();
        }
    }
    out
}

/// Where frames begin, and the end.
fn frames(bytes: &[u8]) -> Vec<usize> {
    let half = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let mut borders = vec![half(16)];
    while *borders.last().unwrap() < bytes.len() {
        let start = *borders.last().unwrap();
        borders.push(start + FRAME + half(start) + CHECKSUM);
    }
    borders
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is done to the bytes, or to whole frames: it is an error, or what was written is there, and behind it something else.
    #[test]
    fn no_damage_goes_unseen(faults in prop::collection::vec(faults(), 1..4), whole in any::<bool>(), large in any::<bool>()) {
        let (numbers, texts) = if large { some() } else { (vec![1, 2, 3], vec![b"text".to_vec(); 3]) };
        let bytes = write(&numbers, &texts);
        let mut borders: Vec<usize> = if whole { frames(&bytes) } else { (0..=bytes.len()).collect() };
        let mut out = bytes.clone();
        for fault in &faults {
            borders.retain(|&border| border <= out.len());
            out = damage(&out, &borders, fault);
            if out.is_empty() {
                break;
            }
            borders.push(out.len());
            borders.sort_unstable();
            borders.dedup();
        }
        let mut input = &out[..];
        match read(&mut input) {
            Ok(there) => {
                prop_assert!(out.starts_with(&bytes), "{faults:?}");
                prop_assert_eq!(there, (numbers, texts));
                prop_assert_eq!(input, &out[bytes.len()..]);
            }
            Err(error) => prop_assert!(!out.starts_with(&bytes), "{}", error),
        }
    }

    /// Bytes from anywhere, also behind a good header: never a panic.
    #[test]
    fn any_bytes_at_all(with_header: bool, any in prop::collection::vec(any::<u8>(), 0..300)) {
        let header = if with_header { let bytes = write(&[], &[]); bytes[..frames(&bytes)[0]].to_vec() } else { Vec::new() };
        prop_assert!(read(&[header, any].concat()[..]).is_err());
    }
}
