//! What came of it.

use serde::Serialize;

use super::measure::Measured;
use crate::output;

/// A structure. Its cells: with keys that fit the cache by each number of threads, then with those that do not.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) cells: Vec<Measured>,
    /// With the many keys.
    pub(super) memory_bytes: u64,
}

pub(super) struct Report {
    pub(super) rows: Vec<Row>,
    pub(super) keys: [u64; 2],
    pub(super) threads: Vec<usize>,
}

/// As `--report json` has it.
#[derive(Serialize)]
pub(super) struct Json {
    command: &'static str,
    version: &'static str,
    measured: Vec<Cell>,
}

#[derive(Serialize)]
struct Cell {
    structure: &'static str,
    keys: u64,
    threads: usize,
    ns_per_call: f64,
    calls_per_second: f64,
}

impl Report {
    /// For each cell how many keys, and how many threads.
    pub(super) fn columns(&self) -> impl Iterator<Item = (u64, usize)> {
        self.keys.into_iter().flat_map(|keys| self.threads.iter().map(move |threads| (keys, *threads)))
    }

    pub(super) fn table(&self) -> String {
        let wide = 16 * self.threads.len();
        let head = |text: [String; 2]| format!("{:<7}{:^wide$}{:^wide$}", "", text[0], text[1]);
        let [few, many] = self.keys.map(output::count);
        let mut lines = vec![head([format!("in cache, {few} keys"), format!("out of cache, {many} keys")])];
        let threads = |(_, threads): (u64, usize)| {
            format!("{:>16}", format!("{threads} thread{}", if threads == 1 { "" } else { "s" }))
        };
        lines.push(format!("{:<7}{}", "", self.columns().map(threads).collect::<String>()));
        let units = self.columns().map(|_| format!("{:>8}{:>8}", "ns", "M/s")).collect::<String>();
        lines.push(format!("{:<7}{units}{:>9}", "", "memory"));
        for Row { name, cells, memory_bytes } in &self.rows {
            let cell = |Measured { nanos, rate, .. }: &Measured| format!("{nanos:>8.1}{:>8.1}", rate / 1e6);
            let cells: String = cells.iter().map(cell).collect();
            lines.push(format!("{name:<7}{cells} {:>8}", output::memory(*memory_bytes)));
        }
        lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    pub(super) fn text(&self) -> String {
        "ns: for a call of a thread, in batches; M/s: million calls in a second of all\nthreads. All answers were right.\n"
            .to_owned()
    }

    pub(super) fn json(&self) -> Json {
        let cells = self.rows.iter().flat_map(|row| {
            self.columns().zip(&row.cells).map(|((keys, threads), cell)| Cell {
                structure: row.name,
                keys,
                threads,
                ns_per_call: cell.nanos,
                calls_per_second: cell.rate,
            })
        });
        Json { command: "bench", version: env!("CARGO_PKG_VERSION"), measured: cells.collect() }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn made_up() -> Report {
        let cell = |nanos: f64, rate: f64| Measured { nanos, rate, wrong: 0 };
        let cells = vec![cell(8.25, 121e6), cell(9.0, 880e6), cell(31.5, 31.7e6), cell(40.0, 200e6)];
        let row = |name| Row { name, cells: cells.clone(), memory_bytes: 128 << 20 };
        Report { rows: vec![row("dedup"), row("ring")], keys: [10_000, 4_000_000], threads: vec![1, 8] }
    }

    #[test]
    fn a_table() {
        let expected = "            in cache, 10,000 keys        out of cache, 4,000,000 keys
               1 thread       8 threads        1 thread       8 threads
             ns     M/s      ns     M/s      ns     M/s      ns     M/s   memory
dedup       8.2   121.0     9.0   880.0    31.5    31.7    40.0   200.0  128 MiB
ring        8.2   121.0     9.0   880.0    31.5    31.7    40.0   200.0  128 MiB
";
        assert_eq!(made_up().table(), expected);
    }
}
