//! The module as it is built. (The client's tests use it as well.)

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// Where the module is. Cargo does not build it for tests, as no Rust program can link it, so it is asked to.
pub(crate) fn module() -> &'static str {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let path = BUILT.get_or_init(|| {
        // This test is <target>/<profile>/deps/<name>; with an instrumented library, <target>/<triple>/<profile>/deps/<name>.
        let test = std::env::current_exe().expect("known");
        let profile = test.parent().and_then(Path::parent).expect("a folder for the profile");
        let mut target = profile.parent().expect("a target folder");
        let name = if cfg!(debug_assertions) { "test" } else { "release" };
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--package", "windlass-module", "--profile", name]);
        if std::env::var("RUSTFLAGS").is_ok_and(|flags| flags.contains("sanitizer=address")) {
            cargo.arg("--target").arg(target.file_name().expect("a triple"));
            target = target.parent().expect("a target folder");
        }
        cargo.arg("--target-dir").arg(target);
        let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        profile.join("libwindlass_module.so")
    });
    path.to_str().expect("a path that is text")
}

/// Settings, and what loads the module.
pub(crate) fn with_module<'a>(settings: &[&'a str]) -> Vec<&'a str> {
    // Digests are DEBUG's.
    let mut all = vec!["--loadmodule", module(), "--enable-debug-command", "local"];
    all.extend(["--enable-module-command", "local", "--rdbcompression", "no"]);
    all.extend(settings);
    all
}
