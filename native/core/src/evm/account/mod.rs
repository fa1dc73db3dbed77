//! Transactions of type 0x71 from contract accounts, or that a paymaster pays for.
//!
//! They run as a sequence of calls from 0x8001 on one journal: see [`steps`]. A transaction of a key
//! account that pays for itself does not come here: it is executed like one of type 2.

pub mod calls;
mod meter;
mod paymaster_input;
pub mod rejection;
pub mod rules;
pub mod sender;
pub mod steps;
pub mod system_contracts;
pub mod zk_tx;
