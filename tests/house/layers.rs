//! The house: which module may use which, and who may name atomics or say `unsafe`.
//!
//! Reads the sources. A path that leads up, or sideways to another module of the same layer, is a fault; so is a module
//! that has no place here yet: give it one.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use std::{fs, path::Path};

/// The layers, lowest first. `lib.rs` is above them all.
const LAYERS: [&[&str]; 5] = [
    &["sync"],
    &["mem", "hash", "time", "error", "math"],
    &["table", "pane", "codec", "maintain", "origin", "settings", "verdict"],
    &["dedup", "bloom", "limit", "count", "topk", "fifo", "hashring"],
    &["metrics"],
];

/// The edges within a layer that are allowed.
const SIDEWAYS: [(&str, &str); 3] = [("topk", "count"), ("table", "codec"), ("pane", "codec")];

/// Where `unsafe` may stand: a module, and the function if it is that one alone.
const UNSAFE: [(&str, Option<&str>); 4] =
    [("sync", None), ("mem", None), ("table", None), ("time", Some("coarse_nanos"))];

/// Crates whose primitives go through `crate::sync`, like `std::sync::atomic`.
const PRIMITIVES: [&str; 5] = ["portable_atomic", "loom", "crossbeam", "crossbeam_epoch", "crossbeam_utils"];

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    /// `::`
    Colons,
    Mark(char),
}

/// What remains of a source without comments, strings and characters.
fn tokens(source: &str) -> Vec<Token> {
    let chars: Vec<char> = source.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or('\0');
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        let c = chars[i];
        if c == '/' && at(i + 1) == '/' {
            while i < chars.len() && at(i) != '\n' {
                i += 1;
            }
        } else if c == '/' && at(i + 1) == '*' {
            let mut depth = 0;
            loop {
                match (at(i), at(i + 1)) {
                    ('/', '*') => (depth, i) = (depth + 1, i + 2),
                    ('*', '/') => (depth, i) = (depth - 1, i + 2),
                    _ => i += 1,
                }
                if depth == 0 || i >= chars.len() {
                    break;
                }
            }
        } else if is_word(c) {
            let start = i;
            while is_word(at(i)) {
                i += 1;
            }
            let word: String = chars[start..i].iter().collect();
            let hashes = (i..).take_while(|&j| at(j) == '#').count();
            if matches!(word.as_str(), "r" | "br" | "cr") && at(i + hashes) == '"' {
                let end = format!("\"{}", "#".repeat(hashes));
                i += hashes + 1;
                while i < chars.len() && !end.chars().enumerate().all(|(j, c)| at(i + j) == c) {
                    i += 1;
                }
                i += end.len();
            } else {
                tokens.push(Token::Word(word));
            }
        } else if c == '"' {
            i += 1;
            while i < chars.len() && at(i) != '"' {
                i += if at(i) == '\\' { 2 } else { 1 };
            }
            i += 1;
        } else if c == '\'' && (at(i + 1) == '\\' || at(i + 2) == '\'') {
            i += 2; // a character, not a lifetime
            while i < chars.len() && at(i) != '\'' {
                i += 1;
            }
            i += 1;
        } else if c == ':' && at(i + 1) == ':' {
            tokens.push(Token::Colons);
            i += 2;
        } else {
            if !c.is_whitespace() {
                tokens.push(Token::Mark(c));
            }
            i += 1;
        }
    }
    tokens
}

/// A path somewhere in a file, each branch of a `use` by itself. `modules` are the `mod name { .. }` around it.
#[derive(Debug)]
struct Named {
    path: Vec<String>,
    modules: Vec<String>,
}

