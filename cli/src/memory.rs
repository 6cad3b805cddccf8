//! How much memory there is to take.

use std::fs;

use crate::{args::StateArgs, failure::Failure, output};

/// Checks, before anything is built, that `bytes` for a capacity of `--capacity` are allowed and there.
pub(crate) fn check(bytes: u64, state: &StateArgs) -> Result<(), Failure> {
    let needs = format_args!("--capacity {} needs {}", state.capacity, output::memory(bytes)).to_string();
    if let Some(most) = state.max_memory.filter(|most| bytes > most.0) {
        return Err(Failure::bad(format_args!("{needs}; --max-memory allows {}", output::memory(most.0))));
    }
    match installed() {
        Some(all) if bytes > all => {
            Err(Failure::bad(format_args!("{needs}; this machine has {}", output::memory(all))))
        }
        _ => Ok(()),
    }
}

/// The machine's memory, where it can be asked. The system promises more than it has, and kills whoever takes it at its
/// word; so the promise is not asked for.
fn installed() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let kib: u64 = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?
        .split_whitespace()
        .next()?
        .parse()
        .ok()?;
    kib.checked_mul(1024)
}
