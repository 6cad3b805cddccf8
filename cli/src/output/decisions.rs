//! `--decisions FILE`: there at the end as a whole, or not at all; with `--state` continued.

use std::{
    fs::{self, File, OpenOptions},
    io::{BufWriter, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    process,
};

use crate::{
    failure::{Failure, reason},
    state::Loaded,
};

/// Writes to a file beside the target, which takes its place when all is written. What is no plain file (a pipe,
/// `/dev/null`) is written to directly, and so is what belongs to a state.
pub(crate) struct Decisions {
    out: BufWriter<File>,
    target: PathBuf,
    /// The file beside it, until it has taken its place.
    beside: Option<PathBuf>,
    /// Bytes that it has.
    length: u64,
}

/// Bytes that go out together.
const BUFFER: usize = 64 << 10;

impl Decisions {
    /// Those of a run: of one that keeps a state they begin where that says.
    pub(crate) fn open(
        path: Option<&Path>,
        kept: bool,
        loaded: Option<&Loaded>,
    ) -> Result<Option<Decisions>, Failure> {
        let length = loaded.map_or(0, Loaded::decisions);
        path.map(|path| if kept { Decisions::go_on(path, length) } else { Decisions::create(path) })
            .transpose()
    }

    fn create(path: &Path) -> Result<Decisions, Failure> {
        let bad = |e| unwritable(path, &e);
        // A link stays one: what it points to is replaced.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let meta = fs::metadata(&target).ok();
        if meta.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(Failure::bad(format_args!(
                "--decisions {}: is a directory, not a file",
                path.display()
            )));
        }
        if meta.is_some_and(|meta| !meta.is_file()) {
            let file = OpenOptions::new().write(true).open(&target).map_err(bad)?;
            return Ok(Decisions { out: BufWriter::new(file), target, beside: None, length: 0 });
        }
        let Some(name) = target.file_name() else {
            return Err(Failure::bad(format_args!("--decisions {}: is no file name", path.display())));
        };
        let mut beside = name.to_owned();
        beside.push(format!(".{}.part", process::id()));
        let beside = target.with_file_name(beside);
        let file = OpenOptions::new().write(true).create_new(true).open(&beside).map_err(bad)?;
        let out = BufWriter::with_capacity(BUFFER, file);
        Ok(Decisions { out, target, beside: Some(beside), length: 0 })
    }

    /// Cut to the length that the state says: what follows belongs to events that are judged again.
    fn go_on(path: &Path, length: u64) -> Result<Decisions, Failure> {
        let bad = |e| unwritable(path, &e);
        let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path).map_err(bad)?;
        let meta = file.metadata().map_err(bad)?;
        if !meta.is_file() {
            return Err(Failure::bad(format_args!(
                "--decisions {}: is not a plain file, which --state could continue",
                path.display()
            )));
        }
        if meta.len() < length {
            return Err(Failure::bad(format_args!(
                "--decisions {}: has {} bytes, and by the state {length}: give the one that belongs to it",
                path.display(),
                meta.len()
            )));
        }
        file.set_len(length).map_err(bad)?;
        file.seek(SeekFrom::Start(length)).map_err(bad)?;
        let out = BufWriter::with_capacity(BUFFER, file);
        Ok(Decisions { out, target: path.to_owned(), beside: None, length })
    }

    /// Writes what was decided.
    pub(crate) fn write(&mut self, decisions: &[u8]) -> Result<(), Failure> {
        self.length += decisions.len() as u64;
        self.out.write_all(decisions).map_err(|e| Failure::writing(self.target.display(), &e))
    }

    /// All is in the file, for good; its length.
    pub(crate) fn sync(&mut self) -> Result<u64, Failure> {
        let synced = self.out.flush().and_then(|()| self.out.get_ref().sync_data());
        synced.map_err(|e| Failure::writing(self.target.display(), &e))?;
        Ok(self.length)
    }

    /// All is written: the file takes its place.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        let failed = |e| Failure::writing(self.target.display(), &e);
        self.out.flush().map_err(failed)?;
        if let Some(beside) = &self.beside {
            fs::rename(beside, &self.target).map_err(failed)?;
        }
        self.beside = None;
        Ok(())
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::bad(format_args!("--decisions {}: cannot write: {}", path.display(), reason(error)))
}

impl Drop for Decisions {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            let _ = fs::remove_file(beside);
        }
    }
}
