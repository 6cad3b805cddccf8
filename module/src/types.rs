//! The data types: what the server does with values as it saves, loads, copies, counts and frees them.
//!
//! A value is a box, made and freed here. Its bytes are the same everywhere (RDB, `DUMP`, append-only file, slots that move, `COPY`): a head of a few numbers
//! with a checksum, then a snapshot of the core's (docs/snapshot-format.md). They are not trusted.

#![allow(unsafe_code)] // called by the server

use crate::{
    boundary::guarded,
    raw::{self, Api},
    reply::Failure,
};
use std::{
    ffi::{CStr, CString, c_int, c_void},
    fmt,
    io::{self, Read, Write},
    ptr::null_mut,
    sync::OnceLock,
};
use windlass::Seed;

/// A structure under a key.
///
/// `Send`: large values are freed by a thread of the server's.
pub(crate) trait Value: Send + Sized + 'static {
    /// Nine characters, which no other module's type may have.
    const NAME: &'static CStr;
    fn registered() -> &'static Registered;

    /// Of a new one: its settings and its random seed, for replicas to make it of. `None`: there is nothing random in it.
    fn seed(&self) -> Option<Vec<u8>> {
        None
    }

    /// A new one of what [`Value::seed`] gave.
    fn of_seed(_: &mut dyn Read) -> Result<Self, String> {
        Err("there is nothing random in it".to_owned())
    }

    fn save(&self, out: &mut dyn Write) -> io::Result<()>;

    /// What [`Value::save`] has written. No more than that is read.
    fn load(input: &mut dyn Read) -> Result<Self, String>;

    /// Bytes.
    fn memory(&self) -> usize;

    /// What is the same on a primary and its replicas, and after a reload: by default all that is saved.
    fn digest(&self) -> Vec<u8> {
        to_bytes(self)
    }
}

/// A value of which only the first parts have come (`WL.LOAD .. PART`): its bytes.
pub(crate) struct Parts(pub(crate) Vec<u8>);

impl Value for Parts {
    const NAME: &'static CStr = c"wlm-parts";

    registered!();

    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.0)
    }

    fn load(input: &mut dyn Read) -> Result<Parts, String> {
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes).map_err(said)?;
        Ok(Parts(bytes))
    }

    fn memory(&self) -> usize {
        size_of::<Parts>() + self.0.capacity()
    }
}

/// The server's word for a type, once it is known there.
pub(crate) struct Registered(OnceLock<Handle>);

struct Handle(*mut raw::Type);

// SAFETY: the server's, and never changed; it is only compared and handed back.
unsafe impl Send for Handle {}
// SAFETY: the same.
unsafe impl Sync for Handle {}

impl Registered {
    pub(crate) const fn new() -> Registered {
        Registered(OnceLock::new())
    }
}

/// [`Value::registered`]: each type has one of its own, which a method of the trait could not.
macro_rules! registered {
    () => {
        fn registered() -> &'static $crate::types::Registered {
            static REGISTERED: $crate::types::Registered = $crate::types::Registered::new();
            &REGISTERED
        }
    };
}
pub(crate) use registered;

/// Bytes of a value: of itself, and of the structure in it.
pub(crate) fn memory_of<T: Value>(structure: u64) -> usize {
    size_of::<T>() + usize::try_from(structure).unwrap_or(usize::MAX)
}

/// Why something is not loaded.
pub(crate) fn said(error: impl fmt::Display) -> String {
    error.to_string()
}

/// What values begin with; a change of the bytes is another number, and earlier ones are read for ever.
const ENCODING: c_int = 0;

/// Bytes that are written at a time.
const CHUNK: usize = 1 << 20;
/// .. and to an append-only file, of which each is a command.
const PART: usize = 8 << 20;

pub(crate) fn handle<T: Value>() -> Option<*mut raw::Type> {
    T::registered().0.get().map(|handle| handle.0)
}

pub(crate) fn is<T: Value>(kind: *mut raw::Type) -> bool {
    handle::<T>() == Some(kind)
}

pub(crate) fn name<T: Value>() -> &'static str {
    T::NAME.to_str().unwrap_or_default()
}

