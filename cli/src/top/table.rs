//! The list of the last window, for people.

use std::io::stdout;

use super::{Lists, verdicts::Denied};
use crate::output;

/// At the longest.
const BAR: usize = 20;

/// A line for each key. On a terminal none is longer than that is wide: keys are cut in the middle, since many begin and many end alike.
pub(super) fn text(lists: &Lists) -> String {
    table(lists, terminal_size::terminal_size_of(stdout()).map(|(width, _)| width.0.into()))
}

fn table(lists: &Lists, width: Option<usize>) -> String {
    let list = lists.list.as_ref();
    let denied = lists.denials.as_ref().map(Denied::of);
    let rows = list.map_or(&[][..], |list| &list.rows);
    let (total, first) = (list.map_or(0, |list| list.total), rows.first().map_or(0, |row| row.count));
    let is_exact = rows.iter().all(|row| row.lower == row.upper);
    // (A count that is not exact may be the least that there is.)
    let is_least = rows.iter().all(|row| row.lower == row.count);
    let more = |has: bool, bound: &str| if has { format!(" {bound:>11}") } else { String::new() };
    let head = |rank: &str, count: &str, bounds: [&str; 2], share: &str, denials: &str, bar: &str| {
        let (least, most) = (more(!is_exact && !is_least, bounds[0]), more(!is_exact, bounds[1]));
        let denials = more(denied.is_some(), denials);
        format!("{rank:>4} {count:>11}{least}{most} {share:>8}{denials}  {bar:<BAR$}  ")
    };
    let mut text = format!("{}key\n", head("rank", "count", ["at least", "at most"], "share", "denied", ""));
    for (row, rank) in rows.iter().zip(1_u64..) {
        let (count, share) = (output::count(row.count), output::share(row.count, total));
        let at_most = if row.upper == u64::MAX { "?".to_owned() } else { output::count(row.upper) };
        let bounds = [&*output::count(row.lower), &*at_most];
        let denials = denied.as_ref().map_or(String::new(), |denied| denied.text(&row.key));
        let bar = output::bar(row.count, first, BAR);
        let line = head(&rank.to_string(), &count, bounds, &share, &denials, &bar);
        let room = width.map_or(usize::MAX, |width| width.saturating_sub(line.len()));
        let key: String = row.key.to_string().chars().flat_map(char::escape_debug).collect();
        text += &format!("{line}{}\n", cut(&key, room));
    }
    text
}

/// To that many characters, a few at least.
pub(super) fn cut(key: &str, room: usize) -> String {
    const DOTS: &str = "...";
    let (chars, room) = (key.chars().count(), room.max(DOTS.len() + 8));
    if chars <= room {
        return key.to_owned();
    }
    let tail = (room - DOTS.len()) / 2;
    let head = key.chars().take(room - DOTS.len() - tail);
    head.chain(DOTS.chars()).chain(key.chars().skip(chars - tail)).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use windlass::{Tick, TopK};

    use super::*;

    #[test]
    fn fits_the_terminal() {
        let second = Duration::from_secs(1);
        let top = TopK::builder(second, second, 3).capacity(10).build().unwrap();
        let long = "/a/very/long/path/to/something/that/does/not/fit.html";
        for (key, n) in [(long, 6000), ("tab\there", 250), ("b", 1)] {
            top.add_at(key, n, Tick(0));
        }
        let mut lists = Lists { list: Some(top.top_at(Tick(0))), denials: None };
        let expected = "\
rank       count    share                        key
   1       6,000   96.0 %  ####################  /a/very/long/p...s/not/fit.html
   2         250    4.0 %  #                     tab\\there
   3           1    0.0 %  #                     b
";
        assert_eq!(table(&lists, Some(80)), expected);
        assert!(table(&lists, None).contains(long));
        assert!(table(&lists, Some(0)).contains("  /a/v...html\n"));
        let denials = TopK::builder(second, second, 1).capacity(10).build().unwrap();
        for (key, n) in [(long, 1234), ("b", 1)] {
            denials.add_at(key, n, Tick(0));
        }
        lists.denials = Some(denials.top_at(Tick(0)));
        let expected = "\
rank       count    share      denied                        key
   1       6,000   96.0 %       1,234  ####################  /a/v...html
   2         250    4.0 %        <= 1  #                     tab\\there
   3           1    0.0 %        <= 1  #                     b
";
        assert_eq!(table(&lists, Some(60)), expected);
        let nothing = Lists { list: None, denials: None };
        assert_eq!(table(&nothing, None), "rank       count    share                        key\n");
    }
}
