//! What a quota becomes when it changes while the limiter is in use.

use super::{
    admission::Answer,
    algorithm::{Algorithm, Rule},
    course::Course,
    quota::Quota,
    tat::Tat,
};
use crate::error::ConfigError;

/// What becomes of what clients have used, when the quota changes.
///
/// Say the quota was 100 permits in a minute, and a client has used 60 of them:
///
/// | the quota is now | [`Inherit::Proportional`] | [`Inherit::AsIs`] |
/// |---|---|---|
/// | 200 in a minute | 120 used, 80 left | 60 used, 140 left |
/// | 20 in a minute | 12 used, 8 left | 60 used: none left, until 40 of them and one more are back |
///
/// Whoever had used up the old quota has nothing at first under the new one, but what it is more [`Inherit::AsIs`]. Whoever had used nothing has all of the new one. What was used comes back as fast as
/// the new quota says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Inherit {
    /// Permits that were used stay used, one by one. (Where the new quota has fewer than were used, the rest has to be worked off.)
    AsIs,
    /// The share that was used stays used, of a bucket: of [`Algorithm::Gcra`], [`Algorithm::TokenBucket`], [`Algorithm::LeakyQueue`]. A 256th of it
    /// at most is lost by rounding.
    Proportional,
}

/// What a limiter goes by: its quota, and what follows from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(super) quota: Quota,
    pub(super) rule: Rule,
    pub(super) course: Course,
    /// As the limiter was built.
    built: Rule,
    /// Of a bucket: what is kept by [`Inherit::Proportional`], so that what is rounded off does not add up.
    whole: u64,
}

/// For which there must be numbers left after a change.
const LEAST_TO_LAST: u64 = 366 * 86_400_000_000_000;

impl Terms {
    pub(super) fn new(quota: Quota, rule: Rule) -> Terms {
        let whole = if let Rule::Tat(tat) = rule { tat.whole() } else { 0 };
        Terms { quota, rule, course: Course::default(), built: rule, whole }
    }

    /// .. from `stamp` on. States stand as they are; so do the windows, which have numbers, and the slots of logs.
    pub(super) fn changed(
        &self,
        (algorithm, in_set): (Algorithm, bool),
        (quota, inherit): (Quota, Inherit),
        stamp: u64,
    ) -> Result<Terms, ConfigError> {
        let asked = algorithm.rule_for(in_set, quota)?;
        let error = |limit: &dyn std::fmt::Display| Err(ConfigError::new("quota", quota, limit));
        if inherit == Inherit::Proportional && !matches!(asked, Rule::Tat(_)) {
            let limit = "AsIs, for windows and logs: they count permits, and not shares";
            return Err(ConfigError::new("inherit", "Proportional", limit));
        }
        let built = self.built;
        match (self.rule, asked) {
            (Rule::Tat(tat), Rule::Tat(_)) => self.of_bucket(tat, (quota, inherit), stamp),
            (Rule::Fixed(fixed), Rule::Fixed(_)) if quota.per == self.quota.per => {
                match fixed.changed(quota.permits) {
                    Some(fixed) => Ok(Terms { quota, rule: Rule::Fixed(fixed), ..*self }),
                    None => error(&format_args!("{} permits at most, for a limiter in use", fixed.most())),
                }
            }
            (Rule::Sliding(sliding), Rule::Sliding(_)) if quota.per == self.quota.per => {
                match sliding.changed(quota.permits) {
                    Some(sliding) => Ok(Terms { quota, rule: Rule::Sliding(sliding), ..*self }),
                    None => error(&format_args!("{} permits at most, for a limiter in use", sliding.most())),
                }
            }
            (Rule::Log(_), Rule::Log(asked)) => match built {
                Rule::Log(built) if asked.limit > built.limit || asked.window > built.window => {
                    let (limit, micros) = (built.limit, built.window);
                    error(&format_args!(
                        "{limit} permits and {micros} us at most, for which its logs were made"
                    ))
                }
                _ => Ok(Terms { quota, rule: Rule::Log(asked), ..*self }),
            },
            _ => error(&format_args!("a time of {:?}, as before: its windows are counted", self.quota.per)),
        }
    }

