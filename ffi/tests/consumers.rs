//! Programs in C and C++ that use the library: built as C99 and as C++11, with all warnings as errors, and run; under valgrind
//! with `WINDLASS_VALGRIND=1`.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

mod support;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use support::{
    Language, STATIC_LIBS, block, checked, compilers, languages, library, program, program_as, root, run,
};

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name)
}

/// Builds it in both languages, and does this with each. (Under valgrind in one.)
fn both(name: &str, with: impl Fn(&Path)) {
    for &language in languages() {
        if let Some(program) = program(&source(name), language) {
            with(&program);
            fs::remove_file(program).expect("was made");
        }
    }
}

#[test]
fn errors() {
    both("errors.c", |program| drop(run(&mut checked(program))));
}

#[test]
fn threads() {
    both("threads.c", |program| drop(run(&mut checked(program))));
}

#[test]
fn claims() {
    both("claims.c", |program| drop(run(&mut checked(program))));
}

#[test]
fn growth() {
    both("growth.c", |program| drop(run(&mut checked(program))));
}

#[test]
fn identity() {
    both("identity.c", |program| drop(run(&mut checked(program))));
}

#[test]
fn bloom() {
    both("bloom.c", |program| drop(run(&mut checked(program))));
}

#[test]
fn limitset() {
    both("limitset.c", |program| drop(run(&mut checked(program))));
}

#[test]
fn limiter() {
    both("limiter.c", |program| drop(run(&mut checked(program))));
}

#[test]
fn counter() {
    both("counter.c", |program| drop(run(&mut checked(program))));
}

#[test]
fn snapshot() {
    both("snapshot.c", |program| drop(run(&mut checked(program))));
}

#[test]
fn fifo() {
    both("fifo.c", |program| drop(run(&mut checked(program))));
}

#[test]
fn topk() {
    both("topk.c", |program| drop(run(&mut checked(program))));
}

#[test]
fn bounded() {
    both("bounded.c", |program| drop(run(&mut checked(program))));
}

#[test]
fn ring() {
    both("ring.c", |program| drop(run(&mut checked(program))));
}

/// Not under valgrind or AddressSanitizer, which need address space of their own.
#[test]
fn no_memory() {
    if support::sanitized() {
        return;
    }
    both("no_memory.c", |program| drop(run(&mut Command::new(program))));
}

/// What finds no errors in the others would find this one.
#[test]
fn an_over_read_is_caught() {
    both("over_read.c", |program| {
        let output = checked(program).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        if support::sanitized() {
            assert!(!output.status.success() && said.contains("heap-buffer-overflow"), "{output:?}");
        } else if support::is_set("WINDLASS_VALGRIND") {
            assert!(output.status.code() == Some(99) && said.contains("Invalid read"), "{output:?}");
        }
    });
}

#[test]
fn the_filter_reads_files_and_pipes() {
    both("filter.c", |program| {
        let input = Path::new(env!("CARGO_TARGET_TMPDIR")).join("filter-input.txt");
        // An empty line is a line, and the last one has no newline.
        fs::write(&input, "a\nb\na\n\nc\n\na\nb").expect("writable");
        let filter = || {
            let mut filter = checked(program);
            filter.args(["--window", "4", "--capacity", "1000"]);
            filter
        };
        assert_eq!(run(filter().arg(&input)), "a\nb\n\nc\na\nb");
        let file = fs::File::open(&input).expect("was written");
        assert_eq!(run(filter().stdin(file)), "a\nb\n\nc\na\nb");
        assert_eq!(run(filter().stdin(Stdio::null())), "");

        let refused = filter().args(["--capacity", "0"]).output().expect("it runs");
        assert_eq!(refused.status.code(), Some(2));
        let message = String::from_utf8(refused.stderr).expect("text");
        assert!(message.starts_with("filter: settings: capacity: 0 is out of range: 1 to "), "{message}");
    });
}

