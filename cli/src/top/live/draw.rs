//! How it looks.

use std::ops::Range;

use ratatui::{
    Frame,
    layout::Rect,
    style::{Color as Ink, Modifier, Style},
    text::{Line, Span},
};
use windlass::{TopRow, TopSnapshot};

use super::{
    super::{table, verdicts::Denied},
    marks,
    moment::{Moment, Shown},
    rates::Seen,
};
use crate::{
    args::TopArgs,
    grid::Grid,
    input::Input,
    output::{self, Color},
};

/// What does not change while the run goes on.
pub(super) struct Scene {
    title: String,
    window: String,
    pane: String,
    /// Duplicates are told.
    ids: bool,
    /// Denials are: by this limit.
    limit: Option<String>,
    pub(super) grid: Grid,
    pub(super) timed: bool,
    /// Bounds are not exact as a rule.
    bounded: bool,
    color: bool,
}

/// What the one who looks has chosen.
pub(super) struct Look {
    pub(super) held: bool,
    /// The first row that is shown, from 0.
    pub(super) first: usize,
    /// Rows that fit.
    pub(super) page: usize,
}

impl Default for Look {
    fn default() -> Look {
        // (Before anything was drawn nobody knows.)
        Look { held: false, first: 0, page: 100 }
    }
}

impl Look {
    /// The rows that are shown, or were when they fitted.
    pub(super) fn rows(&self) -> Range<usize> {
        self.first..self.first.saturating_add(self.page)
    }
}

impl Scene {
    pub(super) fn new(args: &TopArgs, grid: Grid, input: &Input) -> Scene {
        let files = &args.input.files;
        let mut title = match files.last() {
            None => "stdin".to_owned(),
            Some(file) if file.as_os_str() == "-" => "stdin".to_owned(),
            Some(file) => output::shown(&file.display().to_string(), 60),
        };
        if files.len() > 1 {
            title += &format!(" and {} before it", files.len() - 1);
        }
        if args.input.follow {
            title += ", as it grows";
        }
        Scene {
            title,
            window: args.window.to_string(),
            pane: args.pane.to_string(),
            ids: !args.id.is_empty(),
            limit: args.limit.map(|limit| limit.to_string()),
            grid,
            timed: input.is_timed(),
            bounded: args.approx,
            color: Color::wanted(),
        }
    }

    /// Lines above the first row.
    fn head(&self) -> u16 {
        HEAD + u16::from(self.ids) + u16::from(self.limit.is_some())
    }

    fn ink(&self, ink: Ink) -> Style {
        if self.color { Style::new().fg(ink) } else { Style::new() }
    }
}

const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);

/// Lines above the first row and those of verdicts, and below the last one.
const HEAD: u16 = 7;
const FOOT: u16 = 1;

pub(super) fn draw(frame: &mut Frame<'_>, scene: &Scene, moment: &Moment, look: &mut Look) {
    let area = frame.area();
    let width = usize::from(area.width);
    let mut head = vec![
        Line::from(vec![Span::styled("windlass top", BOLD), Span::raw(format!("  {}", scene.title))]),
        events(scene, moment, width),
    ];
    head.extend(verdicts(scene, moment));
    head.extend([
        window(scene, moment),
        panes(scene, moment, width),
        certainty(scene, moment),
        Line::default(),
    ]);
    for (line, y) in head.into_iter().zip(0..) {
        put(frame, area, y, &line);
    }
    let head = scene.head();
    let rows = moment.window.as_ref().map_or(0, |shown| shown.list.rows.len());
    look.page = usize::from(area.height.saturating_sub(head + FOOT));
    look.first = look.first.min(rows.saturating_sub(look.page));
    if let Some(shown) = &moment.window {
        let columns = Columns::new(shown, width);
        put(frame, area, head - 1, &Line::styled(columns.head(), BOLD));
        let denied = shown.denials.as_ref().map(Denied::of);
        for (row, y) in (look.first..rows).take(look.page).zip(head..) {
            put(frame, area, y, &columns.row(scene, shown, denied.as_ref(), row));
        }
    }
    if area.height > head {
        put(frame, area, area.height - 1, &foot(moment, look, rows));
    }
}

