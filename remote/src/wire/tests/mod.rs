//! The parser against a plain reader, and a connection against servers that behave in some way.

mod answers;
mod callers;
mod endings;
mod login;
mod server;
