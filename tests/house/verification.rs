//! The table of models in docs/verification.md is what loom-tests has; each step that a twin leaves out is left out by one, and stands in the code.

#![allow(clippy::expect_used, clippy::panic)] // clippy knows tests only by their attribute

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

const BEGIN: &str = "<!-- Made by tests/house/verification.rs: WINDLASS_WRITE_DOCS=1 writes it anew. -->\n";
const END: &str = "<!-- end -->\n";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What a file of models has.
#[derive(Default)]
struct Models {
    /// What it says of itself.
    about: String,
    /// Tests that pass, and those that have to fail.
    models: usize,
    negative: usize,
    twins: BTreeSet<String>,
}

/// `Twin::Name` in a text.
fn twins_in(text: &str) -> impl Iterator<Item = String> {
    text.split("Twin::").skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        rest[..end].to_owned()
    })
}

fn models() -> BTreeMap<String, Models> {
    let folder = root().join("loom-tests/tests");
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(&folder).expect("loom-tests has tests") {
        let path = entry.expect("readable").path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
        if path.extension().is_none_or(|extension| extension != "rs") || name == "models" {
            continue;
        }
        let text = read(&path);
        let mut file = Models::default();
        let about = text.lines().take_while(|line| line.starts_with("//!"));
        let about: Vec<&str> = about.map(|line| line.trim_start_matches("//!").trim()).collect();
        let first = about.split(|line| line.is_empty()).next().expect("it says what it is");
        file.about = first.join(" ");
        // A negative twin is a test that has to panic.
        for test in text.split("#[test]").skip(1) {
            let head = test.split("fn ").next().unwrap_or("");
            match head.contains("#[should_panic(expected") {
                true => file.negative += 1,
                false => file.models += 1,
            }
        }
        file.twins = twins_in(&text).collect();
        all.insert(name, file);
    }
    all
}

fn table(models: &BTreeMap<String, Models>) -> String {
    let mut out = String::from(
        "| file | protocol | models | fail as they should | steps left out |\n|---|---|---|---|---|\n",
    );
    for (name, Models { about, models, negative, twins }) in models {
        let twins: Vec<String> = twins.iter().map(|twin| format!("`{twin}`")).collect();
        out += &format!("| `{name}` | {about} | {models} | {negative} | {} |\n", twins.join(", "));
    }
    let sum = |of: fn(&Models) -> usize| models.values().map(of).sum::<usize>();
    out += &format!("| all | | {} | {} | |\n", sum(|file| file.models), sum(|file| file.negative));
    out
}

#[test]
fn the_table_of_models_is_up_to_date() {
    let path = root().join("docs/verification.md");
    let text = read(&path);
    let (before, rest) = text.split_once(BEGIN).expect("where the table begins");
    let (there, after) = rest.split_once(END).expect("where the table ends");
    let now = table(&models());
    if std::env::var_os("WINDLASS_WRITE_DOCS").is_some_and(|v| v == "1") {
        fs::write(&path, [before, BEGIN, &now, END, after].concat()).expect("writable");
        return;
    }
    assert!(
        there == now,
        "docs/verification.md: WINDLASS_WRITE_DOCS=1 cargo test -p windlass --test house verification"
    );
}

/// The sources of the core, and of what it has for models.
fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push(path);
        }
    }
}

#[test]
fn each_twin_leaves_out_a_step_and_fails_a_model() {
    let all = read(&root().join("src/sync/twins.rs"));
    let (_, variants) = all.split_once("pub enum Twin {").expect("the twins");
    let (variants, _) = variants.split_once('}').expect("their end");
    let variants: BTreeSet<&str> = variants
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .map(|line| line.trim_end_matches(','))
        .collect();
    assert!(variants.len() > 50, "{variants:?}");
    let models = models();
    let used: BTreeSet<&str> =
        models.values().flat_map(|file| file.twins.iter().map(String::as_str)).collect();
    assert_eq!(variants.difference(&used).collect::<Vec<_>>(), [] as [&&str; 0], "in no model");
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    let code: String = files.iter().map(|path| read(path)).collect();
    let lost = |twin: &&&str| !code.contains(&format!("twin!({twin})"));
    assert_eq!(
        variants.iter().filter(lost).collect::<Vec<_>>(),
        [] as [&&str; 0],
        "nothing in the code goes by them"
    );
    // A model that shows nothing: one without a twin. (What several have in common is in `common`.)
    let without: Vec<&String> =
        models.iter().filter(|(_, file)| file.negative == 0).map(|(name, _)| name).collect();
    assert_eq!(without, [] as [&String; 0], "files without a twin");
}