pub(crate) fn to_bytes<T: Value>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A Vec takes everything.
    drop(value.save(&mut bytes));
    bytes
}

/// A value of all of these bytes, as [`Value::load`] and [`Value::of_seed`] read them.
pub(crate) fn from_bytes<T: Value>(
    mut bytes: &[u8],
    read: impl FnOnce(&mut dyn Read) -> Result<T, String>,
) -> Result<T, Failure> {
    let value = read(&mut bytes).map_err(Failure::new)?;
    if !bytes.is_empty() {
        return Err(Failure::new("bytes behind the end of the value"));
    }
    Ok(value)
}

/// Numbers before a snapshot, little endian, and their checksum.
pub(crate) fn write_head<const N: usize>(numbers: [u64; N], out: &mut dyn Write) -> io::Result<()> {
    let head: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    out.write_all(&head)?;
    out.write_all(&Seed(N as u64).hash(&head[..]).lo.to_le_bytes())
}

/// The same as bytes.
pub(crate) fn head<const N: usize>(numbers: [u64; N]) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A Vec takes everything.
    drop(write_head(numbers, &mut bytes));
    bytes
}

pub(crate) fn read_head<const N: usize>(input: &mut dyn Read) -> Result<[u64; N], String> {
    let short = |error: io::Error| format!("the head of the value: {error}");
    let (mut numbers, mut head) = ([0; N], Vec::with_capacity(N * 8));
    for number in &mut numbers {
        let mut word = [0; 8];
        input.read_exact(&mut word).map_err(short)?;
        head.extend_from_slice(&word);
        *number = u64::from_le_bytes(word);
    }
    let mut sum = [0; 8];
    input.read_exact(&mut sum).map_err(short)?;
    if Seed(N as u64).hash(&head[..]).lo.to_le_bytes() != sum {
        return Err("the head of the value is damaged".to_owned());
    }
    Ok(numbers)
}

/// Tells the server of a type. `None`: it does not want it.
///
/// # Safety
/// `ctx` is that of `RedisModule_OnLoad`.
pub(crate) unsafe fn register<T: Value>(api: &'static Api, ctx: *mut raw::Ctx) -> Option<()> {
    let mut methods = raw::TypeMethods {
        version: raw::METHODS_VERSION,
        rdb_load: rdb_load::<T>,
        rdb_save: rdb_save::<T>,
        aof_rewrite: aof_rewrite::<T>,
        mem_usage: mem_usage::<T>,
        digest: digest::<T>,
        free: free::<T>,
        aux_load: None,
        aux_save: None,
        aux_save_triggers: 0,
        free_effort: free_effort::<T>,
        unlink: None,
        copy: copy::<T>,
        defrag: None,
        mem_usage2: None,
        free_effort2: None,
        unlink2: None,
        copy2: None,
    };
    // SAFETY: a context, a string, and functions that the server copies.
    let kind = unsafe { (api.create_data_type)(ctx, T::NAME.as_ptr(), ENCODING, &raw mut methods) };
    if kind.is_null() {
        return None;
    }
    T::registered().0.get_or_init(|| Handle(kind));
    Some(())
}

/// A value of the server's.
///
/// # Safety
/// `value` is one that was made here as a `T`, and lives as long as `'a`.
unsafe fn borrowed<'a, T: Value>(value: *const c_void) -> Option<&'a T> {
    // SAFETY: the caller's promise.
    unsafe { value.cast::<T>().as_ref() }
}

unsafe extern "C" fn rdb_load<T: Value>(io: *mut raw::Io, encoding: c_int) -> *mut c_void {
    guarded(null_mut(), || {
        let Some(api) = raw::api() else { return null_mut() };
        let mut chunks = Chunks { api, io, chunk: null_mut(), len: 0, at: 0, ended: false };
        let loaded = match encoding {
            ENCODING => T::load(&mut chunks).and_then(|value| chunks.finish().map(|()| value)),
            other => Err(format!("encoding {other}: written by a newer version of the module")),
        };
        match loaded {
            Ok(value) => Box::into_raw(Box::new(value)).cast(),
            Err(why) => {
                let why = format!("{} is not loaded: {why}", name::<T>());
                if let Ok(why) = CString::new(why) {
                    // SAFETY: the server's input, strings, and a format with one of them.
                    unsafe { (api.log_io_error)(io, c"warning".as_ptr(), c"%s".as_ptr(), why.as_ptr()) };
                }
                null_mut()
            }
        }
    })
}

