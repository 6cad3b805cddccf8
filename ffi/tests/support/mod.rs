//! Building the library, and programs against it, as its users do.

#![allow(dead_code)] // each test file uses some of it
#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use std::{
    ffi::OsStr,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Not println!: the test harness would keep that to itself.
pub(crate) fn skipped(why: &str) {
    writeln!(std::io::stderr(), "SKIPPED: {why}").expect("stderr is open");
}

pub(crate) fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| value == "1")
}

/// Whether the library is built with AddressSanitizer (`./check full`): then C programs are as well.
pub(crate) fn sanitized() -> bool {
    std::env::var("RUSTFLAGS").is_ok_and(|flags| flags.contains("sanitizer=address"))
}

/// Runs it to its end, with success.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// Where libwindlass.a and libwindlass.so are. Cargo does not build them for tests, as no Rust program can link them, so it is
/// asked to. `None` where it cannot be C's.
pub(crate) fn library() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT
        .get_or_init(|| {
            if cfg!(not(target_os = "linux")) {
                skipped("C programs are linked as Linux does");
                return None;
            }
            // This test is <target>/<profile>/deps/<name>; with an instrumented library, <target>/<triple>/<profile>/deps/<name>.
            let test = std::env::current_exe().expect("known");
            let profile = test.parent().and_then(Path::parent).expect("a folder for the profile");
            let mut target = profile.parent().expect("a target folder");
            let mut cargo = Command::new(env!("CARGO"));
            let mut triple = None;
            if sanitized() {
                triple = Some(target.file_name().expect("a triple"));
                target = target.parent().expect("a target folder");
            }
            let profile_name = if cfg!(debug_assertions) { "test" } else { "release" };
            cargo.args(["build", "--package", "windlass-ffi", "--profile", profile_name, "--target-dir"]);
            cargo.arg(target);
            if let Some(triple) = triple {
                cargo.arg("--target").arg(triple);
            }
            run(cargo.current_dir(root()));
            Some(profile.to_owned())
        })
        .as_deref()
}

/// A language, by the compiler for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    C,
    Cpp,
}

impl Language {
    /// The compiler: `$CC` or `$CXX`, else what the system has. `None` if there is none.
    pub(crate) fn compiler(self) -> Option<String> {
        let (variable, default) = match self {
            Language::C => ("CC", "cc"),
            Language::Cpp => ("CXX", "c++"),
        };
        let compiler = std::env::var(variable).unwrap_or_else(|_| default.to_owned());
        let found = Command::new(&compiler).arg("--version").output().is_ok_and(|o| o.status.success());
        if !found {
            assert!(!is_set("WINDLASS_REQUIRE_C"), "no {compiler}");
            skipped(&format!("no compiler {compiler}"));
        }
        found.then_some(compiler)
    }
}

/// The compilers for it: the one above, and clang's if it is there.
pub(crate) fn compilers(language: Language) -> Vec<String> {
    let clang = if language == Language::C { "clang" } else { "clang++" };
    let others = Command::new(clang).arg("--version").output().is_ok_and(|output| output.status.success());
    language.compiler().into_iter().chain(others.then(|| clang.to_owned())).collect()
}

/// Both; under valgrind, which is slow, one: the library is the same.
pub(crate) fn languages() -> &'static [Language] {
    if is_set("WINDLASS_VALGRIND") { &[Language::C] } else { &[Language::C, Language::Cpp] }
}

pub(crate) const WARNINGS: [&str; 5] = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"];

/// The options of docs/c.md for the static library.
pub(crate) const STATIC_LIBS: [&str; 3] = ["-lpthread", "-ldl", "-lm"];

/// Compiles and links a source, statically, as C99 or C++11. The program, or `None` where it cannot be.
pub(crate) fn program(source: &Path, language: Language) -> Option<PathBuf> {
    let standard = match language {
        Language::C => "-std=c99",
        Language::Cpp => "-std=c++11",
    };
    program_as(source, language, &language.compiler()?, &[standard])
}

/// The same by this compiler with these options.
pub(crate) fn program_as(
    source: &Path,
    language: Language,
    compiler: &str,
    options: &[&str],
) -> Option<PathBuf> {
    let library = library()?;
    let kind = match language {
        Language::C => "c",
        Language::Cpp => "c++",
    };
    // Tests run at once.
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}-{kind}-{}-{number}", source.file_stem()?.to_str()?, std::process::id());
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut cc = Command::new(compiler);
    if sanitized() {
        cc.args(["-fsanitize=address", "-fno-omit-frame-pointer"]);
    }
    cc.args(["-x", kind, "-g", "-O1"]).args(options).args(WARNINGS).arg("-I").arg(root().join("include"));
    cc.arg(source).args(["-x", "none"]).arg(library.join("libwindlass.a")).args(STATIC_LIBS);
    run(cc.arg("-o").arg(&program));
    Some(program)
}

/// What to put before a program: valgrind with `WINDLASS_VALGRIND=1`. What can still be reached at the end is no leak.
pub(crate) fn checker() -> &'static [&'static str] {
    if is_set("WINDLASS_VALGRIND") {
        &[
            "valgrind",
            "--quiet",
            "--error-exitcode=99",
            "--leak-check=full",
            "--show-leak-kinds=definite,indirect,possible",
            "--errors-for-leak-kinds=definite,indirect,possible",
            concat!("--suppressions=", env!("CARGO_MANIFEST_DIR"), "/tests/c/valgrind.supp"),
        ]
    } else {
        &[]
    }
}

/// A program to be run, with the checker.
pub(crate) fn checked(program: impl AsRef<OsStr>) -> Command {
    let [checker, options @ ..] = checker() else { return Command::new(program) };
    let mut command = Command::new(checker);
    command.args(options).arg(program);
    command
}

/// The first block of this language in a document.
pub(crate) fn block(docs: &str, language: &str) -> String {
    let (_, rest) = docs.split_once(&format!("\n```{language}\n")).expect("a block");
    rest.split_once("\n```").expect("its end").0.to_owned() + "\n"
}

/// Whether there are Go and pkg-config. With `WINDLASS_REQUIRE_GO=1` there must be.
pub(crate) fn go_is_there() -> bool {
    let works = |program: &str, argument: &str| {
        Command::new(program).arg(argument).output().is_ok_and(|output| output.status.success())
    };
    let there = works("go", "version") && works("pkg-config", "--version");
    if !there {
        assert!(!is_set("WINDLASS_REQUIRE_GO"), "no Go, or no pkg-config");
        skipped("no Go, or no pkg-config");
    }
    there
}