/// By themselves, twice, and in any standard that has what they need, by each compiler that is there.
#[test]
fn the_headers_compile_in_every_standard() {
    let twice = |name: &str| {
        let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.c"));
        let text = format!("#include <{name}>\n#include <{name}>\ntypedef windlass_hash used;\n");
        fs::write(&source, text).expect("writable");
        source
    };
    let headers = [
        (twice("windlass.h"), Language::C, "c", &["c99", "c11", "c17", "c2x"][..]),
        (twice("windlass.h"), Language::Cpp, "c++", &["c++11", "c++14", "c++17", "c++20"][..]),
        (twice("windlass.hpp"), Language::Cpp, "c++", &["c++17", "c++20"][..]),
        (twice("windlass.hpp"), Language::Cpp, "c++", &["c++17 -fno-exceptions -fno-rtti"][..]),
    ];
    for (source, language, name, standards) in headers {
        for compiler in compilers(language) {
            for standard in standards {
                let standard: Vec<&str> = standard.split(' ').collect();
                let option = format!("-std={}", standard[0]);
                // (What is to become C23 an older compiler does not know.)
                let mut knows = Command::new(&compiler);
                knows.args(["-fsyntax-only", "-x", name, &option, "/dev/null"]);
                if standard[0] == "c2x" && !knows.output().is_ok_and(|output| output.status.success()) {
                    continue;
                }
                let mut cc = Command::new(&compiler);
                cc.args(["-fsyntax-only", "-x", name, &option]).args(&standard[1..]).args(support::WARNINGS);
                run(cc.arg("-I").arg(root().join("include")).arg(&source));
            }
        }
    }
}

/// Through windlass.hpp: in each standard, with and without exceptions. (Under valgrind once.)
#[test]
fn structures_in_cpp() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cpp/structures.cpp");
    let all: [&[&str]; 2] = [&["-std=c++17"], &["-std=c++20", "-fno-exceptions"]];
    let compilers = compilers(Language::Cpp);
    // The one thing with the first compiler, the other with the last.
    let mut builds = vec![(compilers.first(), all[0]), (compilers.last(), all[1])];
    builds.truncate(if support::is_set("WINDLASS_VALGRIND") { 1 } else { 2 });
    for (compiler, options) in builds {
        let Some(compiler) = compiler else { continue };
        let Some(program) = program_as(&source, Language::Cpp, compiler, options) else { continue };
        run(&mut checked(&program));
        fs::remove_file(program).expect("was made");
    }
}

/// Lines that came already, and those of a source that has too many.
#[test]
fn the_example_that_limits_lines() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/c/limit_lines.c");
    let Some(program) = program(&source, Language::C) else { return };
    let input = Path::new(env!("CARGO_TARGET_TMPDIR")).join("limit-lines-input.txt");
    // (As long as the test does not take a day.)
    fs::write(&input, "a 1\na 1\na 2\nb 1\na 3\n\nb 1\nb 2\nb 3\na 3\na 1").expect("writable");
    let file = fs::File::open(&input).expect("was written");
    let output = checked(&program).args(["2/d", "86400"]).stdin(file).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "a 1\na 2\nb 1\n\nb 2\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "5 passed on, 3 repeated, 3 too many\n");
    let wrong = checked(&program).arg("ten").stdin(Stdio::null()).output().expect("it runs");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(wrong.stderr.starts_with(b"limit_lines: "), "{wrong:?}");
    fs::remove_file(program).expect("was made");
}

/// The words of a text by several threads: the counts that one would give.
#[test]
fn the_example_that_counts_words() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/cpp/hot_keys.cpp");
    let Some(compiler) = Language::Cpp.compiler() else { return };
    let Some(program) = program_as(&source, Language::Cpp, &compiler, &["-std=c++17"]) else { return };
    let input = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hot-keys-input.txt");
    let text: String = (0..60_000).map(|i| format!("every {} {}\n", i % 7, i % 11)).collect();
    fs::write(&input, &text).expect("writable");
    let mut counts = std::collections::HashMap::<&str, u64>::new();
    for word in text.split_whitespace() {
        *counts.entry(word).or_default() += 1;
    }
    let mut sorted: Vec<(u64, &str)> = counts.into_iter().map(|(word, count)| (count, word)).collect();
    sorted.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let expected: String = sorted[..5].iter().map(|(count, word)| format!("{count}\t{word}\n")).collect();
    assert_eq!(run(checked(&program).arg(&input).args(["5", "3"])), expected);
    let missing = checked(&program).arg("/nowhere").output().expect("it runs");
    assert_eq!(missing.status.code(), Some(2));
    let wrong = checked(&program).arg(&input).arg("0").output().expect("it runs");
    assert!(wrong.stderr.starts_with(b"hot_keys: k: 0 is out of range"), "{wrong:?}");
    fs::remove_file(program).expect("was made");
}