/// All paths of two segments or more, all single words that a path could begin with, and the functions around `unsafe`.
fn read(source: &str) -> (Vec<Named>, Vec<Option<String>>) {
    let tokens = tokens(source);
    let (mut named, mut unsafes) = (Vec::new(), Vec::new());
    // For each open brace: what it belongs to.
    let mut blocks: Vec<(String, String)> = Vec::new();
    let mut head: Option<(String, String)> = None;
    let mut i = 0;
    while let Some(token) = tokens.get(i) {
        match token {
            Token::Mark('{') => blocks.push(head.take().unwrap_or_default()),
            Token::Mark('}') => drop(blocks.pop()),
            Token::Mark(';') => head = None,
            Token::Word(word) if word == "unsafe" => {
                // `unsafe fn name` is in itself.
                let own = match &tokens[i + 1..] {
                    [Token::Word(keyword), Token::Word(name), ..] if keyword == "fn" => Some(name.clone()),
                    _ => None,
                };
                let around = blocks.iter().rev().find(|(kind, _)| kind == "fn").map(|(_, name)| name.clone());
                unsafes.push(around.or(own));
            }
            Token::Word(word) => {
                if let (true, Some(Token::Word(name))) = (word == "mod" || word == "fn", tokens.get(i + 1)) {
                    head = Some((word.clone(), name.clone()));
                }
                // After `::` only where nothing stands before that: not in `<T>::name`.
                if !matches!(&tokens[..i], [.., Token::Word(_) | Token::Mark('>' | ')' | ']'), Token::Colons])
                {
                    let modules = || {
                        blocks
                            .iter()
                            .filter(|(kind, _)| kind == "mod")
                            .map(|(_, name)| name.clone())
                            .collect()
                    };
                    let (paths, end) = branches(&tokens, i);
                    named.extend(paths.into_iter().map(|path| Named { path, modules: modules() }));
                    i = end;
                    continue;
                }
            }
            _ => {}
        }
        i += 1;
    }
    (named, unsafes)
}

/// The paths that begin at a token: `a::{b, c::d}` is two. And where they end.
fn branches(tokens: &[Token], mut i: usize) -> (Vec<Vec<String>>, usize) {
    let mut path = Vec::new();
    loop {
        match tokens.get(i) {
            Some(Token::Word(word)) => path.push(word.clone()),
            Some(Token::Mark('*')) if !path.is_empty() => path.push("*".into()),
            Some(Token::Mark('{')) if !path.is_empty() => {
                let mut all = Vec::new();
                i += 1;
                while !matches!(tokens.get(i), None | Some(Token::Mark('}'))) {
                    let (inner, end) = branches(tokens, i);
                    all.extend(inner.into_iter().map(|inner| [path.clone(), inner].concat()));
                    i = end.max(i + 1);
                    // To the next branch: over a comma, over `as name`.
                    while !matches!(tokens.get(i - 1), None | Some(Token::Mark(',')))
                        && !matches!(tokens.get(i), None | Some(Token::Mark('}')))
                    {
                        i += 1;
                    }
                }
                return (all, i + 1);
            }
            _ => return (if path.is_empty() { vec![] } else { vec![path] }, i),
        }
        i += 1;
        if tokens.get(i) != Some(&Token::Colons) {
            return (vec![path], i);
        }
        i += 1;
    }
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// What is wrong with the file at `path` (below src, with `/`).
fn faults(path: &str, source: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let stem = path.strip_suffix(".rs").expect("a source");
    let mut file: Vec<&str> = stem.split('/').collect();
    if file.last() == Some(&"mod") {
        file.pop();
    }
    let own = file[0];
    let top = own == "lib";
    let (named, unsafes) = read(source);
    if !top && layer(own).is_none() {
        faults.push(format!("{path}: the module {own} has no layer"));
        return faults;
    }
    for Named { path: words, modules } in named {
        let shown = words.join("::");
        let first = words[0].as_str();
        // From the root of the crate, if it leads there.
        let supers = words.iter().take_while(|word| *word == "super").count();
        let depth = if top { 0 } else { file.len() } + modules.len();
        let from_root = match first {
            "crate" if words.len() > 1 => Some(&words[1..]),
            "super" if supers >= depth => Some(&words[supers..]),
            _ => None,
        };
        if let (Some(target), false) = (from_root, top) {
            let target = target.first().map_or("*", String::as_str);
            match (layer(own), layer(target)) {
                _ if target == own => {}
                (_, None) => faults.push(format!("{path}: `{shown}` leads up, to lib.rs")),
                (from, to) if from < to => faults.push(format!("{path}: `{shown}` leads up, from {own}")),
                (from, to) if from == to && !SIDEWAYS.contains(&(own, target)) => {
                    faults.push(format!("{path}: `{shown}` leads sideways, from {own}"));
                }
                _ => {}
            }
        }
        let std_sync = matches!(first, "std" | "core") && words.get(1).is_some_and(|word| word == "sync");
        let atomics =
            std_sync && words.get(2).is_none_or(|word| word == "atomic" || word == "*" || word == "self");
        // A crate by its name: at the head of a path, or by itself in `use name;`.
        if own != "sync" && (atomics || PRIMITIVES.contains(&first)) {
            faults.push(format!("{path}: `{shown}` is for sync alone"));
        }
    }
    for function in unsafes {
        let allowed = UNSAFE.iter().any(|&(module, only)| {
            module == own && only.is_none_or(|only| function.as_deref() == Some(only))
        });
        if !allowed {
            faults.push(format!("{path}: unsafe in {}", function.as_deref().unwrap_or("an item")));
        }
    }
    faults
}

/// All sources below `dir`, by their path from src.
fn sources(dir: &Path, prefix: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("readable") {
        let entry = entry.expect("readable");
        let name = entry.file_name().into_string().expect("text");
        let path = format!("{prefix}{name}");
        if entry.file_type().expect("known").is_dir() {
            found.extend(sources(&entry.path(), &format!("{path}/")));
        } else if name.ends_with(".rs") {
            found.push((path, fs::read_to_string(entry.path()).expect("text")));
        }
    }
    found.sort();
    found
}

#[test]
fn the_house_stands() {
    let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "");
    for module in
        ["lib.rs", "hash.rs", "time.rs", "error.rs", "mem.rs", "sync/mod.rs", "table/mod.rs", "dedup/mod.rs"]
    {
        assert!(sources.iter().any(|(path, _)| path == module), "{module} is not found");
    }
    let faults: Vec<String> = sources.iter().flat_map(|(path, source)| faults(path, source)).collect();
    assert!(faults.is_empty(), "{}\n", faults.join("\n"));
}

