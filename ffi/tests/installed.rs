//! What `./install` installs, as its users find it: moved to another place, with projects that stand by themselves.
//!
//! With `WINDLASS_INSTALL=1`, as it takes a build in release, cmake and pkg-config.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

mod support;

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use support::{block, is_set, root, run, skipped};

fn temporary(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// An empty folder.
fn folder(name: &str) -> PathBuf {
    let folder = temporary(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("ours");
    }
    fs::create_dir_all(&folder).expect("writable");
    folder
}

/// Where it lies: installed for another prefix, and moved twice (out of `DESTDIR`, and then as a whole).
fn prefix() -> Option<&'static Path> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    INSTALLED
        .get_or_init(|| {
            if !is_set("WINDLASS_INSTALL") {
                skipped("./install, without WINDLASS_INSTALL=1");
                return None;
            }
            for tool in
                ["cmake", "pkg-config", "make", "readelf", "nm", "cc", "c++", "go", "abidw", "abidiff"]
            {
                let ask = if tool == "go" { "version" } else { "--version" };
                let found = Command::new(tool).arg(ask).output().is_ok_and(|o| o.status.success());
                assert!(found, "{tool} is needed to try what is installed");
            }
            let staged = folder("install-staged");
            let printed = run(Command::new(root().join("install"))
                .args(["--prefix", "/opt/windlass"])
                .env("DESTDIR", &staged)
                .current_dir(std::env::temp_dir()));
            let last = format!("windlass {} is in {}", env!("CARGO_PKG_VERSION"), staged.display());
            assert!(printed.contains(&last), "{printed}");
            let moved = folder("install moved").join("to here"); // spaces are no obstacle, but to make
            fs::rename(staged.join("opt/windlass"), &moved).expect("one file system");
            fs::remove_dir_all(staged).expect("ours");
            // For make and pkg-config, which separate by spaces.
            let plain = folder("install-moved");
            run(Command::new("cp").arg("-a").arg(&moved).arg(plain.join("w")));
            Some(plain.join("w"))
        })
        .as_deref()
}

/// The same installation where there are spaces in the path.
fn with_spaces() -> PathBuf {
    temporary("install moved").join("to here")
}

/// Finds windlass there, and nowhere else.
fn at(prefix: &Path, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env("PKG_CONFIG_LIBDIR", prefix.join("lib/pkgconfig")).env_remove("PKG_CONFIG_PATH");
    command.env("LD_LIBRARY_PATH", prefix.join("lib"));
    command
}

/// A copy of the projects, to stand by themselves.
fn consumers(name: &str) -> PathBuf {
    let copy = folder(name).join("consumer");
    let projects = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/consumer");
    run(Command::new("cp").arg("-a").arg(projects).arg(&copy));
    copy
}

const PRINTED: &str = concat!("1 of 2 are fresh, by windlass ", env!("CARGO_PKG_VERSION"), "\n");

/// Below `folder`, relative to it.
fn files(folder: &Path) -> BTreeSet<String> {
    let found = run(Command::new("find").args([".", "!", "-type", "d"]).current_dir(folder));
    found.lines().map(|line| line[2..].to_owned()).collect()
}

