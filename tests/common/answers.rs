//! The reference answers to the real logs.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The real logs and their answers. They are not part of the repository. Where they are absent the tests over them say
/// so and pass; with `WINDLASS_REQUIRE_DATA=1` they fail instead.
pub(crate) fn data() -> Option<PathBuf> {
    // Of a package in the repository's root, or below it.
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = ["../shared/data", "../../shared/data"].map(|path| package.join(path));
    let found = found.into_iter().find(|path| path.join("expected.json").is_file());
    if found.is_none() {
        assert!(
            std::env::var_os("WINDLASS_REQUIRE_DATA").is_none_or(|v| v != "1"),
            "../shared/data is absent"
        );
        // Not println!: the test harness would keep that to itself.
        writeln!(std::io::stderr(), "SKIPPED: ../shared/data is absent").expect("stderr is open");
    }
    found
}

/// `expected.json`: by file, view, and order or `properties`.
pub(crate) fn answers(data: &Path) -> Value {
    let text = fs::read_to_string(data.join("expected.json")).expect("readable");
    serde_json::from_str(&text).expect("JSON")
}

pub(crate) fn sha256(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Decisions, 0 and 1, are those of the answer.
pub(crate) fn check(answer: &Value, decisions: &str, what: &[&str]) {
    let ones = decisions.bytes().filter(|&b| b == b'1').count();
    assert_eq!(answer["ones"], ones, "{what:?}: ones");
    assert_eq!(answer["zeros"], decisions.len() - ones, "{what:?}: zeros");
    assert_eq!(answer["head"], decisions[..64], "{what:?}: the first 64");
    assert_eq!(answer["sha256"], sha256(decisions), "{what:?}: all decisions");
}
