//! Where the servers are, as one line of text.

use crate::{
    error::{ErrorKind, RemoteError},
    wire::{Endpoint, Target},
};
use std::{fmt, path::PathBuf};

const FORMS: &str = "redis://[user:password@]host[:port][/db], redis+sentinel://host[:port],../name[/db], \
    redis+cluster://host[:port],.., unix:///path[?db=N]; rediss.. for TLS";

/// A host name or address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) port: u16,
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.contains(':') {
            write!(f, "[{}]:{}", self.name, self.port)
        } else {
            write!(f, "{}:{}", self.name, self.port)
        }
    }
}

/// What stands at the address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// One server.
    Single(Host),
    /// One server, by a socket on this machine.
    Unix(PathBuf),
    /// Sentinels, and the name under which they know the server.
    Sentinel { sentinels: Vec<Host>, name: String },
    /// Some nodes of a cluster: it tells the others.
    Cluster(Vec<Host>),
}

/// An address that has been read.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) place: Place,
    tls: bool,
    user: Option<String>,
    password: Option<String>,
    db: u64,
}

impl Address {
    /// Reads it.
    ///
    /// # Errors
    /// Says which part is wrong, and what is allowed. A password is never shown.
    pub(crate) fn parse(text: &str) -> Result<Address, RemoteError> {
        let wrong =
            |what: String| RemoteError::new(ErrorKind::Config, format!("address: {what}; allowed: {FORMS}"));
        let (scheme, rest) =
            text.split_once("://").ok_or_else(|| wrong("it does not begin with a scheme".into()))?;
        let (tls, scheme) = match scheme.strip_prefix("rediss").or(scheme.strip_prefix("valkeys")) {
            Some(kind) => (true, kind),
            None => match scheme.strip_prefix("redis").or(scheme.strip_prefix("valkey")) {
                Some(kind) => (false, kind),
                None => (false, scheme),
            },
        };
        if tls && !cfg!(feature = "tls") {
            return Err(wrong("TLS is not built in (feature `tls`)".into()));
        }
        // The password may have an `@`: the last one counts.
        let (login, rest) = rest.rsplit_once('@').map_or((None, rest), |(login, rest)| (Some(login), rest));
        let (mut user, mut password) = (None, None);
        if let Some(login) = login {
            let (name, word) = login.split_once(':').unwrap_or((login, ""));
            let decode = |part: &str| {
                decoded(part)
                    .ok_or_else(|| wrong("user or password: a % without two digits, or no UTF-8".into()))
            };
            user = Some(decode(name)?).filter(|name| !name.is_empty());
            password = Some(decode(word)?).filter(|word| !word.is_empty());
            if user.is_some() && password.is_none() {
                return Err(wrong("a user without a password".into()));
            }
        }
        let db = |text: &str| {
            if text.is_empty() {
                return Ok(0);
            }
            // Their numbers are signed.
            text.parse::<i64>()
                .ok()
                .and_then(|db| u64::try_from(db).ok())
                .ok_or_else(|| wrong(format!("database {text:?}: not a number")))
        };
        let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
        let hosts_of = |port| -> Result<Vec<Host>, RemoteError> {
            hosts.split(',').map(|host| parse_host(host, port).map_err(&wrong)).collect()
        };
        let (place, db) = match scheme {
            "" => {
                let mut hosts = hosts_of(6379)?;
                match (hosts.pop(), hosts.pop()) {
                    (Some(host), None) => (Place::Single(host), db(path)?),
                    _ => {
                        return Err(wrong(
                            "several hosts: of a cluster (redis+cluster), or sentinels (redis+sentinel)?"
                                .into(),
                        ));
                    }
                }
            }
            "+sentinel" => {
                let (name, number) = path.split_once('/').unwrap_or((path, ""));
                if name.is_empty() {
                    return Err(wrong("the name that the sentinels know is missing".into()));
                }
                (Place::Sentinel { sentinels: hosts_of(26379)?, name: name.into() }, db(number)?)
            }
            "+cluster" if db(path)? == 0 => (Place::Cluster(hosts_of(6379)?), 0),
            "+cluster" => return Err(wrong("a cluster has database 0 only".into())),
            "unix" | "+unix" if cfg!(unix) && !tls => {
                let (path, number) = rest.split_once("?db=").unwrap_or((rest, ""));
                if !path.starts_with('/') {
                    return Err(wrong(format!("socket {path:?}: not a path from the root")));
                }
                (Place::Unix(path.into()), db(number)?)
            }
            _ => return Err(wrong("unknown scheme".into())),
        };
        Ok(Address { place, tls, user, password, db })
    }

    /// How to connect to a server there, with user, password and database.
    pub(crate) fn server(&self, host: &Host) -> Target {
        let (user, password) = (self.user.clone(), self.password.clone());
        Target { user, password, db: self.db, ..self.sentinel(host) }
    }

