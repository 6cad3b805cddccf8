//! `--decisions FILE`: there at the end as a whole, or not at all.

use std::{
    fs::{self, File, OpenOptions},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    process,
};

use crate::failure::{Failure, reason};

/// Writes to a file beside the target, which takes its place when all is written. What is no plain file (a pipe,
/// `/dev/null`) is written to directly.
pub(crate) struct Decisions {
    out: BufWriter<File>,
    target: PathBuf,
    /// The file beside it, until it has taken its place.
    beside: Option<PathBuf>,
}

impl Decisions {
    pub(crate) fn create(path: &Path) -> Result<Decisions, Failure> {
        let bad =
            |e| Failure::bad(format_args!("--decisions {}: cannot write: {}", path.display(), reason(&e)));
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
            return Ok(Decisions { out: BufWriter::new(file), target, beside: None });
        }
        let Some(name) = target.file_name() else {
            return Err(Failure::bad(format_args!("--decisions {}: is no file name", path.display())));
        };
        let mut beside = name.to_owned();
        beside.push(format!(".{}.part", process::id()));
        let beside = target.with_file_name(beside);
        let file = OpenOptions::new().write(true).create_new(true).open(&beside).map_err(bad)?;
        Ok(Decisions { out: BufWriter::with_capacity(64 << 10, file), target, beside: Some(beside) })
    }

    /// Writes one character per event.
    pub(crate) fn write(&mut self, decisions: &[u8]) -> Result<(), Failure> {
        self.out.write_all(decisions).map_err(|e| Failure::writing(self.target.display(), &e))
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

impl Drop for Decisions {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            let _ = fs::remove_file(beside);
        }
    }
}