/// A value comes in chunks; an empty one is its end.
struct Chunks {
    api: &'static Api,
    io: *mut raw::Io,
    chunk: *mut std::ffi::c_char,
    len: usize,
    at: usize,
    ended: bool,
}

impl Chunks {
    /// The next chunk. `false`: there is none.
    fn next(&mut self) -> io::Result<bool> {
        self.release();
        if self.ended {
            return Ok(false);
        }
        let mut len = 0;
        // SAFETY: the server's input, and room for a length.
        let chunk = unsafe { (self.api.load_string_buffer)(self.io, &raw mut len) };
        // SAFETY: the server's input.
        let failed = unsafe { (self.api.is_io_error)(self.io) } != 0;
        (self.chunk, self.len, self.at) = (chunk, len, 0);
        if failed || chunk.is_null() {
            self.ended = true;
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.ended = len == 0;
        Ok(!self.ended)
    }

    fn release(&mut self) {
        if !self.chunk.is_null() {
            // SAFETY: given by the server, to be freed so.
            unsafe { (self.api.free)(self.chunk.cast()) };
            (self.chunk, self.len, self.at) = (null_mut(), 0, 0);
        }
    }

    /// That nothing comes after what was read.
    fn finish(&mut self) -> Result<(), String> {
        let more = self.at < self.len || self.next().map_err(|error| format!("its end: {error}"))?;
        if more { Err("bytes behind the end of the value".to_owned()) } else { Ok(()) }
    }
}

impl Read for Chunks {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() || (self.at == self.len && !self.next()?) {
            return Ok(0);
        }
        // SAFETY: so many bytes, until they are released.
        let chunk = unsafe { std::slice::from_raw_parts(self.chunk.cast::<u8>(), self.len) };
        let count = (&chunk[self.at..]).read(out)?;
        self.at += count;
        Ok(count)
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        self.release();
    }
}

/// Gathers bytes, and hands them on in large pieces.
struct Pieces<F: FnMut(&[u8])> {
    gathered: Vec<u8>,
    size: usize,
    /// Called with all but the last one.
    full: F,
}

impl<F: FnMut(&[u8])> Write for Pieces<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.gathered.len() >= self.size {
            (self.full)(&self.gathered);
            self.gathered.clear();
        }
        let count = bytes.len().min(self.size - self.gathered.len());
        self.gathered.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Saves a value in pieces, and gives the last one.
fn in_pieces<T: Value>(value: &T, size: usize, full: impl FnMut(&[u8])) -> Vec<u8> {
    let mut pieces = Pieces { gathered: Vec::new(), size, full };
    // (Pieces take everything.)
    drop(value.save(&mut pieces));
    pieces.gathered
}

unsafe extern "C" fn rdb_save<T: Value>(io: *mut raw::Io, value: *mut c_void) {
    guarded((), || {
        // SAFETY: the server's call.
        let (Some(api), Some(value)) = (raw::api(), unsafe { borrowed::<T>(value) }) else { return };
        let put = |bytes: &[u8]| {
            // SAFETY: the server's output, and so many bytes.
            unsafe { (api.save_string_buffer)(io, bytes.as_ptr().cast(), bytes.len()) };
        };
        let last = in_pieces(value, CHUNK, put);
        put(&last);
        put(&[]);
    });
}

unsafe extern "C" fn aof_rewrite<T: Value>(io: *mut raw::Io, key: *mut raw::Text, value: *mut c_void) {
    guarded((), || {
        // SAFETY: the server's call.
        let (Some(api), Some(value)) = (raw::api(), unsafe { borrowed::<T>(value) }) else { return };
        let name = T::NAME.as_ptr();
        let last = in_pieces(value, PART, |part| {
            let (command, format) = (c"WL.LOAD".as_ptr(), c"sccb".as_ptr());
            // SAFETY: the server's output and string, and what the format says.
            unsafe {
                (api.emit_aof)(io, command, format, key, name, c"PART".as_ptr(), part.as_ptr(), part.len());
            }
        });
        let (command, format) = (c"WL.LOAD".as_ptr(), c"scb".as_ptr());
        // SAFETY: as above.
        unsafe { (api.emit_aof)(io, command, format, key, name, last.as_ptr(), last.len()) };
    });
}

