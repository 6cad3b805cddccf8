//! `--follow`: a file that grows, gives its name to another one, or is cut.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use super::place::node;
use crate::stop::Stop;

/// How often it is looked at.
const EVERY: Duration = Duration::from_millis(50);

/// A file's bytes, and those that come. It ends when the file has been cut, or another one has its name and nothing more comes.
pub(super) struct Follower {
    path: PathBuf,
    file: File,
    /// Where the system keeps it.
    node: (u64, u64),
    /// Bytes that have been read.
    at: u64,
    /// Another one has its name: once nothing has come since, nothing will.
    replaced: bool,
    stop: Stop,
}

impl Follower {
    /// From so many bytes on.
    pub(super) fn new(path: &Path, mut file: File, at: u64, stop: Stop) -> io::Result<Follower> {
        let node = node(&file.metadata()?);
        file.seek(SeekFrom::Start(at))?;
        Ok(Follower { path: path.to_owned(), file, node, at, replaced: false, stop })
    }

    /// Whether nothing more will come of it.
    fn is_over(&mut self) -> io::Result<bool> {
        match fs::metadata(&self.path) {
            Ok(meta) if node(&meta) != self.node => {
                // Whoever writes may not know yet: one more look.
                return Ok(std::mem::replace(&mut self.replaced, true));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(_) | Err(_) => {}
        }
        Ok(self.file.metadata()?.len() < self.at)
    }
}

impl Read for Follower {
    /// Waits for some.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.stop.is_asked() {
                return Err(io::Error::other("stopped"));
            }
            let read = self.file.read(buffer)?;
            self.at += read as u64;
            if read > 0 {
                self.replaced = false;
                return Ok(read);
            }
            if self.is_over()? {
                return Ok(0);
            }
            thread::sleep(EVERY);
        }
    }
}

/// Opens what has the name, as soon as something has; `None` if nobody waits for it any more.
pub(super) fn wait_for<T>(stop: &Stop, mut open: impl FnMut() -> io::Result<T>) -> io::Result<Option<T>> {
    while !stop.is_asked() {
        match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => thread::sleep(EVERY),
            opened => return opened.map(Some),
        }
    }
    Ok(None)
}
