//! What a server can do, and whether it keeps what it is told.

use crate::{
    deadline::Deadline,
    error::{ErrorKind, RemoteError},
    wire::{Pipeline, Value, Wire},
};
use std::fmt;

/// Whether a server may be used that forgets keys early: with a `maxmemory-policy` other than `noeviction`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eviction {
    /// Refused, and so is a server that does not tell (the user may neither INFO nor CONFIG GET).
    #[default]
    Refuse,
    /// Refused where it is known; a server that does not tell is taken, and [`Capabilities::unchecked`] says so.
    RefuseKnown,
    /// Taken: ids are then admitted again, and limits begin anew, whenever memory is short.
    Accept,
}

/// What the servers can do, by what they said at connecting. Of several nodes what all of them can.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// The version, major and minor and patch, in Redis' count (Valkey tells both: this is the one that it is compatible with); `None`
    /// where INFO is refused.
    pub version: Option<(u32, u32, u32)>,
    /// Whether it is Valkey.
    pub valkey: bool,
    /// Whether `SET` takes NX and GET together: from 7.0 on. Taken for granted where the version is not known.
    pub set_nx_get: bool,
    /// Whether scripts are allowed (EVAL).
    pub scripts: bool,
    /// Whether there is a bounded increment with expiry (INCREX).
    pub increx: bool,
    /// Whether windlass' own module is loaded.
    pub module: bool,
    /// Whether it is a cluster.
    pub cluster: bool,
    /// The `maxmemory-policy`, if it is known.
    pub eviction: Option<String>,
    /// What could not be checked, and why.
    pub unchecked: Vec<String>,
}

impl Capabilities {
    /// What both have.
    pub(crate) fn common(self, other: Capabilities) -> Capabilities {
        let mut unchecked = self.unchecked;
        unchecked.extend(
            other.unchecked.into_iter().filter(|reason| !unchecked.contains(reason)).collect::<Vec<_>>(),
        );
        Capabilities {
            version: self.version.min(other.version),
            valkey: self.valkey && other.valkey,
            set_nx_get: self.set_nx_get && other.set_nx_get,
            scripts: self.scripts && other.scripts,
            increx: self.increx && other.increx,
            module: self.module && other.module,
            cluster: self.cluster || other.cluster,
            eviction: self.eviction.or(other.eviction),
            unchecked,
        }
    }
}

impl fmt::Display for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let yes = |has: bool| if has { "yes" } else { "no" };
        match self.version {
            Some((major, minor, patch)) => write!(f, "version {major}.{minor}.{patch}")?,
            None => f.write_str("version unknown")?,
        }
        write!(
            f,
            ", cluster {}, scripts {}, SET NX GET {}, INCREX {}, module {}",
            yes(self.cluster),
            yes(self.scripts),
            yes(self.set_nx_get),
            yes(self.increx),
            yes(self.module)
        )
    }
}

/// What one server said of itself.
pub(crate) struct Probed {
    pub(crate) capabilities: Capabilities,
    pub(crate) replica: bool,
}

/// Asks a server, in one round trip and one more if it refuses INFO. What it refuses is a finding, not an error; but a
/// server that wants a password, or is reading its data, says so to all of it.
pub(crate) async fn probe(connection: &Wire, deadline: Deadline) -> Result<Probed, RemoteError> {
    let mut pipeline = Pipeline::of(&["INFO"]);
    pipeline.words(&["COMMAND", "INFO", "INCREX", "WL.VERSION"]);
    pipeline.words(&["EVAL", "return 1", "0"]);
    let answers = ask(connection, pipeline, deadline).await?;
    let [info, commands, script] = answers.as_slice() else {
        return Err(RemoteError::new(ErrorKind::Protocol, format!("3 questions, {} answers", answers.len())));
    };
    for answer in &answers {
        if let Value::Error(error) = answer {
            let error = error.to_error();
            if matches!(error.kind(), ErrorKind::Auth | ErrorKind::Loading) {
                return Err(error);
            }
        }
    }
    let info = text(info).unwrap_or_default();
    let has =
        |at: usize| matches!(commands, Value::Array(found) if matches!(found.get(at), Some(Value::Array(_))));
    let version = field(&info, "redis_version").and_then(version);
    let mut unchecked = Vec::new();
    let mut eviction = field(&info, "maxmemory_policy").map(str::to_owned);
    if eviction.is_none() {
        let pipeline = Pipeline::of(&["CONFIG", "GET", "maxmemory-policy"]);
        let answer = ask(connection, pipeline, deadline).await?;
        eviction = answer.first().and_then(|answer| match answer {
            Value::Array(pair) => pair.get(1).and_then(text),
            _ => None,
        });
        if eviction.is_none() {
            unchecked.push("maxmemory-policy: neither INFO nor CONFIG GET is allowed".to_owned());
        }
    }
    if version.is_none() {
        unchecked.push("version: INFO is not allowed".to_owned());
    }
    let capabilities = Capabilities {
        version,
        valkey: field(&info, "valkey_version").is_some(),
        set_nx_get: version.is_none_or(|version| version >= (7, 0, 0)),
        scripts: !matches!(script, Value::Error(_)),
        increx: has(0),
        module: has(1),
        cluster: field(&info, "cluster_enabled") == Some("1"),
        eviction,
        unchecked,
    };
    Ok(Probed { capabilities, replica: field(&info, "role") == Some("slave") })
}

/// Whether a server that says this may be used.
pub(crate) fn allowed(capabilities: &Capabilities, eviction: Eviction) -> Result<(), RemoteError> {
    let refused = |what: String| {
        let what = format!("{what}; set maxmemory-policy noeviction, or choose another `Eviction`");
        Err(RemoteError::new(ErrorKind::Unsafe, what))
    };
    match (&capabilities.eviction, eviction) {
        (_, Eviction::Accept) | (None, Eviction::RefuseKnown) => Ok(()),
        (Some(policy), _) if policy == "noeviction" => Ok(()),
        (Some(policy), _) => refused(format!("its maxmemory-policy is {policy}")),
        (None, Eviction::Refuse) => {
            refused("its maxmemory-policy is not known: neither INFO nor CONFIG GET is allowed".into())
        }
    }
}

async fn ask(connection: &Wire, pipeline: Pipeline, deadline: Deadline) -> Result<Vec<Value>, RemoteError> {
    deadline.of(connection.exchange(pipeline)).await?.map_err(|broken| broken.error)
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Bulk(bytes) => String::from_utf8(bytes.clone()).ok(),
        Value::Simple(text) => Some(text.to_string()),
        _ => None,
    }
}

/// The value of a line `name:value` of INFO.
fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

fn version(text: &str) -> Option<(u32, u32, u32)> {
    let mut parts = text.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_info() {
        let info = "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrole:slave\r\n";
        assert_eq!(field(info, "redis_version").and_then(version), Some((7, 0, 15)));
        assert_eq!(field(info, "role"), Some("slave"));
        assert_eq!(field(info, "redis"), None);
        assert_eq!(version("255.255.255"), Some((255, 255, 255)));
        assert_eq!(version("x"), None);
    }
}
