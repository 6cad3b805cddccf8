//! Values of the `RateLimit` and `RateLimit-Policy` fields of HTTP: draft-ietf-httpapi-ratelimit-headers-11, as structured fields (RFC 9651).

use super::{admission::Admission, quota::Quota};
use crate::error::ConfigError;
use std::{fmt, time::Duration};

/// An item of the `RateLimit-Policy` field: a limit, what it gives in what time, and in what unit.
///
/// ```
/// use windlass::RateLimitPolicy;
///
/// let policy = RateLimitPolicy::new("default", "100/60s".parse()?)?;
/// assert_eq!(policy.to_string(), r#""default";q=100;w=60"#);
/// # Ok::<(), windlass::ConfigError>(())
/// ```
///
/// The field has no fractions of seconds: the window of a quota in other times is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitPolicy<'a> {
    name: Text<'a>,
    quota: Quota,
    unit: Option<Text<'a>>,
    partition: Option<&'a [u8]>,
}

impl<'a> RateLimitPolicy<'a> {
    /// For a limit of this name.
    ///
    /// # Errors
    /// If the name has other characters than ASCII's printable ones: the field can have no others.
    pub fn new(name: &'a str, quota: Quota) -> Result<Self, ConfigError> {
        Ok(RateLimitPolicy { name: Text::new("name", name)?, quota, unit: None, partition: None })
    }

    /// What a permit is. Default: not told, which is `requests`.
    ///
    /// # Errors
    /// As for a name.
    pub fn unit(self, unit: &'a str) -> Result<Self, ConfigError> {
        Ok(RateLimitPolicy { unit: Some(Text::new("unit", unit)?), ..self })
    }

    /// Tells for whom it is, by a key that the client can see: nothing that it should not.
    #[must_use]
    pub fn partition(self, key: &'a [u8]) -> Self {
        RateLimitPolicy { partition: Some(key), ..self }
    }
}

impl fmt::Display for RateLimitPolicy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{};q={}", self.name, self.quota.permits().min(MOST))?;
        if let Some(unit) = self.unit {
            write!(f, ";qu={unit}")?;
        }
        let per = self.quota.per();
        if per.subsec_nanos() == 0 && per.as_secs() > 0 {
            write!(f, ";w={}", per.as_secs().min(MOST))?;
        }
        partition(f, self.partition)
    }
}

/// An item of the `RateLimit` field: what a limit has left, and for how long that has to do.
///
/// ```
/// use windlass::{Limiter, RateLimit, Tick};
///
/// let limiter = Limiter::builder("100/60s".parse()?).build()?;
/// let admission = limiter.check_at(50, Tick(0));
/// assert_eq!(RateLimit::new("default", admission)?.to_string(), r#""default";r=50;t=30"#);
/// # Ok::<(), windlass::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit<'a> {
    name: Text<'a>,
    remaining: u64,
    after: Option<Duration>,
    partition: Option<&'a [u8]>,
}

impl<'a> RateLimit<'a> {
    /// What a limit of this name has answered: what remains, until all of it has come back; or nothing, until a call passes.
    ///
    /// # Errors
    /// See [`RateLimitPolicy::new`].
    pub fn new(name: &'a str, admission: Admission) -> Result<Self, ConfigError> {
        let (remaining, after) = match admission {
            Admission::Allowed { remaining, reset_after, .. } => (remaining, Some(reset_after)),
            Admission::Denied { retry_after } => (0, Some(retry_after)),
            Admission::Never => (0, None),
        };
        Ok(RateLimit { name: Text::new("name", name)?, remaining, after, partition: None })
    }

    /// See [`RateLimitPolicy::partition`].
    #[must_use]
    pub fn partition(self, key: &'a [u8]) -> Self {
        RateLimit { partition: Some(key), ..self }
    }
}

impl fmt::Display for RateLimit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{};r={}", self.name, self.remaining.min(MOST))?;
        if let Some(after) = self.after {
            // Rounded up: who comes at that time is not too early.
            let seconds = after.as_secs().saturating_add(u64::from(after.subsec_nanos() > 0));
            write!(f, ";t={}", seconds.min(MOST))?;
        }
        partition(f, self.partition)
    }
}

/// The value of a field with several items: [`RateLimitPolicy`] or [`RateLimit`].
///
/// ```
/// use windlass::{FieldList, RateLimitPolicy};
///
/// let policies = [("burst", "100/60s"), ("daily", "1000/24h")]
///     .map(|(name, quota)| RateLimitPolicy::new(name, quota.parse().expect("a quota")).expect("a name"));
/// assert_eq!(FieldList(&policies).to_string(), r#""burst";q=100;w=60,"daily";q=1000;w=86400"#);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldList<'a, T>(pub &'a [T]);

impl<T: fmt::Display> fmt::Display for FieldList<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, item) in self.0.iter().enumerate() {
            write!(f, "{}{item}", if i > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

/// The greatest integer of a structured field.
const MOST: u64 = 999_999_999_999_999;

/// A string of a structured field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    fn new(field: &'static str, text: &'a str) -> Result<Text<'a>, ConfigError> {
        match text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            true => Ok(Text(text)),
            false => Err(ConfigError::new(field, format_args!("{text:?}"), "printable characters of ASCII")),
        }
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for part in self.0.split_inclusive(['"', '\\']) {
            match part.strip_suffix(['"', '\\']) {
                Some(before) => write!(f, "{before}\\{}", &part[before.len()..])?,
                None => f.write_str(part)?,
            }
        }
        f.write_str("\"")
    }
}

