//! Bars, one for each function and value.

use crate::criterion::{Group, Rate};
use plotters::prelude::*;
use std::{collections::BTreeSet, error::Error, path::Path};

const WIDTH: u32 = 900;
const LINE: u32 = 22;
/// Where names end and bars begin.
const NAMES: i32 = 230;
const TOP: i32 = 44;

const OURS: [RGBColor; 2] = [RGBColor(0x1b, 0x6c, 0xa8), RGBColor(0x6a, 0xae, 0xd6)];
const THEIRS: [RGBColor; 2] = [RGBColor(0x7a, 0x7a, 0x7a), RGBColor(0xb8, 0xb8, 0xb8)];

/// Writes them as SVG: for each function its values one below the other, with the interval of the median as a line.
pub(crate) fn bars(path: &Path, title: &str, group: &Group) -> Result<(), Box<dyn Error>> {
    let values: BTreeSet<&String> = group.values().flat_map(|by_value| by_value.keys()).collect();
    let rows: Vec<(&str, usize, &str, Rate)> = group
        .iter()
        .flat_map(|(name, by_value)| {
            let values = &values;
            by_value.iter().map(move |(value, rate)| {
                let nth = values.iter().position(|other| *other == value).unwrap_or(0);
                (name.as_str(), nth, value.as_str(), *rate)
            })
        })
        .collect();
    let most = rows.iter().map(|row| row.3.high).fold(f64::MIN_POSITIVE, f64::max);
    let height = TOP.unsigned_abs() + LINE * u32::try_from(rows.len())? + 12;
    let area = SVGBackend::new(path, (WIDTH, height)).into_drawing_area();
    area.fill(&WHITE)?;
    area.draw_text(
        &format!("{title}, million a second"),
        &("sans-serif", 17).into_font().color(&BLACK),
        (10, 12),
    )?;
    #[allow(clippy::cast_possible_truncation)] // within the picture
    let x = |rate: f64| NAMES + (rate / most * f64::from(WIDTH.cast_signed() - NAMES - 90)) as i32;
    let small = ("sans-serif", 13).into_font().color(&BLACK);
    let mut last = "";
    for (i, (name, nth, value, rate)) in rows.into_iter().enumerate() {
        let y = TOP + (LINE * u32::try_from(i)?).cast_signed();
        if name != last {
            area.draw_text(name, &small, (10, y + 3))?;
            last = name;
        }
        area.draw_text(value, &small, (NAMES - 48, y + 3))?;
        let colors = if name.starts_with("windlass") { OURS } else { THEIRS };
        let bar = [(NAMES, y + 2), (x(rate.median), y + LINE.cast_signed() - 3)];
        area.draw(&Rectangle::new(bar, colors[nth % 2].filled()))?;
        let middle = y + LINE.cast_signed() / 2;
        area.draw(&PathElement::new([(x(rate.low), middle), (x(rate.high), middle)], BLACK))?;
        area.draw_text(&format!("{:.1}", rate.median), &small, (x(rate.high) + 6, y + 3))?;
    }
    area.present()?;
    Ok(())
}