/// The C ABI is a shell over the core's public face: it depends on nothing else and has no atomics of its own. (Its `unsafe`
/// is for the pointers that come from C.) The tool and the client have no `unsafe` at all.
#[test]
fn the_shells_stand() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for shell in ["ffi", "module"] {
        let manifest = fs::read_to_string(root.join(shell).join("Cargo.toml")).expect("readable");
        let (_, rest) = manifest.split_once("\n[dependencies]\n").expect("dependencies");
        let needed = rest.lines().take_while(|line| !line.starts_with('['));
        let needed: Vec<&str> = needed.filter_map(|line| Some(line.split_once('=')?.0.trim())).collect();
        assert_eq!(needed, ["windlass"], "{shell}");
    }

    for (shell, first, has_unsafe) in [
        ("ffi", "boundary.rs", true),
        ("cli", "main.rs", false),
        ("module", "boundary.rs", true),
        ("remote", "remote.rs", false),
    ] {
        let sources = sources(&root.join(shell).join("src"), "");
        assert!(sources.iter().any(|(path, _)| path == first), "{shell}/src/{first} is not found");
        for (path, source) in sources {
            let (named, unsafes) = read(&source);
            assert!(has_unsafe || unsafes.is_empty(), "{shell}/src/{path}: unsafe");
            let atomic = |named: &Named| {
                let words: Vec<&str> = named.path.iter().map(String::as_str).collect();
                PRIMITIVES.contains(&words[0]) || words.starts_with(&["std", "sync", "atomic"])
            };
            let found = named.iter().find(|named| ["ffi", "module"].contains(&shell) && atomic(named));
            assert!(found.is_none(), "{shell}/src/{path}: {found:?}");
        }
    }
}

/// Within the module: what it does with the server's pointers is in few files, and commands are not among them.
#[test]
fn the_module_stands() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("module/src");
    let with_unsafe = ["raw", "memory", "server", "types", "load", "verbs"];
    // Lowest first; a structure is what is neither.
    let low = ["boundary", "raw", "memory", "reply", "types", "server", "call", "tokens"];
    let high = ["info", "load", "verbs", "lib"];
    let mut structures = 0;
    for (path, source) in sources(&root, "") {
        let module = path.split(['/', '.']).next().unwrap_or_default();
        let (named, unsafes) = read(&source);
        assert!(unsafes.is_empty() || with_unsafe.contains(&module), "module/src/{path}: unsafe");
        if high.contains(&module) {
            continue;
        }
        let level = |name: &str| low.iter().position(|&low| low == name).unwrap_or(low.len());
        structures += u32::from(level(module) == low.len());
        for named in named {
            let [first, target, ..] = named.path.as_slice() else { continue };
            // Hot keys are counted keys, here as in the core.
            let is_count = (module, target.as_str()) == ("topk", "count");
            let up = first == "crate" && target != module && level(target) >= level(module) && !is_count;
            assert!(!up, "module/src/{path}: {named:?} leads up or sideways");
        }
    }
    assert_eq!(structures, 6);
}

