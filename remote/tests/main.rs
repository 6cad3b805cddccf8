//! The client against real servers on loopback.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)] // clippy knows tests only by their attribute

mod connecting;
mod servers;
