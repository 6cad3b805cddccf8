//! Files, stdin and gzip as one kind of byte stream.

use std::{
    fmt,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use flate2::read::MultiGzDecoder;

use crate::failure::{Failure, reason};

/// Something to read, not opened yet.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Stdin,
    File(PathBuf),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Stdin => f.write_str("stdin"),
            Source::File(path) => path.display().fmt(f),
        }
    }
}

impl Source {
    /// The sources named on the command line. Each is looked at now, so that a wrong name stops a run before it begins.
    pub(crate) fn all(paths: &[PathBuf]) -> Result<Vec<Source>, Failure> {
        if paths.is_empty() {
            return Ok(vec![Source::Stdin]);
        }
        paths.iter().map(|path| Source::checked(path)).collect()
    }

    fn checked(path: &Path) -> Result<Source, Failure> {
        if path == Path::new("-") {
            return Ok(Source::Stdin);
        }
        let source = Source::File(path.to_owned());
        let meta = fs::metadata(path).map_err(|e| source.unreadable(&e))?;
        if meta.is_dir() {
            return Err(Failure::bad(format_args!("{source}: is a directory, not a file")));
        }
        // Opening tells whether we may. Not a pipe: that would wait for its writer, who would then see it closed.
        if meta.is_file() {
            File::open(path).map_err(|e| source.unreadable(&e))?;
        }
        Ok(source)
    }

    fn unreadable(&self, error: &io::Error) -> Failure {
        Failure::bad(format_args!("{self}: cannot open: {}", reason(error)))
    }

    /// How many bytes there are to read, if it is a plain file.
    pub(crate) fn size(&self) -> Option<u64> {
        let path = match self {
            Source::Stdin => Path::new("/dev/stdin"),
            Source::File(path) => path,
        };
        fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|meta| meta.len())
    }

    /// Opens it. Bytes are added to `count` as they come from the file, so before gzip.
    pub(crate) fn open(&self, count: Arc<AtomicU64>) -> Result<Box<dyn Read + Send>, Failure> {
        match self {
            Source::Stdin => Ok(Box::new(Counted { inner: io::stdin(), count })),
            Source::File(path) => {
                let file = File::open(path).map_err(|e| self.unreadable(&e))?;
                let file = Counted { inner: file, count };
                Ok(match path.extension() {
                    Some(gz) if gz.eq_ignore_ascii_case("gz") => Box::new(Gzip(MultiGzDecoder::new(file))),
                    _ => Box::new(file),
                })
            }
        }
    }

    /// What a failed read means: a broken archive is bad input, anything else happened to us.
    pub(crate) fn failed(&self, error: &io::Error) -> Failure {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<BrokenGzip>()) {
            Some(broken) => Failure::bad(format_args!("{self}: broken gzip: {}", broken.0)),
            None => Failure::Running(format!("{self}: cannot read: {}", reason(error))),
        }
    }
}

struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        // Relaxed: a figure for the progress bar.
        self.count.fetch_add(read as u64, Relaxed);
        Ok(read)
    }
}

/// Gunzips, and marks errors that are the archive's fault.
struct Gzip<R>(MultiGzDecoder<R>);

#[derive(Debug)]
struct BrokenGzip(&'static str);

impl fmt::Display for BrokenGzip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for BrokenGzip {}

impl<R: Read> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::other(BrokenGzip("it ends too early")),
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                io::Error::other(BrokenGzip("no gzip, or damaged"))
            }
            _ => error,
        })
    }
}