/// What docs/cpp.md shows works. (By the commands that it shows: installed.rs.)
#[test]
fn the_example_of_the_documentation_for_cpp() {
    let docs = fs::read_to_string(root().join("docs/cpp.md")).expect("committed");
    let shown = Path::new(env!("CARGO_TARGET_TMPDIR")).join("orders.cpp");
    fs::write(&shown, block(&docs, "cpp")).expect("writable");
    let Some(compiler) = Language::Cpp.compiler() else { return };
    let Some(program) = program_as(&shown, Language::Cpp, &compiler, &["-std=c++17"]) else { return };
    assert_eq!(run(&mut checked(program)), block(&docs, "text"));
}

/// The names before a parenthesis in a text.
fn called(text: &str) -> BTreeSet<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices('(')
        .filter_map(|(at, _)| text[..at].rsplit(|c: char| !is_word(c)).next())
        .filter(|name| name.starts_with("windlass_"))
        .collect()
}

/// ffi/abi/symbols.txt is what the shared library exports and the header declares. With `WINDLASS_WRITE_SYMBOLS=1` it is written:
/// what leaves it is what programs miss (docs/abi.md).
#[test]
fn the_shared_library_exports_what_the_header_declares() {
    let Some(library) = library() else { return };
    if support::sanitized() {
        // It has other functions as well.
        return;
    }
    let header = fs::read_to_string(root().join("include/windlass.h")).expect("committed");
    let code: Vec<&str> = header.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let code = code.split_once("extern \"C\" {").expect("the declarations").1;
    let symbols = run(Command::new("nm").args(["-D", "--defined-only"]).arg(library.join("libwindlass.so")));
    let exported: BTreeSet<&str> =
        symbols.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert_eq!(exported, called(code));
    let path = root().join("ffi/abi/symbols.txt");
    let text: String = exported.iter().map(|symbol| format!("{symbol}\n")).collect();
    if support::is_set("WINDLASS_WRITE_SYMBOLS") {
        fs::write(&path, &text).expect("writable");
    }
    let listed = fs::read_to_string(&path).unwrap_or_default();
    let listed: BTreeSet<&str> = listed.lines().collect();
    let gone: Vec<_> = listed.difference(&exported).collect();
    let new: Vec<_> = exported.difference(&listed).collect();
    assert!(
        gone.is_empty() && new.is_empty(),
        "ffi/abi/symbols.txt: gone: {gone:?}, new: {new:?}; WINDLASS_WRITE_SYMBOLS=1 writes it"
    );
}

/// C++ and Go have all that C has, but for what is left out here.
#[test]
fn what_the_library_exports_is_there_in_cpp_and_go() {
    let text = |path: &str| fs::read_to_string(root().join(path)).expect("committed");
    let symbols = text("ffi/abi/symbols.txt");
    let symbols: BTreeSet<&str> = symbols.lines().collect();
    // The code that calls them, without comments and directives.
    let code = |text: &str| -> String {
        let is_code = |line: &&str| !line.trim_start().starts_with("//") && !line.starts_with("#cgo");
        text.lines().filter(is_code).map(|line| format!("{line}\n")).collect()
    };
    let go = fs::read_dir(root().join("ffi/go")).expect("there");
    let go = go.map(|file| file.expect("readable").path());
    let go = go.filter(|file| file.extension().is_some_and(|ext| ext == "go"));
    let go = go.filter(|file| !file.to_str().is_some_and(|name| name.ends_with("_test.go")));
    let go: String = go.map(|file| code(&fs::read_to_string(file).expect("text"))).collect();
    // Which of them, and why.
    let of_loaders = ["windlass_abi_version", "windlass_version_number"]; // they are compiled against the header
    let clocks = ["windlass_now_ns", "windlass_wall_ns"]; // Go has its own
    let left_out = [
        ("windlass.hpp", code(&text("include/windlass.hpp")), of_loaders.to_vec()),
        ("Go", go, [&of_loaders[..], &clocks].concat()),
    ];
    for (language, code, left_out) in left_out {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let words: BTreeSet<&str> = code.split(|c| !is_word(c)).collect();
        let missing: BTreeSet<&str> = symbols.difference(&words).copied().collect();
        assert_eq!(missing, left_out.into_iter().collect(), "{language}");
    }
}

