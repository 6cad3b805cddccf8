//! The file: a head of JSON with a checksum, and behind it the structures' snapshots, which have their own.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `89 57 4c 43 0d 0a 1a 0a` |
//! | 4 | version: 1 |
//! | 4 | length of the head |
//! | n | the head |
//! | 8 | checksum of all before it: XXH3-128, the high half |
//! | | snapshots, one behind the other (docs/snapshot-format.md) |
//!
//! Numbers are little-endian.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

use windlass::Seed;

use super::{Head, damaged, lock::Lock};
use crate::failure::{Failure, reason};

const MAGIC: [u8; 8] = *b"\x89WLC\r\n\x1a\n";
const VERSION: u32 = 1;

/// The rest of a file, behind its head.
pub(crate) type Rest = BufReader<File>;

/// `None`: there is no such file.
pub(super) fn read(path: &Path) -> Result<Option<(Head, Rest)>, Failure> {
    let unreadable =
        |e: io::Error| Failure::bad(format_args!("--state {}: cannot read: {}", path.display(), reason(&e)));
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let (mut rest, mut bytes) = (BufReader::with_capacity(256 << 10, file), Vec::new());
    let mut more = |bytes: &mut Vec<u8>, count: u64| -> Result<(), Failure> {
        let read = (&mut rest).take(count).read_to_end(bytes).map_err(unreadable)?;
        if read as u64 == count { Ok(()) } else { Err(damaged(path, "it ends too early")) }
    };
    let begins = more(&mut bytes, 16);
    if !bytes.starts_with(&MAGIC) {
        return Err(Failure::bad(format_args!(
            "--state {}: is something else, and no state",
            path.display()
        )));
    }
    begins?;
    let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let (version, length) = (number(8), number(12));
    if version != VERSION {
        return Err(Failure::bad(format_args!(
            "--state {}: has version {version}, where {VERSION} is the latest that is known: a later windlass wrote it",
            path.display()
        )));
    }
    more(&mut bytes, length.into())?;
    let sum = checksum(&bytes);
    let end = bytes.len();
    more(&mut bytes, 8)?;
    if bytes[end..] != sum {
        return Err(damaged(path, "its head is not as it was written"));
    }
    let head = serde_json::from_slice(&bytes[16..end]).map_err(|error| damaged(path, error))?;
    Ok(Some((head, rest)))
}

/// There is nothing behind the snapshots.
pub(super) fn at_end(path: &Path, rest: &mut Rest) -> Result<(), Failure> {
    match rest.read(&mut [0]) {
        Ok(0) => Ok(()),
        Ok(_) => Err(damaged(path, "there is more behind its end")),
        Err(error) => Err(damaged(path, reason(&error))),
    }
}

fn checksum(bytes: &[u8]) -> [u8; 8] {
    Seed(0).hash(bytes).hi.to_le_bytes()
}

/// A file that is replaced as a whole. Nobody else has it meanwhile.
pub(super) struct Target {
    _lock: Lock,
    path: PathBuf,
    /// As it was given.
    pub(super) shown: PathBuf,
    beside: PathBuf,
}

impl Target {
    /// Locked from here on. A link stays one: what it points to is replaced.
    pub(super) fn new(path: &Path) -> Result<Target, Failure> {
        let shown = path.to_owned();
        let bad = |what| Failure::bad(format_args!("--state {}: {what}", shown.display()));
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        // (A pipe would not even be opened as long as nobody writes to it.)
        if fs::metadata(&path).is_ok_and(|meta| !meta.is_file()) {
            return Err(bad("is not a plain file"));
        }
        let Some(name) = path.file_name() else { return Err(bad("is no file name")) };
        let beside = |ending| {
            let mut beside = name.to_owned();
            beside.push(ending);
            path.with_file_name(beside)
        };
        let lock = match Lock::take(beside(".lock")) {
            Ok(Some(lock)) => lock,
            Ok(None) => {
                let what = "is in use by another process: give each its own";
                return Err(Failure::Running(format!("--state {}: {what}", shown.display())));
            }
            Err(error) => {
                let what = reason(&error);
                return Err(Failure::Running(format!("--state {}: cannot lock: {what}", shown.display())));
            }
        };
        let beside = beside(".tmp");
        Ok(Target { _lock: lock, path, shown, beside })
    }

    /// Whether it can be written, known before there is anything to lose.
    pub(super) fn check(&self) -> Result<(), Failure> {
        self.create().map_err(|e| self.failed(&e))?;
        fs::remove_file(&self.beside).map_err(|e| self.failed(&e))
    }

    /// To a file beside it first. Whoever is killed meanwhile leaves the last one as it is.
    pub(super) fn replace(
        &self,
        head: &Head,
        structures: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let written = self.write(head, structures);
        if written.is_err() {
            // (It would take room where there is none.)
            let _ = fs::remove_file(&self.beside);
        }
        written.map_err(|e| self.failed(&e))
    }

    fn write(
        &self,
        head: &Head,
        structures: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let text = serde_json::to_vec(head)?;
        let length = u32::try_from(text.len());
        let length = length.map_err(|_| io::Error::other("its head would be longer than 4 GiB"))?;
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&text);
        bytes.extend_from_slice(&checksum(&bytes));
        let mut out = BufWriter::with_capacity(256 << 10, self.create()?);
        out.write_all(&bytes)?;
        structures(&mut out)?;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        fs::rename(&self.beside, &self.path)?;
        sync_folder(&self.path)
    }

    /// For its owner only: it has the seed, and with it the keys.
    fn create(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&self.beside)
    }

    fn failed(&self, error: &io::Error) -> Failure {
        Failure::Running(format!("--state {}: cannot save: {}", self.shown.display(), reason(error)))
    }
}

/// The name is there for good as well.
fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        Ok(())
    }
}