#[test]
fn all_is_there_and_nothing_names_the_prefix() {
    let Some(prefix) = prefix() else { return };
    let version = env!("CARGO_PKG_VERSION");
    let expected = [
        "include/windlass.h",
        "include/windlass.hpp",
        "lib/libwindlass.a",
        "lib/libwindlass.so",
        "lib/libwindlass.so.0.1",
        &format!("lib/libwindlass.so.{version}"),
        "lib/pkgconfig/windlass.pc",
        "lib/pkgconfig/windlass-static.pc",
        "lib/cmake/windlass/windlass-config.cmake",
        "lib/cmake/windlass/windlass-config-version.cmake",
    ];
    assert_eq!(files(prefix), expected.iter().map(|file| (*file).to_owned()).collect());
    for link in ["lib/libwindlass.so", "lib/libwindlass.so.0.1"] {
        let target = fs::read_link(prefix.join(link)).expect("a link");
        assert_eq!(target.components().count(), 1, "{link} leads to {}", target.display());
        assert!(prefix.join(link).exists(), "{link} leads nowhere");
    }
    for text in expected.iter().filter(|file| file.ends_with(".pc") || file.ends_with(".cmake")) {
        let text = fs::read_to_string(prefix.join(text)).expect("installed");
        assert!(!text.contains("/opt") && !text.contains('@'), "{text}");
    }
    let dynamic = run(Command::new("readelf").arg("-d").arg(prefix.join("lib/libwindlass.so")));
    assert!(dynamic.contains("[libwindlass.so.0.1]"), "{dynamic}");
    assert!(dynamic.contains("NODELETE"), "{dynamic}");
}

/// Of both libraries, what ffi/abi/symbols.txt says can be seen, and nothing else.
#[test]
fn both_libraries_show_the_listed_symbols() {
    let Some(prefix) = prefix() else { return };
    let listed = fs::read_to_string(root().join("ffi/abi/symbols.txt")).expect("committed");
    let listed: BTreeSet<&str> = listed.lines().collect();
    let symbols = |options: &[&str], file: &str| {
        run(Command::new("nm").args(options).arg("--defined-only").arg(prefix.join(file)))
    };
    let seen = |text: &str| -> BTreeSet<String> {
        text.lines().filter_map(|line| line.split_whitespace().nth(2)).map(str::to_owned).collect()
    };
    let shared = seen(&symbols(&["-D"], "lib/libwindlass.so"));
    assert_eq!(shared.iter().map(String::as_str).collect::<BTreeSet<_>>(), listed);
    let archive = seen(&symbols(&["-g"], "lib/libwindlass.a"));
    assert_eq!(archive.iter().map(String::as_str).collect::<BTreeSet<_>>(), listed);
}

#[test]
fn a_project_with_pkg_config_and_make() {
    let Some(prefix) = prefix() else { return };
    for module in ["windlass", "windlass-static"] {
        let built = consumers(&format!("consumer-{module}")).join("pkgconfig");
        run(at(prefix, "make").arg(format!("MODULE={module}")).current_dir(&built));
        for program in ["orders_c", "orders_cpp"] {
            let mut program = at(prefix, built.join(program));
            if module == "windlass-static" {
                program.env_remove("LD_LIBRARY_PATH");
            }
            assert_eq!(run(&mut program), PRINTED, "{module}");
        }
        let needed = run(Command::new("readelf").arg("-d").arg(built.join("orders_c")));
        assert_eq!(needed.contains("libwindlass.so.0.1"), module == "windlass", "{needed}");
    }
}

