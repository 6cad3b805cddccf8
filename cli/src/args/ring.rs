//! `windlass ring`.

use std::str::FromStr;

use clap::Args;

use super::{Count, InputArgs, OutputArgs, StateArgs, examples};

/// Spread the keys of a log over nodes by consistent hashing, and see what a change would move
///
/// A key belongs to one node; names, weights, --vnodes and --seed say to which, and the library's ring says the same. A line for each node goes to
/// stdout: its weight, its share of the ring, and how many different keys and how many events it gets; with --change also how many
/// it gets after the change.
#[derive(Debug, Args)]
#[command(after_help = examples::RING)]
#[command(mut_arg("capacity", |arg| arg.help(
    "How many different keys to have room for at first: 500000, 64k, 1M. It grows [default: 1M]"
)))]
#[command(mut_arg("seed", |arg| arg.help("Seed of the hash: all who route by the ring must have the same")))]
pub(crate) struct RingArgs {
    /// The event's key; several fields make one key. Format `lines` takes none: the whole line is the key
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    pub(crate) key: Vec<String>,
    /// The nodes, each with a weight if it is not 1: a,b:2,c. (What stands behind a name's last colon is the weight: cache-1:11211:1)
    #[arg(long, value_name = "NODE,..", value_delimiter = ',', required = true)]
    pub(crate) nodes: Vec<Weighted>,
    /// Points of a node for each unit of its weight
    #[arg(long, value_name = "N", default_value = "128")]
    pub(crate) vnodes: Count,
    /// What would change: +d:2 comes, -b goes, c:3 gets another weight; several in this order
    #[arg(long, value_name = "CHANGE,..", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) change: Vec<Change>,
    #[command(flatten)]
    pub(crate) state: StateArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// A node's name and weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Weighted {
    pub(crate) name: String,
    pub(crate) weight: u32,
}

impl FromStr for Weighted {
    type Err = String;

    fn from_str(text: &str) -> Result<Weighted, String> {
        let (name, weight) = match text.rsplit_once(':') {
            None => (text, 1),
            Some((name, weight)) => {
                let weight = weight
                    .parse()
                    .map_err(|_| "what stands behind the last colon is a weight, a whole number")?;
                (name, weight)
            }
        };
        if name.is_empty() {
            return Err("a node needs a name: a,b:2,c".to_owned());
        }
        Ok(Weighted { name: name.to_owned(), weight })
    }
}

/// One thing that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Comes(Weighted),
    Goes(String),
    Weighs(Weighted),
}

impl FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Change, String> {
        match text.as_bytes() {
            [b'+', ..] => text[1..].parse().map(Change::Comes),
            [b'-', _, ..] => Ok(Change::Goes(text[1..].to_owned())),
            _ if text.contains(':') => text.parse().map(Change::Weighs),
            _ => Err("+NAME[:WEIGHT] comes, -NAME goes, NAME:WEIGHT gets another weight".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_changes() {
        let node = |name: &str, weight| Weighted { name: name.to_owned(), weight };
        assert_eq!("a".parse(), Ok(node("a", 1)));
        assert_eq!("b:2".parse(), Ok(node("b", 2)));
        assert_eq!("[::1]:80:3".parse(), Ok(node("[::1]:80", 3)));
        assert_eq!("+d:2".parse(), Ok(Change::Comes(node("d", 2))));
        assert_eq!("-b:80".parse(), Ok(Change::Goes("b:80".to_owned())));
        assert_eq!("c:3".parse(), Ok(Change::Weighs(node("c", 3))));
        for wrong in ["", ":2", "a:", "a:x", "a:-1", "a:99999999999"] {
            assert!(wrong.parse::<Weighted>().is_err(), "{wrong}");
        }
        for wrong in ["", "-", "+", "a", "+:2", "c:x"] {
            assert!(wrong.parse::<Change>().is_err(), "{wrong}");
        }
    }
}
