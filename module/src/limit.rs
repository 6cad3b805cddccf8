//! `WL.LIMIT`: a limiter in a key, which ends when it makes no difference any more.

use crate::{
    call::{Call, in_range, micros, rounded_up, tick},
    reply::{Answer, Failure, Reply},
    server::{Sent, Word},
    types::{self, Value, registered, said},
};
use std::{
    ffi::CStr,
    io::{self, Read, Write},
    time::Duration,
};
use windlass::{Admission, Algorithm, Inherit, Limiter, LimiterBuilder, Quota};

/// The algorithms by their words; their places are their numbers in what is saved.
const ALGORITHMS: [(&str, Algorithm); 6] = [
    ("GCRA", Algorithm::Gcra),
    ("BUCKET", Algorithm::TokenBucket),
    ("QUEUE", Algorithm::LeakyQueue),
    ("FIXED", Algorithm::FixedWindow),
    ("SLIDING", Algorithm::SlidingCounter),
    ("LOG", Algorithm::SlidingLog),
];

/// Words before the options.
const OPTIONS: usize = 4;

pub(crate) struct LimitKey {
    /// Of [`ALGORITHMS`].
    algorithm: u64,
    /// As it was built; what it is now, it knows itself.
    built: Quota,
    /// The time of the newest change, in microseconds.
    newest: u64,
    limiter: Limiter,
}

/// What is asked for.
struct Asked {
    algorithm: u64,
    quota: Quota,
    cost: u64,
    /// Nothing is taken.
    looks: bool,
    /// The key ends when it makes no difference.
    ends: bool,
}

fn builder(algorithm: u64, quota: Quota) -> Result<LimiterBuilder, Failure> {
    let found = usize::try_from(algorithm).ok().and_then(|at| ALGORITHMS.get(at));
    let Some(&(_, algorithm)) = found else { return Err(Failure::new("an algorithm that is not known")) };
    Ok(Limiter::builder(quota).algorithm(algorithm))
}

fn quota(permits: u64, per: Duration, burst: Option<u64>) -> Quota {
    let quota = Quota::new(permits, per);
    burst.map_or(quota, |burst| quota.burst(burst))
}

impl LimitKey {
    fn new(asked: &Asked) -> Result<LimitKey, Failure> {
        let limiter = builder(asked.algorithm, asked.quota)?.build()?;
        Ok(LimitKey { algorithm: asked.algorithm, built: asked.quota, newest: 0, limiter })
    }

    fn word(&self) -> &'static str {
        usize::try_from(self.algorithm).ok().and_then(|at| ALGORITHMS.get(at)).map_or("", |(word, _)| word)
    }

    pub(crate) fn figures(&self, now: u64) -> Vec<(&'static str, Reply)> {
        let quota = self.limiter.quota();
        let (remaining, reset) = stands(&self.limiter, now.max(self.newest));
        vec![
            ("type", Reply::Bytes(b"limit".to_vec())),
            ("algorithm", Reply::Bytes(self.word().as_bytes().to_vec())),
            ("limit", Reply::Number(quota.permits())),
            ("window-ms", Reply::Number(u64::try_from(quota.per().as_millis()).unwrap_or(u64::MAX))),
            ("burst", Reply::Number(quota.capacity())),
            ("newest-us", Reply::Number(self.newest)),
            ("remaining", Reply::Number(remaining)),
            ("reset-us", Reply::Number(reset)),
            ("memory-bytes", Reply::Number(self.memory() as u64)),
        ]
    }
}

/// Permits that are left, and microseconds until all are there again.
fn stands(limiter: &Limiter, now: u64) -> (u64, u64) {
    let Stands { left, reset } = Stands::after(limiter, limiter.peek_at(0, tick(now)), now);
    (left, reset)
}

impl Value for LimitKey {
    const NAME: &'static CStr = c"wlm-limit";