/// (What lies below the lower edge is not shown.)
fn put(frame: &mut Frame<'_>, area: Rect, y: u16, line: &Line<'_>) {
    if y < area.height {
        frame.buffer_mut().set_line(area.x, area.y + y, line, area.width);
    }
}

fn label(text: &str) -> Span<'static> {
    Span::styled(format!("{text:<8}"), DIM)
}

fn events(scene: &Scene, moment: &Moment, width: usize) -> Line<'static> {
    let rate = moment.rate.map_or_else(String::new, |(time, seen)| output::rate(time, seen.events));
    let text = format!("{:>13}  {rate:>16}  ", output::count(moment.told.events));
    let rest =
        format!("  {} read, memory {}", output::memory(moment.read), output::memory(moment.told.memory));
    let room = width.saturating_sub(8 + text.len() + rest.len()).min(60);
    let rates = &moment.rates[moment.rates.len().saturating_sub(room)..];
    let course = Span::styled(marks::course(rates, room), scene.ink(Ink::Green));
    Line::from(vec![label("events"), Span::raw(text), course, Span::raw(rest)])
}

/// What a dedup and a limit would have said, in all and at last.
fn verdicts(scene: &Scene, moment: &Moment) -> impl Iterator<Item = Line<'static>> {
    let (told, now) = (&moment.told, moment.rate.map_or_else(Seen::default, |(_, seen)| seen));
    let line = |name: &str, number: u64, what: String, last: u64| {
        let (all, last) = (output::share(number, told.events), output::share(last, now.events));
        let text = format!("{:>13} {what} ({all}), {last} now", output::count(number));
        Line::from(vec![label(name), Span::raw(text)])
    };
    let ids = scene.ids.then(|| line("ids", told.duplicates, "duplicates".to_owned(), now.duplicates));
    let limit = scene
        .limit
        .as_ref()
        .map(|limit| line("limit", told.denied, format!("denied by {limit} for each key"), now.denied));
    ids.into_iter().chain(limit)
}

fn window(scene: &Scene, moment: &Moment) -> Line<'static> {
    let text = match &moment.window {
        None => format!("{}: nothing has come yet", scene.window),
        Some(Shown { list, .. }) => format!(
            "{}: {} events from {} to {}",
            scene.window,
            output::count(list.total),
            output::time(list.start.0, scene.timed),
            output::time(list.end.0, scene.timed)
        ),
    };
    Line::from(vec![label("window"), Span::raw(text)])
}

/// The panes as they come and go, and how much of the newest one is over.
fn panes(scene: &Scene, moment: &Moment, width: usize) -> Line<'static> {
    let mut line = vec![label("panes"), Span::raw(format!("{}: ", scene.pane))];
    if let Some(shown) = &moment.window {
        let course = marks::course(shown.totals.as_deref().unwrap_or_default(), (width / 3).min(60));
        let over = shown.now % scene.grid.pane;
        let rest = format!(
            "{}the newest {} over, {} turned",
            if course.is_empty() { "" } else { ", " },
            output::share(over, scene.grid.pane),
            output::count(moment.told.panes),
        );
        line.push(Span::styled(course, scene.ink(Ink::Green)));
        line.push(Span::raw(rest));
    }
    Line::from(line)
}

/// What is known of the list, and what did not go well.
fn certainty(scene: &Scene, moment: &Moment) -> Line<'static> {
    let mut line = vec![label("list")];
    let list = moment.window.as_ref().map(|shown| &shown.list);
    match list {
        Some(list) if list.certified => line.push(Span::raw("certified exact")),
        Some(_) if scene.bounded => line.push(Span::raw("counts lie between the bounds")),
        Some(_) => line.push(Span::styled("NOT CERTIFIED: keys may be missing", scene.ink(Ink::Red))),
        None => {}
    }
    line.push(Span::raw(match list.map(|list| list.tail) {
        None | Some(u64::MAX) => String::new(),
        Some(0) => "; there is no other key".to_owned(),
        Some(tail) => format!("; no other key has more than {}", output::count(tail)),
    }));
    let told = &moment.told;
    let troubles = [
        (told.late, "late"),
        (told.uncounted, "too late"),
        (told.refused, "without room"),
        (told.skipped, "records skipped"),
    ];
    let troubles = troubles.iter().filter(|(number, _)| *number > 0);
    let troubles: Vec<_> =
        troubles.map(|(number, what)| format!("{} {what}", output::count(*number))).collect();
    if !troubles.is_empty() {
        line.push(Span::styled(format!("; {}", troubles.join(", ")), scene.ink(Ink::Yellow)));
    }
    Line::from(line)
}

