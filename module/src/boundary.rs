//! No panic goes into the server: it would end it.
//!
//! Every function that the server calls has its body in [`guarded`]. What is told to a client is put together before the first word of it is sent
//! (`reply.rs`), so a panic leaves no half of an answer.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `body` gives, or `otherwise` if it panics. (The standard library writes the panic to stderr, which the server has.)
#[inline(always)]
pub(crate) fn guarded<R>(otherwise: R, body: impl FnOnce() -> R) -> R {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => result,
        Err(mut thrown) => {
            // What is thrown may panic again when it is dropped, and so may what is thrown then: not for ever.
            for _ in 0..8 {
                match catch_unwind(AssertUnwindSafe(|| drop(thrown))) {
                    Ok(()) => return otherwise,
                    Err(again) => thrown = again,
                }
            }
            std::mem::forget(thrown);
            otherwise
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_end_here() {
        struct Worse;
        impl Drop for Worse {
            fn drop(&mut self) {
                panic!("again");
            }
        }
        assert_eq!(guarded(1, || 2), 2);
        assert_eq!(guarded(1, || panic!("a panic")), 1);
        assert_eq!(guarded(1, || std::panic::panic_any(Worse)), 1);
    }

    /// With `panic = "abort"` nothing could be caught.
    #[test]
    fn panics_unwind() {
        const { assert!(cfg!(panic = "unwind")) };
        let workspace = include_str!("../../Cargo.toml");
        assert!(!workspace.contains("panic = \"abort\""));
    }
}