    /// A permit takes as much of the limiter's time as before, or a bucket does; and that time goes as fast as the quota says.
    fn of_bucket(
        &self,
        tat: Tat,
        (quota, inherit): (Quota, Inherit),
        stamp: u64,
    ) -> Result<Terms, ConfigError> {
        let error = |limit: &dyn std::fmt::Display| Err(ConfigError::new("quota", quota, limit));
        let (permits, per) = quota.checked()?;
        let changed = match inherit {
            Inherit::AsIs => tat.with_burst(quota.capacity()),
            Inherit::Proportional => match tat.with_share(self.whole, quota.capacity()) {
                Ok(tat) => Some(tat),
                Err(most) => {
                    return error(&format_args!("{most} permits at once at most, for a share to be kept"));
                }
            },
        };
        let Some(changed) = changed else {
            return error(&"fewer permits at once, or Proportional: what the limiter's states can hold");
        };
        let (time, span) = changed.per_permit();
        let course = self.course.then(stamp, u128::from(permits) * time, u128::from(per) * span);
        match course {
            Some(course) if course.lasts() >= LEAST_TO_LAST => {
                let whole = if inherit == Inherit::AsIs { changed.whole() } else { self.whole };
                Ok(Terms { quota, rule: Rule::Tat(changed), course, whole, ..*self })
            }
            Some(_) => {
                error(&"a slower pace, or another `inherit`: the limiter's numbers would not last a year")
            }
            None => error(&"a faster pace"),
        }
    }
}

/// What a snapshot has of terms that have changed; what else they have follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SavedTerms {
    pub(super) quota: Quota,
    /// Of a bucket: what a permit takes, where its course began, and what is kept by [`Inherit::Proportional`]; else 0.
    pub(super) interval: u64,
    pub(super) since: (u64, u64),
    pub(super) whole: u64,
}

impl Terms {
    pub(super) fn saved(&self) -> SavedTerms {
        let interval = if let Rule::Tat(tat) = self.rule { tat.interval() } else { 0 };
        SavedTerms { quota: self.quota, interval, since: self.course.since(), whole: self.whole }
    }

    /// What became of these, as the limiter was built. `None`: they cannot have.
    pub(super) fn resumed(&self, algorithm: (Algorithm, bool), saved: SavedTerms) -> Option<Terms> {
        let SavedTerms { quota, interval, since, whole } = saved;
        if let Rule::Tat(built) = self.built {
            algorithm.0.rule_for(algorithm.1, quota).ok()?;
            let (permits, per) = quota.checked().ok()?;
            let tat = built.with_interval(interval, quota.capacity())?;
            let (time, span) = tat.per_permit();
            let pace = (u128::from(permits) * time, u128::from(per) * span);
            let course = Course::resumed(since, pace)?;
            let lasts = course.lasts() >= LEAST_TO_LAST;
            return lasts.then_some(Terms { quota, rule: Rule::Tat(tat), course, whole, ..*self });
        }
        let is_else = (interval, since, whole) == (0, (0, 0), 0);
        self.changed(algorithm, (quota, Inherit::AsIs), 0).ok().filter(|_| is_else)
    }
}

impl Course {
    /// What a caller is told, by its own clock.
    pub(super) fn told(self, answer: Answer, stamp: u64, time: u64) -> Answer {
        let after = |nanos: u64| match nanos {
            0 => 0,
            nanos => self.stamp(time.saturating_add(nanos)).saturating_sub(stamp),
        };
        match answer {
            Answer::Allowed { remaining, reset_after, delay } => {
                Answer::Allowed { remaining, reset_after: after(reset_after), delay: after(delay) }
            }
            Answer::Denied { retry_after } => Answer::Denied { retry_after: after(retry_after) },
        }
    }
}