fn foot(moment: &Moment, look: &Look, rows: usize) -> Line<'static> {
    let seconds = moment.elapsed.as_secs();
    let mut text = format!("{}:{:02}  q quit  space ", seconds / 60, seconds % 60);
    text += if look.held { "go on: HELD" } else { "hold" };
    if rows > look.page {
        text += &format!("  arrows scroll: {} to {} of {rows}", look.first + 1, look.first + look.page);
    }
    Line::styled(text, if look.held { BOLD } else { DIM })
}

/// The table's columns, by the room that there is. The last one is the key's.
struct Columns {
    is_exact: bool,
    /// What was denied is told.
    denied: bool,
    bar: usize,
    course: usize,
    /// For the key.
    room: usize,
}

/// Of rank, count and share, with the spaces between.
const FIGURES: usize = 27;
/// .. of the bounds.
const BOUNDS: usize = 24;
/// .. of what was denied.
const DENIED: usize = 12;
/// The head of what came pane by pane.
const COURSE: &str = "course";
/// The least that a key is given before bars are.
const KEY: usize = 16;

impl Columns {
    fn new(shown: &Shown, width: usize) -> Columns {
        let is_exact = shown.list.rows.iter().all(|row| row.lower == row.upper);
        let denied = shown.denials.is_some();
        let figures = FIGURES + if is_exact { 0 } else { BOUNDS } + if denied { DENIED } else { 0 };
        let room = width.saturating_sub(figures);
        let panes = shown.totals.as_ref().map_or(0, Vec::len);
        let bar = if room >= KEY + 8 { (room / 5).min(30) } else { 0 };
        let course =
            if room >= KEY + 24 && panes > 1 { panes.min(room / 5).clamp(COURSE.len(), 60) } else { 0 };
        let taken: usize = [bar, course].into_iter().filter(|wide| *wide > 0).map(|wide| wide + 2).sum();
        Columns { is_exact, denied, bar, course, room: room.saturating_sub(taken) }
    }

    fn figures(&self, [rank, count, lower, upper, share, denied]: [&str; 6]) -> String {
        let bounds = if self.is_exact { String::new() } else { format!(" {lower:>11} {upper:>11}") };
        let denied = if self.denied { format!(" {denied:>11}") } else { String::new() };
        format!("{rank:>4} {count:>11}{bounds} {share:>8}{denied}  ")
    }

    fn head(&self) -> String {
        let mut head = self.figures(["rank", "count", "at least", "at most", "share", "denied"]);
        for (name, wide) in [("", self.bar), (COURSE, self.course)] {
            if wide > 0 {
                head += &format!("{name:<wide$}  ");
            }
        }
        head + "key"
    }

    fn row(&self, scene: &Scene, shown: &Shown, denied: Option<&Denied<'_>>, at: usize) -> Line<'static> {
        let TopSnapshot { rows, total, .. } = &shown.list;
        let row = &rows[at];
        let mut line = vec![Span::raw(self.figures_of(row, at + 1, *total, denied))];
        if self.bar > 0 {
            let bar = marks::bar(row.count, rows[0].count, self.bar);
            line.push(Span::styled(bar, scene.ink(Ink::Cyan)));
            line.push(Span::raw("  "));
        }
        if self.course > 0 {
            let course = shown.courses.get(&at).map_or(&[][..], Vec::as_slice);
            let course = format!("{:<wide$}", marks::course(course, self.course), wide = self.course);
            line.push(Span::styled(course, scene.ink(Ink::Green)));
            line.push(Span::raw("  "));
        }
        let key: String = row.key.to_string().chars().flat_map(char::escape_debug).collect();
        line.push(Span::raw(table::cut(&key, self.room)));
        Line::from(line)
    }

    fn figures_of(&self, row: &TopRow, rank: usize, total: u64, denied: Option<&Denied<'_>>) -> String {
        let upper = if row.upper == u64::MAX { "?".to_owned() } else { output::count(row.upper) };
        let (rank, share) = (rank.to_string(), output::share(row.count, total));
        let denied = denied.map_or_else(String::new, |denied| denied.text(&row.key));
        self.figures([&rank, &output::count(row.count), &output::count(row.lower), &upper, &share, &denied])
    }
}

#[cfg(test)]
mod tests {
    use std::{fmt::Write as _, time::Duration};