    /// How to connect to a sentinel: user and password are the servers' alone.
    pub(crate) fn sentinel(&self, host: &Host) -> Target {
        let endpoint = match &self.place {
            #[cfg(unix)]
            Place::Unix(path) => Endpoint::Unix(path.clone()),
            #[cfg(feature = "tls")]
            _ if self.tls => Endpoint::Tls(host.name.clone(), host.port),
            _ => Endpoint::Tcp(host.name.clone(), host.port),
        };
        Target { endpoint, user: None, password: None, db: 0 }
    }
}

/// Without user and password.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tls = if self.tls { "s" } else { "" };
        let list = |hosts: &[Host]| hosts.iter().map(Host::to_string).collect::<Vec<_>>().join(",");
        match &self.place {
            Place::Single(host) => write!(f, "redis{tls}://{host}/{}", self.db),
            Place::Unix(path) => write!(f, "unix://{}?db={}", path.display(), self.db),
            Place::Sentinel { sentinels, name } => {
                write!(f, "redis{tls}+sentinel://{}/{name}/{}", list(sentinels), self.db)
            }
            Place::Cluster(hosts) => write!(f, "redis{tls}+cluster://{}", list(hosts)),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// `host`, `host:port` or `[IPv6]:port`; what is wrong with it otherwise.
pub(crate) fn parse_host(text: &str, default_port: u16) -> Result<Host, String> {
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (name, port) = rest.split_once(']').ok_or_else(|| format!("host {text:?}: a [ without ]"))?;
            (name, port.strip_prefix(':').or(port.is_empty().then_some("")))
        }
        // Nodes of a cluster tell addresses of IPv6 without brackets.
        None => text.rsplit_once(':').map_or((text, Some("")), |(name, port)| (name, Some(port))),
    };
    let port = match port {
        Some("") => Some(default_port),
        Some(port) => port.parse().ok().filter(|&port| port > 0),
        None => None,
    };
    match port {
        _ if name.is_empty() => Err(format!("host {text:?}: it has no name")),
        None => Err(format!("host {text:?}: a port is 1 to 65535")),
        Some(port) => Ok(Host { name: name.to_owned(), port }),
    }
}

/// `%41` for `A`.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' {
            let mut digit = || (rest.next()? as char).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
            let high = digit()?;
            high * 16 + digit()?
        } else {
            byte
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Address {
        Address::parse(text).expect("an address")
    }

    #[track_caller]
    fn wrong(text: &str, part: &str) {
        let error = Address::parse(text).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains(part), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    #[test]
    fn forms() {
        for (text, shown) in [
            ("redis://localhost", "redis://localhost:6379/0"),
            ("redis://[::1]:7000/2", "redis://[::1]:7000/2"),
            ("valkey://10.0.0.1:1/", "redis://10.0.0.1:1/0"),
            ("redis+sentinel://a,b:1/main", "redis+sentinel://a:26379,b:1/main/0"),
            ("redis+sentinel://a/main/3", "redis+sentinel://a:26379/main/3"),
            ("redis+cluster://a,b:1", "redis+cluster://a:6379,b:1"),
            ("redis+cluster://a/0", "redis+cluster://a:6379"),
        ] {
            assert_eq!(read(text).to_string(), shown);
        }
        if cfg!(unix) {
            assert_eq!(read("unix:///tmp/a.sock?db=1").to_string(), "unix:///tmp/a.sock?db=1");
        }
    }

    #[test]
    fn user_and_password() {
        let address = read("redis://u%40x:se%3Acret@w@h");
        assert_eq!((address.user.as_deref(), address.password.as_deref()), (Some("u@x"), Some("se:cret@w")));
        let address = read("redis://:secret@h");
        assert_eq!((address.user.as_deref(), address.password.as_deref()), (None, Some("secret")));
        assert!(!format!("{address:?} {address}").contains("secret"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        wrong("localhost", "scheme");
        wrong("http://a", "unknown scheme");
        wrong("redis://u:secret@a:99999", "a port is 1 to 65535");
        wrong("redis://a:b", "a port is 1 to 65535");
        wrong("redis://:secret@", "it has no name");
        wrong("redis://a,b", "redis+cluster");
        wrong("redis://a/x", "not a number");
        wrong("redis+cluster://a/1", "database 0 only");
        wrong("redis+cluster://a,,b", "it has no name");
        wrong("redis+sentinel://a,b", "the name");
        wrong("redis://user@a", "without a password");
        wrong("redis://:sec%ret@a", "a % without");
        if !cfg!(feature = "tls") {
            wrong("rediss://a", "feature `tls`");
        }
    }
}