    registered!();

    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        let per = u64::try_from(self.built.per().as_nanos()).unwrap_or(u64::MAX);
        types::write_head([self.algorithm, self.built.permits(), per, self.built.capacity()], out)?;
        self.limiter.snapshot_at(out, tick(self.newest), Duration::ZERO)?;
        Ok(())
    }

    fn load(input: &mut dyn Read) -> Result<LimitKey, String> {
        let [algorithm, permits, per, burst] = types::read_head(input)?;
        let built = quota(permits, Duration::from_nanos(per), Some(burst));
        let builder = builder(algorithm, built)
            .map_err(|failure| String::from_utf8_lossy(&failure.text()).into_owned())?;
        let restored = builder.restore(input, Duration::ZERO).map_err(said)?;
        Ok(LimitKey { algorithm, built, newest: micros(restored.resumed), limiter: restored.structure })
    }

    fn memory(&self) -> usize {
        let stamps = match ALGORITHMS.get(usize::try_from(self.algorithm).unwrap_or(usize::MAX)) {
            Some((_, Algorithm::SlidingLog)) => usize::try_from(self.built.permits()).unwrap_or(0) * 8,
            _ => 0,
        };
        size_of::<LimitKey>() + stamps
    }

    /// What it would answer, now and later: how a quota that was changed is kept may differ.
    fn digest(&self) -> Vec<u8> {
        let quota = self.limiter.quota();
        let step = u64::try_from(quota.per().as_micros()).unwrap_or(u64::MAX) / 4;
        let per = u64::try_from(quota.per().as_nanos()).unwrap_or(u64::MAX);
        let mut numbers = vec![self.algorithm, quota.permits(), quota.capacity(), per, self.newest];
        for later in 0..=8 {
            let now = self.newest.saturating_add(step.saturating_mul(later));
            let (left, reset) = stands(&self.limiter, now);
            let retry = match self.limiter.peek_at(quota.capacity(), tick(now)) {
                Admission::Denied { retry_after } => rounded_up(retry_after),
                _ => 0,
            };
            numbers.extend([left, reset, retry]);
        }
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }
}

/// `key algorithm limit window-ms [BURST n] [COST n] [PEEK]`: whether it may (1), may not now (0), or never (-1); the most at once; what is left; and in
/// microseconds when to come again, when all is there again, and how long to wait before going on.
pub(crate) fn limit(call: &mut Call<'_>) -> Answer {
    let asked = asked(call)?;
    let mut key = if asked.looks { call.key_to_read()? } else { call.key_to_write()? };
    // Read once: a key never goes by less than it has seen.
    let clock = call.now(0);
    let mut fresh = key.is_empty().then(|| LimitKey::new(&asked)).transpose()?;
    if let Some(fresh) = &fresh {
        let admission = fresh.limiter.peek_at(asked.cost, tick(clock));
        if asked.looks || admission == Admission::Never || asked.cost == 0 {
            // Nothing that would have to be kept.
            return Ok(told(&fresh.limiter, admission, clock));
        }
    }
    if asked.looks {
        let Some(stored) = key.value::<LimitKey>()? else { return Err(Failure::WrongType) };
        stored.same_algorithm(&asked)?;
        let now = clock.max(stored.newest);
        return Ok(told(&stored.limiter, stored.limiter.peek_at(asked.cost, tick(now)), now));
    }
    let (stored, _) = key.value_or_new(|| fresh.take().map_or_else(|| LimitKey::new(&asked), Ok))?;
    stored.same_algorithm(&asked)?;
    let now = clock.max(stored.newest);
    let another = stored.limiter.quota() != asked.quota;
    if another {
        stored.limiter.set_quota_at(asked.quota, Inherit::AsIs, tick(now))?;
    }
    let admission = stored.limiter.check_at(asked.cost, tick(now));
    let stands = Stands::after(&stored.limiter, admission, now);
    if another || (admission.is_allowed() && asked.cost > 0) {
        stored.newest = now;
        // By the time that it is given, only if that is the system's.
        let ends = asked.ends || call.at.is_none();
        if ends {
            key.expire_at(now.saturating_add(stands.reset).div_ceil(1000) + 1);
        }
        let end = ends.then_some(Sent::Text("ENDS"));
        // (A key may have that name.)
        let is_option = |at: usize, word: &Word<'_>| at >= OPTIONS && word.is("ENDS");
        let words = call.words.iter().enumerate().filter(|(at, word)| !is_option(*at, word));
        call.changed_by(now, words.map(|(_, &word)| Sent::Word(word)).chain(end))?;
    }
    Ok(stands.told(admission, asked.quota))
}

impl LimitKey {
    fn same_algorithm(&self, asked: &Asked) -> Result<(), Failure> {
        if self.algorithm == asked.algorithm {
            return Ok(());
        }
        Err(Failure::new(format_args!("the key is a limit by {}", self.word())))
    }
}

