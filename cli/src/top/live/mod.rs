//! `--live`: the window as it moves, on a terminal.
//!
//! One thread counts, as fast as it can, and tells its figures through `pulse`; this one draws, ten times a second at most. `moment` is what there is to
//! see at one time, `draw` how it looks, `marks` what bars are made of, `rates` how fast it goes.

mod draw;
mod marks;
mod moment;
mod pulse;
mod rates;

use std::{
    io::{self, IsTerminal, stdout},
    thread,
    time::{Duration, Instant},
};

use ratatui::{
    DefaultTerminal,
    crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers},
    crossterm::style::force_color_output,
};

use super::{Running, stream};
use crate::{
    args::TopArgs,
    failure::{Failure, reason},
    input::{Input, Order},
    metrics::Metrics,
    output::Color,
    state::State,
    stop::Stop,
};
use draw::{Look, Scene};
use moment::Watcher;
pub(super) use pulse::Pulse;

/// From one picture to the next.
const FRAME: Duration = Duration::from_millis(100);

/// How long nobody looks whether the run is over.
const LOOK: Duration = Duration::from_millis(20);

/// A run that is over by then is not worth a screen.
const PATIENCE: Duration = Duration::from_millis(300);

/// The terminal as it is while the run goes on.
pub(super) struct Screen {
    stop: Stop,
}

impl Screen {
    /// One, if it was asked for and there is a terminal.
    pub(super) fn wanted(args: &TopArgs) -> Result<Option<Screen>, Failure> {
        if !args.live {
            return Ok(None);
        }
        if args.input.order == Order::Sort {
            return Err(Failure::bad(
                "--live does not go with --order sort, which reads the whole input first",
            ));
        }
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if is_dumb || !stdout().is_terminal() {
            return Ok(None);
        }
        Ok(Some(Screen { stop: Stop::on_signals()? }))
    }

    /// Counts, and shows how it goes on, until the input ends or somebody asks for it.
    pub(super) fn show(
        self,
        args: &TopArgs,
        running: &mut Running,
        state: Option<&mut State>,
        input: &mut Input,
        metrics: &Metrics,
    ) -> Result<(), Failure> {
        input.read_aside();
        let pulse = Pulse::new(self.stop.clone());
        let scene = Scene::new(args, running.panes.grid(), input);
        let mut watcher = Watcher::new(running.live(), input.read_counter(), &scene);
        thread::scope(|scope| {
            let count = || stream(args, running, state, input, metrics, Some(&pulse));
            let counting = thread::Builder::new().name("count".to_owned()).spawn_scoped(scope, count);
            let counting = counting
                .map_err(|error| Failure::Running(format!("cannot start a thread: {}", reason(&error))))?;
            let shown = self.until(&scene, &mut watcher, &pulse, &|| counting.is_finished());
            if shown.is_err() {
                self.stop.ask();
            }
            let counted = counting
                .join()
                .unwrap_or_else(|_| Err(Failure::Running("the counting thread has failed".to_owned())));
            counted.and(shown.map_err(|error| Failure::writing("to the terminal", &error)))
        })
    }

    fn until(
        &self,
        scene: &Scene,
        watcher: &mut Watcher,
        pulse: &Pulse,
        is_over: &dyn Fn() -> bool,
    ) -> io::Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if is_over() || self.stop.is_asked() {
                return Ok(());
            }
            thread::sleep(LOOK);
        }
        // Without keys there is no way out but signals: then it is as without --live.
        let Ok(mut terminal) = Raw::enter() else { return Ok(()) };
        let mut look = Look::default();
        while !is_over() && !self.stop.is_asked() {
            let frame = Instant::now();
            if !look.held {
                watcher.look(pulse, look.rows());
            }
            terminal.0.draw(|frame| draw::draw(frame, scene, watcher.moment(), &mut look))?;
            while frame.elapsed() < FRAME && !is_over() && !self.stop.is_asked() {
                if event::poll(LOOK)? {
                    self.hear(&event::read()?, &mut look);
                }
            }
        }
        Ok(())
    }

    fn hear(&self, event: &Event, look: &mut Look) {
        // (A new size is known to whoever draws.)
        let Event::Key(KeyEvent { code, modifiers, kind, .. }) = event else { return };
        if *kind == KeyEventKind::Release {
            return;
        }
        match code {
            KeyCode::Char('q') | KeyCode::Esc => self.stop.ask(),
            KeyCode::Char('c' | 'd') if modifiers.contains(KeyModifiers::CONTROL) => self.stop.ask(),
            KeyCode::Char(' ') => look.held = !look.held,
            KeyCode::Up | KeyCode::Char('k') => look.first = look.first.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => look.first = look.first.saturating_add(1),
            KeyCode::PageUp => look.first = look.first.saturating_sub(look.page),
            KeyCode::PageDown => look.first = look.first.saturating_add(look.page),
            KeyCode::Home => look.first = 0,
            _ => {}
        }
    }
}

/// The terminal with a screen of its own, key by key; as it was before when this is dropped, or when something panics.
struct Raw(DefaultTerminal);

impl Raw {
    fn enter() -> io::Result<Raw> {
        // Who wants colours in spite of NO_COLOR gets them here as well; who wants none draws without.
        force_color_output(Color::wanted());
        match ratatui::try_init() {
            Ok(terminal) => Ok(Raw(terminal)),
            Err(error) => {
                // Some of it may be done.
                drop(ratatui::try_restore());
                Err(error)
            }
        }
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        drop(self.0.show_cursor());
        drop(ratatui::try_restore());
    }
}
