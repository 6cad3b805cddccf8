//! JSON lines: the wanted fields of one object a line, without building the object.
//!
//! A field is found by its exact name (Zeek's `id.orig_h` is one), else by path (`a.b.c`, `a.b[1]`) or pointer (`/a/b`).

use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer as _};
use serde_json::{Deserializer, value::RawValue};

use super::{
    json_walk::{Child, Elements, Top},
    slots::{Slots, Wanted},
};

/// The element of `--each`, as the first step of a path.
const ELEMENT: &str = "@";

/// A list of more elements is not kept.
const LONG: usize = 1 << 16;

/// A wanted field.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    /// Names or indexes from the outside in.
    pub(super) steps: Vec<String>,
    /// Its path starts at the element and not at the line's object.
    element: bool,
}

impl Field {
    /// Whether the line's member of that name is the first step of its path.
    pub(super) fn is_root(&self, name: &str) -> bool {
        !self.element && self.steps.first().is_some_and(|step| step == name)
    }

    /// Whether the line's member of that name is it.
    pub(super) fn is_exactly(&self, name: &str) -> bool {
        !self.element && self.name == name
    }
}

/// The parts of the line in which a wanted field was found; values as they are written.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// The value of the field of exactly that name.
    pub(super) exact: Option<Range<usize>>,
    /// The value in which its path goes on.
    pub(super) root: Option<Range<usize>>,
}

/// Finds the wanted fields of a line.
#[derive(Clone, Debug)]
pub(crate) struct Json {
    fields: Vec<Field>,
    each: Option<usize>,
    found: Vec<Found>,
    elements: Vec<Range<usize>>,
}

impl Json {
    pub(crate) fn new(wanted: &Wanted) -> Json {
        let fields: Vec<Field> = wanted.names.iter().map(|name| field(name, wanted.each.is_some())).collect();
        Json { found: vec![Found::default(); fields.len()], fields, each: wanted.each, elements: Vec::new() }
    }

    /// Reads a line: fields of the line into their slots, elements into a list of their own.
    pub(crate) fn read(&mut self, line: &[u8], slots: &mut Slots) -> Result<(), String> {
        slots.clear(self.fields.len());
        self.found.fill(Found::default());
        let mut json = Deserializer::from_slice(line);
        let top = Top { line, fields: &self.fields, found: &mut self.found };
        top.deserialize(&mut json).and_then(|()| json.end()).map_err(|e| not_json(&e))?;
        self.elements.clear();
        // A long array had it grow.
        self.elements.shrink_to(LONG);
        for at in 0..self.fields.len() {
            let field = &self.fields[at];
            if field.element {
                continue;
            }
            let Some(part) = resolve(field, &self.found[at], line) else { continue };
            if self.each == Some(at) {
                let array = &line[part.clone()];
                if array.starts_with(b"[") {
                    let elements = Elements { line, parts: &mut self.elements };
                    Deserializer::from_slice(array).deserialize_seq(elements).map_err(|e| not_json(&e))?;
                    slots.set(at, part);
                } else if array != b"null" {
                    return Err(format!("field \"{}\" is no array", field.name));
                }
            } else {
                put(&field.name, part, line, at, slots)?;
            }
        }
        Ok(())
    }

    pub(crate) fn elements(&self) -> usize {
        self.elements.len()
    }

    /// Puts element `number` into the slots that want it.
    pub(crate) fn read_element(&self, number: usize, line: &[u8], slots: &mut Slots) -> Result<(), String> {
        let element = &self.elements[number];
        for (at, field) in self.fields.iter().enumerate().filter(|(_, f)| f.element) {
            match descend(line, element.clone(), &field.steps) {
                Some(part) => put(&field.name, part, line, at, slots)?,
                None => slots.set_absent(at),
            }
        }
        Ok(())
    }
}

/// Where `inner`, a part of `outer`, stands in it.
pub(super) fn part_of(outer: &[u8], inner: &[u8]) -> Range<usize> {
    let start = inner.as_ptr().addr() - outer.as_ptr().addr();
    start..start + inner.len()
}

fn resolve(field: &Field, found: &Found, line: &[u8]) -> Option<Range<usize>> {
    let root = || descend(line, found.root.clone()?, &field.steps[1..]);
    found.exact.clone().or_else(root)
}

fn descend(line: &[u8], mut part: Range<usize>, steps: &[String]) -> Option<Range<usize>> {
    for step in steps {
        let mut json = Deserializer::from_slice(&line[part]);
        let child: Option<&RawValue> = json.deserialize_any(Child { step }).ok()?;
        part = part_of(line, child?.get().as_bytes());
    }
    Some(part)
}

/// A plain value as bytes: text without quotes and escapes, a number as it is written. `null` counts as absent.
fn put(name: &str, part: Range<usize>, line: &[u8], at: usize, slots: &mut Slots) -> Result<(), String> {
    let value = &line[part.clone()];
    match value.first() {
        Some(b'"') if !value.contains(&b'\\') => slots.set(at, part.start + 1..part.end - 1),
        Some(b'"') => {
            let text: String = serde_json::from_slice(value).map_err(|e| not_json(&e))?;
            slots.set_bytes(at, text.as_bytes());
        }
        Some(b'{') => return Err(format!("field \"{name}\" is an object, not one value")),
        Some(b'[') => return Err(format!("field \"{name}\" is an array, not one value")),
        Some(b'n') => slots.set_absent(at),
        _ => slots.set(at, part),
    }
    Ok(())
}

