//! Another static library made with Rust, with a standard library of its own.

/// Panics, and catches it: 1 if that worked.
#[unsafe(no_mangle)]
pub extern "C" fn other_catches() -> i32 {
    std::panic::set_hook(Box::new(|_| {}));
    i32::from(std::panic::catch_unwind(|| std::hint::black_box(Vec::<u8>::new())[4711]).is_err())
}
