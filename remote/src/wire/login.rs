//! Who one is, and which database is meant: the first words of a connection.

use super::{Command, Endpoint, Pipeline, Value, Wire};
use crate::error::{ErrorKind, RemoteError};

/// A server, and what to say to it first.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) endpoint: Endpoint,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) db: u64,
}

impl Target {
    /// Says it. Servers before 6.0 know no users: they are told the password alone.
    pub(super) async fn log_in(&self, wire: &Wire) -> Result<(), RemoteError> {
        match self.try_as(wire, self.user.as_deref()).await {
            Err(refused) if self.user.is_some() && refused.detail().contains(NO_USERS) => {
                self.try_as(wire, None).await
            }
            said => said,
        }
    }

    async fn try_as(&self, wire: &Wire, user: Option<&str>) -> Result<(), RemoteError> {
        let mut pipeline = Pipeline::default();
        if let Some(password) = &self.password {
            let mut command = Command::new("AUTH");
            if let Some(user) = user {
                command.arg(user);
            }
            command.arg(password);
            pipeline.add(&command);
        }
        if self.db != 0 {
            pipeline.begin(2);
            pipeline.word("SELECT");
            pipeline.word(self.db);
        }
        if pipeline.len() == 0 {
            return Ok(());
        }
        let answers = wire.exchange(pipeline).await.map_err(|broken| broken.error)?;
        let mut answers = answers.into_iter();
        if self.password.is_some() {
            match answers.next() {
                Some(Value::Okay) => {}
                Some(Value::Error(error)) => {
                    return Err(RemoteError::new(ErrorKind::Auth, error.text()));
                }
                _ => return Err(RemoteError::new(ErrorKind::Protocol, "an answer to AUTH")),
            }
        }
        if let Some(Value::Error(error)) = answers.next() {
            return Err(error.to_error());
        }
        Ok(())
    }
}

const NO_USERS: &str = "wrong number of arguments for 'auth' command";
