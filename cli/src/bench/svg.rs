//! The table as a plot: bars of million calls per second.

use std::fmt::Write;

use super::report::Report;
use crate::output;

const WIDTH: f64 = 760.0;
/// Where bars begin, and how long they are at most: their figures stand behind them.
const LEFT: f64 = 70.0;
const LONGEST: f64 = WIDTH - LEFT - 80.0;
const TOP: f64 = 88.0;
const BAR: f64 = 14.0;
const GAP: f64 = 16.0;

/// In cache blue, out of it orange; one thread light, several dark.
const INKS: [[&str; 2]; 2] = [["#8db9e2", "#2f6fb0"], ["#f2b880", "#c8651b"]];

#[allow(clippy::cast_precision_loss)] // places on paper
pub(super) fn plot(report: &Report) -> String {
    let columns: Vec<_> = report.columns().collect();
    let most = report.rows.iter().flat_map(|row| &row.cells).map(|cell| cell.rate).fold(1.0, f64::max);
    let group = BAR * columns.len() as f64 + GAP;
    let height = TOP + group * report.rows.len() as f64 + 30.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    let mut text = |x: f64, y: f64, more: &str, text: &str| {
        let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\"{more}>{text}</text>");
    };
    let version = env!("CARGO_PKG_VERSION");
    text(
        LEFT,
        26.0,
        " font-size=\"16\"",
        &format!("windlass {version}: million calls per second, in batches"),
    );
    let mut shapes = String::new();
    let ink = |at: usize| {
        let by_threads = columns.len() / 2;
        INKS[at / by_threads][if by_threads == 1 { 1 } else { at % by_threads }]
    };
    for (at, (keys, threads)) in columns.iter().enumerate() {
        let (column, line) = (at / (columns.len() / 2), at % (columns.len() / 2));
        let (x, y) = (LEFT + 300.0 * column as f64, 40.0 + 20.0 * line as f64);
        let place = ["in cache", "out of cache"][column];
        let threads = if *threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
        let _ = writeln!(
            shapes,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"12\" height=\"12\" fill=\"{}\"/>",
            ink(at)
        );
        text(x + 18.0, y + 10.0, "", &format!("{place}, {} keys, {threads}", output::count(*keys)));
    }
    for (row, number) in report.rows.iter().zip(0_u32..) {
        let y = TOP + group * f64::from(number);
        text(
            LEFT - 8.0,
            y + (group - GAP) / 2.0 + 4.0,
            " text-anchor=\"end\" font-weight=\"bold\"",
            row.name,
        );
        for (at, cell) in row.cells.iter().enumerate() {
            let (long, y) = (LONGEST * cell.rate / most, y + BAR * at as f64);
            let _ = writeln!(
                shapes,
                "<rect x=\"{LEFT}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{}\" fill=\"{}\"/>",
                long.max(1.0),
                BAR - 2.0,
                ink(at)
            );
            text(LEFT + long + 5.0, y + BAR - 4.0, " font-size=\"11\"", &format!("{:.1}", cell.rate / 1e6));
        }
    }
    let _ = writeln!(
        shapes,
        "<line x1=\"{LEFT}\" y1=\"{:.1}\" x2=\"{LEFT}\" y2=\"{:.1}\" stroke=\"#999\"/>",
        TOP - 6.0,
        height - 24.0
    );
    svg + &shapes + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::{super::report::tests::made_up, *};

    #[test]
    fn a_bar_for_each_measurement() {
        let svg = plot(&made_up());
        assert_eq!(svg.matches("<rect ").count(), 1 + 4 + 8, "paper, legend, bars");
        assert_eq!(svg.matches("<svg ").count() + svg.matches("</svg>").count(), 2);
        assert!(svg.contains(">880.0</text>") && svg.contains("out of cache, 4,000,000 keys, 8 threads"));
        // The longest bar is as long as there is room.
        assert_eq!(svg.matches(&format!("width=\"{LONGEST:.1}\"")).count(), 2);
    }
}