/// What README.md shows, within a function, compiles in both languages.
#[test]
fn the_lines_of_the_readme() {
    let readme = fs::read_to_string(root().join("README.md")).expect("committed");
    let shown = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme.c");
    let before = "#include <stdio.h>\n#include <windlass.h>\n\
        void handle(const uint8_t *, size_t);\n\
        void shown(const uint8_t *, size_t, uint64_t);\n\
        void shown(const uint8_t *id, size_t len, uint64_t now) {\n\
        windlass_dedup *dedup;\nwindlass_error error = WINDLASS_ERROR_INIT;\n";
    fs::write(&shown, format!("{before}{}}}\n", block(&readme, "c"))).expect("writable");
    compiles(&shown);
}

/// The same of its lines in C++.
#[test]
fn the_lines_of_the_readme_in_cpp() {
    let readme = fs::read_to_string(root().join("README.md")).expect("committed");
    let shown = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme.cpp");
    let before = "#include <windlass.hpp>\nvoid handle(std::string_view);\n\
        std::uint64_t shown(const std::vector<std::string> &);\n\
        std::uint64_t shown(const std::vector<std::string> &ids) {\n";
    let text = format!("{before}{}return fresh.value();\n}}\n", block(&readme, "cpp"));
    fs::write(&shown, text).expect("writable");
    let Some(compiler) = Language::Cpp.compiler() else { return };
    let mut cc = Command::new(compiler);
    cc.args(["-fsyntax-only", "-std=c++17"]).args(support::WARNINGS);
    run(cc.arg("-I").arg(root().join("include")).arg(&shown));
}

/// What docs/cpp.md shows of snapshots, within a function.
#[test]
fn the_lines_about_restarts_in_cpp() {
    let docs = fs::read_to_string(root().join("docs/cpp.md")).expect("committed");
    let (_, section) = docs.split_once("\n## Over a restart\n").expect("a section");
    let shown = Path::new(env!("CARGO_TARGET_TMPDIR")).join("restart.cpp");
    let before = "#include <cstdio>\n#include <fstream>\n#include <windlass.hpp>\n\
        void fail(const char *);\nvoid handle(windlass::Verdict);\nvoid shown();\n\
        void shown() {\nusing namespace std::chrono_literals;\n";
    fs::write(&shown, format!("{before}{}}}\n", block(section, "cpp"))).expect("writable");
    let Some(compiler) = Language::Cpp.compiler() else { return };
    let mut cc = Command::new(compiler);
    cc.args(["-fsyntax-only", "-std=c++17"]).args(support::WARNINGS);
    run(cc.arg("-I").arg(root().join("include")).arg(&shown));
}

/// What docs/c.md shows of limiters, within a function, compiles in both languages.
#[test]
fn the_lines_about_limiters() {
    let docs = fs::read_to_string(root().join("docs/c.md")).expect("committed");
    let (_, section) = docs.split_once("\n## Rate limits\n").expect("a section");
    let shown = Path::new(env!("CARGO_TARGET_TMPDIR")).join("limits.c");
    let before = "#include <stdio.h>\n#include <windlass.h>\n\
        void serve(uint64_t, uint64_t);\nvoid refuse(uint64_t);\n\
        void shown(const uint8_t *, size_t, uint64_t);\n\
        void shown(const uint8_t *key, size_t len, uint64_t now) {\n\
        windlass_error error = WINDLASS_ERROR_INIT;\n";
    fs::write(&shown, format!("{before}{}}}\n", block(section, "c"))).expect("writable");
    compiles(&shown);
}

