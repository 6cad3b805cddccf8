//! `include/windlass.h` is what the sources say. To make it anew: `WINDLASS_WRITE_HEADER=1 cargo test -p windlass-ffi --test header`.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use std::{fs, path::Path};

fn generated() -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(here.join("cbindgen.toml")).expect("cbindgen.toml is valid");
    let builder = cbindgen::Builder::new().with_config(config).with_src(here.join("src/lib.rs"));
    let mut header = Vec::new();
    builder.generate().expect("the sources can be read").write(&mut header);
    String::from_utf8(header).expect("text")
}

#[test]
fn the_header_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../include/windlass.h");
    let generated = generated();
    if std::env::var_os("WINDLASS_WRITE_HEADER").is_some_and(|v| v == "1") {
        fs::write(&path, &generated).expect("include/ can be written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    let differs = committed.lines().zip(generated.lines()).position(|(a, b)| a != b);
    assert!(
        committed == generated,
        "include/windlass.h is not what ffi/src says (line {}). To make it anew:\n\
         WINDLASS_WRITE_HEADER=1 cargo test -p windlass-ffi --test header",
        differs.map_or("count".to_owned(), |line| (line + 1).to_string()),
    );
}