/// What an answer says beside whether: permits that are left, microseconds until all are there again.
struct Stands {
    left: u64,
    reset: u64,
}

impl Stands {
    /// After this answer: an admission says it itself.
    fn after(limiter: &Limiter, admission: Admission, now: u64) -> Stands {
        let stands = match admission {
            Admission::Allowed { .. } => admission,
            _ => limiter.peek_at(0, tick(now)),
        };
        match stands {
            Admission::Allowed { remaining, reset_after, .. } => {
                Stands { left: remaining, reset: rounded_up(reset_after) }
            }
            _ => Stands { left: 0, reset: 0 },
        }
    }

    fn told(&self, admission: Admission, quota: Quota) -> Reply {
        let (code, retry, delay) = match admission {
            Admission::Allowed { delay, .. } => (1, 0, rounded_up(delay)),
            Admission::Denied { retry_after } => (0, rounded_up(retry_after), 0),
            Admission::Never => (-1, 0, 0),
        };
        let numbers = [quota.capacity(), self.left, retry, self.reset, delay].map(Reply::Number);
        Reply::List([Reply::Signed(code)].into_iter().chain(numbers).collect())
    }
}

fn told(limiter: &Limiter, admission: Admission, now: u64) -> Reply {
    Stands::after(limiter, admission, now).told(admission, limiter.quota())
}

fn asked(call: &Call<'_>) -> Result<Asked, Failure> {
    let word = call.word(1)?;
    let Some(algorithm) = ALGORITHMS.iter().position(|(name, _)| word.is(name)) else {
        return Err(Failure::new("the algorithm is one of GCRA, BUCKET, QUEUE, FIXED, SLIDING, LOG"));
    };
    let permits = call.number(2, "limit", 1, u64::MAX >> 1)?;
    let per = Duration::from_millis(call.millis(3, "window-ms")?);
    let (mut burst, mut cost, mut looks, mut ends) = (None, 1, false, false);
    let mut options = call.rest(OPTIONS).iter();
    let number = |word: Option<&Word<'_>>, name, least| match word {
        Some(&word) => in_range(word, name, least, u64::MAX >> 1),
        None => Err(Failure::Told("ERR syntax error".into())),
    };
    while let Some(option) = options.next() {
        match option {
            option if option.is("BURST") => burst = Some(number(options.next(), "BURST", 1)?),
            option if option.is("COST") => cost = number(options.next(), "COST", 0)?,
            option if option.is("PEEK") => looks = true,
            // Of what replicas are sent.
            option if option.is("ENDS") && call.at.is_some() => ends = true,
            _ => return Err(Failure::Told("ERR syntax error".into())),
        }
    }
    let quota = quota(permits, per, Some(burst.unwrap_or(permits)));
    Ok(Asked { algorithm: algorithm as u64, quota, cost, looks, ends })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_quota_is_kept() {
        for (algorithm, (word, _)) in (0..).zip(ALGORITHMS) {
            let per = Duration::from_millis(600_000);
            let quota = |permits| quota(permits, per, Some(permits));
            let asked = Asked { algorithm, quota: quota(10), cost: 3, looks: false, ends: false };
            let mut key = LimitKey::new(&asked).expect("valid");
            key.newest = 1_795_348_800_123_457;
            assert!(key.limiter.check_at(3, tick(key.newest)).is_allowed());
            if key.limiter.set_quota_at(quota(20), Inherit::AsIs, tick(key.newest)).is_err() {
                assert_eq!(word, "LOG", "of more permits than it was built for");
                continue;
            }
            let again: LimitKey =
                types::from_bytes(&types::to_bytes(&key), LimitKey::load).expect("its own bytes");
            assert_eq!(again.limiter.quota(), key.limiter.quota(), "{word}");
            assert_eq!(again.newest, key.newest, "{word}");
            for later in [0, 1, 1_000_000, 30_000_000, 150_000_000, 600_000_000] {
                let now = key.newest + later;
                assert_eq!(
                    stands(&again.limiter, now),
                    stands(&key.limiter, now),
                    "{word}, {later} us later"
                );
            }
            assert_eq!(again.digest(), key.digest(), "{word}");
        }
    }
}
