//! Columns of tsv and csv: by name, or by number from 1.

use crate::failure::show;

/// The columns wanted, from 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    pub(crate) wanted: Vec<usize>,
}

/// A field that says which column by itself.
pub(crate) fn is_number(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit())
}

impl Columns {
    pub(crate) fn by_number(names: &[String]) -> Result<Columns, String> {
        Ok(Columns { wanted: names.iter().map(|name| number(name)).collect::<Result<_, _>>()? })
    }

    /// A name that stands twice means the first of them.
    pub(crate) fn by_header(names: &[String], header: &[&[u8]]) -> Result<Columns, String> {
        let find = |name: &String| match header.iter().position(|h| *h == name.as_bytes()) {
            _ if is_number(name) => number(name),
            Some(column) => Ok(column),
            None => Err(format!("no column {}; the header has {}", show(name.as_bytes()), list(header))),
        };
        Ok(Columns { wanted: names.iter().map(find).collect::<Result<_, _>>()? })
    }
}

fn number(name: &str) -> Result<usize, String> {
    let number: Option<usize> = name.parse().ok();
    number.and_then(|n| n.checked_sub(1)).ok_or_else(|| format!("no column {name}: they are counted from 1"))
}

fn list(header: &[&[u8]]) -> String {
    const MOST: usize = 12;
    let mut names: Vec<String> = header.iter().take(MOST).map(|name| show(name)).collect();
    if header.len() > MOST {
        names.push(format!("{} more", header.len() - MOST));
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|n| (*n).to_owned()).collect()
    }

    #[test]
    fn by_name_and_number() {
        let header: [&[u8]; 3] = [b"host", b"time", b"host"];
        assert_eq!(Columns::by_header(&names(&["time", "host", "3"]), &header).unwrap().wanted, [1, 0, 2]);
        assert_eq!(Columns::by_number(&names(&["2", "1"])).unwrap().wanted, [1, 0]);
        assert!(Columns::by_number(&names(&["0"])).unwrap_err().contains("counted from 1"));
        let unknown = Columns::by_header(&names(&["hots"]), &header).unwrap_err();
        assert_eq!(unknown, "no column \"hots\"; the header has \"host\", \"time\", \"host\"");
    }
}
