//! Which library is this?

use std::ffi::c_char;

/// The binary interface that this header describes. It changes when programs that were compiled
/// before could go wrong, and not when something is added. A program that loads the library at run
/// time compares it with windlass_abi_version().
pub const WINDLASS_ABI_VERSION: u32 = 1;

/// The version of the header: major.
pub const WINDLASS_VERSION_MAJOR: u32 = 0;
/// The version of the header: minor.
pub const WINDLASS_VERSION_MINOR: u32 = 1;
/// The version of the header: patch.
pub const WINDLASS_VERSION_PATCH: u32 = 0;

/// The version of the header as one number that can be compared: major * 1000000 + minor * 1000 +
/// patch.
pub const WINDLASS_VERSION_NUMBER: u32 = 1000;

/// The library's WINDLASS_ABI_VERSION.
///
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn windlass_abi_version() -> u32 {
    WINDLASS_ABI_VERSION
}

/// The library's WINDLASS_VERSION_NUMBER.
///
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn windlass_version_number() -> u32 {
    WINDLASS_VERSION_NUMBER
}

/// The library's version as a static string, such as "0.1.0".
///
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn windlass_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_the_packages_version() {
        let of_the_header =
            format!("{WINDLASS_VERSION_MAJOR}.{WINDLASS_VERSION_MINOR}.{WINDLASS_VERSION_PATCH}");
        assert_eq!(of_the_header, env!("CARGO_PKG_VERSION"));
        let number =
            WINDLASS_VERSION_MAJOR * 1_000_000 + WINDLASS_VERSION_MINOR * 1000 + WINDLASS_VERSION_PATCH;
        assert_eq!(windlass_version_number(), number);
        assert_eq!(windlass_abi_version(), WINDLASS_ABI_VERSION);
        // SAFETY: a static string.
        let text = unsafe { std::ffi::CStr::from_ptr(windlass_version()) };
        assert_eq!(text.to_str(), Ok(env!("CARGO_PKG_VERSION")));
    }
}
