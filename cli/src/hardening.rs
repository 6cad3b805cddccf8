//! What reads text from outside, given any. Driven by the tests below, and by a fuzz target with the same bodies (`fuzz/fuzz_targets/tool.rs`).

use std::{
    cell::Cell,
    fs,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use clap::Parser;
use windlass::Seed;

use crate::{
    args::{Bytes, Change, Cli, Command, Count, Limit, Rate, Share, Skew, Span, Weighted},
    input::{Input, Need, TimeFormat},
    limit::policy::file,
};

/// The first byte says what reads the rest.
pub fn drive(bytes: &[u8]) {
    let Some((&first, rest)) = bytes.split_first() else { return };
    match first % 4 {
        0 => values(&String::from_utf8_lossy(rest)),
        1 => policy(&String::from_utf8_lossy(rest)),
        2 => command(&String::from_utf8_lossy(rest)),
        _ => records(rest),
    }
}

/// A value of an option, as each kind of value.
pub(crate) fn values(text: &str) {
    if let Ok(span) = text.parse::<Span>() {
        // Told in other words it is the same.
        assert_eq!(span.plain().parse::<Span>().map(|again| again.duration), Ok(span.duration));
    }
    if let Ok(Count(count)) = text.parse() {
        assert_eq!(count.to_string().parse(), Ok(Count(count)));
    }
    if let Ok(Limit(quota)) = text.parse() {
        assert_eq!(quota.to_string().parse(), Ok(quota));
    }
    if let Ok(format) = text.parse::<TimeFormat>() {
        for time in ["", "0", "1.5e9", "1970-01-01T00:00:00Z", "31/Dec/2261:23:59:59 +0000", text] {
            let mut reader = crate::input::TimeReader::new(format.clone(), crate::input::Resolution::Ns);
            drop(reader.read(time.as_bytes()));
        }
    }
    let _ = text.parse::<Bytes>();
    let _ = (text.parse::<Share>(), text.parse::<Rate>(), text.parse::<Skew>());
    let _ = (text.parse::<Weighted>(), text.parse::<Change>());
}

/// A file of limits. What is wrong with it is told in one line.
pub(crate) fn policy(text: &str) {
    if let Err(failure) = file::parse(Path::new("policy.toml"), text) {
        let message = failure.message().unwrap_or_default();
        assert!(message.starts_with("policy.toml:") && message.lines().count() == 1, "{message:?}");
    }
}

/// A command line, an argument a line. It is read and not run.
pub(crate) fn command(text: &str) {
    // (The first is the program's name.)
    if let Err(error) = Cli::try_parse_from(["windlass"].into_iter().chain(text.split('\n')))
        && error.use_stderr()
        && let Err(failure) = crate::failure::Failure::from_clap(&error)
    {
        let message = failure.message().unwrap_or_default();
        assert_eq!(message.lines().count(), 1, "{message:?}");
    }
}

/// Records. First two bytes of options; then three lines: the key's fields, the time's field and its format; then what is to be read.
pub(crate) fn records(bytes: &[u8]) {
    let Some((&[format, flags], rest)) = bytes.split_first_chunk() else { return };
    let mut parts = rest.splitn(4, |&byte| byte == b'\n');
    let [key, time, time_format] =
        [(); 3].map(|()| String::from_utf8_lossy(parts.next().unwrap_or_default()));
    let data = parts.next().unwrap_or_default();
    let file = Temporary::holding(data, if flags & 1 > 0 { ".gz" } else { "" });
    let format = ["lines", "tsv", "csv", "jsonl", "combined"][usize::from(format) % 5];
    let mut args: Vec<String> =
        ["windlass", "dedup", "--window=1s", "--format", format].map(str::to_owned).into();
    let mut option = |name: &str, value: &str| {
        if !value.is_empty() {
            args.push(format!("--{name}={value}"));
        }
    };
    option("id", &key);
    option("time", &time);
    option("time-format", &time_format);
    option("on-error", if flags & 2 > 0 { "skip" } else { "fail" });
    option("missing", ["fail", "skip", "?", ""][usize::from(flags >> 2 & 3)]);
    option("order", if flags & 16 > 0 { "sort" } else { "arrival" });
    option("each", if flags & 32 > 0 { "a" } else { "" });
    option("source", if flags & 64 > 0 { "b" } else { "" });
    if flags & 128 > 0 {
        args.push("--header".to_owned());
    }
    args.push(file.path.to_string_lossy().into_owned());
    let Ok(Cli { command: Command::Dedup(args), .. }) = Cli::try_parse_from(args) else { return };
    let need = Need {
        key: &args.id,
        option: "--id",
        parts: &[],
        beside: &[],
        may_be_none: flags & 2 > 0,
        names: Some(256),
        text: true,
        numbered: false,
        seed: Seed(0),
    };
    let Ok(mut input) = Input::new(&args.sift.input, need) else { return };
    let mut out = Vec::new();
    while let Ok(Some(batch)) = input.next() {
        for i in 0..batch.events.len() {
            assert!(batch.name(i).len() <= 256);
            out.clear();
            // (To memory.)
            drop(batch.write(i, i, &mut out));
            let text = out.strip_suffix(b"\n").unwrap_or(&out);
            let is_there = data.len() < 1000 && flags & (1 | 32) == 0;
            assert!(!is_there || text.is_empty() || data.windows(text.len()).any(|part| part == text));
        }
    }
}

/// A file of the caller's own, gone with it.
struct Temporary {
    path: PathBuf,
}

impl Temporary {
    #[allow(clippy::expect_used)] // only tests come here
    fn holding(bytes: &[u8], ending: &str) -> Temporary {
        static THREADS: AtomicU32 = AtomicU32::new(0);
        thread_local! {
            static THREAD: Cell<u32> = Cell::new(THREADS.fetch_add(1, Relaxed));
        }
        let name = format!("windlass-hardening-{}-{}{ending}", process::id(), THREAD.get());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, bytes).expect("a temporary file");
        Temporary { path }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
#[path = "../../tests/hardening/memory.rs"]
#[allow(dead_code)] // the tests here use a part
mod memory;

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::select};

    use super::*;

    /// Bytes that any of it takes: blocks, and what clap makes of a command line.
    const BESIDE: u64 = 3 << 20;

    /// .. and of records that are sorted the first chunk of their text (`input/sort.rs`).
    const SORTED: u64 = 8 << 20;

    /// With no more memory than so many times the input, and [`BESIDE`].
    fn bounded(bytes: usize, times: u64, call: impl FnOnce()) {
        let ((), peak) = memory::peak(call);
        assert!(peak <= BESIDE + times * bytes as u64, "{peak} bytes for {bytes}");
    }

    fn bounded_records(bytes: &[u8]) {
        let ((), peak) = memory::peak(|| records(bytes));
        let sorted = if bytes[1] & 16 > 0 { SORTED } else { 0 };
        let most = BESIDE + sorted + 300 * bytes.len() as u64;
        assert!(peak <= most, "{peak} bytes for {}", bytes.len());
    }

    /// Some of these words, some of which are repeated, and bytes that are none of them.
    fn text(words: &'static [&'static str], most: usize) -> impl Strategy<Value = Vec<u8>> {
        let word = select(words).prop_map(|word| word.as_bytes().to_vec());
        let repeated = (select(words), 1..300_usize).prop_map(|(word, n)| word.repeat(n).into_bytes());
        let part = prop_oneof![20 => word, 1 => repeated, 3 => vec(any::<u8>(), 0..4)];
        vec(part, 0..most).prop_map(|parts| parts.concat())
    }

    const VALUES: &[&str] = &[
        "0",
        "1",
        "60",
        "18446744073709551615",
        "18446744073709551616",
        "9223372036854775807",
        ".",
        "e",
        "-",
        "+",
        "/",
        ":",
        ",",
        "%",
        "ns",
        "us",
        "ms",
        "s",
        "m",
        "h",
        "d",
        "min",
        "k",
        "M",
        "G",
        "T",
        "iB",
        " burst ",
        " ",
        "inf",
        "NaN",
        "%Y",
        "%d",
        "%H:%M",
        "%s",
        "%z",
        "%f",
        "%9f",
        "%.3f",
        "%-",
        "%099",
        "%:",
        "%Q",
        "%V",
        "%^",
        "unix",
        "-ms",
        "clf",
        "\u{e9}",
    ];

    const POLICY: &[&str] = &[
        "[[limit]]\n",
        "[limit]\n",
        "name = \"a\"\n",
        "name = \"b\"\n",
        "name = ",
        "key = \"ip\"\n",
        "key = [",
        "\"ip\", ",
        "]\n",
        "quota = \"10/s\"\n",
        "quota = \"1/60s burst 5\"\n",
        "quota = ",
        "burst = ",
        "clients = ",
        "100\n",
        "0x10\n",
        "-1\n",
        "1e9\n",
        "99999999999999999999\n",
        "18446744073709551615\n",
        "algorithm = ",
        "\"gcra\"\n",
        "\"fixed-window\"\n",
        "\"sliding-log\"\n",
        "on_unknown = ",
        "\"deny\"\n",
        "\"allow\"\n",
        "\"",
        "'",
        "\"\"\"",
        "'''",
        "{",
        "}",
        "[",
        "]",
        "=",
        ".",
        ",",
        "#",
        "\n",
        "\r\n",
        "\\u0000",
        "\\",
        "true",
        "1979-05-27",
        "inf",
        "\u{e9}",
    ];

    const COMMANDS: &[&str] = &[
        "dedup\n",
        "distinct\n",
        "limit\n",
        "rank\n",
        "top\n",
        "ring\n",
        "gen\n",
        "demo\n",
        "--id\n",
        "--key\n",
        "a,b\n",
        "--window\n",
        "--window=",
        "--pane\n",
        "--limit\n",
        "10/s\n",
        "--policy\n",
        "--state\n",
        "--save-every=",
        "1s\n",
        "5m\n",
        "-k\n",
        "10\n",
        "--time\n",
        "--time-format=",
        "%Y\n",
        "unix\n",
        "--nodes\n",
        "a:1,b\n",
        "--change\n",
        "+c:2,-a\n",
        "--format=",
        "jsonl\n",
        "csv\n",
        "--threads=",
        "64\n",
        "65\n",
        "--fpr=",
        "0.01\n",
        "--approx\n",
        "-q\n",
        "--\n",
        "-\n",
        "--help\n",
        "\n",
        "=",
        "-",
        "\u{e9}",
    ];

    const FIELDS: &[&str] = &[
        "1",
        "2",
        "64",
        "0",
        "18446744073709551616",
        "a",
        "b",
        "a.b",
        "a[1]",
        "/a/0",
        "@",
        "@.a",
        ",",
        "ip",
        "time",
        "path",
        "\u{e9}",
    ];

    const LINES: &[&str] = &["a", "b", "\n", "\r\n", "\r", "\0"];

    const ROWS: &[&str] = &[
        "a",
        "b",
        "1",
        "\t",
        ",",
        "\"",
        "\"\"",
        "\n",
        "\r\n",
        "\r",
        "1970-01-01T00:00:00Z",
        "5.5",
        "-1",
        "\u{feff}",
        "\0",
    ];

    const JSON: &[&str] = &[
        "{\"a\":",
        "{\"b\":1,\"a\":\"",
        "\"b\":",
        "\"",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "1",
        "-1.5e300",
        "null",
        "true",
        "\\u00e9",
        "\\ud800",
        "\\n",
        "\\",
        "[1,2,{\"a\":3}]",
        "}\n",
        "\"}\n",
        "]}\n",
        "\n",
        " ",
        "\u{e9}",
        "\u{feff}",
    ];

    const COMBINED: &[&str] = &[
        "1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET /a?b=c HTTP/1.1\" 200 512 \"-\" \"agent\"\n",
        "1.2.3.4",
        " ",
        "-",
        "[",
        "]",
        "17/May/2015:10:05:03 +0000",
        "\"",
        "GET ",
        "/path",
        " HTTP/1.1",
        "200",
        "\\\"",
        "\\x22",
        "\n",
        "\r\n",
    ];

    fn file(format: u8, words: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
        let line = || {
            text(FIELDS, 5).prop_map(|mut line| {
                line.retain(|&byte| byte != b'\n');
                line
            })
        };
        let time = select(&["", "unix", "rfc3339", "clf", "%Y-%m-%d", "unix-ms"][..]);
        // (Not gzip, whose output may be much longer: by itself below.)
        (any::<u8>(), line(), line(), time, text(words, 60)).prop_map(
            move |(flags, key, name, time, data)| {
                let head = [format, flags & !1];
                [&head[..], &key, b"\n", &name, b"\n", time.as_bytes(), b"\n", &data].concat()
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 1500,
            rng_seed: proptest::test_runner::RngSeed::Fixed(7),
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn any_value(bytes in text(VALUES, 6)) {
            bounded(bytes.len(), 50, || values(&String::from_utf8_lossy(&bytes)));
        }

        #[test]
        fn any_command(bytes in text(COMMANDS, 12)) {
            bounded(bytes.len(), 200, || command(&String::from_utf8_lossy(&bytes)));
        }

        #[test]
        fn any_policy(bytes in text(POLICY, 25)) {
            bounded(bytes.len(), 200, || policy(&String::from_utf8_lossy(&bytes)));
        }

        #[test]
        fn any_lines(bytes in file(0, LINES)) {
            bounded_records(&bytes);
        }

        #[test]
        fn any_tsv(bytes in file(1, ROWS)) {
            bounded_records(&bytes);
        }

        #[test]
        fn any_csv(bytes in file(2, ROWS)) {
            bounded_records(&bytes);
        }

        #[test]
        fn any_jsonl(bytes in file(3, JSON)) {
            bounded_records(&bytes);
        }

        #[test]
        fn any_combined(bytes in file(4, COMBINED)) {
            bounded_records(&bytes);
        }

        /// No archive, or a damaged one.
        #[test]
        fn any_gzip(bytes in file(0, LINES), cut in any::<u16>(), flip in any::<u16>()) {
            use std::io::Write;
            let at = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(2).map_or(0, |(at, _)| at + 1);
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(&bytes[at..]).unwrap();
            let mut packed = packed.finish().unwrap();
            if cut % 3 == 0 {
                packed.truncate(usize::from(cut) % packed.len());
            }
            if flip % 3 == 0 && !packed.is_empty() {
                let at = usize::from(flip) % packed.len();
                packed[at] ^= 1 << (flip % 8);
            }
            let mut file = bytes[..at].to_vec();
            file[1] |= 1;
            file.extend_from_slice(&packed);
            records(&file);
        }
    }

    /// Brackets within brackets, however many.
    #[test]
    fn nested_deeply() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"b\":", "}]"), ("{a={", "}}"), ("a.", "")] {
            let text = [open.repeat(100_000), "1".to_owned(), close.repeat(100_000)].concat();
            policy(&text);
            policy(&format!("[[limit]]\nname = \"a\"\nquota = \"1/s\"\nkey = {text}\n"));
            for key in ["a", "a.b[1]", "/a/a/a"] {
                let head = [3, 32 | 2];
                records(&[&head[..], key.as_bytes(), b"\n\n\n", text.as_bytes(), b"\n"].concat());
                let of_field = format!("{{\"a\":{text},\"b\":1}}\n");
                records(&[&[3, 2][..], key.as_bytes(), b"\n\n\n", of_field.as_bytes()].concat());
            }
        }
    }

    /// The bodies reach what they are meant for.
    #[test]
    fn some_are_good() {
        drive(b"\x0060s");
        drive(b"\x01[[limit]]\nname = \"a\"\nquota = \"1/s\"\n");
        drive(b"\x02dedup\n--window\n1s");
        drive(b"\x03\x03\x20@\n\n\n{\"a\":[1,2]}\n");
        let read = file::parse(Path::new("p"), "[[limit]]\nname = \"a\"\nquota = \"1/s\"\nkey = [\"ip\"]\n");
        assert_eq!(read.unwrap().len(), 1);
    }
}