/// What docs/c.md shows of sets of limits, within a function, compiles in both languages.
#[test]
fn the_lines_about_limitsets() {
    let docs = fs::read_to_string(root().join("docs/c.md")).expect("committed");
    let (_, section) = docs.split_once("\n### Several limits at once\n").expect("a section");
    let shown = Path::new(env!("CARGO_TARGET_TMPDIR")).join("limitsets.c");
    let before = "#include <stdio.h>\n#include <windlass.h>\n\
        static const uint64_t second = 1000000000u;\n\
        void refuse(const char *, uint64_t);\nuint64_t work(void);\n\
        void shown(const uint8_t *, size_t, const uint8_t *, size_t, uint64_t);\n\
        void shown(const uint8_t *user, size_t user_len, const uint8_t *tenant, size_t tenant_len, uint64_t now) {\n\
        windlass_error error = WINDLASS_ERROR_INIT;\n";
    fs::write(&shown, format!("{before}{}}}\n", block(section, "c"))).expect("writable");
    compiles(&shown);
}

/// What docs/c.md shows of queues, within a function, compiles in both languages.
#[test]
fn the_lines_about_queues() {
    let docs = fs::read_to_string(root().join("docs/c.md")).expect("committed");
    let (_, section) = docs.split_once("\n## How many are ahead\n").expect("a section");
    let shown = Path::new(env!("CARGO_TARGET_TMPDIR")).join("queues.c");
    let before = "#include <stdio.h>\n#include <windlass.h>\n\
        void serve(uint64_t);\nvoid refuse(uint64_t);\n\
        void shown(const uint8_t *, size_t, const uint8_t *, size_t, uint64_t);\n\
        void shown(const uint8_t *key, size_t len, const uint8_t *value, size_t value_len, uint64_t now) {\n\
        windlass_error error = WINDLASS_ERROR_INIT;\n";
    fs::write(&shown, format!("{before}{}}}\n", block(section, "c"))).expect("writable");
    compiles(&shown);
}

/// What docs/c.md shows of hot keys, the same way.
#[test]
fn the_lines_about_hot_keys() {
    let docs = fs::read_to_string(root().join("docs/c.md")).expect("committed");
    for (name, title) in [
        ("hot", "## Counts and hot keys"),
        ("shards", "### In memory that is given, and over several structures"),
    ] {
        let (_, section) = docs.split_once(&format!("\n{title}\n")).expect("a section");
        let shown = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.c"));
        let before = "#include <stdio.h>\n#include <stdlib.h>\n#include <windlass.h>\n\
            void show(const uint8_t *, uint32_t, uint64_t);\n\
            int receive(uint8_t *, size_t *);\n\
            void shown(const uint8_t *, size_t, uint64_t);\n\
            void shown(const uint8_t *key, size_t len, uint64_t now) {\n\
            windlass_error error = WINDLASS_ERROR_INIT;\n";
        fs::write(&shown, format!("{before}{}}}\n", block(section, "c"))).expect("writable");
        compiles(&shown);
    }
}

/// In both languages.
fn compiles(source: &Path) {
    for (language, name, standard) in [(Language::C, "c", "-std=c99"), (Language::Cpp, "c++", "-std=c++11")] {
        let Some(compiler) = language.compiler() else { continue };
        let mut cc = Command::new(compiler);
        cc.args(["-fsyntax-only", "-x", name, standard]).args(support::WARNINGS);
        run(cc.arg("-I").arg(root().join("include")).arg(source));
    }
}

/// What docs/c.md shows works. (By the commands that it shows: installed.rs.)
#[test]
fn the_example_of_the_documentation() {
    let docs = fs::read_to_string(root().join("docs/c.md")).expect("committed");
    let shown = Path::new(env!("CARGO_TARGET_TMPDIR")).join("orders.c");
    fs::write(&shown, block(&docs, "c")).expect("writable");
    let Some(program) = program(&shown, Language::C) else { return };
    assert_eq!(run(&mut checked(program)), block(&docs, "text"));
    assert!(docs.contains(&STATIC_LIBS.join(" ")), "what to link is not shown");
}
