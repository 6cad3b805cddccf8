//! One process at a time for a state: a lock of the system's on a file beside it, which ends with the process, however that ends.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

/// Held until it is dropped.
pub(super) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// `None`: another process has it.
    pub(super) fn take(path: PathBuf) -> io::Result<Option<Lock>> {
        loop {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let file = options.open(&path)?;
            if !system::try_lock(&file)? {
                return Ok(None);
            }
            // Whoever had it may have removed this file since: then the next one to come would lock another.
            if system::is_there(&file, &path)? {
                return Ok(Some(Lock { file, path }));
            }
        }
    }
}

impl Drop for Lock {
    /// Removed while it is locked. (Whoever is killed leaves the file, which says nothing by itself.)
    fn drop(&mut self) {
        if system::is_there(&self.file, &self.path).unwrap_or(false) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(unix)]
mod system {
    use std::os::unix::fs::MetadataExt;

    use rustix::{
        fs::{FlockOperation, flock},
        io::Errno,
    };

    use super::{File, Path, fs, io};

    pub(super) fn try_lock(file: &File) -> io::Result<bool> {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The file of this name is this one.
    pub(super) fn is_there(file: &File, path: &Path) -> io::Result<bool> {
        let this = file.metadata()?;
        match fs::metadata(path) {
            Ok(there) => Ok((there.dev(), there.ino()) == (this.dev(), this.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Elsewhere nothing is locked: `File::try_lock` is younger than the oldest Rust that will do.
#[cfg(not(unix))]
mod system {
    use super::{File, Path, io};

    #[allow(clippy::unnecessary_wraps)]
    pub(super) fn try_lock(_: &File) -> io::Result<bool> {
        Ok(true)
    }

    #[allow(clippy::unnecessary_wraps)]
    pub(super) fn is_there(_: &File, _: &Path) -> io::Result<bool> {
        Ok(true)
    }
}