fn field(name: &str, each: bool) -> Field {
    if let Some(path) = name.strip_prefix(ELEMENT).filter(|_| each) {
        let path = path.strip_prefix('.').unwrap_or(path);
        let steps = if path.is_empty() { Vec::new() } else { steps(path) };
        return Field { name: name.to_owned(), steps, element: true };
    }
    Field { name: name.to_owned(), steps: steps(name), element: false }
}

fn steps(path: &str) -> Vec<String> {
    if let Some(pointer) = path.strip_prefix('/') {
        return pointer.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
    }
    let mut steps = Vec::new();
    for piece in path.split('.') {
        let (name, indexes) = piece.split_at(piece.find('[').unwrap_or(piece.len()));
        if !name.is_empty() {
            steps.push(name.to_owned());
        }
        steps.extend(indexes.split('[').skip(1).map(|index| index.trim_end_matches(']').to_owned()));
    }
    steps
}

/// serde_json's message, which speaks of line 1: here a line is the whole text.
fn not_json(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    match error.column() {
        0 => format!("not a JSON object: {what}"),
        column => format!("not a JSON object: {what} at column {column}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::slots::tests::{some, texts},
        *,
    };

    fn json(names: &[&str], each: Option<&str>) -> Json {
        let mut wanted = Wanted::default();
        for name in names {
            wanted.add(name);
        }
        wanted.each = each.map(|name| wanted.add(name));
        Json::new(&wanted)
    }

    fn read(names: &[&str], line: &str) -> Result<Vec<Option<String>>, String> {
        let mut slots = Slots::default();
        json(names, None).read(line.as_bytes(), &mut slots)?;
        Ok(texts(&slots, line.as_bytes()))
    }

    #[test]
    fn names_paths_pointers() {
        let line = r#" {"a.b":1,"a":{"b":2,"c":[10,{"d":"x"}],"/":true},"/a/b":"p","e":"q"} "#;
        assert_eq!(read(&["a.b", "e"], line), Ok(some(&["1", "q"])), "the exact name wins");
        assert_eq!(read(&["/a/b"], line), Ok(some(&["p"])));
        assert_eq!(
            read(&["a.c[0]", "a.c[1].d", "/a/c/1/d", "/a/~1"], line),
            Ok(some(&["10", "x", "x", "true"]))
        );
        assert_eq!(read(&["a.x", "a.c[7]", "a.c.x", "e.x", "z"], line), Ok(vec![None; 5]));
    }

    #[test]
    fn values_as_bytes() {
        let line = r#"{"s":"caf\u00e9 \"x\"","n":-1.50e3,"t":true,"u":"é","z":null,"":"empty","d":1,"d":2}"#;
        let values = some(&["café \"x\"", "-1.50e3", "true", "é"]);
        assert_eq!(read(&["s", "n", "t", "u"], line), Ok(values));
        assert_eq!(read(&["z", "", "d"], line), Ok(vec![None, Some("empty".into()), Some("2".into())]));
        assert_eq!(read(&["é"], r#"{"\u00e9":1}"#), Ok(some(&["1"])), "names may be escaped");
    }

    #[test]
    fn what_is_refused() {
        let object = read(&["a"], r#"{"a":{}}"#).unwrap_err();
        assert_eq!(object, "field \"a\" is an object, not one value");
        for line in [
            "",
            "[1]",
            "5",
            "{",
            r#"{"a":1"#,
            r#"{"a":tru}"#,
            r#"{"a":1} x"#,
            r#"{"a":"\ud800"}"#,
            "{\"a\":\"\x01\"}",
        ] {
            assert!(read(&["a"], line).unwrap_err().starts_with("not a JSON object: "), "{line}");
        }
        let cut = read(&["b"], r#"{"a":{"b":1},"c":"x"#).unwrap_err();
        assert_eq!(cut, "not a JSON object: EOF while parsing a string at column 19");
    }

    #[test]
    fn elements() {
        let line = br#"{"t":5,"list":[1,"x",{"id":"y","n":[7]},null]}"#;
        let mut json = json(&["t", "@", "@.id", "@.n[0]"], Some("list"));
        let mut slots = Slots::default();
        json.read(line, &mut slots).unwrap();
        assert_eq!(json.elements(), 4);
        let mut of =
            |number| json.read_element(number, line, &mut slots).map(|()| texts(&slots, line)[..4].to_vec());
        let (t, none) = (Some("5".to_owned()), None::<String>);
        assert_eq!(of(0), Ok(vec![t.clone(), Some("1".into()), none.clone(), none.clone()]));
        assert_eq!(of(1), Ok(vec![t.clone(), Some("x".into()), none.clone(), none.clone()]));
        assert!(of(2).unwrap_err().contains("is an object"));
        assert_eq!(of(3), Ok(vec![t, none.clone(), none.clone(), none]));
    }

    #[test]
    fn each_wants_an_array() {
        let mut slots = Slots::default();
        let mut each = json(&["@"], Some("l"));
        assert!(each.read(br#"{"l":5}"#, &mut slots).unwrap_err().contains("no array"));
        each.read(br#"{"l":[]}"#, &mut slots).unwrap();
        assert_eq!((each.elements(), slots.get(b"{\"l\":[]}", 1).is_some()), (0, true));
        each.read(br#"{"l":null}"#, &mut slots).unwrap();
        assert_eq!((each.elements(), slots.get(b"", 1).is_some()), (0, false));
    }
}
