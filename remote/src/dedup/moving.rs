//! Ids that move from one server to another: how long they live.

use super::RemoteDedup;
use crate::{
    connection::{Call, Command, Value},
    key::Kind,
};

impl RemoteDedup {
    /// How many milliseconds each id still counts as seen: 0 if it is gone, nothing if that could not be found out.
    pub(crate) async fn left_of(&self, ids: &[&[u8]]) -> Vec<Option<u64>> {
        let calls: Vec<Call<'_>> = ids.iter().map(|id| self.expiry("PTTL", id, None)).collect();
        let replies = self.0.remote.connection().batch(&calls, None, self.0.remote.deadline()).await;
        let left = replies.into_iter().map(|reply| match reply.ok()?.value {
            Value::Int(-2) => Some(0),
            Value::Int(ms) => u64::try_from(ms).ok(),
            _ => None,
        });
        left.collect()
    }

    /// Lets ids count as seen for so many milliseconds from now; with 0 they are gone at once. What fails lives as long as it did.
    pub(crate) async fn let_live(&self, ids: &[(&[u8], u64)]) {
        let calls: Vec<Call<'_>> = ids.iter().map(|(id, ms)| self.expiry("PEXPIRE", id, Some(*ms))).collect();
        drop(self.0.remote.connection().batch(&calls, None, self.0.remote.deadline()).await);
    }

    fn expiry(&self, name: &str, id: &[u8], ms: Option<u64>) -> Call<'static> {
        let key = self.0.namespace.item(Kind::Dedup, id);
        let mut command = Command::new(name);
        command.arg(key.as_slice());
        if let Some(ms) = ms {
            command.arg(ms);
        }
        // A span that is said again would begin again: that is longer by less than a deadline.
        Call::native(key, command, true)
    }
}