    use clap::Parser;
    use ratatui::{Terminal, backend::TestBackend};

    use super::{
        super::{Pulse, moment::Watcher, pulse::Told},
        *,
    };
    use crate::{
        args::{Cli, Command},
        generate::{Shape, Stream},
        stop::Stop,
        top::{self, Running},
    };

    /// A run that has come to its end: the command line and the file that it reads.
    struct Run {
        args: Box<TopArgs>,
        path: std::path::PathBuf,
    }

    impl Run {
        /// Over a generated stream; of so many keys, with these options.
        fn new(name: &str, events: u64, options: &str) -> Run {
            let path = std::env::temp_dir().join(format!("windlass-live-{name}-{}.tsv", std::process::id()));
            let shape = Shape { events, seed: 7, rate: 1000, ..Shape::default() };
            let mut text = String::new();
            let stream = Stream::new(&shape);
            let names = stream.names().clone();
            for event in stream {
                writeln!(text, "k{}\t{}", names.key(event.id), event.time / 1_000_000).unwrap();
            }
            std::fs::write(&path, text).unwrap();
            let fixed = "windlass top --key 1 --time 2 --time-format unix-ms --window 10s --pane 500ms";
            let words = fixed.split(' ').chain(options.split_whitespace()).map(str::to_owned);
            let words = words.chain([path.to_str().unwrap().to_owned()]);
            let Command::Top(args) = Cli::try_parse_from(words).unwrap().command else { unreachable!() };
            Run { args, path }
        }

        /// The screen at the end, and the lines of all panes and the table that the report has.
        fn screen(&self, width: u16, height: u16) -> (Vec<String>, TopSnapshot) {
            let grid = Grid::new(&self.args.window, &self.args.pane).unwrap();
            let mut running = Running::new(&self.args, grid, None).unwrap();
            let mut input = Input::new(&self.args.input, top::need(&self.args)).unwrap();
            let scene = Scene::new(&self.args, grid, &input);
            let mut watcher = Watcher::new(running.live(), input.read_counter(), &scene);
            let pulse = Pulse::new(Stop::default());
            let mut look = Look::default();
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            while let Some(batch) = input.next().unwrap() {
                running.take(&batch).unwrap();
                pulse.tell(running.told(), 0, running.memory_bytes());
                watcher.look(&pulse, look.rows());
                terminal.draw(|frame| draw(frame, &scene, watcher.moment(), &mut look)).unwrap();
            }
            let buffer = terminal.backend().buffer();
            let line =
                |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
            let last = running.panes.last().unwrap();
            ((0..height).map(line).collect(), running.counts.list(grid.begin(last + 1)))
        }
    }

    impl Drop for Run {
        fn drop(&mut self) {
            drop(std::fs::remove_file(&self.path));
        }
    }

