//! The failure table: what happens when servers are lost. Minutes: `./check full`.