/// A byte sequence, in base64.
fn partition(f: &mut fmt::Formatter<'_>, key: Option<&[u8]>) -> fmt::Result {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let Some(key) = key else { return Ok(()) };
    f.write_str(";pk=:")?;
    for three in key.chunks(3) {
        let bits = three.iter().fold(0, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - three.len()));
        for i in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * i)) as usize & 63];
            write!(f, "{}", if i <= three.len() { char::from(digit) } else { '=' })?;
        }
    }
    f.write_str(":")
}

#[cfg(all(test, not(windlass_loom)))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn policy<'a>(name: &'a str, quota: &str) -> RateLimitPolicy<'a> {
        RateLimitPolicy::new(name, quota.parse().unwrap()).unwrap()
    }

    fn limit(name: &str, remaining: u64, seconds: u64) -> RateLimit<'_> {
        let reset_after = Duration::from_secs(seconds);
        RateLimit::new(name, Admission::Allowed { remaining, reset_after, delay: Duration::ZERO }).unwrap()
    }

    /// Those of the draft, sections 3 and 4. (Keys of two of its examples are no base64 that an encoder writes: bits are left over. Here they
    /// are the bytes that they decode to.)
    #[test]
    fn examples_of_the_draft() {
        let both = [policy("burst", "100/60s"), policy("daily", "1000/86400s")];
        assert_eq!(FieldList(&both).to_string(), r#""burst";q=100;w=60,"daily";q=1000;w=86400"#);
        assert_eq!(policy("default", "100/10s").to_string(), r#""default";q=100;w=10"#);
        let both = [policy("permin", "50/min"), policy("perhr", "1000/h")];
        assert_eq!(FieldList(&both).to_string(), r#""permin";q=50;w=60,"perhr";q=1000;w=3600"#);
        let key = [0x70, 0x7b, 0x1d, 0xb1, 0x16, 0xbc, 0xf7];
        let item = policy("peruser", "100/60s").partition(&key).to_string();
        assert_eq!(item, r#""peruser";q=100;w=60;pk=:cHsdsRa89w==:"#);
        let key = [0xb1, 0xd7, 0xe3, 0x2c, 0x95, 0x0e, 0x50];
        let item = policy("peruser", "65535/10s").unit("content-bytes").unwrap().partition(&key);
        assert_eq!(item.to_string(), r#""peruser";q=65535;qu="content-bytes";w=10;pk=:sdfjLJUOUA==:"#);

        assert_eq!(limit("default", 50, 30).to_string(), r#""default";r=50;t=30"#);
        let untimed = RateLimit { after: None, ..limit("default", 999, 0) }.partition(b"trial121323");
        assert_eq!(untimed.to_string(), r#""default";r=999;pk=:dHJpYWwxMjEzMjM=:"#);
        let app = limit("default", 300_000_000, 60).partition(b"App-999");
        assert_eq!(app.to_string(), r#""default";r=300000000;t=60;pk=:QXBwLTk5OQ==:"#);
        let denied = Admission::Denied { retry_after: Duration::from_secs(10) };
        let item = RateLimit::new("problemPolicy", denied).unwrap();
        assert_eq!(item.to_string(), r#""problemPolicy";r=0;t=10"#);
        assert_eq!(limit("default", 1, 7).to_string(), r#""default";r=1;t=7"#);
    }

    #[test]
    fn what_a_field_can_have() {
        assert_eq!(policy(r#"a "b" \c"#, "1/s").to_string(), r#""a \"b\" \\c";q=1;w=1"#);
        assert_eq!(policy("", "1/s").to_string(), r#""";q=1;w=1"#);
        for name in ["ä", "a\n", "\u{7f}"] {
            assert_eq!(RateLimitPolicy::new(name, "1/s".parse().unwrap()).unwrap_err().field, "name");
            assert_eq!(RateLimit::new(name, Admission::Never).unwrap_err().field, "name");
            assert_eq!(policy("a", "1/s").unit(name).unwrap_err().field, "unit");
        }
        // No fractions of seconds; no integers beyond those of structured fields.
        assert_eq!(policy("a", "5/250ms").to_string(), r#""a";q=5"#);
        assert_eq!(policy("a", "1/1500ms").to_string(), r#""a";q=1"#);
        assert_eq!(limit("a", u64::MAX, u64::MAX).to_string(), r#""a";r=999999999999999;t=999999999999999"#);
        let soon = Admission::Denied { retry_after: Duration::from_nanos(1) };
        assert_eq!(RateLimit::new("a", soon).unwrap().to_string(), r#""a";r=0;t=1"#);
        assert_eq!(RateLimit::new("a", Admission::Never).unwrap().to_string(), r#""a";r=0"#);
        for (key, digits) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            let item = limit("a", 0, 0).partition(key.as_bytes()).to_string();
            assert_eq!(item, format!(r#""a";r=0;t=0;pk=:{digits}:"#));
        }
    }
}
