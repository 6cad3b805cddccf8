//! Tab-separated values: a tab separates, a newline ends, and nothing is quoted.

use memchr::memchr_iter;

use super::{columns::Columns, slots::Slots};

pub(crate) fn cells(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&b| b == b'\t')
}

/// Cuts the wanted columns out of a line.
#[derive(Clone, Debug)]
pub(crate) struct Tsv {
    columns: Columns,
    last: usize,
    /// Borders of the cells up to the last one wanted: cell `i` is `borders[i]..borders[i + 1] - 1`.
    borders: Vec<usize>,
}

impl Tsv {
    pub(crate) fn new(columns: Columns) -> Tsv {
        let last = columns.wanted.iter().copied().max().unwrap_or(0);
        Tsv { columns, last, borders: Vec::new() }
    }

    pub(crate) fn read(&mut self, line: &[u8], slots: &mut Slots) {
        slots.clear(self.columns.wanted.len());
        self.borders.clear();
        self.borders.push(0);
        self.borders.extend(memchr_iter(b'\t', line).take(self.last + 1).map(|tab| tab + 1));
        if self.borders.len() < self.last + 2 {
            self.borders.push(line.len() + 1);
        }
        for (field, &column) in self.columns.wanted.iter().enumerate() {
            if let Some(&[start, end]) = self.borders.get(column..column + 2) {
                slots.set(field, start..end - 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::slots::tests::{some, texts},
        *,
    };

    fn read(wanted: &[usize], line: &str) -> Vec<Option<String>> {
        let mut slots = Slots::default();
        Tsv::new(Columns { wanted: wanted.to_vec() }).read(line.as_bytes(), &mut slots);
        texts(&slots, line.as_bytes())
    }

    #[test]
    fn cuts_columns() {
        assert_eq!(read(&[0, 2], "a\tb\tc"), some(&["a", "c"]));
        assert_eq!(read(&[2, 0, 2], "a\tb\tc\td\te"), some(&["c", "a", "c"]));
        assert_eq!(read(&[0, 1, 2], "\t\t"), some(&["", "", ""]));
        assert_eq!(read(&[0], ""), some(&[""]));
        assert_eq!(read(&[0, 3], "a\tb\tc"), [Some("a".to_owned()), None]);
        assert_eq!(read(&[1], "\"a\tb\"\tc"), some(&["b\""]), "no quoting");
    }
}
