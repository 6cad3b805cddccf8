//! Files, stdin and gzip as one kind of byte stream.

use std::{
    fmt,
    fs::{self, File},
    io::{self, Cursor, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use flate2::read::MultiGzDecoder;

use super::{
    follow::{Follower, wait_for},
    place::Identity,
};
use crate::{
    failure::{Failure, reason},
    stop::Stop,
};

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
    pub(super) fn open(&self, count: Arc<AtomicU64>) -> Result<Opened, Failure> {
        let Source::File(path) = self else {
            let bytes: Box<dyn Read + Send> = Box::new(Counted { inner: io::stdin(), count });
            return Ok(Opened { bytes, identity: None });
        };
        let file = File::open(path).map_err(|e| self.unreadable(&e))?;
        let identity = Identity::of(&file).map_err(|e| self.failed(&e))?;
        let file = Counted { inner: file, count };
        let bytes: Box<dyn Read + Send> =
            if is_gzip(path) { Box::new(Gzip(MultiGzDecoder::new(file))) } else { Box::new(file) };
        Ok(Opened { bytes, identity })
    }

    /// The same without its first bytes, uncompressed, of which there are as many.
    pub(super) fn open_at(&self, offset: u64, count: Arc<AtomicU64>) -> Result<Opened, Failure> {
        match self {
            Source::File(path) if !is_gzip(path) => {
                let mut file = File::open(path).map_err(|e| self.unreadable(&e))?;
                let identity = Identity::of(&file).map_err(|e| self.failed(&e))?;
                file.seek(SeekFrom::Start(offset)).map_err(|e| self.failed(&e))?;
                // Relaxed: a figure for the progress bar.
                count.fetch_add(offset, Relaxed);
                Ok(Opened { bytes: Box::new(Counted { inner: file, count }), identity })
            }
            _ => {
                let mut opened = self.open(count)?;
                let skipped = io::copy(&mut (&mut opened.bytes).take(offset), &mut io::sink());
                match skipped.map_err(|e| self.failed(&e))? {
                    skipped if skipped == offset => Ok(opened),
                    skipped => Err(Failure::bad(format_args!(
                        "{self}: ends after {skipped} bytes, and {offset} had been read: it was replaced"
                    ))),
                }
            }
        }
    }

    /// The same of a file that is read on as it grows, once there is one.
    pub(super) fn follow_at(
        &self,
        offset: u64,
        count: Arc<AtomicU64>,
        stop: &Stop,
    ) -> Result<Opened, Failure> {
        let Source::File(path) = self else { return self.open(count) };
        let file = wait_for(stop, || File::open(path)).map_err(|e| self.unreadable(&e))?;
        let Some(file) = file else {
            return Ok(Opened { bytes: Box::new(io::empty()), identity: None });
        };
        let identity = Identity::of(&file).map_err(|e| self.failed(&e))?;
        let file = Follower::new(path, file, offset, stop.clone()).map_err(|e| self.failed(&e))?;
        // Relaxed: a figure for the progress bar.
        count.fetch_add(offset, Relaxed);
        Ok(Opened { bytes: Box::new(Counted { inner: file, count }), identity })
    }

    /// Whether it can be followed: a plain file, whose bytes are its text.
    pub(super) fn may_grow(&self) -> bool {
        match self {
            Source::Stdin => false,
            Source::File(path) => self.size().is_some() && !is_gzip(path),
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

pub(super) fn is_gzip(path: &Path) -> bool {
    path.extension().is_some_and(|gz| gz.eq_ignore_ascii_case("gz"))
}

/// A source that is open.
pub(super) struct Opened {
    pub(super) bytes: Box<dyn Read + Send>,
    /// Of a plain file.
    pub(super) identity: Option<Identity>,
}

impl Opened {
    /// Behind a record without a line end: takes that if it has come since. How many bytes that is; `None` if the record has gone on.
    pub(super) fn finish_line(&mut self, strict: bool) -> io::Result<Option<u64>> {
        let mut head = Vec::new();
        (&mut self.bytes).take(2).read_to_end(&mut head)?;
        let (taken, fits) = match &head[..] {
            [b'\n', ..] => (1, true),
            [] => (0, true),
            // In most formats it belongs to the line end.
            [b'\r', b'\n'] => (2, !strict),
            _ => (0, false),
        };
        let rest = Cursor::new(head.split_off(taken.min(head.len())));
        let bytes = std::mem::replace(&mut self.bytes, Box::new(io::empty()));
        self.bytes = Box::new(rest.chain(bytes));
        Ok(fits.then_some(taken as u64))
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
