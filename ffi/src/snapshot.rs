//! What writing and restoring any structure has in common.

use std::{
    ffi::c_void,
    io::{self, Read, Write},
    time::Duration,
};

use windlass::{RestoreError, Restored};

use crate::{
    boundary::Failure,
    handle::{Handle, make},
    sized::{self, Plain},
    status::{
        WINDLASS_E_ARG, WINDLASS_E_FULL, WINDLASS_E_IO, WINDLASS_E_NULL, WINDLASS_E_SNAPSHOT, WINDLASS_OK,
        explained, windlass_error, windlass_status,
    },
};

/// Takes len bytes of a snapshot, of which there are 64 KiB at a time and somewhat more, in order: all of
/// them, and returns 0; or something else, and the call ends with WINDLASS_E_IO. context is what was
/// given with it. It must return (no longjmp, no exception), may take its time (nobody waits for it
/// but the call), and may use the handle, but not free it.
pub type windlass_write_fn =
    Option<unsafe extern "C" fn(context: *mut c_void, bytes: *const u8, len: usize) -> i32>;

/// Stores up to capacity bytes of a snapshot, the next ones, in bytes, and returns how many: 1 at least,
/// or 0 where there are no more; below 0, and the call ends with WINDLASS_E_IO. It is not asked for bytes
/// behind the snapshot's end. context and what it may do: as windlass_write_fn.
pub type windlass_read_fn =
    Option<unsafe extern "C" fn(context: *mut c_void, bytes: *mut u8, capacity: usize) -> i64>;

/// What a restored structure goes on from. Set struct_size before the call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct windlass_restored {
    /// sizeof(windlass_restored).
    pub struct_size: u32,
    /// 0.
    pub reserved0: u32,
    /// The tick of now: that of the snapshot, and the time that has passed since by the system's clock.
    /// (Where ticks are numbers of events: the snapshot's.) Ticks count from the same origin as before:
    /// whoever has a clock that began anew adds what is missing.
    pub resumed: u64,
    /// The time since the snapshot, in nanoseconds; 0 if the system's clock went back.
    pub elapsed_ns: u64,
    /// Entries that were restored: all that the snapshot has.
    pub entries: u64,
}

// SAFETY: repr(C), integers only, no padding (asserted below), `struct_size` first.
unsafe impl Plain for windlass_restored {
    const FIRST_SIZE: usize = 32;
    const DEFAULT: Self =
        windlass_restored { struct_size: 32, reserved0: 0, resumed: 0, elapsed_ns: 0, entries: 0 };
}

const _: () = assert!(size_of::<windlass_restored>() == 32);

struct Output {
    write: unsafe extern "C" fn(*mut c_void, *const u8, usize) -> i32,
    context: *mut c_void,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: the caller's promise, of the function and its context; the bytes are there until it returns.
        match unsafe { (self.write)(self.context, bytes.as_ptr(), bytes.len()) } {
            0 => Ok(bytes.len()),
            code => Err(io::Error::other(format!("the write function returned {code}"))),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Input {
    read: unsafe extern "C" fn(*mut c_void, *mut u8, usize) -> i64,
    context: *mut c_void,
}

impl Read for Input {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the caller's promise, of the function and its context; there is room for so many until it returns.
        let got = unsafe { (self.read)(self.context, bytes.as_mut_ptr(), bytes.len()) };
        match usize::try_from(got) {
            Ok(got) if got <= bytes.len() => Ok(got),
            _ => Err(io::Error::other(format!("the read function returned {got}"))),
        }
    }
}

/// Writes a snapshot: `snapshot` does, to what it is given, at that wall time.
///
/// # Safety
/// `write` and `context` as the header has it; `error` as `explained` has it.
pub(crate) unsafe fn write<S>(
    wall_ns: u64,
    write: windlass_write_fn,
    context: *mut c_void,
    error: *mut windlass_error,
    snapshot: impl FnOnce(&mut dyn Write, Duration) -> Result<io::Result<S>, windlass_status>,
) -> windlass_status {
    let body = || {
        let write = write.ok_or(WINDLASS_E_NULL)?;
        let mut out = Output { write, context };
        match snapshot(&mut out, Duration::from_nanos(wall_ns))? {
            Ok(_) => Ok(WINDLASS_OK),
            Err(error) => Err(Failure { status: WINDLASS_E_IO, detail: Some(error.to_string()) }),
        }
    };
    // SAFETY: the caller's promise.
    unsafe { explained(error, body) }
}

/// Restores a structure: `restore` does, from what it is given, at that wall time.
///
/// # Safety
/// `read` and `context` as the header has it; `out`, `restored` and `error` are NULL or may be written to, the last two with their sizes set.
pub(crate) unsafe fn restore<H: Handle>(
    wall_ns: u64,
    (read, context): (windlass_read_fn, *mut c_void),
    out: *mut *mut H,
    restored: *mut windlass_restored,
    error: *mut windlass_error,
    restore: impl FnOnce(Source<'_>, Duration) -> Result<Restored<H::Core>, Failure>,
) -> windlass_status {
    let build = || {
        let read = read.ok_or(WINDLASS_E_NULL)?;
        let mut size = 0;
        if !restored.is_null() {
            // SAFETY: the caller's promise. Only the size: the rest need not have a value yet.
            size = unsafe { restored.cast::<u32>().read_unaligned() };
            sized::check::<windlass_restored>(size)?;
        }
        let mut input = Input { read, context };
        let made = restore(&mut input, Duration::from_nanos(wall_ns))?;
        if !restored.is_null() {
            let values = windlass_restored {
                struct_size: size,
                reserved0: 0,
                resumed: made.resumed.0,
                elapsed_ns: u64::try_from(made.elapsed.as_nanos()).unwrap_or(u64::MAX),
                entries: made.entries,
            };
            // SAFETY: the caller's promise; it has that size.
            unsafe { sized::write(restored, &values, size) }?;
        }
        Ok(made.structure)
    };
    // SAFETY: the caller's promise.
    unsafe { make(out, error, build) }
}

/// Where a snapshot is read from.
pub(crate) type Source<'a> = &'a mut dyn Read;

impl From<RestoreError> for Failure {
    fn from(error: RestoreError) -> Failure {
        let status = match &error {
            RestoreError::Io { .. } => WINDLASS_E_IO,
            RestoreError::Setting { .. } | RestoreError::Config(_) => WINDLASS_E_ARG,
            RestoreError::Memory { .. } | RestoreError::Full { .. } => WINDLASS_E_FULL,
            _ => WINDLASS_E_SNAPSHOT,
        };
        Failure { status, detail: Some(error.to_string()) }
    }
}