/// Within the client: what a structure is asked goes through the connection, which knows none of them; and nobody but the connection, and the probe that
/// it makes, sends anything: on the wire, which knows neither. What connects is not told by a structure either.
#[test]
fn the_client_stands() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("remote/src");
    // Lowest first. A structure is a folder beside `connection`.
    let low = [
        "unique",
        "figure",
        "error",
        "deadline",
        "key",
        "wire",
        "script",
        "address",
        "probe",
        "connection",
        "remote",
    ];
    let mut structures = 0;
    for (path, source) in sources(&root, "") {
        let module = path.split(['/', '.']).next().unwrap_or_default();
        let Some(own) =
            low.iter().position(|&name| name == module).or_else(|| (module != "lib").then_some(low.len()))
        else {
            continue;
        };
        structures += u32::from(own == low.len());
        for named in read(&source).0 {
            let [first, target, ..] = named.path.as_slice() else { continue };
            let level = low.iter().position(|name| name == target).unwrap_or(low.len());
            // The one structure that uses others, for each of its members.
            let is_member = module == "ring" && ["dedup", "limit"].contains(&target.as_str());
            let up = first == "crate" && target != module && level >= own && !is_member;
            assert!(!up, "remote/src/{path}: {named:?} leads up or sideways");
        }
    }
    assert!(structures > 0, "no structures are found");
}

/// The edges that there are have to be found, else their absence would mean nothing.
#[test]
fn edges_are_found() {
    let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "");
    let uses = |path: &str, target: &str| {
        let (_, source) = sources.iter().find(|(name, _)| name == path).expect("the file");
        read(source).0.iter().any(|named| named.path.starts_with(&["crate".into(), target.into()]))
    };
    for (path, target) in [
        ("dedup/mod.rs", "table"),
        ("dedup/mod.rs", "hash"),
        ("dedup/mod.rs", "sync"),
        ("table/mod.rs", "sync"),
        ("table/geometry.rs", "mem"),
        ("time.rs", "sync"),
    ] {
        assert!(uses(path, target), "{path} uses {target}");
    }
}

/// One fault, and it says this.
#[track_caller]
fn bad(path: &str, source: &str, fault: &str) {
    assert_eq!(faults(path, source), [format!("{path}: {fault}")]);
}

#[track_caller]
fn good(path: &str, source: &str) {
    assert_eq!(faults(path, source), [] as [String; 0]);
}

#[test]
fn bad_edges() {
    bad("table/mod.rs", "use crate::dedup::Dedup;", "`crate::dedup::Dedup` leads up, from table");
    bad(
        "hash.rs",
        "use crate::{error::ConfigError};",
        "`crate::error::ConfigError` leads sideways, from hash",
    );
    bad("sync/epoch.rs", "use crate::mem::Slab;", "`crate::mem::Slab` leads up, from sync");
    bad("dedup/mod.rs", "use crate::bloom;", "`crate::bloom` leads sideways, from dedup");
    bad("count/mod.rs", "use crate::topk::TopK;", "`crate::topk::TopK` leads sideways, from count");
    bad(
        "table/a.rs",
        "fn f() -> crate::dedup::Rule { todo!() }",
        "`crate::dedup::Rule` leads up, from table",
    );
    bad("dedup/mod.rs", "fn f(w: impl Into<crate::Window>) {}", "`crate::Window` leads up, to lib.rs");
    bad("dedup/mod.rs", "use crate::*;", "`crate::*` leads up, to lib.rs");
    bad(
        "mem.rs",
        "macro_rules! m { () => { $crate::time::Tick(0) } }",
        "`crate::time::Tick` leads sideways, from mem",
    );
    // In the middle of a tree, over lines and comments, with another name.
    bad(
        "table/mod.rs",
        "use crate::{\n    error::ConfigError, // why\n    sync::{A, B as C, d::{self, E}},\n    dedup::{Rule as Law},\n    hash::*,\n};",
        "`crate::dedup::Rule` leads up, from table",
    );
    // Around by `super`.
    bad("time.rs", "use super::table::KeyTable;", "`super::table::KeyTable` leads up, from time");
    bad("table/group.rs", "use super::super::dedup;", "`super::super::dedup` leads up, from table");
    bad(
        "table/mod.rs",
        "mod inner { use super::super::dedup::Rule; }",
        "`super::super::dedup::Rule` leads up, from table",
    );
    bad("table/mod.rs", "mod inner { fn f() {} } use super::limit;", "`super::limit` leads up, from table");
    bad("novel/mod.rs", "", "the module novel has no layer");
    bad("dedup/mod.rs", "use crate::metrics::Page;", "`crate::metrics::Page` leads up, from dedup");
}