    /// Rank, count and key of each row of a screen.
    fn rows(screen: &[String]) -> Vec<(String, String, String)> {
        let rows = screen[usize::from(HEAD)..screen.len() - usize::from(FOOT)].iter();
        let rows = rows.filter(|line| !line.is_empty()).map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            (words[0].to_owned(), words[1].to_owned(), words[words.len() - 1].to_owned())
        });
        rows.collect()
    }

    #[test]
    fn keys_and_counts_are_those_of_the_report() {
        for (options, name) in [("-k 12", "exact"), ("-k 12 --approx --memory 64K", "approx")] {
            let run = Run::new(name, 40_000, options);
            for (width, height) in [(80, 24), (200, 50), (60, 20)] {
                let (screen, list) = run.screen(width, height);
                let expected =
                    list.rows.iter().zip(1..).map(|(row, rank)| {
                        (format!("{rank}"), output::count(row.count), row.key.to_string())
                    });
                assert_eq!(rows(&screen), expected.collect::<Vec<_>>(), "{screen:#?}");
                assert_eq!(list.rows.len(), 12, "{options}: {list:?}\n{screen:#?}");
                assert!(screen[1].starts_with("events         40,000"), "{screen:#?}");
                let total = format!("window  10s: {} events from ", output::count(list.total));
                assert!(screen[2].starts_with(&total), "{screen:#?}");
            }
        }
    }

    /// The repeats of the stream's keys are its duplicates.
    #[test]
    fn verdicts_are_those_of_the_report() {
        let run = Run::new("verdicts", 40_000, "-k 12 --id 1 --limit 9/s");
        for (width, height) in [(80, 24), (200, 50)] {
            let (screen, list) = run.screen(width, height);
            assert!(screen[2].starts_with("ids "), "{screen:#?}");
            assert!(screen[2].contains(" duplicates (") && screen[2].ends_with(" now"), "{screen:#?}");
            assert!(screen[3].contains(" denied by 9/s for each key ("), "{screen:#?}");
            assert!(screen[4].starts_with("window"), "{screen:#?}");
            let head: Vec<&str> = screen[8].split_whitespace().collect();
            assert_eq!(head[..4], ["rank", "count", "share", "denied"]);
            for (line, row) in screen[9..].iter().zip(&list.rows) {
                let words: Vec<&str> = line.split_whitespace().collect();
                assert_eq!(
                    (words[1], words[words.len() - 1]),
                    (&*output::count(row.count), &*row.key.to_string())
                );
                // (After the share and its sign: of the hottest keys much is denied, and not all.)
                let denied: u64 = words[4].replace(',', "").parse().unwrap();
                assert!(denied < row.count, "{line}");
                assert!(denied > 0 || row.count < 200, "{line}");
            }
        }
    }

    #[test]
    fn a_small_screen_has_what_fits() {
        let run = Run::new("small", 3000, "-k 40");
        for (width, height) in [(1, 1), (10, 3), (30, 8), (80, 9), (20, 50)] {
            let (screen, list) = run.screen(width, height);
            assert!(screen.iter().all(|line| line.chars().count() <= usize::from(width)), "{screen:#?}");
            if (width, height) == (80, 9) {
                let row = list.rows.first().unwrap();
                let expected = [("1".to_owned(), output::count(row.count), row.key.to_string())];
                assert_eq!(rows(&screen), expected);
                assert!(screen[8].ends_with("arrows scroll: 1 to 1 of 40"), "{screen:#?}");
            }
        }
    }

    #[test]
    fn colours_are_there_if_they_are_wanted() {
        let run = Run::new("colours", 3000, "-k 3");
        let grid = Grid::new(&run.args.window, &run.args.pane).unwrap();
        let input = Input::new(&run.args.input, top::need(&run.args)).unwrap();
        for color in [true, false] {
            let scene = Scene { color, ..Scene::new(&run.args, grid, &input) };
            let moment = Moment { told: Told { late: 1, ..Told::default() }, ..Moment::default() };
            let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
            terminal.draw(|frame| draw(frame, &scene, &moment, &mut Look::default())).unwrap();
            let has = terminal.backend().buffer().content().iter().any(|cell| cell.fg != Ink::Reset);
            assert_eq!(has, color);
        }
    }

    #[test]
    fn before_the_first_event() {
        let run = Run::new("empty", 1, "-k 3");
        let grid = Grid::new(&run.args.window, &run.args.pane).unwrap();
        let input = Input::new(&run.args.input, top::need(&run.args)).unwrap();
        let scene = Scene::new(&run.args, grid, &input);
        let moment = Moment { elapsed: Duration::from_secs(75), ..Moment::default() };
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        let mut look = Look { held: true, first: 9, page: 0 };
        terminal.draw(|frame| draw(frame, &scene, &moment, &mut look)).unwrap();
        let text: String = terminal.backend().buffer().content().iter().map(|cell| cell.symbol()).collect();
        assert!(text.contains("10s: nothing has come yet"), "{text}");
        assert!(text.contains("1:15  q quit  space go on: HELD"), "{text}");
        assert_eq!(look.first, 0);
    }
}