#[test]
fn a_project_with_cmake() {
    let Some(_) = prefix() else { return };
    let source = consumers("consumer-cmake").join("cmake");
    let built = source.join("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(&source).arg("-B").arg(&built);
    run(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", with_spaces().display())));
    run(Command::new("cmake").arg("--build").arg(&built));
    let printed = run(Command::new("ctest").arg("--test-dir").arg(&built).arg("--output-on-failure"));
    assert!(printed.contains("100% tests passed, 0 tests failed out of 4"), "{printed}");
}

/// A version that does not go with this one is not found.
#[test]
fn cmake_is_refused_another_version() {
    let Some(_) = prefix() else { return };
    for (asked, goes) in
        [("0.1", true), (env!("CARGO_PKG_VERSION"), true), ("0.2", false), ("0.1.999", false), ("1", false)]
    {
        let source = folder(&format!("consumer-version-{asked}"));
        let text = format!(
            "cmake_minimum_required(VERSION 3.13)\nproject(v LANGUAGES C)\nfind_package(windlass {asked} REQUIRED)\n"
        );
        fs::write(source.join("CMakeLists.txt"), text).expect("writable");
        let mut cmake = Command::new("cmake");
        cmake.arg("-S").arg(&source).arg("-B").arg(source.join("b"));
        cmake.arg(format!("-DCMAKE_PREFIX_PATH={}", with_spaces().display()));
        let output = cmake.output().expect("it runs");
        assert_eq!(output.status.success(), goes, "{asked}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The static library beside another one that was made with Rust, optimized as a whole, in either order; and without shared
/// libraries at all.
#[test]
fn beside_another_static_library_made_with_rust() {
    let Some(prefix) = prefix() else { return };
    let built = consumers("consumer-two-rusts").join("two_rusts");
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let mut other = Command::new(rustc);
    other.args(["--edition=2024", "--crate-type=staticlib", "-O", "-Clto=fat", "-o", "libother.a"]);
    run(other.arg("other.rs").current_dir(&built));
    let (ours, other) = (prefix.join("lib/libwindlass.a"), built.join("libother.a"));
    for (name, first, second) in [("ours", &ours, &other), ("other", &other, &ours)] {
        for options in [&[][..], &["-static"]] {
            let mut cc = Command::new("cc");
            cc.args(options).arg("-I").arg(prefix.join("include")).arg("main.c").current_dir(&built);
            cc.args([first, second]).args(support::STATIC_LIBS);
            run(cc.arg("-o").arg(built.join(name)));
            assert_eq!(run(&mut Command::new(built.join(name))), "both\n", "{name} first, {options:?}");
        }
    }
}

/// What a library exports, functions with their parameters and structs with their fields: as libabigail reads it from the debug info, and
/// without the places of the machine that it was made on.
fn described(library: &Path) -> String {
    let mut read = Command::new("abidw");
    read.args(["--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--type-id-style", "hash"]);
    let all = run(read.arg(library));
    let (mut text, mut lines) = (String::new(), all.lines().peekable());
    while let Some(line) = lines.next() {
        let Some((unit, path)) = line.split_once(" path='") else {
            text.extend([line, "\n"]);
            continue;
        };
        if lines.next_if(|next| next.trim() == "</abi-instr>").is_none() {
            // The one that has something in it is ours.
            let (_, rest) = path.split_once('\'').expect("its end");
            text.extend([unit, " path='ffi/src/lib.rs'", rest, "\n"]);
        }
    }
    text
}

/// ffi/abi/windlass.x86_64.abi is what the shared library has. With `WINDLASS_WRITE_ABI=1` it is written: docs/abi.md says which changes
/// need which release.
#[test]
fn the_binary_interface_is_the_one_that_is_committed() {
    if prefix().is_none() || cfg!(not(target_arch = "x86_64")) {
        return;
    }
    // What ./install has built, which still has debug info.
    let now = described(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("../release/libwindlass.so"));
    let baseline = root().join("ffi/abi/windlass.x86_64.abi");
    if is_set("WINDLASS_WRITE_ABI") {
        fs::write(&baseline, &now).expect("writable");
    }
    let found = folder("abi").join("found.abi");
    let compared = |now: &str| {
        fs::write(&found, now).expect("writable");
        Command::new("abidiff").arg(&baseline).arg(&found).output().expect("it runs")
    };
    let same = compared(&now);
    assert!(
        same.status.success(),
        "{}\nWhat was added: WINDLASS_WRITE_ABI=1 writes it. What has changed or gone: docs/abi.md.",
        String::from_utf8_lossy(&same.stdout)
    );
    // It would be seen: a struct of another size, a parameter that is missing.
    let at = |anchor: &str| now.find(anchor).expect("is described");
    let (before, class) = now.split_at(at("<class-decl name='windlass_dedup_config'"));
    let larger = class.replacen("size-in-bits='", "size-in-bits='1", 1);
    assert!(!compared(&format!("{before}{larger}")).status.success());
    let (before, function) = now.split_at(at("<function-decl name='windlass_topk_top'"));
    let (function, rest) = function.split_once("</function-decl>").expect("its end");
    let fewer: Vec<&str> = function.lines().filter(|line| !line.contains(" name='now'")).collect();
    let other = format!("{before}{}</function-decl>{rest}", fewer.join("\n"));
    assert!(other.len() < now.len() && !compared(&other).status.success());
}

/// A project in Rust on the crate as it is packaged, and nothing else of this repository.
#[test]
fn a_crate_in_rust() {
    if !is_set("WINDLASS_INSTALL") {
        return;
    }
    let folder = consumers("consumer-rust").join("rust");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("consumer-rust-target");
    let cargo = || {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.env("CARGO_TARGET_DIR", &target);
        cargo
    };
    // (The step that packages also builds what it has packaged.)
    run(cargo()
        .args(["package", "--quiet", "--allow-dirty", "--no-verify", "--package", "windlass"])
        .current_dir(root()));
    let packaged = format!("windlass-{}", env!("CARGO_PKG_VERSION"));
    let archive = target.join("package").join(format!("{packaged}.crate"));
    run(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(&folder));
    // At the versions that this repository is tested with.
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).expect("there");
    fs::rename(folder.join(&packaged), folder.join("windlass")).expect("was unpacked");
    let printed = run(cargo().args(["run", "--quiet"]).current_dir(&folder));
    assert_eq!(printed, PRINTED.replace(&format!(" {}", env!("CARGO_PKG_VERSION")), ""));
}

/// Go, with what is installed, and what is there alone.
fn go(prefix: &Path) -> Command {
    let mut go = at(prefix, "go");
    go.env("GOTOOLCHAIN", "local").env("GOPROXY", "off").env("GOFLAGS", "").env("PKG_CONFIG", "pkg-config");
    go
}

/// The module's tests: with memory collected at every turn and pointers checked, with the race detector, and each benchmark once.
#[test]
fn the_go_module() {
    let Some(prefix) = prefix() else { return };
    let module = root().join("ffi/go");
    assert_eq!(run(Command::new("gofmt").arg("-l").arg(".").current_dir(&module)), "", "not as gofmt has it");
    run(go(prefix).args(["vet", "./..."]).current_dir(&module));
    let ways: [(&str, &[&str]); 3] = [
        ("1", &["-bench", ".", "-benchtime", "1x"]),
        ("1", &["-tags", "windlass_shared"]),
        ("100", &["-race"]),
    ];
    for (collect, options) in ways {
        let mut test = go(prefix);
        test.env("GOGC", collect).env("GODEBUG", "cgocheck=1,invalidptr=1");
        test.args(["test", "-count=1"]).args(options).arg("./...").current_dir(&module);
        let printed = run(&mut test);
        assert_eq!(printed.lines().filter(|line| line.starts_with("ok")).count(), 2, "{printed}");
    }
}

/// A module of a user's, which then takes windlass into its own tree.
#[test]
fn a_module_in_go() {
    let Some(prefix) = prefix() else { return };
    let folder = consumers("consumer-go").join("go");
    let replaced = format!("windlass={}", root().join("ffi/go").canonicalize().expect("there").display());
    run(go(prefix).args(["mod", "edit", "-replace", &replaced]).current_dir(&folder));
    for (name, options) in [
        ("static", &[][..]),
        ("shared", &["-tags", "windlass_shared"]),
        ("whole", &["-ldflags", "-linkmode external -extldflags -static"]),
        ("vendored", &["-mod=vendor"]),
    ] {
        if name == "vendored" {
            // Before Go 1.21.4 it needs a copy without the file for newer ones, as docs/go.md says.
            let copy = folder.join("../module");
            run(Command::new("cp").arg("-a").arg(root().join("ffi/go")).arg(&copy));
            fs::remove_file(copy.join("cgo_go124.go")).expect("is there");
            run(go(prefix).args(["mod", "edit", "-replace", "windlass=../module"]).current_dir(&folder));
            run(go(prefix).args(["mod", "vendor"]).current_dir(&folder));
        }
        run(go(prefix).args(["build", "-o", name]).args(options).current_dir(&folder));
        let mut program = at(prefix, folder.join(name));
        if name != "shared" {
            program.env_remove("LD_LIBRARY_PATH");
        }
        assert_eq!(run(&mut program), PRINTED, "{name}");
    }
}

/// What README.md shows in Go compiles, within a function.
#[test]
fn the_lines_of_the_readme_in_go() {
    let readme = fs::read_to_string(root().join("README.md")).expect("committed");
    let before = "package main\n\nimport (\n\t\"time\"\n\n\t\"windlass\"\n)\n\nfunc handle(string) {}\n\nfunc main() {\n";
    compiles_in_go("readme-go", &format!("{before}{}}}\n", block(&readme, "go")));
}

/// What docs/go.md shows of snapshots, the same way.
#[test]
fn the_lines_about_restarts_in_go() {
    let docs = fs::read_to_string(root().join("docs/go.md")).expect("committed");
    let (_, section) = docs.split_once("\n## Over a restart\n").expect("a section");
    let before = "package main\n\nimport (\n\t\"bufio\"\n\t\"errors\"\n\t\"io/fs\"\n\t\"os\"\n\t\"time\"\n\n\t\"windlass\"\n)\n\n\
        func handle(windlass.Verdict, error) {}\n\nfunc main() { handle(0, shown()) }\n\nfunc shown() error {\n";
    compiles_in_go("restart-go", &format!("{before}{}}}\n", block(section, "go")));
}

/// A program, against what is installed.
fn compiles_in_go(name: &str, program: &str) {
    let Some(prefix) = prefix() else { return };
    let folder = consumers(name).join("go");
    let replaced = format!("windlass={}", root().join("ffi/go").canonicalize().expect("there").display());
    run(go(prefix).args(["mod", "edit", "-replace", &replaced]).current_dir(&folder));
    fs::write(folder.join("main.go"), program).expect("writable");
    run(go(prefix).args(["build", "-o", "shown"]).current_dir(&folder));
}

#[test]
fn install_says_how_it_is_used() {
    let install = || Command::new(root().join("install"));
    let help = run(install().arg("--help"));
    assert!(help.starts_with("usage: ") && help.contains("DESTDIR") && help.contains("--prefix"), "{help}");
    let wrong = install().arg("--perfix").output().expect("it runs");
    assert_eq!(wrong.status.code(), Some(2));
    let without = install().arg("--prefix").output().expect("it runs");
    assert_eq!(without.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&without.stderr), "install: --prefix takes a folder\n");
}

/// What docs/c.md, docs/cpp.md and docs/go.md show works: the program, by the commands that are shown.
#[test]
fn the_commands_of_the_documentation() {
    let Some(prefix) = prefix() else { return };
    // How often the program is run: with the static and with the shared library.
    let all = [("c", "c", "orders.c", 2), ("cpp", "cpp", "orders.cpp", 1), ("go", "go", "orders.go", 1)];
    for (name, language, source, times) in all {
        let docs = fs::read_to_string(root().join(format!("docs/{name}.md"))).expect("committed");
        let built = folder(&format!("docs-{name}"));
        fs::write(built.join(source), block(&docs, language)).expect("writable");
        let shown = block(&docs, "sh");
        let lines: Vec<&str> = shown.lines().filter(|line| !line.starts_with('#')).collect();
        let ["windlass/install --prefix ~/windlass-c", first, rest @ ..] = &lines[..] else {
            panic!("{shown}")
        };
        assert_eq!(rest.len(), times, "{shown}");
        for command in rest {
            // Installed is what the first line stands for.
            let command = format!("{first} && {command}");
            let command = command
                .replace("~/windlass-c", prefix.to_str().expect("text"))
                .replace("./windlass/ffi/go", root().join("ffi/go").to_str().expect("text"));
            let printed = run(Command::new("sh").args(["-ec", &command]).current_dir(&built));
            assert_eq!(printed, block(&docs, "text"), "{command}");
        }
    }
}