#[test]
fn every_branch_counts() {
    let found = faults("pane/mod.rs", "use crate::{bloom::{A, B}, table::C, hash::D, topk};");
    assert_eq!(found.len(), 4, "{found:?}");
}

#[test]
fn good_edges() {
    good("lib.rs", "pub use dedup::Dedup; use crate::{table::X, time}; fn f() -> crate::Anything {}");
    good("metrics/sources.rs", "use crate::{dedup::Dedup, topk::TopK, sync::Counter};");
    good("topk/mod.rs", "use crate::{count::Count, pane::P, table::T, sync::Arc, hash::Key, mem::M};");
    good("dedup/rule.rs", "use super::{Refresh, origin}; use crate::{dedup::X, table::Decision};");
    good("dedup/mod.rs", "mod inner { use super::*; mod deeper { use super::super::Dedup; } }");
    good("time.rs", "mod tests { use super::*; }");
    good("table/mod.rs", "pub(crate) fn f() {} pub(in crate::table) fn g() {} use self::inner::X;");
    // Not code.
    good(
        "mem.rs",
        "//! use crate::dedup::X;\n/* unsafe /* crate::dedup */ crate::table */ const A: &str = \"crate::dedup::X \\\" unsafe\"; const B: &[u8] = br#\"unsafe \" crate::dedup\"#; const C: [char; 3] = ['\"', '\\'', '{'];",
    );
    // Lifetimes are no characters.
    good("table/mod.rs", "fn f<'a>(x: &'a str, y: &'_ str) -> Option<&'a crate::hash::KeyHash> { None }");
}

#[test]
fn primitives() {
    let only = |shown: &str| format!("`{shown}` is for sync alone");
    bad("time.rs", "use std::sync::atomic::AtomicU64;", &only("std::sync::atomic::AtomicU64"));
    bad("time.rs", "use std::{fmt, sync::atomic};", &only("std::sync::atomic"));
    bad("time.rs", "use std::sync;", &only("std::sync"));
    bad("time.rs", "use core::sync::{self};", &only("core::sync::self"));
    bad("time.rs", "use std::sync::*;", &only("std::sync::*"));
    bad("mem.rs", "static A: std::sync::atomic::AtomicBool = B;", &only("std::sync::atomic::AtomicBool"));
    bad("lib.rs", "use portable_atomic::AtomicU128;", &only("portable_atomic::AtomicU128"));
    bad("table/mod.rs", "use crossbeam_utils::CachePadded;", &only("crossbeam_utils::CachePadded"));
    bad("dedup/mod.rs", "fn f() { ::crossbeam_epoch::pin(); }", &only("crossbeam_epoch::pin"));
    good("dedup/mod.rs", "fn f() { <T>::loom(); a::<T>::loom::x(); }");
    bad("dedup/mod.rs", "use loom as l;", &only("loom"));
    good(
        "sync/mod.rs",
        "use std::sync::atomic::AtomicU64; use loom::thread; use crossbeam_utils::CachePadded;",
    );
    good("table/truth.rs", "use std::sync::{Mutex, PoisonError}; use crate::sync::{AtomicU64, Ordering};");
    good("table/mod.rs", "#[cfg(windlass_loom)] #[cfg_attr(crossbeam_loom, allow(dead_code))] mod model;");
}

#[test]
fn unsafe_rooms() {
    bad("dedup/mod.rs", "fn f() { unsafe { g() } }", "unsafe in f");
    bad("hash.rs", "unsafe impl Send for X {}", "unsafe in an item");
    bad("lib.rs", "pub unsafe fn f() {}", "unsafe in f");
    bad("time.rs", "fn coarse_nanos() { } fn other() { unsafe { g() } }", "unsafe in other");
    bad("time.rs", "fn coarse_nanos(); unsafe impl Send for X {}", "unsafe in an item");
    good("time.rs", "fn coarse_nanos() -> u64 { if a { unsafe { g() } } else { 0 } }");
    good("mem.rs", "unsafe impl Send for X {}");
    good("sync/mod.rs", "fn f() { unsafe { g() } }");
    good("table/group.rs", "unsafe impl Zeroable for X {}");
    good("dedup/mod.rs", "#![deny(unsafe_code)] #![allow(unsafe_op_in_unsafe_fn)]");
}
