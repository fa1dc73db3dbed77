//! State of a remote chain below the local one: what a fork stands on.
//!
//! The local state has three answers: a value, deleted, unknown. What it does not know is read from a
//! [`table::RemoteTable`], which holds values of one remote block; what that does not know either is *missed*. The thread
//! decides what a miss is ([`mode`]): an error that names the key, or a wait. An execution that may wait runs in rounds
//! ([`rounds`]), so that it waits for many values at once.

mod asks;
pub mod bounds;
pub mod key;
pub mod mode;
pub mod provider;
pub mod rounds;
pub mod table;
mod values;
mod waiter;
