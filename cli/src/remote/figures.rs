//! How the answers came about.

use serde::Serialize;
use windlass_remote::Remote;

use crate::output;

/// As all reports have it.
#[derive(Serialize)]
pub(crate) struct Calls {
    /// Pipelines that were sent.
    round_trips: u64,
    /// Commands that a server sent elsewhere, or that were sent again.
    again: u64,
    /// Commands that ended with an error.
    errors: u64,
}

impl Calls {
    pub(crate) fn of(remote: &Remote) -> Calls {
        let calls = remote.stats();
        Calls { round_trips: calls.pipelines, again: calls.redirected + calls.again, errors: calls.failed }
    }

    pub(crate) fn round_trips(&self) -> String {
        format!("{} round trips", output::count(self.round_trips))
    }

    /// What there should be none of.
    pub(crate) fn trouble(&self) -> String {
        lines(&[
            (self.again, "requests sent again or elsewhere"),
            (self.errors, "requests ended with an error"),
        ])
    }
}

/// .. of decisions.
#[derive(Serialize)]
pub(crate) struct Figures {
    #[serde(flatten)]
    pub(crate) calls: Calls,
    /// Known here: no server was asked.
    pub(crate) local: u64,
    /// Judged here while the servers were away.
    pub(crate) alone: u64,
}

impl Figures {
    pub(crate) fn text(&self) -> String {
        let local = output::count(self.local);
        format!("{}, {local} denials known here\n", self.calls.round_trips())
            + &lines(&[(self.alone, "judged alone: the servers were away (--when-down)")])
            + &self.calls.trouble()
    }
}

/// A line for each number that is not 0.
pub(crate) fn lines(figures: &[(u64, &str)]) -> String {
    let some = figures.iter().filter(|(number, _)| *number > 0);
    some.map(|(number, what)| format!("{} {what}\n", output::count(*number))).collect()
}
