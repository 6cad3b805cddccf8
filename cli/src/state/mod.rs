//! `--state FILE --save-every DUR`: what outlives a run. `due`: when it is saved. `file`: how it is written and read; `frames`: what is in no snapshot and long. `lock`: by one process
//! at a time. `settings`: what must be as it was.
//!
//! A state is one moment between two blocks of the input: how far that has been read, what the structure knows, the counts, and the length of
//! `--decisions`. What was written for the events before has left the process by then.

mod due;
mod file;
mod frames;
mod lock;
mod settings;

use std::{
    fmt, io,
    path::Path,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use windlass::{ConfigError, RestoreError, Restored};

use crate::{
    args::SaveArgs,
    failure::{Failure, reason},
    input::{Input, Next, Order, Position},
    output::{Decisions, Records},
    stop::Stop,
};
use due::{Due, PATIENCE};
use file::{Rest, Target};
pub(crate) use frames::{Framed, Unframed, invalid};
pub(crate) use settings::Settings;

/// What the file says before the snapshots.
#[derive(Serialize, Deserialize)]
struct Head {
    command: String,
    settings: Vec<(String, String)>,
    position: Position,
    /// The records' header was written.
    header: bool,
    /// Length of `--decisions`.
    decisions: Option<u64>,
    counts: Value,
}

/// What a command has that outlives it.
pub(crate) trait Keep {
    /// Counts of the summary, and whatever else is not in a snapshot.
    fn counts(&self) -> serde_json::Result<Value>;

    /// The structures' snapshots, and whatever else is too long for the counts ([`Framed`]).
    fn write(&self, out: &mut dyn io::Write) -> io::Result<()>;
}

/// The state of a run.
pub(crate) struct State {
    target: Target,
    command: &'static str,
    settings: Settings,
    due: Due,
    stop: Stop,
}

/// What the run before has left.
pub(crate) struct Loaded {
    head: Head,
    rest: Rest,
    path: std::path::PathBuf,
}

impl State {
    /// `None` without `--state`. Nothing is written yet, but it is known that it can be.
    pub(crate) fn open(
        args: &SaveArgs,
        command: &'static str,
        order: Order,
        settings: impl FnOnce() -> Settings,
    ) -> Result<Option<(State, Option<Loaded>)>, Failure> {
        let Some(path) = &args.state else { return Ok(None) };
        if order == Order::Sort {
            return Err(Failure::bad(
                "--state does not go with --order sort, which reads the whole input first",
            ));
        }
        let (target, settings) = (Target::new(path)?, settings());
        let loaded = file::read(path)?;
        if let Some((head, _)) = &loaded {
            if head.command != command {
                return Err(Failure::bad(format_args!(
                    "--state {}: is of windlass {}, not of windlass {command}",
                    path.display(),
                    head.command
                )));
            }
            if let Some([was, is]) = settings.differs(&head.settings) {
                return Err(Failure::bad(format_args!(
                    "--state {}: was made with {was}, and now there is {is}",
                    path.display()
                )));
            }
        }
        target.check()?;
        let stop = Stop::on_signals()?;
        let due = Due::new(args.save_every.duration, Instant::now());
        let state = State { target, command, settings, due, stop };
        Ok(Some((state, loaded.map(|(head, rest)| Loaded { head, rest, path: path.clone() }))))
    }

    /// It is time to save, and there is something new.
    pub(crate) fn is_due(&self) -> bool {
        self.due.is_at(Instant::now())
    }

    /// How long to wait for input at most.
    pub(crate) fn patience(&self) -> Duration {
        self.due.patience(Instant::now())
    }

    /// Saves if it is time to, and the input is between two blocks.
    pub(crate) fn step(
        &mut self,
        input: &Input,
        records: Option<&mut Records>,
        decisions: Option<&mut Decisions>,
        kept: &dyn Keep,
    ) -> Result<(), Failure> {
        if self.is_due() { self.save(input, records, decisions, kept) } else { Ok(()) }
    }

    /// Saves, if the input is between two blocks.
    pub(crate) fn save(
        &mut self,
        input: &Input,
        mut records: Option<&mut Records>,
        mut decisions: Option<&mut Decisions>,
        kept: &dyn Keep,
    ) -> Result<(), Failure> {
        let Some(position) = input.position() else { return Ok(()) };
        if let Some(records) = &mut records {
            records.flush()?;
        }
        let decisions = decisions.as_mut().map(|decisions| decisions.sync()).transpose()?;
        let head = Head {
            command: self.command.to_owned(),
            settings: self.settings.list().to_vec(),
            position,
            header: records.is_some_and(|records| records.has_begun()),
            decisions,
            counts: kept.counts().map_err(|e| Failure::Running(e.to_string()))?,
        };
        self.target.replace(&head, |out| kept.write(out))?;
        self.due.saved(Instant::now());
        Ok(())
    }
}

impl Loaded {
    pub(crate) fn counts<T: DeserializeOwned>(&mut self) -> Result<T, Failure> {
        serde_json::from_value(self.head.counts.take()).map_err(|error| damaged(&self.path, error))
    }

    /// Restores the next structure. `refused`: what is said of settings that are wrong by themselves.
    pub(crate) fn restore<T>(
        &mut self,
        restore: impl FnOnce(&mut Rest) -> Result<Restored<T>, RestoreError>,
        refused: impl FnOnce(ConfigError) -> Failure,
    ) -> Result<T, Failure> {
        match restore(&mut self.rest) {
            Ok(restored) => Ok(restored.structure),
            Err(RestoreError::Config(error)) => Err(refused(error)),
            Err(
                error @ (RestoreError::Io { .. } | RestoreError::Memory { .. } | RestoreError::Full { .. }),
            ) => Err(Failure::Running(format!("--state {}: {error}", self.path.display()))),
            Err(error) => Err(Failure::bad(format_args!("--state {}: {error}", self.path.display()))),
        }
    }

    /// Reads the next part that is [`Framed`].
    pub(crate) fn read<T>(
        &mut self,
        read: impl FnOnce(&mut Unframed<&mut Rest>) -> io::Result<T>,
    ) -> Result<T, Failure> {
        let mut part = Unframed::new(&mut self.rest);
        let all = read(&mut part).and_then(|all| part.end().map(|()| all));
        all.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => damaged(&self.path, error),
            _ => {
                Failure::Running(format!("--state {}: cannot read: {}", self.path.display(), reason(&error)))
            }
        })
    }

    /// There is nothing more.
    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        file::at_end(&self.path, &mut self.rest)
    }

    pub(crate) fn header(&self) -> bool {
        self.head.header
    }

    /// How long `--decisions` was.
    pub(crate) fn decisions(&self) -> u64 {
        self.head.decisions.unwrap_or(0)
    }
}

