//! Bars, and courses over time, of eighths of characters.

const ACROSS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
const UP: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// As long as `part` is of `most`, with at least something for what is not nothing; padded to the width.
pub(super) fn bar(part: u64, most: u64, width: usize) -> String {
    let eighths = scaled(part, most, 8 * width);
    let cell = |i: usize| ACROSS[eighths.saturating_sub(8 * i).min(8)];
    (0..width).map(cell).collect()
}

/// Values from left to right, each as high as it is of the greatest. Neighbours share a character where there are more than fit.
pub(super) fn course(values: &[u64], width: usize) -> String {
    let cells = values.len().min(width);
    let cell = |i: usize| {
        let part = &values[i * values.len() / cells..(i + 1) * values.len() / cells];
        // Parts are not all as long: the mean.
        let sum: u128 = part.iter().map(|&value| u128::from(value)).sum();
        u64::try_from(sum.div_ceil(part.len().max(1) as u128)).unwrap_or(u64::MAX)
    };
    let heights: Vec<u64> = (0..cells).map(cell).collect();
    let most = heights.iter().copied().max().unwrap_or(0);
    heights.into_iter().map(|value| UP[scaled(value, most, 8)]).collect()
}

/// A part of so many, rounded, but more than nothing if it is.
#[allow(clippy::cast_possible_truncation)] // not more than `all`
fn scaled(part: u64, most: u64, all: usize) -> usize {
    let (part, most) = (u128::from(part.min(most)), u128::from(most.max(1)));
    let scaled = (2 * part * all as u128 + most) / (2 * most);
    (scaled as usize).max(usize::from(part > 0)).min(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars() {
        let bars = [(0, 8), (1, 1000), (1, 2), (8, 8), (9, 8), (0, 0), (u64::MAX, u64::MAX)];
        let bars = bars.map(|(part, most)| bar(part, most, 3));
        assert_eq!(bars, ["   ", "▏  ", "█▌ ", "███", "███", "   ", "███"]);
        assert_eq!(bar(1, 1, 0), "");
    }

    #[test]
    fn courses() {
        assert_eq!(course(&[0, 1, 4, 8], 10), " ▁▄█");
        assert_eq!(course(&[1, 1, 8, 8, 0, 0], 3), "▁█ ");
        assert_eq!(course(&[3; 7], 4), "████");
        assert_eq!((course(&[], 5), course(&[1, 2], 0)), (String::new(), String::new()));
        assert_eq!(course(&[u64::MAX, u64::MAX], 1), "█");
    }
}
