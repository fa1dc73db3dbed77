//! States, environments and executions for Python.

pub mod account;
pub mod env;
pub mod evm;
pub mod execution_result;
pub mod limits;
pub mod remote_table;
pub mod revert_reason;
pub mod senders;
pub mod state;
pub mod state_provider;
pub mod trace_writer;
pub mod tx_env;