unsafe extern "C" fn mem_usage<T: Value>(value: *const c_void) -> usize {
    // SAFETY: the server's call.
    guarded(0, || unsafe { borrowed::<T>(value) }.map_or(0, Value::memory))
}

unsafe extern "C" fn digest<T: Value>(digest: *mut raw::Digest, value: *mut c_void) {
    guarded((), || {
        // SAFETY: the server's call.
        let (Some(api), Some(value)) = (raw::api(), unsafe { borrowed::<T>(value) }) else { return };
        let bytes = value.digest();
        // SAFETY: the server's digest, and so many bytes.
        unsafe { (api.digest_add)(digest, bytes.as_ptr().cast(), bytes.len()) };
        // SAFETY: the server's digest.
        unsafe { (api.digest_end)(digest) };
    });
}

unsafe extern "C" fn free<T: Value>(value: *mut c_void) {
    // SAFETY: a box that was made here, and is the server's no more.
    guarded((), || drop(unsafe { Box::from_raw(value.cast::<T>()) }));
}

/// In pages: more than 64, and a thread of the server's frees it (`UNLINK`, `lazyfree-..`).
unsafe extern "C" fn free_effort<T: Value>(_: *mut raw::Text, value: *const c_void) -> usize {
    // SAFETY: the server's call.
    guarded(1, || unsafe { borrowed::<T>(value) }.map_or(1, |value| value.memory() / 4096 + 1))
}

unsafe extern "C" fn copy<T: Value>(
    _: *mut raw::Text,
    _: *mut raw::Text,
    value: *const c_void,
) -> *mut c_void {
    guarded(null_mut(), || {
        // SAFETY: the server's call.
        let Some(value) = (unsafe { borrowed::<T>(value) }) else { return null_mut() };
        match from_bytes::<T>(&to_bytes(value), T::load) {
            Ok(value) => Box::into_raw(Box::new(value)).cast(),
            Err(_) => null_mut(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_cut() {
        struct Bytes(Vec<u8>, usize);
        impl Value for Bytes {
            const NAME: &'static CStr = c"wlm-bytes";
            registered!();
            fn save(&self, out: &mut dyn Write) -> io::Result<()> {
                self.0.chunks(self.1).try_for_each(|chunk| out.write_all(chunk))
            }
            fn load(_: &mut dyn Read) -> Result<Bytes, String> {
                Err("none".into())
            }
            fn memory(&self) -> usize {
                0
            }
        }
        for len in [0, 1, 9, 10, 11, 20, 35] {
            for cut in [1, 3, 10, 64] {
                let all: Vec<u8> = (0..len).collect();
                let (mut joined, mut sizes) = (Vec::new(), Vec::new());
                let last = in_pieces(&Bytes(all.clone(), cut), 10, |piece| {
                    joined.extend_from_slice(piece);
                    sizes.push(piece.len());
                });
                joined.extend_from_slice(&last);
                assert_eq!(joined, all);
                assert!(sizes.iter().all(|&size| size == 10));
                assert_eq!(last.is_empty(), len == 0, "the last one is not empty");
            }
        }
    }

    /// What was written once is read for ever.
    #[test]
    fn a_head_of_version_0() {
        let mut bytes = Vec::new();
        write_head([600_000], &mut bytes).expect("room");
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "c0270900000000003d6f833a18404abb");
    }

    #[test]
    fn heads() {
        let mut bytes = Vec::new();
        write_head([7, u64::MAX], &mut bytes).expect("room");
        assert_eq!(read_head::<2>(&mut &bytes[..]), Ok([7, u64::MAX]));
        for at in 0..bytes.len() {
            assert!(read_head::<2>(&mut &bytes[..at]).is_err());
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert!(read_head::<2>(&mut &flipped[..]).is_err());
        }
    }
}
