//! What a generated stream is like.

use crate::{
    args::{GenArgs, Reach, Share, Skew, Span, TimesArgs},
    failure::Failure,
    input,
};

/// Of a second.
pub(crate) const NANOS: u64 = 1_000_000_000;

/// The most events per second, keys, clients, and events of distance.
const MOST: u64 = 1_000_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) seed: u64,
    pub(crate) events: u64,
    /// Events per second.
    pub(crate) rate: u64,
    /// Nanoseconds since 1970.
    pub(crate) start: u64,
    /// The share of late events, and by how many nanoseconds at most.
    pub(crate) late: Share,
    pub(crate) lateness: u64,
    /// The share of repeats, and how many events back their ids were new at most.
    pub(crate) duplicates: Share,
    pub(crate) distance: u64,
    pub(crate) clients: u64,
    pub(crate) keys: u64,
    pub(crate) skew: Skew,
}

/// That of `windlass gen` without options.
impl Default for Shape {
    fn default() -> Shape {
        Shape {
            seed: 1,
            events: 1_000_000,
            rate: 100_000,
            start: 1_767_225_600 * NANOS,
            late: Share::percent(0),
            lateness: 0,
            duplicates: Share::percent(20),
            distance: 100_000,
            clients: 1000,
            keys: 100_000,
            skew: Skew::ONE,
        }
    }
}

impl Shape {
    pub(crate) fn of(args: &GenArgs) -> Result<Shape, Failure> {
        let (times, ids) = (&args.times, &args.ids);
        for (option, value) in [("--rate", times.rate), ("--clients", ids.clients), ("--keys", ids.keys)] {
            if value.0 == 0 || value.0 > MOST {
                return Err(Failure::bad(format_args!("{option} {value} is out of range: 1 to {MOST}")));
            }
        }
        let shape = Shape {
            seed: args.seed.0,
            events: args.events.0,
            rate: times.rate.0,
            start: times.start.nanos,
            late: times.late.unwrap_or_default(),
            lateness: times.lateness.as_ref().map_or(Ok(0), |span| lateness(span, times))?,
            duplicates: ids.duplicates,
            distance: distance(&ids.distance, times.rate.0)?,
            clients: ids.clients.0,
            keys: ids.keys.0,
            skew: ids.skew,
        };
        shape.ends_in_time()?;
        Ok(shape)
    }

    /// An event later than the last time allowed cannot be read by anything here.
    pub(crate) fn ends_in_time(&self) -> Result<(), Failure> {
        let span = u128::from(input::LAST - self.start) * u128::from(self.rate) / u128::from(NANOS);
        if u128::from(self.events) > span {
            return Err(Failure::bad(format_args!(
                "--events {} is out of range: {span} at most, at {} a second, until 2261",
                self.events, self.rate
            )));
        }
        Ok(())
    }
}

fn lateness(span: &Span, times: &TimesArgs) -> Result<u64, Failure> {
    let nanos = u64::try_from(span.duration.as_nanos()).unwrap_or(u64::MAX);
    if nanos == 0 || nanos > times.start.nanos {
        return Err(Failure::bad(format_args!(
            "--lateness {span} is out of range: 1ns, to as far as 1970 is from --start {}",
            times.start
        )));
    }
    Ok(nanos)
}

/// In events.
fn distance(reach: &Reach, rate: u64) -> Result<u64, Failure> {
    let (events, more) = match reach {
        Reach::Events(count) => (count.0.into(), String::new()),
        Reach::Time(span) => {
            let events = span.duration.as_nanos() * u128::from(rate) / u128::from(NANOS);
            (events, format!("; at --rate {rate} it is {events}"))
        }
    };
    u64::try_from(events).ok().filter(|events| (1..=MOST).contains(events)).ok_or_else(|| {
        Failure::bad(format_args!("--distance {reach} is out of range: 1 to {MOST} events{more}"))
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    #[test]
    fn the_default_is_that_of_the_command() {
        let Command::Gen(args) = Cli::try_parse_from(["windlass", "gen"]).unwrap().command else {
            panic!("another command")
        };
        assert_eq!(Shape::of(&args).unwrap(), Shape::default());
    }
}
