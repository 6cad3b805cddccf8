//! How far files have been read, such that a later run goes on there.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use serde::{Deserialize, Serialize};
use windlass::Seed;

use super::source::{Source, is_gzip};
use crate::failure::Failure;

/// A file is known again by so many of its first bytes, and by where the system keeps it.
const HEAD: u64 = 4096;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    /// Bytes that the hash is of.
    head: u64,
    hash: u64,
    /// Bytes that it had.
    size: u64,
}

impl Identity {
    /// Of a plain file; others can be read only once.
    pub(super) fn of(file: &File) -> io::Result<Option<Identity>> {
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Ok(None);
        }
        let (device, inode) = node(&meta);
        let head = meta.len().min(HEAD);
        Ok(Some(Identity { device, inode, head, hash: hash(file, head)?, size: meta.len() }))
    }

    /// Knows more of its first bytes, if there are more now. `path`: where it was last.
    pub(super) fn learn(&mut self, path: &Path) {
        if self.head < HEAD
            && let Ok(file) = File::open(path)
            && let Ok(true) = self.is_of(&file)
            && let Ok(Some(grown)) = Identity::of(&file)
        {
            *self = grown;
        }
    }

    /// Whether it is this file, grown perhaps; another one may have taken its place, or its node.
    fn is_of(&self, file: &File) -> io::Result<bool> {
        let meta = file.metadata()?;
        Ok(meta.is_file()
            && (self.device, self.inode) == node(&meta)
            && self.head <= meta.len()
            && self.hash == hash(file, self.head)?)
    }
}

/// Where the system keeps it.
pub(super) fn node(meta: &fs::Metadata) -> (u64, u64) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (meta.dev(), meta.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = meta;
        (0, 0)
    }
}

/// Of its first bytes. The file is read from its beginning on afterwards.
fn hash(file: &File, head: u64) -> io::Result<u64> {
    use io::{Read, Seek};
    let (mut file, mut bytes) = (file, Vec::new());
    file.take(head).read_to_end(&mut bytes)?;
    file.rewind()?;
    Ok(Seed(0).hash(&bytes[..]).hi)
}

/// A file, and how far it has been read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(super) path: String,
    pub(super) identity: Identity,
    /// Bytes before the next record, uncompressed.
    pub(super) offset: u64,
    /// Lines before it, if they are counted.
    pub(super) lines: u64,
    /// The last record had no line end.
    pub(super) cut: bool,
}

impl Place {
    /// Of the same file.
    pub(super) fn is_same(&self, other: &Place) -> bool {
        self.identity == other.identity
    }
}

/// Where an input stands, to go on there.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Position {
    pub(super) files: Vec<Place>,
    /// The number of the next event, and the newest time so far.
    pub(super) number: u64,
    pub(super) newest: u64,
    /// One time on two clocks: the run's, which goes on by the other, and the system's, in nanoseconds since 1970.
    pub(super) now: u64,
    pub(super) wall: u64,
    pub(super) skipped: u64,
    pub(super) first_skipped: Option<String>,
}

/// Files that have been followed, and are not read any more: known by that many of them, the last ones.
const FOLLOWED: usize = 100;

/// How far a source has been read. What it was before, if that was another file, is one of the others now.
pub(super) fn put(places: &mut [Option<Place>], others: &mut Vec<Place>, number: usize, place: Place) {
    let node = |place: &Place| (place.identity.device, place.identity.inode);
    let before = places[number].take().filter(|before| node(before) != node(&place));
    places[number] = Some(place);
    others.extend(before);
    others.drain(..others.len().saturating_sub(FOLLOWED));
}

/// By this name the file is found from elsewhere, too.
pub(super) fn name(path: &Path) -> String {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()).to_string_lossy().into_owned()
}

/// For each source where to begin, if not at its beginning. `known`: how far files have been read; `state` is said to say so.
pub(super) fn resume<'a>(
    sources: impl Iterator<Item = &'a Source>,
    known: &[Place],
    state: &Path,
) -> Result<Vec<Option<Place>>, Failure> {
    let mut found = Vec::new();
    for source in sources {
        found.push(match source {
            Source::Stdin => None,
            Source::File(path) => Some((source, path, find(source, path, known)?)),
        });
    }
    let mut names: Vec<String> = found.iter().flatten().map(|(_, path, _)| name(path)).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Failure::bad(format_args!(
            "{}: is given twice; with --state a file is read once",
            twice[0]
        )));
    }
    let taken: Vec<usize> = found.iter().flatten().filter_map(|(.., number)| *number).collect();
    let place = |(source, path, number): (&Source, &std::path::PathBuf, Option<usize>)| {
        let state = state.display();
        if let Some(number) = number {
            if taken.iter().filter(|&&other| other == number).count() > 1 {
                return Err(Failure::bad(format_args!(
                    "{source}: is given twice; with --state a file is read once"
                )));
            }
            let place = known[number].clone();
            let size = source.size().unwrap_or(u64::MAX);
            let least = if is_gzip(path) { 0 } else { place.offset }.max(place.identity.size);
            if size < least {
                return Err(Failure::bad(format_args!(
                    "{source}: has {size} bytes, and --state {state} knows it with {least}: it was cut; give a whole one, or \
                     remove the state to begin anew"
                )));
            }
            return Ok(Some(Place { path: name(path), ..place }));
        }
        // Another file by a name that is known: fine if the earlier one is given by its new name.
        let name = name(path);
        match known.iter().position(|place| place.path == name) {
            Some(number) if !taken.contains(&number) => Err(Failure::bad(format_args!(
                "{source}: is not the file that --state {state} has read up to byte {}: it was replaced; give the earlier one \
                 as well, by its new name, or remove the state to begin anew",
                known[number].offset
            ))),
            _ => Ok(None),
        }
    };
    found.into_iter().map(|file| file.map_or(Ok(None), place)).collect()
}

/// Which of the known files it is.
fn find(source: &Source, path: &Path, known: &[Place]) -> Result<Option<usize>, Failure> {
    // A pipe is not opened before it is read.
    if source.size().is_none() {
        return Ok(None);
    }
    let file = File::open(path).map_err(|e| source.failed(&e))?;
    for (number, place) in known.iter().enumerate() {
        if place.identity.is_of(&file).map_err(|e| source.failed(&e))? {
            return Ok(Some(number));
        }
    }
    Ok(None)
}