/// Where the input begins, and that its position is kept.
pub(crate) fn begin(
    input: &mut Input,
    state: Option<&State>,
    loaded: Option<&Loaded>,
) -> Result<(), Failure> {
    let Some(state) = state else { return Ok(()) };
    let position = loaded.map(|loaded| loaded.head.position.clone()).unwrap_or_default();
    input.go_on(position, &state.target.shown)
}

/// What there is next, waiting no longer than the state allows. When somebody has asked the run to end, that is what has been read already.
pub(crate) fn next<'a>(input: &'a mut Input, state: Option<&State>) -> Result<Next<'a>, Failure> {
    next_until(input, state, None)
}

/// The same for a run that may be asked to end without having a state; its input is read aside.
pub(crate) fn next_until<'a>(
    input: &'a mut Input,
    state: Option<&State>,
    stop: Option<&Stop>,
) -> Result<Next<'a>, Failure> {
    let Some(stop) = stop.or(state.map(|state| &state.stop)) else {
        return Ok(input.next()?.map_or(Next::End, Next::Batch));
    };
    if stop.is_asked() {
        input.close();
    }
    let next = input.next_within(Some(state.map_or(PATIENCE, State::patience)))?;
    if let (Next::Batch(_), Some(state)) = (&next, state) {
        state.due.change();
    }
    Ok(next)
}

fn damaged(path: &Path, what: impl fmt::Display) -> Failure {
    Failure::bad(format_args!("--state {}: damaged: {what}", path.display()))
}
