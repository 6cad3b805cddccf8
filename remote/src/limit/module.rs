//! Limits by windlass' module in the server: `WL.LIMIT`.

use super::ask::{Ask, Told};
use crate::connection::{Command, Value};
use std::time::Duration;
use windlass::{Admission, Algorithm, ConfigError, Quota};

/// A quota as the module takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Module {
    word: &'static str,
    permits: u64,
    millis: u64,
    burst: u64,
}

impl Module {
    pub(super) fn new(algorithm: Algorithm, quota: Quota) -> Result<Module, ConfigError> {
        let wrong = |field, value: String, limit: &str| ConfigError { field, value, limit: limit.to_owned() };
        let word = match algorithm {
            Algorithm::Gcra => "GCRA",
            Algorithm::TokenBucket => "BUCKET",
            Algorithm::LeakyQueue => "QUEUE",
            Algorithm::FixedWindow => "FIXED",
            Algorithm::SlidingCounter => "SLIDING",
            Algorithm::SlidingLog => "LOG",
            other => return Err(wrong("algorithm", format!("{other:?}"), "one that the module has")),
        };
        let whole = quota.per().subsec_nanos().is_multiple_of(1_000_000);
        let millis = u64::try_from(quota.per().as_millis()).ok().filter(|_| whole);
        let millis = millis
            .ok_or_else(|| wrong("quota", quota.to_string(), "of whole milliseconds, for the module"))?;
        Ok(Module { word, permits: quota.permits(), millis, burst: quota.capacity() })
    }

    /// One that takes some, or none, or only asks. (The module knows no others.)
    pub(super) fn command(&self, key: &[u8], ask: &Ask) -> Command {
        let mut command = Command::new("WL.LIMIT");
        command.arg(key).arg(self.word).arg(self.permits).arg(self.millis);
        command.arg("BURST").arg(self.burst).arg("COST").arg(ask.least);
        if ask.looks {
            command.arg("PEEK");
        }
        command
    }
}

/// What the module says: whether, the most at once, what is left, and in microseconds when to come again, when all is there again, how long to wait.
pub(super) fn told(value: &Value, ask: &Ask) -> Option<Told> {
    let Value::Array(values) = value else { return None };
    let numbers: Option<Vec<i64>> = values
        .iter()
        .map(|value| if let Value::Int(number) = value { Some(*number) } else { None })
        .collect();
    let [code, _, left, retry, reset, delay] = *numbers?.as_slice() else { return None };
    let span = |micros: i64| u64::try_from(micros).ok().map(Duration::from_micros);
    let admission = match code {
        1 => Admission::Allowed {
            remaining: u64::try_from(left).ok()?,
            reset_after: span(reset)?,
            delay: span(delay)?,
        },
        0 => Admission::Denied { retry_after: span(retry)? },
        -1 => Admission::Never,
        _ => return None,
    };
    let taken = if admission.is_allowed() { ask.least } else { 0 };
    Some(Told { admission, taken, ends_after: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        let told = |numbers: &[i64]| {
            let value = Value::Array(numbers.iter().map(|&number| Value::Int(number)).collect());
            told(&value, &Ask::cost(2)).map(|told| (told.admission, told.taken))
        };
        let micros = Duration::from_micros;
        let allowed = Admission::Allowed { remaining: 3, reset_after: micros(8), delay: micros(9) };
        assert_eq!(told(&[1, 5, 3, 0, 8, 9]), Some((allowed, 2)));
        assert_eq!(told(&[0, 5, 1, 7, 8, 0]), Some((Admission::Denied { retry_after: micros(7) }, 0)));
        assert_eq!(told(&[-1, 5, 1, 0, 8, 0]), Some((Admission::Never, 0)));
        for wrong in [&[2, 5, 1, 0, 8, 0][..], &[1, 5, 1, 0, 8], &[1, 5, -1, 0, 8, 0], &[]] {
            assert_eq!(told(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn quotas() {
        let of = |text: &str| Module::new(Algorithm::Gcra, text.parse().expect("a quota"));
        assert!(of("5/250ms burst 7").is_ok());
        assert_eq!(of("5/250us").map_err(|error| error.field), Err("quota"));
    }
}
